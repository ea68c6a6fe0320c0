//! The extractive summarizer: sentences of the sources, verbatim, sorted under headings. Uses no model and no network;
//! the text states how it was made.
//! Not for: sizes (`Size`) or missing facts (`survive`).
//!
//! A sentence's score is its closeness to the centroid of all sentences (cosine of tf·idf vectors; Radev et al., 2004,
//! "Centroid-based summarization of multiple documents"), plus bonuses for cue words and for a person's own words, plus
//! one for each required fact that no chosen sentence contains yet. Sentences are chosen greedily by score over the
//! square root of their tokens (Lin and Bilmes, 2010, "Multi-document summarization via budgeted maximization of
//! submodular functions"). A sentence that repeats a chosen one is skipped. Of sentences that
//! differ only in numbers or a negation, the last is chosen, because it replaces the others. The same sources give the same
//! text.

use super::anchors;
use super::text::{SentencePlace, contains_phrase, content_words, sentences, spaced, words};
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::Role;
use crate::domain::conversation::memory::one_line;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{AnchorKind, SourceTurn};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};

/// The version of the method; changes when its texts change.
pub const VERSION: u32 = 3;

/// Minimum content words of a sentence.
const MIN_WORDS: usize = 3;
const MAX_CHARS: usize = 360;
/// Share of common words above which two sentences are alike.
const ALIKE_SHARE: f64 = 0.6;
/// Bonus for a fact that no chosen sentence contains yet (0.12 to 0.5 were tried).
const NEW_FACT_BONUS: f64 = 0.3;

named_enum! {
    /// The parts of a summary, in order.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
    pub enum Part {
        /// Goals and unanswered questions.
        Goals => "### Goals and open questions",
        Decisions => "### Decisions",
        /// Preferences, constraints, values.
        Facts => "### Facts, preferences, constraints",
        /// Attempts and their outcomes.
        Outcomes => "### Outcomes: tried, worked, failed",
        /// What is still to be done.
        Pending => "### Pending",
    }
    /// Returns its heading.
    pub fn heading
}

impl Part {
    /// Returns the phrases that put a sentence under this part.
    fn cues(self) -> impl Iterator<Item = &'static str> {
        let all = match self {
            Self::Goals => {
                "goal|goals|i want|we want|i need|we need|trying to|would like|the aim|the plan is|open question|unclear"
            }
            Self::Decisions => {
                "decided|decision|agreed|we'll use|we will use|let's use|let's go|go with|going with|chose|chosen|\
                 instead of|settled|switch to|keep it|we'll keep"
            }
            Self::Facts => {
                "must|never|always|prefer|requires|required|limit|default|constraint|only|at most|at least|deadline|\
                 version|remember"
            }
            Self::Outcomes => {
                "fixed|works|worked|failed|fails|failing|error|errors|panicked|crashed|passes|passed|tried|reverted|\
                 resolved|solved|root cause|the cause|turned out|broke|regression|timed out|measured"
            }
            Self::Pending => {
                "todo|to do|next step|next steps|remaining|still need|still needs|still have to|follow up|pending|\
                 blocked|later|not yet|left to do|tomorrow"
            }
        };
        all.split('|')
    }
}

struct Unit<'a> {
    turn: u32,
    role: Role,
    text: &'a str,
    place: SentencePlace,
    part: Part,
    /// Whether a cue word of its text decided on its part.
    is_cued: bool,
    /// Whether it is the first sentence of an answer.
    is_first: bool,
    words: BTreeSet<usize>,
    /// Its content words that are no values.
    plain: BTreeSet<usize>,
    /// Its numbers and negations.
    values: BTreeSet<String>,
    /// Indices of the required facts it contains.
    anchors: Vec<usize>,
    score: f64,
}

/// Returns a summary of at most about `target` tokens; empty if the sources contain no sentence.
pub fn extract(sources: &[SourceTurn], target: u32, count: &dyn Fn(&str) -> u32) -> String {
    let mut units = units(sources);
    if units.iter().all(|unit| !unit.is_cued) {
        weigh_without_cues(&mut units);
    }
    score(&mut units);
    let header = header(sources);
    let mut room = target.saturating_sub(count(&header));
    let costs: Vec<u32> = units.iter().map(|unit| count(&line(unit)) + 1).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut parts: BTreeSet<Part> = BTreeSet::new();
    let mut covered: HashSet<usize> = HashSet::new();
    // Gains only decrease while sentences are chosen, so a sentence whose gain is unchanged when popped is the best.
    let mut queue: BinaryHeap<(u64, Reverse<usize>)> =
        (0..units.len()).map(|at| (gain(&units[at], costs[at], &covered), Reverse(at))).collect();
    while let Some((was, Reverse(at))) = queue.pop() {
        let unit = &units[at];
        let now = gain(unit, costs[at], &covered);
        if now < was {
            queue.push((now, Reverse(at)));
            continue;
        }
        if costs[at] > room || chosen.iter().any(|other| *other == at || is_redundant(&units, (*other, at))) {
            continue;
        }
        // The last sentence of those that are alike goes first: it says what holds now.
        let later = || (at + 1..units.len()).rev().filter(|later| !chosen.contains(later));
        let last = |likeness| later().find(|later| alike(unit, &units[*later]) == Some(likeness));
        let last = last(Likeness::Updates).or_else(|| last(Likeness::Differs));
        for at in last.into_iter().chain([at]) {
            let unit = &units[at];
            let heading = if parts.contains(&unit.part) { 0 } else { count(&format!("\n{}\n", unit.part.heading())) };
            let cost = heading + costs[at];
            if cost > room || chosen.iter().any(|other| is_redundant(&units, (*other, at))) {
                continue;
            }
            room -= cost;
            parts.insert(unit.part);
            covered.extend(&unit.anchors);
            chosen.push(at);
        }
    }
    if chosen.is_empty() {
        return String::new();
    }
    chosen.sort_unstable();
    let mut text = header;
    for part in parts {
        text.push_str("\n\n");
        text.push_str(part.heading());
        for unit in chosen.iter().map(|at| &units[*at]).filter(|unit| unit.part == part) {
            text.push('\n');
            text.push_str(&line(unit));
        }
    }
    text
}

/// The gain of a sentence per token, in millionths: integers, so that ties are the same everywhere.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive numbers")]
fn gain(unit: &Unit<'_>, cost: u32, covered: &HashSet<usize>) -> u64 {
    let new = unit.anchors.iter().filter(|anchor| !covered.contains(anchor)).count() as f64;
    ((unit.score + new * NEW_FACT_BONUS) / f64::from(cost.max(1)).sqrt() * 1e6) as u64
}

/// Returns the first line of the summary, which states how it was made.
fn header(sources: &[SourceTurn]) -> String {
    let number = |turn: Option<&SourceTurn>| turn.map_or(0, |turn| turn.number);
    let turns = turns_in_words((number(sources.first()), number(sources.last())));
    format!("Extractive summary of {turns}: sentences chosen word for word, without a model. It is not complete.")
}

fn line(unit: &Unit<'_>) -> String {
    let text = one_line(unit.text);
    let cut = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| at);
    let more = if cut < text.len() { " …" } else { "" };
    let who = if unit.role == Role::User { ", user" } else { "" };
    format!("- [turn {}{who}] {}{more}", unit.turn, &text[..cut])
}

fn units(sources: &[SourceTurn]) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for turn in sources {
        for message in &turn.messages {
            for (index, sentence) in sentences(&message.text).into_iter().enumerate() {
                let words = content_words(sentence.text).count();
                let always_kept = sentence.place == SentencePlace::Shell || message.role == Role::Tool;
                if sentence.place == SentencePlace::Code && message.role != Role::Tool
                    || words < MIN_WORDS && !always_kept
                {
                    continue;
                }
                let (part, cued) = part_of(sentence.text, message.role, sentence.place);
                units.push(Unit {
                    turn: turn.number,
                    role: message.role,
                    text: sentence.text,
                    place: sentence.place,
                    part,
                    is_cued: cued && !always_kept,
                    is_first: index == 0 && message.role == Role::Assistant,
                    words: BTreeSet::new(),
                    plain: BTreeSet::new(),
                    values: BTreeSet::new(),
                    anchors: Vec::new(),
                    score: if cued { 0.25 } else { 0.0 },
                });
            }
        }
    }
    units
}

/// Weighs sentences of a conversation without cue words, such as one in another language: the first sentence of an
/// answer and sentences with numbers count more, questions are taken only with room to spare.
fn weigh_without_cues(units: &mut [Unit<'_>]) {
    for unit in units {
        let is_question = unit.role == Role::User && unit.text.ends_with(['?', '？']);
        let has_number = unit.text.chars().any(char::is_numeric);
        unit.score += if unit.is_first { 0.25 } else { 0.0 } + if has_number { 0.25 } else { 0.0 };
        unit.score -= if is_question { 0.5 } else { 0.0 };
    }
}

/// Returns the part for a sentence, and whether a cue word decided.
fn part_of(text: &str, role: Role, place: SentencePlace) -> (Part, bool) {
    if role == Role::Tool {
        return (Part::Outcomes, true);
    }
    if place == SentencePlace::Shell {
        return (Part::Facts, true);
    }
    if text.ends_with(['?', '？']) && role == Role::User {
        return (Part::Goals, false);
    }
    let words = spaced(text);
    let order = [Part::Decisions, Part::Pending, Part::Outcomes, Part::Goals, Part::Facts];
    let cued = order.into_iter().find(|part| part.cues().any(|cue| contains_phrase(&words, cue)));
    cued.map_or((Part::Facts, false), |part| (part, true))
}

/// Scores all sentences. Sums run in the order of terms, so that they are the same on every machine.
fn score(units: &mut [Unit<'_>]) {
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<BTreeMap<usize, f64>> = Vec::with_capacity(units.len());
    let mut frequency: Vec<f64> = Vec::new();
    for unit in units.iter() {
        let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
        for word in content_words(unit.text) {
            let next = ids.len();
            let id = *ids.entry(word).or_insert(next);
            *counts.entry(id).or_default() += 1.0;
        }
        frequency.resize(ids.len(), 0.0);
        for id in counts.keys() {
            frequency[*id] += 1.0;
        }
        found.push(counts);
    }
    let mut names: BTreeMap<(AnchorKind, String), usize> = BTreeMap::new();
    let all = units.len() as f64;
    let mut centroid = vec![0.0; ids.len()];
    for counts in &mut found {
        for (id, weight) in counts.iter_mut() {
            *weight *= (1.0 + all / frequency[*id]).ln();
            centroid[*id] += *weight;
        }
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let middle = norm(&mut centroid.iter().copied());
    for (unit, counts) in units.iter_mut().zip(&found) {
        let own = norm(&mut counts.values().copied());
        let dot: f64 = counts.iter().map(|(id, weight)| weight * centroid[*id]).sum();
        let person = if unit.role == Role::User { 0.2 } else { 0.0 };
        unit.score += dot / (own * middle) + person;
        for anchor in anchors::find(unit.text, unit.place) {
            let next = names.len();
            unit.anchors.push(*names.entry((anchor.kind, anchor.text)).or_insert(next));
        }
        unit.anchors.sort_unstable();
        unit.anchors.dedup();
        unit.values = words(unit.text).filter(|word| is_value(word)).collect();
        unit.plain = content_words(unit.text).filter(|word| !is_value(word)).map(|word| ids[&word]).collect();
        unit.words = counts.keys().copied().collect();
    }
}

/// Returns whether a word in lower case is a number or a negation.
fn is_value(word: &str) -> bool {
    word.contains(char::is_numeric)
        || matches!(word, "no" | "not" | "never" | "none" | "nothing" | "without" | "cannot")
        || word.ends_with("n't")
}

/// How two sentences are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Likeness {
    /// One says nothing that the other lacks.
    Repeats,
    /// They differ only in numbers or a negation.
    Updates,
    /// Each has words that the other lacks, such as names.
    Differs,
}

/// Returns how two sentences are alike; `None` if they share few words.
fn alike(a: &Unit<'_>, b: &Unit<'_>) -> Option<Likeness> {
    let both = a.words.intersection(&b.words).count();
    let either = a.words.union(&b.words).count().max(1);
    if both as f64 / either as f64 <= ALIKE_SHARE {
        return None;
    }
    let is_part = a.plain.is_subset(&b.plain) || b.plain.is_subset(&a.plain);
    Some(match (is_part, a.values == b.values) {
        (true, true) => Likeness::Repeats,
        (true, false) => Likeness::Updates,
        (false, _) => Likeness::Differs,
    })
}

/// Returns whether a sentence, the second, need not be added to a chosen one.
fn is_redundant(units: &[Unit<'_>], (chosen, other): (usize, usize)) -> bool {
    match alike(&units[chosen], &units[other]) {
        Some(Likeness::Repeats) => true,
        Some(Likeness::Updates) => other < chosen,
        Some(Likeness::Differs) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::summary::tests::{message, turn};
    use crate::domain::call::tokens::approximate;
    use proptest::prelude::*;

    fn talk() -> Vec<SourceTurn> {
        vec![
            turn(
                1,
                &[
                    message(
                        Role::User,
                        "I want the login service to survive a restart. Which store should hold sessions?",
                    ),
                    message(Role::Assistant, "Redis would work. A table in Postgres is simpler to run and back up."),
                ],
            ),
            turn(
                2,
                &[
                    message(Role::User, "We decided to go with Postgres for sessions. The limit is 200 connections."),
                    message(
                        Role::Assistant,
                        "Then run:\n```sh\ncargo run -- migrate\n```\nThe test of expiry failed once.",
                    ),
                ],
            ),
            turn(
                3,
                &[
                    message(Role::User, "We still need to rotate the keys tomorrow."),
                    message(Role::Assistant, "Yes, noted."),
                ],
            ),
        ]
    }

    #[test]
    fn sentences_are_under_their_headings() {
        let text = extract(&talk(), 400, &approximate);
        assert!(text.starts_with("Extractive summary of turns 1–3"));
        let under = |part: Part| {
            text.split(part.heading()).nth(1).unwrap_or_default().split("###").next().unwrap_or_default().to_owned()
        };
        assert!(under(Part::Goals).contains("[turn 1, user] I want the login service"), "{text}");
        assert!(under(Part::Decisions).contains("We decided to go with Postgres"));
        assert!(under(Part::Facts).contains("cargo run -- migrate"));
        assert!(under(Part::Outcomes).contains("The test of expiry failed once."));
        assert!(under(Part::Pending).contains("rotate the keys"));
        assert!(!text.contains("Yes, noted"));
        assert_eq!(text, extract(&talk(), 400, &approximate));
    }

    #[test]
    fn a_persons_words_score_higher() {
        let same = "The gateway waits before it tries again.";
        let sources = [turn(1, &[message(Role::User, same), message(Role::Assistant, same)])];
        let mut units = units(&sources);
        score(&mut units);
        assert!(units[0].score > units[1].score, "{} {}", units[0].score, units[1].score);
    }

    /// A conversation in German has no cue words: answers and numbers count more than questions.
    #[test]
    fn answers_and_numbers_count_without_cue_words() {
        let pairs = [
            ("Welche Fliesen nehmen wir für das Bad?", "Graue Feinsteinzeug-Fliesen, 60x60, von Marazzi."),
            ("Wer verlegt sie denn im nächsten Monat?", "Herr Okonkwo aus Lüneburg, ab dem 14. März."),
            ("Ist die Wand nun endlich trocken?", "Nein, das Messgerät zeigt 4,1 Prozent. Das ist noch zu viel."),
        ];
        let turns: Vec<SourceTurn> = (1..)
            .zip(pairs)
            .map(|(number, (asked, said))| turn(number, &[message(Role::User, asked), message(Role::Assistant, said)]))
            .collect();
        let text = extract(&turns, 95, &approximate);
        for wanted in ["60x60", "14. März", "4,1 Prozent"] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
    }

    /// A later sentence with another number or a negation replaces an earlier one; a sentence about something else does not.
    #[test]
    fn later_values_replace_earlier_ones() {
        let said = [
            "We agreed that the kiosk printer timeout is 30 seconds.",
            "We agreed that the kiosk printer can keep its cable.",
            "We agreed that the kiosk printer timeout is 45 seconds.",
            "We agreed that the kiosk scanner timeout is 12 seconds.",
            "We agreed that the kiosk printer cannot keep its cable.",
            "We agreed that the kiosk scanner timeout is 12 seconds.",
        ];
        let turns: Vec<SourceTurn> = (1..)
            .zip(said)
            .map(|(number, said)| turn(number, &[message(Role::User, "And now?"), message(Role::Assistant, said)]))
            .collect();
        let text = extract(&turns, 400, &approximate);
        let kept: Vec<usize> =
            (0..said.len()).filter(|at| text.contains(&format!("[turn {}] {}", at + 1, said[*at]))).collect();
        assert!(kept == [2, 3, 4] || kept == [2, 4, 5], "{text}");
        // With room for one line, the current value is in it.
        let short =
            (20..400).map(|target| extract(&turns[..3], target, &approximate)).find(|text| text.contains("timeout"));
        assert!(short.unwrap().contains("45 seconds"));
    }

    /// A sentence gains more for new facts and less for length.
    #[test]
    fn gain_per_token_of_a_sentence() {
        let sources =
            [turn(1, &[message(Role::User, "We take port 8443 for src/main.rs in version 2.1 of the service.")])];
        let mut units = units(&sources);
        score(&mut units);
        let unit = &units[0];
        assert!(unit.anchors.len() > 1, "{:?}", unit.anchors);
        let mut covered: HashSet<usize> = HashSet::new();
        let mut gains = vec![gain(unit, 9, &covered)];
        for anchor in &unit.anchors {
            covered.insert(*anchor);
            gains.push(gain(unit, 9, &covered));
        }
        assert!(gains.is_sorted_by(|more, less| more > less), "{gains:?}");
        assert!(gain(unit, 36, &covered).abs_diff(gain(unit, 9, &covered) / 2) <= 1);
    }

    proptest! {
        #[test]
        fn never_over_its_target(target in 0_u32..300, words in prop::collection::vec("[a-z]{2,9}[.?]?", 0..200)) {
            let text = words.join(" ");
            let sources = [turn(1, &[message(Role::User, &text), message(Role::Assistant, &text.to_uppercase())])];
            let got = extract(&sources, target, &approximate);
            prop_assert!(got.is_empty() || approximate(&got) <= target, "{} > {target}: {got}", approximate(&got));
        }
    }
}
