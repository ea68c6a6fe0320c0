//! Lists words that carry no subject: English stop words (never indexed or searched), filler words (ignored by the
//! gate), and phrases that point to the past (they open it).
//! Not for: the gate's rule (`gate`) or very frequent words of one conversation (`search` drops these).

/// English stop words, without apostrophes, sorted.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "are", "arent", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "cannot",
    "cant", "could", "couldnt", "d", "did", "didnt", "do", "does", "doesnt", "doing", "done", "dont", "down",
    "during", "each", "either", "else", "ever", "every", "few", "for", "from", "further", "get", "gets", "got", "had",
    "hadnt", "has", "hasnt", "have", "havent", "having", "he", "hed", "her", "here", "hers", "herself", "hes", "him",
    "himself", "his", "how", "however", "i", "id", "if", "ill", "im", "in", "into", "is", "isnt", "it", "its",
    "itself", "ive", "just", "let", "lets", "ll", "m", "may", "me", "might", "more", "most", "must", "my", "myself",
    "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out",
    "over", "own", "re", "s", "same", "shall", "she", "shes", "should", "shouldnt", "so", "some", "such", "t", "than",
    "that", "thats", "the", "their", "theirs", "them", "themselves", "then", "there", "theres", "these", "they",
    "theyd", "theyll", "theyre", "theyve", "this", "those", "through", "to", "too", "under", "until", "up", "upon",
    "us", "ve", "very", "was", "wasnt", "we", "wed", "well", "were", "werent", "weve", "what", "whats", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "wont", "would", "wouldnt", "you",
    "youd", "youll", "your", "youre", "yours", "yourself", "yourselves", "youve",
];

/// Filler words, sorted: they ask for more, agree, thank, greet, or judge, and name nothing.
#[rustfmt::skip]
const FILLER: &[&str] = &[
    "absolutely", "actually", "add", "adios", "ago", "agree", "agreed", "ah", "ahead", "almost", "already", "alright",
    "alternative", "alternatives", "always", "amazing", "another", "answer", "anymore", "anyone", "anything",
    "anyway", "apply", "appreciate", "approve", "approved", "aside", "ask", "asking", "attempt", "awesome", "aww",
    "back", "bad", "basically", "beautiful", "begin", "best", "bet", "better", "bien", "big", "bit", "bitte",
    "bonjour", "bravo", "brilliant", "broken", "bye", "care", "carry", "cause", "change", "changed", "changes",
    "check", "cheers", "clarify", "clear", "come", "complete", "confirm", "confirmed", "continua", "continue",
    "continuer", "cool", "correct", "course", "crazy", "cute", "danke", "day", "deal", "definitely", "detail",
    "details", "different", "differently", "done", "elaborate", "enough", "even", "everyone", "everything", "exactly",
    "example", "examples", "excellent", "expand", "explain", "fact", "fair", "fantastic", "feel", "fine", "finish",
    "first", "five", "fix", "forward", "four", "fun", "funny", "genau", "give", "glad", "go", "going", "good",
    "goodbye", "gotcha", "gracias", "great", "guess", "gut", "guys", "haha", "hahaha", "happen", "happened",
    "happening", "happens", "happy", "hate", "hear", "heard", "hello", "help", "hey", "hi", "hm", "hmm", "hola",
    "hold", "hope", "huh", "idea", "improve", "indeed", "interesting", "issue", "ja", "jaja", "keep", "kidding",
    "kind", "know", "last", "later", "leave", "let", "lgtm", "like", "likely", "line", "listo", "little", "lmao",
    "lol", "long", "longer", "look", "looks", "lot", "love", "loved", "lovely", "luck", "make", "makes", "maybe",
    "mean", "means", "merci", "mhm", "mind", "minute", "moment", "morning", "move", "much", "nah", "nailed", "need",
    "nein", "never", "nevermind", "new", "next", "nice", "night", "nope", "noted", "nothing", "oh", "ok", "okay",
    "omg", "one", "ones", "onward", "option", "options", "ouais", "oui", "part", "pause", "people", "perfect",
    "perfecto", "perhaps", "person", "place", "please", "plus", "point", "pretty", "previous", "probably", "problem",
    "problems", "proceed", "put", "question", "questions", "quick", "quite", "rather", "ready", "real", "really",
    "redo", "remember", "remove", "repeat", "rephrase", "reply", "resume", "retry", "rewrite", "right", "rofl", "run",
    "sad", "said", "say", "second", "see", "send", "sense", "seriously", "set", "share", "short", "shorten",
    "shorter", "show", "shut", "si", "simple", "simpler", "simplify", "six", "skip", "sleep", "slower", "someone",
    "something", "soon", "sorry", "sound", "sounds", "start", "started", "starting", "stay", "step", "still", "stop",
    "stuff", "suggest", "summarise", "summarize", "super", "suppose", "sure", "surprised", "sweet", "swell", "take",
    "talk", "tell", "ten", "thank", "thanks", "thanx", "thing", "things", "think", "third", "though", "thx", "time",
    "today", "tomorrow", "tonight", "top", "totally", "true", "try", "turn", "two", "ty", "understand", "understood",
    "undo", "use", "useful", "vale", "version", "wait", "wanna", "want", "watch", "way", "weird", "weiter", "welcome",
    "whatever", "whoa", "wish", "wonderful", "word", "words", "work", "worked", "works", "worries", "worst", "wow",
    "write", "wrong", "yay", "yeah", "yep", "yes", "yet", "yup",
];

/// Phrases that point to earlier messages, in lower case.
#[rustfmt::skip]
const PAST: &[&str] = &[
    "earlier", "previously", "last time", "last week", "last month", "last year", "yesterday", "you said", "you told",
    "you mentioned", "you suggested", "you recommended", "you wrote", "i said", "i told you", "i mentioned",
    "we talked", "we discussed", "we decided", "we agreed", "we said", "we spoke", "did we talk", "did we discuss",
    "did we decide", "did we agree", "did we say", "did we choose", "did you say", "did you mention", "did you suggest",
    "did you recommend", "did i say", "did i tell", "did i mention", "remember when", "do you remember",
    "remind me", "a while ago", "back then", "days ago", "weeks ago", "months ago", "years ago", "vorhin",
    "letzte woche", "gestern", "hast du gesagt", "hattest du", "erinnerst du", "la semana pasada", "ayer", "dijiste",
    "mencionaste", "hier tu", "la semaine dernière", "tu as dit", "tu disais", "tu te souviens", "之前", "上次", "刚才说",
    "昨天", "你说过",
];

/// Returns whether a lower-case word without apostrophes is a stop word.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Returns whether a lower-case word without apostrophes is a filler word.
pub fn is_filler(word: &str) -> bool {
    FILLER.binary_search(&word).is_ok()
}

/// Returns the first phrase in `text` (in lower case) that points to the past, at word borders.
pub fn past_cue(text: &str) -> Option<&'static str> {
    let border = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    PAST.iter().copied().find(|phrase| {
        let ascii = phrase.is_ascii();
        text.match_indices(phrase).any(|(at, found)| {
            !ascii || (border(text[..at].chars().next_back()) && border(text[at + found.len()..].chars().next()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_without_doubles() {
        for list in [STOP, FILLER] {
            let wrong: Vec<_> = list.windows(2).filter(|pair| pair[0] >= pair[1]).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
        }
    }

    #[test]
    fn cues_are_at_word_borders() {
        assert_eq!(past_cue("what you said earlier"), Some("earlier"));
        assert_eq!(past_cue("when did we talk about the shard?"), Some("did we talk"));
        assert_eq!(past_cue("the players ago"), None);
        assert_eq!(past_cue("我们之前的决定"), Some("之前"));
    }

    #[test]
    fn both_ends_of_a_cue_are_borders() {
        for (text, cue) in [
            ("earlierness", None),
            ("unearlier", None),
            ("unearlier earlier", Some("earlier")),
            ("(earlier)", Some("earlier")),
            ("yesterday", Some("yesterday")),
            ("hier tus", None),
            ("xla semaine dernièrex", Some("la semaine dernière")),
            ("three days ago", Some("days ago")),
            ("", None),
        ] {
            assert_eq!(past_cue(text), cue, "{text}");
        }
        assert!(is_stop("about") && !is_stop("oven") && is_filler("okay") && !is_filler("about"));
    }
}
