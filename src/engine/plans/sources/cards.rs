//! Converts retrieved messages to an offer and omitted items of a plan's input, and to the retrieval set that is
//! stored once it is known which messages the plan sends.
//! Not for: the search (`retrieval`).

use super::card_text::CardSettings;
use super::retrieval::{NEAR, RetrievedCards, nothing, turn_at};
use crate::context::render::render_forms;
use crate::domain::base::{Fields, Hash};
use crate::domain::call::{Evidence, Gate, MissReason, NearMiss, RetrievalSet, ScoreParts, SkipReason};
use crate::domain::conversation::{Atom, NodeHead};
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Block, Candidate, ContextPlan, Offer, OfferLimit, OmittedItem, Preceding, Row, RowKind, Scores, Section,
};
use crate::engine::indexing::messages::PathIndex;
use crate::engine::plans::input_builder::{BuiltInput, Contents};
use crate::engine::plans::labels::search_atom;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::compose::{Card, UnsentHit};
use std::collections::HashMap;

/// Converts retrieved messages to parts of a plan's input.
pub(crate) struct Cards<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) path_index: &'a PathIndex<'a>,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

impl Cards<'_> {
    pub(crate) fn put(&self, found: &mut BuiltInput, result: &RetrievedCards) {
        let cluster = found.contents.subject.map(|subject| subject.id);
        let set = RetrievalSet { cluster, ..set(result, self.path_index, &self.snapshot.rules.mode) };
        let input = &mut found.input;
        let frozen = Fields::new("looked up").hash(input.basis.frozen).hash(set.id).json(&set.gate);
        input.basis.frozen = frozen.finish();
        if let Gate::Skipped(why) = result.gate {
            input.near.push(nothing(Reason::NotSearched { because: why }, result.among as usize));
        } else if result.composed.cards.is_empty() {
            input.near.push(nothing(Reason::NotSearched { because: SkipReason::Faint }, result.among as usize));
            input.near.extend(result.composed.near.iter().filter_map(|near| self.near(near)));
        } else {
            let offer = self.offered(found, result);
            found.contents.round_parts.cards = Some(offer.clone());
            found.offer(offer);
        }
        if !matches!(result.gate, Gate::Skipped(_)) {
            found.contents.search = Some(set);
        }
    }

    /// Returns the offer: the heading, then the cards, between delimiters that do not occur in them.
    fn offered(&self, found: &mut BuiltInput, result: &RetrievedCards) -> Offer {
        let all: String = result.composed.cards.iter().map(|card| card.text(Preceding::Other)).collect();
        let mark = render_forms::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let title = format!("found among {} older messages", result.among);
        let counted = found.contents.add_block(heading, self.count);
        let (title, scores) = super::subjects::heading_with_subject(title, found.contents.subject);
        let reason = Reason::Searched { among: result.among };
        let heading = Block {
            atom: Some(search_atom()),
            scores,
            ..Block::new(Section::Retrieved, RowKind::Search, counted, &title, reason)
        };
        let tail = format!("{mark}>>>\n\n");
        let tail = (tail.as_str(), (self.count)(&tail));
        let cards = result.composed.cards.iter().filter_map(|card| self.card(found, card, tail)).collect();
        Offer {
            others: result.composed.near.iter().filter_map(|near| self.near(near)).collect(),
            most_rows: Some(NEAR),
            ..Offer::new(Some(heading), cards, OfferLimit::WHOLE_ALLOWANCE)
        }
    }

    /// Returns a card as a candidate, with its text for each position.
    fn card(&self, found: &mut BuiltInput, card: &Card, tail: (&str, u32)) -> Option<Candidate> {
        let facts = self.path_index.card_facts(&card.key)?;
        let one = card.candidate(tail, &mut |hash, text| {
            let settings = CardSettings::of(facts.id, card.key, &text, &facts.text, &card.spans);
            found.contents.card_settings.insert(hash, settings);
            found.contents.blocks.insert(hash, text.into());
        });
        let first = card.spans.first().cloned().unwrap_or_default();
        let block = Block {
            source: self.snapshot.source(card.position, facts.id, facts.external_id, Some(card.span())),
            scores: scores(card.score, &card.parts),
            title: NodeHead::preview_of(facts.text.get(first).unwrap_or_default()),
            ..one.block
        };
        Some(Candidate { block, turn: turn_at(self.snapshot, &found.input, card.position), ..one })
    }

    fn near(&self, near: &UnsentHit) -> Option<OmittedItem> {
        let facts = self.path_index.card_facts(&near.key)?;
        let passage = facts.text.get(near.span.clone()).unwrap_or_default();
        let reason = match near.why {
            MissReason::Duplicate => Reason::Duplicate,
            MissReason::Below | MissReason::NoRoom { .. } => Reason::BelowThreshold,
            MissReason::Unrelated => Reason::Unrelated,
        };
        let span = Some((short(near.span.start), short(near.span.end)));
        let (atom, title) = (Atom::Message { node: near.key }, NodeHead::preview_of(passage));
        let remedy = ("include-once", "includes its turn in the next request");
        Some(OmittedItem {
            source: self.snapshot.source(near.position, facts.id, facts.external_id, span),
            scores: scores(near.score, &near.parts),
            ..OmittedItem::new(atom, RowKind::Card, &title, (self.count)(passage), reason, remedy)
        })
    }
}

/// Records in the retrieval set of a search which messages the plan sends, and adds the id of the set to the plan.
pub(crate) fn record_search(contents: &mut Contents, plan: &mut ContextPlan, allowance: u32) {
    let Some(mut set) = contents.search.take() else { return };
    let cards = |row: &&Row| row.kind == RowKind::Card && matches!(row.atom, Atom::Message { .. });
    let included = plan.included().filter(cards).filter(|row| row.section() == Some(Section::Retrieved));
    let tokens: HashMap<(Atom, Option<(u32, u32)>), u32> =
        included.map(|row| ((row.atom, row.source.span), row.tokens)).collect();
    let reasons: HashMap<Atom, &Reason> = plan.excluded().filter(cards).map(|row| (row.atom, &row.reason)).collect();
    let retrieved = plan.included().filter(|row| row.section() == Some(Section::Retrieved));
    let left = allowance.saturating_sub(retrieved.map(|row| row.tokens).sum());
    let why = |near: &NearMiss| match (reasons.get(&Atom::Message { node: near.key }), near.why) {
        (Some(Reason::Duplicate), _) => MissReason::Duplicate,
        (Some(Reason::Superseded { .. }), _) => MissReason::Below,
        (_, MissReason::NoRoom { missing }) => MissReason::NoRoom { missing: missing.saturating_sub(left).max(1) },
        (_, why) => why,
    };
    let of_item = |item: &Evidence| tokens.get(&(Atom::Message { node: item.key }, Some(item.span))).copied();
    set.record_sent(&of_item, &why, NEAR);
    plan.retrieval_set_ids.push(set.id);
    contents.sets.push(set);
}

fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the retrieval set before it is known which messages are sent.
pub(crate) fn set(
    result: &RetrievedCards,
    path_index: &PathIndex<'_>,
    filters: &impl serde::Serialize,
) -> RetrievalSet {
    let text = |key: &Hash| path_index.card_facts(key).map(|facts| Hash::of(facts.text.as_bytes())).unwrap_or_default();
    let filters = Fields::new("filters").json(filters).finish();
    let set = result.composed.record(result.gate, &result.query, filters, &text);
    RetrievalSet { embedder: result.embedder.clone(), ..set }
}

/// Converts a score with its parts to thousandths.
pub(crate) fn scores(score: f32, parts: &ScoreParts) -> Scores {
    let named = [
        ("bm25", parts.bm25),
        ("feedback", parts.feedback),
        ("smooth", parts.smooth),
        ("sitting", parts.sitting),
        ("speaker", parts.speaker),
        ("prior", parts.prior),
        ("cos", parts.cos),
    ];
    in_thousandths(score, &named)
}

/// Converts a score with its named parts to thousandths, without parts that are 0.
pub(crate) fn in_thousandths(score: f32, named: &[(&str, f32)]) -> Scores {
    let parts = named.iter().filter(|(_, part)| *part != 0.0).map(|(name, part)| ((*name).to_owned(), milli(*part)));
    Scores { score: Some(milli(score)), parts: parts.collect() }
}

#[allow(clippy::cast_possible_truncation, reason = "scores are small; larger ones are clamped")]
fn milli(score: f32) -> i32 {
    (score * 1_000.0).round() as i32
}
