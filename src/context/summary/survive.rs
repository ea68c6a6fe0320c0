//! Finds the facts of the sources that a summary lacks, and reports each with its message and sentence.
//! Not for: finding facts in a sentence (`anchors`) or appending them (`keep`).

use super::anchors::{self, Anchor};
use super::text::{SentencePlace, contains_phrase, content_words, sentences, spaced};
use crate::domain::base::Hash;
use crate::domain::conversation::Role;
use crate::domain::conversation::memory::one_line;
use crate::domain::summary::{AnchorKind, MissingFact, SourceTurn};
use std::collections::{BTreeMap, HashSet};

/// Maximum characters of a sentence that is shown and kept; a longer sentence is cut down to the part around its fact.
const LONGEST: usize = 400;

/// The facts that a summary must contain, in order of first mention.
pub struct RequiredFacts {
    items: Vec<MissingFact>,
}

/// For each kind, how many facts the sources contain and how many of them a text still contains.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survival {
    /// Kind, number of facts, number contained.
    pub kinds: Vec<(AnchorKind, u32, u32)>,
}

impl Survival {
    /// Returns the number of all facts, and of those contained.
    pub fn sum(&self) -> (u32, u32) {
        self.kinds.iter().fold((0, 0), |(all, contained), (_, a, s)| (all + a, contained + s))
    }

    /// Returns the contained share in thousandths; 1,000 without facts.
    pub fn milli(&self) -> u32 {
        let (all, contained) = self.sum();
        let share = (u64::from(contained) * 1_000).checked_div(u64::from(all)).unwrap_or(1_000);
        u32::try_from(share).unwrap_or(0)
    }
}

/// The paths, numbers, identifiers, quotations, and the like that a question names and a summary lacks.
pub struct LackingFacts {
    facts: Vec<Anchor>,
}

impl LackingFacts {
    /// Finds the facts of a question that the text of a summary lacks.
    pub fn of(question: &str, text: &str) -> Self {
        let known = TextFacts::new(text);
        let named = sentences(question).into_iter().flat_map(|sentence| anchors::find(sentence.text, sentence.place));
        Self { facts: named.filter(|anchor| !known.contains(anchor.kind, &anchor.text)).collect() }
    }

    /// Returns whether the summary lacks nothing.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Returns whether a text contains one of these facts.
    pub fn any_in(&self, text: &str) -> bool {
        let known = TextFacts::new(text);
        self.facts.iter().any(|anchor| known.contains(anchor.kind, &anchor.text))
    }
}

impl RequiredFacts {
    /// Collects the facts of these turns.
    pub fn of(sources: &[SourceTurn]) -> Self {
        let mut places: BTreeMap<(AnchorKind, String), usize> = BTreeMap::new();
        let mut items: Vec<MissingFact> = Vec::new();
        for turn in sources {
            for message in &turn.messages {
                for sentence in sentences(&message.text) {
                    for anchor in anchors::find(sentence.text, sentence.place) {
                        let item = MissingFact {
                            kind: anchor.kind,
                            sentence: excerpt(sentence.text, &anchor.text),
                            text: anchor.text,
                            node: message.node,
                            turn: turn.number,
                            role: message.role,
                            times: 1,
                            weight: 0,
                        };
                        add_fact(&mut items, &mut places, item);
                    }
                }
            }
        }
        for item in open_questions(sources) {
            add_fact(&mut items, &mut places, item);
        }
        for item in &mut items {
            item.weight = weight(item);
        }
        Self { items }
    }

    /// Returns the number of facts.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the facts that `text` lacks, highest weight first; equal weights in order of mention.
    pub fn dropped(&self, text: &str) -> Vec<MissingFact> {
        let facts = TextFacts::new(text);
        let mut missing: Vec<MissingFact> =
            self.items.iter().filter(|item| !facts.contains(item.kind, &item.text)).cloned().collect();
        missing.sort_by_key(|item| std::cmp::Reverse(item.weight));
        missing
    }

    /// Returns the number of facts of each kind that `text` contains.
    pub fn survival(&self, text: &str) -> Survival {
        let facts = TextFacts::new(text);
        let kinds = AnchorKind::ALL.into_iter().filter_map(|kind| {
            let of = self.items.iter().filter(|item| item.kind == kind);
            let (all, kept) =
                of.fold((0, 0), |(all, kept), item| (all + 1, kept + u32::from(facts.contains(kind, &item.text))));
            (all > 0).then_some((kind, all, kept))
        });
        Survival { kinds: kinds.collect() }
    }
}

/// Adds a fact. A repeated fact is represented by its newest sentence; if a person mentioned it once, it counts as the
/// person's.
fn add_fact(items: &mut Vec<MissingFact>, places: &mut BTreeMap<(AnchorKind, String), usize>, item: MissingFact) {
    let name = (item.kind, normal(item.kind, &item.text));
    if let Some(at) = places.get(&name) {
        let old = &mut items[*at];
        let role = if old.role == Role::User { Role::User } else { item.role };
        *old = MissingFact { times: old.times + 1, text: std::mem::take(&mut old.text), role, ..item };
    } else {
        places.insert(name, items.len());
        items.push(item);
    }
}

/// Returns the weight of a fact. A person's words, repeated facts, and facts that cannot be guessed weigh more.
fn weight(item: &MissingFact) -> u32 {
    let kind = match item.kind {
        AnchorKind::Question => 5,
        AnchorKind::Command | AnchorKind::ErrorCode | AnchorKind::Url => 3,
        AnchorKind::Path | AnchorKind::Quote => 2,
        AnchorKind::Number | AnchorKind::Identifier => 1,
    };
    let own = if item.role == Role::User { 2 } else { 0 };
    let cue = u32::from(cued(&item.sentence)) * 2;
    kind + own + cue + (item.times - 1).min(3)
}

/// Returns whether a sentence is of a kind that must be kept: a decision, a rule, a cause, a task.
fn cued(sentence: &str) -> bool {
    contains_cue(
        sentence,
        "must|never|always|decided|decision|agreed|instead|because|cause|caused|limit|default|deadline|required|todo|\
         fixed|error|failed|fails|blocked|remember|we will|we'll use|let's use|go with|root cause",
    )
}

/// Returns whether a text contains one of these phrases, which are separated by bars.
fn contains_cue(text: &str, cues: &str) -> bool {
    let text = spaced(text);
    cues.split('|').any(|cue| contains_phrase(&text, cue))
}

/// A text prepared for repeated lookups.
struct TextFacts {
    plain: String,
    lower: String,
    numbers: HashSet<String>,
    bullets: Vec<HashSet<String>>,
}

impl TextFacts {
    fn new(text: &str) -> Self {
        let found = sentences(text);
        let numbers = found
            .iter()
            .flat_map(|s| anchors::find(s.text, SentencePlace::Prose))
            .filter(|anchor| anchor.kind == AnchorKind::Number)
            .map(|anchor| normal(AnchorKind::Number, &anchor.text))
            .collect();
        let bullets = text.lines().map(|line| content_words(line).collect()).collect();
        let plain = one_line(text);
        Self { lower: plain.to_lowercase(), plain, numbers, bullets }
    }

    fn contains(&self, kind: AnchorKind, text: &str) -> bool {
        match kind {
            AnchorKind::Number => self.numbers.contains(&normal(kind, text)) || contains_words(&self.plain, text),
            AnchorKind::Quote | AnchorKind::ErrorCode => contains_words(&self.lower, &one_line(text).to_lowercase()),
            AnchorKind::Question => self.contains_question(text),
            AnchorKind::Path | AnchorKind::Command | AnchorKind::Identifier | AnchorKind::Url => {
                contains_words(&self.plain, &one_line(text))
            }
        }
    }

    /// A question is still asked if one line contains most of its words.
    fn contains_question(&self, question: &str) -> bool {
        let wanted: HashSet<String> = content_words(question).collect();
        let enough = (wanted.len() * 6).div_ceil(10);
        self.bullets.iter().any(|line| wanted.iter().filter(|word| line.contains(*word)).count() >= enough)
    }
}

/// Returns whether `text` contains `wanted` as whole words.
fn contains_words(text: &str, wanted: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(wanted).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let open = |edge: Option<char>, side: Option<char>| !(edge.is_some_and(word) && side.is_some_and(word));
        open(wanted.chars().next(), before) && open(wanted.chars().next_back(), after)
    })
}

/// Returns the normal form in which two mentions are equal.
fn normal(kind: AnchorKind, text: &str) -> String {
    match kind {
        AnchorKind::Number => text.chars().filter(|c| !matches!(c, ',' | ' ')).collect::<String>().to_lowercase(),
        AnchorKind::Quote | AnchorKind::ErrorCode | AnchorKind::Question => one_line(text).to_lowercase(),
        AnchorKind::Path | AnchorKind::Command | AnchorKind::Identifier | AnchorKind::Url => one_line(text),
    }
}

/// Returns the sentence, or the part around the fact if the sentence is long.
fn excerpt(sentence: &str, what: &str) -> String {
    if sentence.chars().count() <= LONGEST {
        return sentence.to_owned();
    }
    let at = sentence.find(what).unwrap_or(0);
    let from = sentence[..at].char_indices().rev().nth(LONGEST / 2).map_or(0, |(at, _)| at);
    sentence[from..].chars().take(LONGEST.max(what.chars().count())).collect()
}

/// Returns a person's questions that the same turn leaves open, and the model's questions that the next message
/// ignores.
fn open_questions(sources: &[SourceTurn]) -> Vec<MissingFact> {
    let mut found = Vec::new();
    for (index, turn) in sources.iter().enumerate() {
        let answers: Vec<_> = turn.messages.iter().filter(|m| m.role == Role::Assistant).collect();
        let is_evasive = answers.iter().any(|answer| is_evasive(&answer.text));
        for message in turn.messages.iter().filter(|m| m.role == Role::User) {
            let asked = questions(&message.text).filter(|text| answers.is_empty() || is_evasive || is_left_open(text));
            found.extend(asked.map(|text| question(turn.number, message.node, Role::User, text)));
        }
        let next = sources.get(index + 1).filter(|next| next.number == turn.number + 1);
        let Some((last, next)) = answers.last().zip(next) else { continue };
        let reply: HashSet<String> =
            next.messages.iter().filter(|m| m.role == Role::User).flat_map(|m| content_words(&m.text)).collect();
        let brief = reply.len() <= 3;
        let closing = sentences(&last.text).last().map(|s| s.text.to_owned()).unwrap_or_default();
        let ignored = closing.ends_with('?') && !brief && !content_words(&closing).any(|word| reply.contains(&word));
        if ignored && content_words(&closing).count() >= 4 {
            found.push(question(turn.number, last.node, Role::Assistant, closing));
        }
    }
    found
}

fn question(turn: u32, node: Hash, role: Role, text: String) -> MissingFact {
    let kind = AnchorKind::Question;
    MissingFact { kind, sentence: text.clone(), text, node, turn, role, times: 1, weight: 0 }
}

fn questions(text: &str) -> impl Iterator<Item = String> + '_ {
    let of = sentences(text).into_iter().filter(|s| s.place == SentencePlace::Prose);
    of.filter(|s| (s.text.ends_with('?') && content_words(s.text).count() >= 3) || is_left_open(s.text))
        .map(|s| s.text.to_owned())
}

fn is_left_open(text: &str) -> bool {
    contains_cue(text, "open question|still unclear|to be decided|tbd|not decided|undecided|we still need to decide")
}

fn is_evasive(text: &str) -> bool {
    contains_cue(
        text,
        "i don t know|i do not know|not sure|can t tell|cannot tell|hard to say|need more information|come back to|\
         let s decide later|remains open|open question|i d need to see|would need to see|don't know|can't tell|\
         i'd need to see|let's decide later",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::summary::tests::{message, turn};

    #[test]
    fn a_turn_has_what_a_summary_lacks_only_if_it_contains_it() {
        let lacking = LackingFacts::of("What is BEACON_WINDOW, and what listens on port 8443?", "- The port is 8443.");
        assert!(!lacking.is_empty());
        assert!(lacking.any_in("We raised BEACON_WINDOW.") && !lacking.any_in("The beacon uses port 8443."));
        assert!(LackingFacts::of("What is BEACON_WINDOW?", "- BEACON_WINDOW is 7.").is_empty());
    }

    #[test]
    fn missing_facts_have_their_sentences() {
        let sources = [
            turn(
                1,
                &[
                    message(Role::User, "The port must be 8443. Run `cargo test --lib`."),
                    message(Role::Assistant, "Done."),
                ],
            ),
            turn(
                2,
                &[message(Role::User, "See src/main.rs."), message(Role::Assistant, "It took 42 ms in src/main.rs.")],
            ),
        ];
        let wanted = RequiredFacts::of(&sources);
        let dropped_items = wanted.dropped("- uses port 8443 and src/main.rs");
        let texts: Vec<&str> = dropped_items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["cargo test --lib", "42 ms"]);
        assert_eq!(dropped_items[0].sentence, "Run `cargo test --lib`.");
        assert_eq!((dropped_items[1].turn, dropped_items[1].role), (2, Role::Assistant));
        let port = wanted.items.iter().find(|item| item.text == "8443").unwrap();
        let took = wanted.items.iter().find(|item| item.text == "42 ms").unwrap();
        assert!(port.weight > took.weight, "a rule of the person's weighs more");
        assert_eq!(wanted.survival("8443").sum(), (4, 1));
    }

    #[test]
    fn repeated_facts_weigh_more() {
        let often = message(
            Role::Assistant,
            "Here it took 42 ms. There it took 42 ms. Again it took 42 ms. Now it took 42 ms.",
        );
        let sources = [turn(1, &[message(Role::Assistant, "Run `cargo test --lib`."), often])];
        let items = RequiredFacts::of(&sources).items;
        let weight = |text: &str| items.iter().find(|item| item.text == text).unwrap().weight;
        assert!(weight("42 ms") > weight("cargo test --lib"), "{items:?}");
    }

    #[test]
    fn a_repeated_fact_is_a_persons_if_a_person_ever_said_it() {
        for roles in [[Role::User, Role::Assistant], [Role::Assistant, Role::User], [Role::Assistant; 2]] {
            let sources =
                [1, 2].map(|n| turn(n, &[message(roles[n as usize - 1], &format!("It took 42 ms, try {n}."))]));
            let items = RequiredFacts::of(&sources).items;
            let of = items.iter().find(|item| item.text == "42 ms").unwrap();
            let role = if roles.contains(&Role::User) { Role::User } else { Role::Assistant };
            assert_eq!((of.role, of.turn, of.times), (role, 2, 2), "by {roles:?}");
        }
    }

    #[test]
    fn ignored_questions_of_the_model_are_required() {
        let closing = "Which port should the staging server use?";
        let asked = |reply: &str| {
            let first = [message(Role::User, "Set it up."), message(Role::Assistant, &format!("Done. {closing}"))];
            let sources = [turn(1, &first), turn(2, &[message(Role::User, reply), message(Role::Assistant, "Yes.")])];
            RequiredFacts::of(&sources).dropped("").iter().any(|item| item.text == closing)
        };
        assert!(asked("Now write documentation about logging formats for newcomers."));
        assert!(!asked("The staging server should use the common port of others."));
    }

    /// The share in thousandths, from two kinds.
    #[test]
    fn the_share_of_contained_facts() {
        for (one, two, milli) in
            [((0, 0), (0, 0), 1_000), ((4, 1), (0, 0), 250), ((2, 2), (1, 0), 666), ((3, 0), (1, 0), 0)]
        {
            let kinds = vec![(AnchorKind::Number, one.0, one.1), (AnchorKind::Path, two.0, two.1)];
            assert_eq!(Survival { kinds }.milli(), milli, "{one:?} {two:?}");
        }
    }

    #[test]
    fn presence_is_by_whole_words_and_numbers_by_value() {
        let sources = [turn(1, &[message(Role::User, "Take 1,500 ms for retry_at, not max_retry_at; file a/b_c.rs.")])];
        let wanted = RequiredFacts::of(&sources);
        let keeps = |text: &str, item: &str| !wanted.dropped(text).iter().any(|d| d.text == item);
        assert!(keeps("it waits 1500ms", "1,500 ms") && !keeps("it waits 15000 ms", "1,500 ms"));
        assert!(keeps("max_retry_at and retry_at", "retry_at") && !keeps("max_retry_at", "retry_at"));
        assert!(keeps("in src/a/b_c.rs", "a/b_c.rs"));
    }

    #[test]
    fn only_open_questions_are_required() {
        let sources = [
            turn(
                1,
                &[
                    message(Role::User, "Which database should we choose here?"),
                    message(Role::Assistant, "Take Postgres."),
                ],
            ),
            turn(
                2,
                &[
                    message(Role::User, "How large will the index grow?"),
                    message(Role::Assistant, "I'm not sure about that."),
                ],
            ),
        ];
        let questions: Vec<String> = RequiredFacts::of(&sources).dropped("").into_iter().map(|d| d.text).collect();
        assert_eq!(questions, ["How large will the index grow?"]);
        assert!(RequiredFacts::of(&sources).dropped("- Open: how large the index will grow").is_empty());
    }
}
