//! Decides whether a message asks for older messages: "continue", "why?", and small talk must retrieve nothing; a
//! question must retrieve something. Word lists alone do not generalize, so the collection itself decides: how rare the
//! words of the message are on this path, and how many of them occur together in one place. With vectors, a message
//! with content words also opens the gate if something on the path is far nearer to it than the rest.
//! Not for: searching (`search`). A person can override the gate with one key.

use super::RetrievalError;
use super::index::stops::{is_filler, past_cue};
use super::index::words::{Term, words_of};
use super::query::Query;
use super::search::{SearchOptions, idf, lists};
use crate::domain::call::{Gate, PassReason, SkipReason};
use std::collections::HashSet;

/// The gate's measurements of a message.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MessageSignals {
    /// Number of different content words: no stop words, filler words, or speakers' names.
    pub content: usize,
    /// Number of these words that occur on the path.
    pub known: usize,
    /// The highest idf among them.
    pub rarest: f32,
    /// The sum of their idf.
    pub mass: f32,
    /// The highest sum of the idf of these words in one message and its two neighbors.
    pub together: f32,
    /// The same among searchable messages.
    pub within: f32,
    /// The highest sum of the idf of these words in one passage of the path.
    pub in_passage: f32,
    /// The highest number of these words in one message and its two neighbors.
    pub shared: usize,
    /// The idf of a word that occurs once on the path.
    pub once: f32,
    /// Number of speakers it names.
    pub named: usize,
    /// Whether it names a time from which there are searchable messages.
    pub dated: bool,
    /// Whether a known word is an identifier or a path.
    pub code: bool,
    /// Whether it is a question, or a request to tell something.
    pub asks: bool,
    /// Whether it points to the past.
    pub cue: bool,
}

/// Measures a message over a scope. `query` is the message as a query.
pub fn measure(options: &SearchOptions<'_>, text: &str, query: &Query) -> Result<MessageSignals, RetrievalError> {
    let lower = lower(text);
    let names = options.index.speakers();
    let is_name = |term: Term| query.speakers.iter().any(|at| names[usize::from(*at)].terms.contains(&term));
    let (mut content, mut code): (Vec<Term>, Vec<Term>) = (Vec::new(), Vec::new());
    options.index.analyzer().each(text, &mut |term, word| {
        if !is_filler(&word.lower) && !is_name(term) {
            content.push(term);
            code.extend(is_code(word.raw).then_some(term));
        }
    });
    content.sort_unstable();
    content.dedup();
    let slots = options.scope.slots();
    let found = lists(options, &content, slots)?;
    let mut places = vec![(0.0_f32, 0_usize); options.scope.messages()];
    let mut passages = vec![0.0_f32; slots];
    let mut signals = MessageSignals {
        content: content.len(),
        named: query.speakers.len(),
        once: idf(slots, 1),
        asks: asks(&lower),
        cue: past_cue(&lower).is_some(),
        ..MessageSignals::default()
    };
    for (list, term) in found.iter().flatten().zip(&content).filter(|(list, _)| !list.is_empty()) {
        signals.code |= code.contains(term);
        let weight = idf(slots, list.len());
        signals.known += 1;
        signals.mass += weight;
        signals.rarest = signals.rarest.max(weight);
        let mut reached = 0;
        for (slot, _) in list {
            let position = options.scope.position(*slot as usize);
            passages[*slot as usize] += weight;
            for near in reached.max(position.saturating_sub(1))..(position + 2).min(places.len()) {
                places[near] = (places[near].0 + weight, places[near].1 + 1);
                reached = near + 1;
            }
        }
    }
    let allowed = options.filter.allowed(options.index, options.scope);
    let is_dated = |(position, allowed): (usize, &bool)| *allowed && query.hints.names(options.scope.at(position));
    signals.dated = !query.hints.times.is_empty() && allowed.iter().enumerate().any(is_dated);
    signals.in_passage = passages.into_iter().fold(0.0, f32::max);
    for ((sum, count), allowed) in places.into_iter().zip(allowed) {
        signals.together = signals.together.max(sum);
        if allowed {
            signals.within = signals.within.max(sum);
        }
        signals.shared = signals.shared.max(count);
    }
    Ok(signals)
}

/// First words of questions and of requests to tell something.
const ASKING: &[&str] = &[
    "what", "whats", "when", "where", "which", "who", "whom", "whose", "why", "how", "did", "does", "do", "was",
    "were", "is", "are", "has", "have", "can", "could", "would", "tell", "describe", "list", "explain", "compare",
    "find", "name", "recall", "wer", "was", "wann", "wo", "warum", "wie", "welche", "welcher", "welches", "qué",
    "quién", "cuándo", "dónde", "cómo", "cuál", "qui", "quand", "où", "pourquoi", "comment", "quel", "quelle", "que",
];
/// Question words of scripts without spaces.
const ASKING_CJK: &[&str] = &["什么", "谁", "哪", "怎么", "何", "吗", "どこ", "いつ", "誰", "なぜ"];

/// Returns whether a text is a question, or a request to tell something.
pub fn asks_something(text: &str) -> bool {
    asks(&lower(text))
}

fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

fn asks(lower: &str) -> bool {
    lower.contains(['?', '？'])
        || words_of(lower).next().is_some_and(|word| ASKING.contains(&word.replace('\'', "").as_str()))
        || ASKING_CJK.iter().any(|word| lower.contains(word))
}

/// Returns whether a word as written is an identifier or a path.
fn is_code(raw: &str) -> bool {
    let inner = raw.char_indices().skip(1).any(|(_, c)| c.is_uppercase()) && raw.chars().any(char::is_lowercase);
    let mixed = raw.contains(|c: char| c.is_ascii_digit()) && raw.starts_with(char::is_alphabetic);
    raw.len() > 2 && (raw.contains(['_', '/', '\\']) || raw.contains("::") || inner || mixed)
}

/// Minimum idf of a single known word that makes a question open the gate; in a short conversation, half the maximum
/// idf there.
const RARE: f32 = 3.0;
/// Minimum weight that a statement must share with one place of the path, in words that occur once.
const TOGETHER: f32 = 1.5;

/// Decides from the signals whether to search.
///
/// A message that points to the past opens the gate if any of its words is known. A question opens it if it names a
/// time from which there are messages, with two known words that occur together somewhere, with one known word and a speaker's name, or with one rare word. Anything else
/// (a remark, an order) needs a known identifier, or several words whose joint occurrence in one place is itself rare.
/// Half of the words must be known.
pub fn decide(signals: &MessageSignals) -> Gate {
    let skip = Gate::Skipped;
    if signals.known > 0 && signals.cue {
        return Gate::Pass(PassReason::Cue);
    }
    if signals.asks && signals.dated {
        return Gate::Pass(PassReason::Time);
    }
    if signals.content == 0 {
        return skip(SkipReason::NoContent);
    }
    if signals.known == 0 {
        return skip(SkipReason::Unknown);
    }
    if signals.code {
        return Gate::Pass(PassReason::Rare);
    }
    let most_known = signals.known * 2 >= signals.content;
    if signals.asks {
        if signals.shared >= 2 || signals.named > 0 {
            return Gate::Pass(PassReason::Several);
        }
        let rare = signals.rarest >= RARE.min(signals.once / 2.0) && most_known;
        return if rare { Gate::Pass(PassReason::Rare) } else { skip(SkipReason::Common) };
    }
    let occur_together = signals.shared >= 2 && most_known && signals.together >= TOGETHER * signals.once;
    if occur_together { Gate::Pass(PassReason::Several) } else { skip(SkipReason::Faint) }
}

/// How far the best cosine must be above the mean, as a share of the distance from the mean to 1: for a question, and
/// for a remark. It is a share because models rate the similarity of any two texts differently.
const AHEAD: (f32, f32) = (0.34, 0.5);

/// Returns the passages whose cosine is far above the mean.
pub(super) fn far_above(cosines: &[(u32, f32)], asks: bool) -> HashSet<u32> {
    let finite = || cosines.iter().filter(|(_, cosine)| cosine.is_finite());
    let sum: f64 = finite().map(|(_, cosine)| f64::from(*cosine)).sum();
    let mean = sum / finite().count().max(1) as f64;
    let wanted = f64::from(if asks { AHEAD.0 } else { AHEAD.1 });
    finite().filter(|(_, cosine)| f64::from(*cosine) - mean >= wanted * (1.0 - mean)).map(|(at, _)| *at).collect()
}

/// Measures a message and decides, as [`measure`] and [`decide`] do; if the words do not open the gate, cosines decide,
/// where given.
pub fn gate(options: &SearchOptions<'_>, text: &str) -> Result<Gate, RetrievalError> {
    if options.scope.slots() == 0 {
        return Ok(Gate::Skipped(SkipReason::NothingToFind));
    }
    let signals = measure(options, text, &Query::new(options.index, options.scope, text))?;
    let gate = decide(&signals);
    let by_words = matches!(gate, Gate::Skipped(SkipReason::Unknown | SkipReason::Common | SkipReason::Faint));
    let near = by_words && options.cosines.is_some_and(|cosines| !far_above(cosines, signals.asks).is_empty());
    Ok(if near { Gate::Pass(PassReason::Meaning) } else { gate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::conversation::message::Role;
    use crate::retrieval::index::segment::NoSegments;
    use crate::retrieval::index::session::{Entry, Index};
    use crate::retrieval::scope::{Filter, Scope};
    use crate::retrieval::search::MessageTexts;
    use std::borrow::Cow;

    /// Messages that name nothing. Some filler words were added to the lists after a run over these.
    const FOLLOWUPS: &str = include_str!("../../benches/recall/followups.txt");

    struct NoTexts;

    impl MessageTexts for NoTexts {
        fn text(&self, _: &Hash) -> Option<Cow<'_, str>> {
            None
        }
        fn speaker(&self, _: &Hash) -> Option<Cow<'_, str>> {
            None
        }
    }

    fn history() -> (Index, Scope) {
        let mut index = Index::new();
        let subjects = [
            "the refresh token of the login service",
            "a flaky test of the tokenizer",
            "how bread rises overnight",
            "parse_header in src/wire.rs",
        ];
        let path: Vec<u32> = (0..80_usize)
            .map(|number| {
                let text =
                    format!("{} came up again in note {number}, and we fixed a problem there", subjects[number % 4]);
                let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
                index.add(&Entry {
                    key: Hash::of(text.as_bytes()),
                    role,
                    speaker: None,
                    at: None,
                    lane: 0,
                    text: &text,
                })
            })
            .collect();
        let scope = Scope::new(&index, &path);
        (index, scope)
    }

    fn opens(text: &str) -> Gate {
        opens_with(text, None)
    }

    fn opens_with(text: &str, cosines: Option<&[(u32, f32)]>) -> Gate {
        let (index, scope) = history();
        let filter = Filter::default();
        let options = SearchOptions {
            index: &index,
            scope: &scope,
            source: &NoSegments,
            texts: &NoTexts,
            filter: &filter,
            cosines,
            tuning: None,
        };
        gate(&options, text).unwrap()
    }

    #[test]
    fn messages_without_content_retrieve_nothing() {
        let open: Vec<&str> = FOLLOWUPS.lines().filter(|line| opens(line).is_open()).collect();
        assert!(FOLLOWUPS.lines().count() >= 120);
        assert!(open.len() * 100 <= FOLLOWUPS.lines().count(), "{open:?}");
    }

    #[test]
    fn questions_and_names_open() {
        for text in [
            "Where was the refresh token rotated?",
            "what did you say earlier about bread",
            "clean parse_header up",
            "why is the tokenizer test flaky",
        ] {
            assert!(opens(text).is_open(), "{text}: {:?}", opens(text));
        }
        assert_eq!(opens("who painted the sunrise?"), Gate::Skipped(SkipReason::Unknown));
        assert_eq!(opens("go on"), Gate::Skipped(SkipReason::NoContent));
    }

    /// In a short conversation no word is rare by its count alone.
    #[test]
    fn a_question_with_one_known_word_opens_in_a_short_conversation() {
        let texts =
            ["We chose PostgreSQL as the database.", "Bread rises overnight.", "The tokenizer is flaky.", "Fine."];
        let mut index = Index::new();
        let path: Vec<u32> = (0..12_usize)
            .map(|number| {
                let text = format!("{} Note {number}.", texts[number % 4]);
                let (key, role) = (Hash::of(text.as_bytes()), Role::User);
                index.add(&Entry { key, role, speaker: None, at: None, lane: 0, text: &text })
            })
            .collect();
        let (scope, filter) = (Scope::new(&index, &path), Filter::default());
        let (texts, source) = (&NoTexts, &NoSegments);
        let options =
            SearchOptions { index: &index, scope: &scope, source, texts, filter: &filter, cosines: None, tuning: None };
        let opens = |text: &str| gate(&options, text).unwrap().is_open();
        assert!(opens("Which database did we choose?"));
        for text in ["ok continue", "yes please", "thanks, that works!"] {
            assert!(!opens(text), "{text}");
        }
    }

    #[test]
    fn similarity_opens_messages_with_content() {
        let cosines = |best: f32, rest: f32| -> Vec<(u32, f32)> {
            (0..40).map(|at| (at, if at == 17 { best } else { rest })).collect()
        };
        let (far, flat) = (cosines(0.6, 0.2), cosines(0.3, 0.2));
        assert_eq!(opens_with("who painted the sunrise?", Some(&far)), Gate::Pass(PassReason::Meaning));
        assert_eq!(opens_with("who painted the sunrise?", Some(&flat)), Gate::Skipped(SkipReason::Unknown));
        assert_eq!(opens_with("go on", Some(&far)), Gate::Skipped(SkipReason::NoContent));
        let alike = cosines(0.82, 0.75);
        assert!(!opens_with("who painted the sunrise?", Some(&alike)).is_open(), "a model that finds all texts alike");
        let broken = vec![(0, f32::NAN), (1, f32::INFINITY)];
        assert!(!opens_with("who painted the sunrise?", Some(&broken)).is_open());
    }

    /// Signals on both sides of every border of the rule.
    #[test]
    fn the_rule_has_the_documented_borders() {
        use PassReason::{Cue, Rare, Several, Time};
        use SkipReason::{Common, Faint, NoContent, Unknown};
        let asks =
            MessageSignals { content: 2, known: 1, asks: true, once: 4.0, rarest: 1.9, ..MessageSignals::default() };
        let states =
            MessageSignals { content: 4, known: 2, shared: 2, once: 2.0, together: 3.0, ..MessageSignals::default() };
        let skip = Gate::Skipped;
        for (signals, wanted) in [
            (MessageSignals { cue: true, ..asks }, Gate::Pass(Cue)),
            (MessageSignals { cue: true, known: 0, ..asks }, skip(Unknown)),
            (MessageSignals { content: 0, known: 0, ..asks }, skip(NoContent)),
            (MessageSignals { content: 0, known: 0, dated: true, ..asks }, Gate::Pass(Time)),
            (MessageSignals { dated: true, asks: false, ..states }, Gate::Pass(Several)),
            (MessageSignals { content: 0, dated: true, asks: false, ..asks }, skip(NoContent)),
            (MessageSignals { code: true, ..asks }, Gate::Pass(Rare)),
            (MessageSignals { code: true, known: 0, ..asks }, skip(Unknown)),
            (asks, skip(Common)),
            (MessageSignals { rarest: 2.0, ..asks }, Gate::Pass(Rare)),
            (MessageSignals { rarest: 2.9, once: 9.0, ..asks }, skip(Common)),
            (MessageSignals { rarest: 3.0, once: 9.0, ..asks }, Gate::Pass(Rare)),
            (MessageSignals { rarest: 9.0, content: 3, ..asks }, skip(Common)),
            (MessageSignals { shared: 1, ..asks }, skip(Common)),
            (MessageSignals { shared: 2, content: 9, ..asks }, Gate::Pass(Several)),
            (MessageSignals { named: 1, content: 9, ..asks }, Gate::Pass(Several)),
            (states, Gate::Pass(Several)),
            (MessageSignals { together: 2.9, ..states }, skip(Faint)),
            (MessageSignals { shared: 1, ..states }, skip(Faint)),
            (MessageSignals { content: 5, ..states }, skip(Faint)),
            (MessageSignals { content: 5, known: 3, ..states }, Gate::Pass(Several)),
            (MessageSignals { named: 1, rarest: 9.0, shared: 1, ..states }, skip(Faint)),
        ] {
            assert_eq!(decide(&signals), wanted, "{signals:?}");
        }
    }

    #[test]
    fn identifiers_and_questions_are_recognized() {
        for (raw, code) in [
            ("aB", false),
            ("aBc", true),
            ("Abc", false),
            ("ABC", false),
            ("ABc", true),
            ("a1", false),
            ("ab1", true),
            ("1ab", false),
            ("a_b", true),
            ("a/b", true),
            ("a\\b", true),
            ("a::b", true),
            ("a:b", false),
            ("a_", false),
            ("étéX", true),
            ("éX", true),
            ("abc", false),
        ] {
            assert_eq!(is_code(raw), code, "{raw}");
        }
        for (text, asking) in [
            ("", false),
            ("really?", true),
            ("好吗", true),
            ("谁", true),
            ("what now", true),
            ("now what", false),
            ("What’s up", true),
            ("say？", true),
            ("explain it", true),
            ("the list", false),
        ] {
            assert_eq!(asks_something(text), asking, "{text}");
        }
    }

    #[test]
    fn near_means_far_above_the_mean() {
        let above = |cosines: &[f32], asks| {
            let mut found: Vec<u32> =
                far_above(&(0..).zip(cosines.iter().copied()).collect::<Vec<_>>(), asks).into_iter().collect();
            found.sort_unstable();
            found
        };
        // With a mean of 0.2, 0.34 of the distance to 1 is at 0.472, and half of it at 0.6.
        assert_eq!(above(&[0.48, 0.12, 0.0], true), [0]);
        assert_eq!(above(&[0.46, 0.14, 0.0], true), Vec::<u32>::new());
        assert_eq!((above(&[0.59, 0.01, 0.0], false), above(&[0.61, -0.01, 0.0], false)), (vec![], vec![0]));
        assert_eq!(
            above(&[0.7, f32::NAN, -0.1, f32::INFINITY, 0.0], true),
            [0],
            "values that are not numbers do not count"
        );
        assert_eq!((above(&[], true), above(&[0.5], true)), (vec![], vec![]));
    }
}
