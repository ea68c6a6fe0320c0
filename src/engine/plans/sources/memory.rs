//! Offers the confirmed memories that match the open turn: a labeled, dated block each, together at most a third of the
//! retrieval allowance.
//! Not for: suggesting, confirming, or changing memories (`turns::state_suggestions`, `sessions::memory`), or older
//! messages (`retrieval`).
//!
//! The score of a memory is the weight of the terms that it shares with the message, divided by the weight of all terms
//! of the shorter of the two. A term weighs ln(1 + (N − n + 0.5) / (n + 0.5)), where n of N memories contain it (the
//! inverse document frequency of BM25).

use super::memory_terms::{MemoryTerms, terms};
use super::retrieval as found;
use crate::context::render::render_forms;
use crate::domain::base::{Failure, Fields};
use crate::domain::conversation::{LeaseTurns, MarkKind, Memory, MemoryKind, Scope};
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Block, Candidate, Offer, OfferLimit, OmittedItem, RowKind, Scores, SearchChoice, Section, Source,
};
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::labels::date;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::index::words::{Analyzer, Term};
use std::collections::HashMap;

/// The minimum score of a memory, in hundredths.
const MIN_SCORE: u32 = 20;
/// Limits on preferences that are always sent: their maximum number, and their maximum length in characters.
const MAX_PREFERENCES: usize = 3;
const MAX_PREFERENCE_LENGTH: usize = 120;
/// The maximum number of rows for memories that match but are not sent.
const NEAR: usize = 8;
/// Memories may take a third of the allowance.
const LIMIT: OfferLimit = OfferLimit::Allowance { parts: 1, of: 3 };

/// Returns the memories that share terms with a text, best first: each with its score in hundredths and its index.
pub(crate) fn ranked(known: &[MemoryTerms], text: &str) -> Vec<(u32, usize)> {
    let wanted = terms(&Analyzer::default(), text);
    let mut holding: HashMap<Term, u32> = HashMap::new();
    for term in known.iter().flat_map(|one| &one.terms) {
        *holding.entry(*term).or_default() += 1;
    }
    let all = f64::from(u32::try_from(known.len()).unwrap_or(u32::MAX));
    let weight = |term: &Term| {
        let n = f64::from(holding.get(term).copied().unwrap_or(0));
        (1.0 + (all - n + 0.5) / (n + 0.5)).ln()
    };
    let mass = |terms: &[Term]| terms.iter().map(weight).sum::<f64>();
    let asked = mass(&wanted);
    let mut found: Vec<(u32, usize)> = Vec::new();
    for (at, one) in known.iter().enumerate() {
        let shared: f64 = one.terms.iter().filter(|term| wanted.binary_search(term).is_ok()).map(weight).sum();
        let whole = mass(&one.terms).min(asked);
        if shared > 0.0 && whole > 0.0 {
            found.push((hundredths(shared / whole), at));
        }
    }
    found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    found
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1 before it is scaled")]
fn hundredths(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u32
}

/// The decision about one memory.
struct MemoryDecision<'a> {
    memory: &'a Memory,
    section: Section,
    reason: Reason,
    score: Option<u32>,
}

/// Adds the pinned memories and offers the memories that match.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<&str>,
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let known = builder.memories.of(snapshot.session)?;
    if known.is_empty() {
        return Ok(());
    }
    let count = builder.counting(snapshot.rules.model.encoding);
    let lane =
        |memory: &Memory| memory.scope == Scope::All || !snapshot.rules.policy.one_lane || memory.lane == snapshot.lane;
    let mut own: Vec<MemoryDecision<'_>> = Vec::new();
    let mut free: Vec<bool> = Vec::with_capacity(known.len());
    for MemoryTerms { memory, .. } in known.iter() {
        let mark = snapshot.marks.iter().find(|mark| mark.target == memory.atom()).map(|mark| mark.kind);
        let marked = mark.and_then(|kind| marked_decision(memory, kind));
        free.push(marked.is_none() && lane(memory));
        own.extend(marked);
    }
    let (out, pinned): (Vec<_>, Vec<_>) = own.into_iter().partition(|choice| choice.reason.name() == "user_excluded");
    for choice in out {
        let once = choice.reason == Reason::UserExcluded { once: true };
        let action = if once { "exclude-once" } else { "exclude" };
        let tokens = count(&text_of(choice.memory));
        found.input.near.push(near(snapshot, &choice, tokens, (action, "removes the exclusion")));
    }
    let mut writer = MemoryWriter { snapshot, found, count: &count };
    for choice in pinned {
        writer.block(&choice);
    }
    writer.offer_matches(&known, &free, asked.unwrap_or_default());
    Ok(())
}

/// Returns the decision that a person's mark makes about a memory; `None` if a lease has expired.
fn marked_decision(memory: &Memory, kind: MarkKind) -> Option<MemoryDecision<'_>> {
    let (section, reason) = match kind {
        MarkKind::Sticky => (Section::StickyPins, Reason::Sticky),
        MarkKind::Leased { turns: LeaseTurns::Ended } | MarkKind::Ephemeral => return None,
        MarkKind::Leased { turns: LeaseTurns::Left(turns) } => {
            (Section::LeasedPins, Reason::Leased { left: turns.get(), engine: false })
        }
        MarkKind::IncludeOnce => (Section::LeasedPins, Reason::IncludedOnce),
        MarkKind::Exclude => (Section::Retrieved, Reason::UserExcluded { once: false }),
        MarkKind::ExcludeOnce => (Section::Retrieved, Reason::UserExcluded { once: true }),
    };
    Some(MemoryDecision { memory, section, reason, score: None })
}

struct MemoryWriter<'a> {
    snapshot: &'a Snapshot,
    found: &'a mut BuiltInput,
    count: &'a dyn Fn(&str) -> u32,
}

impl MemoryWriter<'_> {
    /// Offers memories without marks: short preferences first, then the best matches, up to the mode's number of cards.
    fn offer_matches(&mut self, known: &[MemoryTerms], free: &[bool], asked: &str) {
        let limits = found::limits(self.snapshot);
        let choices = ranked_decisions(known, free, asked);
        if !limits.retrieves() {
            if self.snapshot.search == SearchChoice::Auto {
                choices.iter().take(NEAR).for_each(|choice| self.out(choice, found::off(self.snapshot)));
            }
            return;
        }
        let most = usize::try_from(limits.cards).unwrap_or(usize::MAX).min(choices.len());
        let (offered, beyond) = choices.split_at(most);
        let candidates = (0..).zip(offered).map(|(rank, choice)| {
            let block = self.made(choice);
            Candidate::plain(block, rank, ("include-once", "includes it in the next request"))
        });
        let candidates: Vec<Candidate> = candidates.collect();
        if !candidates.is_empty() {
            self.found.offer(Offer::new(None, candidates, LIMIT));
        }
        beyond.iter().take(NEAR).for_each(|choice| self.out(choice, Reason::BelowThreshold));
    }

    /// Adds a pinned memory as its mark requires.
    fn block(&mut self, choice: &MemoryDecision<'_>) {
        let block = self.made(choice);
        let input = &mut self.found.input;
        let frozen =
            Fields::new("remembered").hash(input.basis.frozen).hash(block.text).number(u64::from(block.tokens));
        input.basis.frozen = frozen.json(&block.section).finish();
        input.blocks.push(block);
    }

    fn made(&mut self, choice: &MemoryDecision<'_>) -> Block {
        let counted = self.found.contents.add_block(text_of(choice.memory), self.count);
        Block {
            atom: Some(choice.memory.atom()),
            source: source(self.snapshot, choice.memory),
            scores: scores(choice.score),
            ..Block::new(choice.section, RowKind::Memory, counted, &title(choice.memory), choice.reason.clone())
        }
    }

    fn out(&mut self, choice: &MemoryDecision<'_>, reason: Reason) {
        let tokens = (self.count)(&text_of(choice.memory));
        let choice = MemoryDecision { reason, ..*choice };
        let remedy = ("include-once", "includes it in the next request");
        self.found.input.near.push(near(self.snapshot, &choice, tokens, remedy));
    }
}

/// Returns the memories that could be sent, in the order in which they are tried.
fn ranked_decisions<'a>(known: &'a [MemoryTerms], free: &[bool], asked: &str) -> Vec<MemoryDecision<'a>> {
    let is_always_sent = |one: &MemoryTerms| {
        let memory = &one.memory;
        memory.kind == MemoryKind::Preference
            && memory.scope == Scope::All
            && memory.text.chars().count() <= MAX_PREFERENCE_LENGTH
    };
    let mut always: Vec<usize> = (0..known.len()).filter(|at| free[*at] && is_always_sent(&known[*at])).collect();
    if always.len() > MAX_PREFERENCES {
        always.clear();
    }
    let fits = ranked(known, asked).into_iter().filter(|(score, at)| *score >= MIN_SCORE && free[*at]);
    let fits: Vec<(u32, usize)> = fits.filter(|(_, at)| !always.contains(at)).collect();
    let choice = |at: usize, reason: Reason, score: Option<u32>| MemoryDecision {
        memory: &known[at].memory,
        section: Section::Retrieved,
        reason,
        score,
    };
    let always = always.into_iter().map(|at| choice(at, Reason::Memory { always: true }, None));
    always
        .chain(fits.into_iter().map(|(score, at)| choice(at, Reason::Memory { always: false }, Some(score))))
        .collect()
}

/// Returns a memory as it is sent.
fn text_of(memory: &Memory) -> String {
    let (kind, day) = (memory.kind.name(), date(memory.updated_at));
    render_forms::fenced(&format!("Remembered {kind}, confirmed by the user, {day}"), &memory.text)
}

fn title(memory: &Memory) -> String {
    format!("{}: {}", memory.kind.name(), memory.text)
}

fn source(snapshot: &Snapshot, memory: &Memory) -> Source {
    let session = memory.source.session;
    let branch = session.filter(|id| *id == snapshot.session).map(|_| snapshot.branch.id);
    Source { session, branch, at: Some(memory.updated_at), ..Source::default() }
}

fn scores(score: Option<u32>) -> Scores {
    let milli = score.and_then(|score| i32::try_from(score * 10).ok());
    Scores { score: milli, parts: milli.map(|milli| ("words".to_owned(), milli)).into_iter().collect() }
}

fn near(snapshot: &Snapshot, choice: &MemoryDecision<'_>, tokens: u32, remedy: (&str, &str)) -> OmittedItem {
    let (memory, reason) = (choice.memory, choice.reason.clone());
    let item = OmittedItem::new(memory.atom(), RowKind::Memory, &title(memory), tokens, reason, remedy);
    OmittedItem { source: source(snapshot, memory), scores: scores(choice.score), ..item }
}

#[cfg(test)]
mod tests {
    use super::super::memory_terms::known;
    use super::*;
    use crate::domain::base::ids::MemoryId;
    use crate::domain::conversation::mark::Actor;
    use crate::domain::conversation::memory::{MemoryStatus, Origin};
    use uuid::Uuid;

    fn all(texts: &[(MemoryKind, &str)]) -> Vec<MemoryTerms> {
        let made = texts.iter().map(|(kind, text)| Memory {
            id: MemoryId(Uuid::now_v7()),
            kind: *kind,
            text: (*text).into(),
            scope: Scope::All,
            lane: String::new(),
            source: Origin { session: None, node: None, by: Actor::User },
            status: MemoryStatus::Confirmed,
            version: 1,
            created_at: 0,
            updated_at: 0,
        });
        known(made.collect())
    }

    const FACTS: &[(MemoryKind, &str)] = &[
        (MemoryKind::Fact, "The staging proxy listens on port 48213"),
        (MemoryKind::Fact, "The user is allergic to peanuts"),
        (MemoryKind::Outcome, "The nightly backup failed because the disk was full"),
        (MemoryKind::Event, "The office moved to Lisbon"),
    ];

    fn best(text: &str) -> Vec<usize> {
        ranked(&all(FACTS), text).into_iter().filter(|(score, _)| *score >= MIN_SCORE).map(|(_, at)| at).collect()
    }

    #[test]
    fn only_matching_memories_are_found() {
        assert_eq!(best("Which port does the staging proxy use?"), [0]);
        assert_eq!(best("Suggest a snack without peanuts, please."), [1]);
        assert_eq!(best("Why did the backups fail?"), [2]);
        assert_eq!(best("Thanks, go on."), Vec::<usize>::new());
        assert_eq!(best("Tell me of the history of tea."), Vec::<usize>::new());
        assert_eq!(best(""), Vec::<usize>::new());
        assert_eq!(ranked(&all(FACTS), "What grows in Peru?"), [], "no word in common");
    }

    #[test]
    fn a_few_short_preferences_are_always_sent() {
        let few: Vec<(MemoryKind, &str)> = [FACTS, &[(MemoryKind::Preference, "Short answers")]].concat();
        let known = all(&few);
        let chosen_of = |known: &[MemoryTerms], text: &str| {
            let free = vec![true; known.len()];
            ranked_decisions(known, &free, text).iter().map(|choice| choice.memory.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(chosen_of(&known, "Tell me of the history of tea."), ["Short answers"]);
        let many: Vec<(MemoryKind, &str)> =
            ["a", "b", "c", "d"].iter().map(|text| (MemoryKind::Preference, *text)).collect();
        assert!(chosen_of(&all(&many), "Tell me of the history of tea.").is_empty());
    }

    #[test]
    fn the_title_of_a_row_contains_the_memory() {
        let known = all(FACTS);
        let titles: Vec<String> = known.iter().map(|known| title(&known.memory)).collect();
        for ((kind, text), title) in FACTS.iter().zip(&titles) {
            assert!(title.starts_with(kind.name()) && title.ends_with(text), "{title}");
        }
    }

    #[test]
    fn scores_are_hundredths() {
        assert_eq!([-1.0, 0.0, 0.004, 0.005, 0.5, 0.994, 1.0, 7.0].map(hundredths), [0, 0, 0, 1, 50, 99, 100, 100]);
        let whole = ranked(&all(FACTS), "The user is allergic to peanuts");
        assert_eq!(whole.first(), Some(&(100, 1)));
        assert!(whole.iter().all(|(score, _)| (1..=100).contains(score)), "{whole:?}");
    }
}
