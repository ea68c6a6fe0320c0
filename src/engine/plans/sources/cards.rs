//! Converts retrieved messages to an offer and omitted items of a plan's input, and to the retrieval set that is
//! stored.
//! Not for: the search (`retrieval`).

use super::card_text::CardSettings;
use super::retrieval::{RetrievedCards, nothing, turn_at};
use crate::context::render::render_forms;
use crate::domain::base::{Fields, Hash};
use crate::domain::call::{Gate, MissReason, RetrievalSet, ScoreParts, SkipReason};
use crate::domain::conversation::{Atom, NodeHead};
use crate::domain::planning::plan::Reason;
use crate::domain::planning::{Block, Candidate, Offer, OfferLimit, OmittedItem, RowKind, Scores, Section};
use crate::engine::indexing::messages::{PathIndex, together};
use crate::engine::plans::input_builder::BuiltInput;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::fill::Card;

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
        } else if result.filled.cards.is_empty() {
            let is_cut = result.filled.near.iter().any(|near| matches!(near.why, MissReason::NoRoom { .. }));
            let (tokens, (action, does)) = (input.allowance, input.budget.remedy());
            let because = SkipReason::Faint;
            let reason = if is_cut { Reason::Allowance { tokens } } else { Reason::NotSearched { because } };
            let row = nothing(reason, result.among as usize);
            let remedy = if is_cut { (action.to_owned(), does.to_owned()) } else { row.remedy.clone() };
            input.near.push(OmittedItem { remedy, ..row });
        } else {
            let offer = self.offered(found, result);
            found.contents.round_parts.cards = Some(offer.clone());
            found.offer(offer);
        }
        let input = &mut found.input;
        let most = input.allowance;
        input.near.extend(result.filled.near.iter().filter_map(|near| self.near(near, most)));
        if !matches!(result.gate, Gate::Skipped(_)) {
            input.retrieval_set_ids.push(set.id);
            found.contents.sets.push(set);
        }
    }

    /// Returns the offer: the heading, then the cards, between delimiters that do not occur in them.
    fn offered(&self, found: &mut BuiltInput, result: &RetrievedCards) -> Offer {
        let all: String = result.filled.cards.iter().map(|card| card.text.as_str()).collect();
        let mark = render_forms::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let count = result.filled.cards.len();
        let title = format!("{count} found among {} older messages", result.among);
        let counted = found.contents.add_block(heading, self.count);
        let (title, scores) = super::subjects::heading_with_subject(title, found.contents.subject);
        let reason = Reason::Searched { among: result.among };
        let heading = Block {
            atom: Some(Atom::Section { text: Hash::of(b"search") }),
            scores,
            ..Block::new(Section::Retrieved, RowKind::Search, counted, &title, reason)
        };
        let tail = format!("{mark}>>>\n\n");
        let cards = result.filled.cards.iter().filter_map(|card| self.card(found, card, &tail)).collect();
        Offer { heading: Some(heading), candidates: cards, limit: OfferLimit::Allowance(found.input.allowance) }
    }

    /// Returns a card as a candidate, with its text for each place: after another card of its group or alone, in the
    /// middle or last.
    fn card(&self, found: &mut BuiltInput, card: &Card, tail: &str) -> Option<Candidate> {
        let facts = self.path_index.card_facts(&card.key)?;
        let span = card.spans.first().zip(card.spans.last()).map(|(first, last)| (short(first.start), short(last.end)));
        let first = card.spans.first().cloned().unwrap_or_default();
        let texts =
            [card.text.clone(), format!("{}{tail}", card.text), card.alone.clone(), format!("{}{tail}", card.alone)];
        let texts = texts.map(|text| {
            let settings = CardSettings::of(facts.id, card.key, &text, &facts.text, &card.spans);
            let counted = found.contents.add_block(text, self.count);
            found.contents.card_settings.insert(counted.0, settings);
            counted
        });
        let title = NodeHead::preview_of(facts.text.get(first).unwrap_or_default());
        let reason = Reason::Retrieved { rank: card.rank };
        let block = Block {
            atom: Some(Atom::Message { node: card.key }),
            source: self.snapshot.source(card.position, facts.id, facts.external_id, span),
            scores: scores(card.score, &card.parts),
            ..Block::new(Section::Retrieved, RowKind::Card, texts[0], &title, reason)
        };
        let run = together(&self.snapshot.path.nodes[..self.snapshot.open_at], card.position);
        let turn = turn_at(self.snapshot, &found.input, card.position);
        let one = Candidate::plain(block, card.rank, ("include-once", "includes its turn in the next request"));
        Some(Candidate { texts, together: u32::try_from(run.start).unwrap_or(u32::MAX), turn, ..one })
    }

    fn near(&self, near: &crate::retrieval::fill::UnsentHit, most: u32) -> Option<OmittedItem> {
        let facts = self.path_index.card_facts(&near.key)?;
        let passage = facts.text.get(near.span.clone()).unwrap_or_default();
        let reason = match near.why {
            MissReason::NoRoom { .. } => Reason::Allowance { tokens: most },
            MissReason::Duplicate => Reason::Duplicate,
            MissReason::Below => Reason::BelowThreshold,
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

fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the retrieval set as it is stored.
pub(crate) fn set(
    result: &RetrievedCards,
    path_index: &PathIndex<'_>,
    filters: &impl serde::Serialize,
) -> RetrievalSet {
    let text = |key: &Hash| path_index.card_facts(key).map(|facts| Hash::of(facts.text.as_bytes())).unwrap_or_default();
    let filters = Fields::new("filters").json(filters).finish();
    let set = result.filled.record(result.gate, &result.query, filters, &text);
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
