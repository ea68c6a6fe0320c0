//! What was found, as blocks and rows of a plan's input and as the set that is stored.
//! Not for: looking (`retrieval`).

use super::card_text::Recipe;
use super::retrieval::{Looked, nothing, source};
use crate::context::render_forms;
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::call::retrieval_set::{Gate, MissWhy, RetrievalSet, ScoreParts, SkipWhy};
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::NodeHead;
use crate::domain::planning::input::{Block, Near};
use crate::domain::planning::plan::{Reason, RowKind, Scores, Source};
use crate::domain::planning::policy::Section;
use crate::engine::indexing::messages::Library;
use crate::engine::plans::input_builder::Gathered;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::fill::Card;

/// Writes what was found.
pub(crate) struct Cards<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) library: &'a Library<'a>,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

impl Cards<'_> {
    pub(crate) fn put(&self, found: &mut Gathered, looked: &Looked) {
        let cluster = found.bag.subject.map(|subject| subject.id);
        let set = RetrievalSet { cluster, ..set(looked, self.library, &self.snapshot.rules.mode) };
        let input = &mut found.input;
        let before = input.basis.frozen;
        let mut frozen = Fields::new("looked up").hash(before).hash(set.id).json(&set.gate);
        if let Gate::Skipped(why) = looked.gate {
            input.near.push(nothing(Reason::NotSearched { because: why }, looked.among as usize));
        } else if looked.filled.cards.is_empty() {
            input.near.push(nothing(Reason::NotSearched { because: SkipWhy::Faint }, looked.among as usize));
        } else {
            for block in self.blocks(found, looked) {
                frozen = frozen.hash(block.text).number(u64::from(block.tokens));
                found.input.blocks.push(block);
            }
        }
        let input = &mut found.input;
        input.near.extend(looked.filled.near.iter().filter_map(|near| self.near(near)));
        input.basis.frozen = frozen.finish();
        if !matches!(looked.gate, Gate::Skipped(_)) {
            input.retrieval_set_ids.push(set.id);
            found.bag.sets.push(set);
        }
    }

    /// The heading, then the cards, between delimiters that do not occur in them.
    fn blocks(&self, found: &mut Gathered, looked: &Looked) -> Vec<Block> {
        let all: String = looked.filled.cards.iter().map(|card| card.text.as_str()).collect();
        let mark = render_forms::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let count = looked.filled.cards.len();
        let title = match looked.gate {
            Gate::Inherited(_) => format!("{count} found, as for: {}", NodeHead::preview_of(&looked.query)),
            Gate::Pass(_) | Gate::Skipped(_) => format!("{count} found among {} older messages", looked.among),
        };
        let mut blocks = vec![self.block(found, heading, RowKind::Search, Reason::Searched { among: looked.among })];
        (blocks[0].title, blocks[0].scores) = super::subjects::told(title, found.bag.subject);
        blocks[0].atom = Some(Atom::Section { text: Hash::of(b"search") });
        for (place, card) in looked.filled.cards.iter().enumerate() {
            let last = if place + 1 == count { format!("{mark}>>>\n\n") } else { String::new() };
            let Some(block) = self.card(found, card, &last) else { continue };
            blocks.push(block);
        }
        blocks
    }

    fn card(&self, found: &mut Gathered, card: &Card, tail: &str) -> Option<Block> {
        let told = self.library.told(&card.key)?;
        let text = format!("{}{tail}", card.text);
        let recipe = Recipe::of(told.id, card.key, &text, &told.text, &card.spans);
        let span = card.spans.first().zip(card.spans.last()).map(|(first, last)| (short(first.start), short(last.end)));
        let first = card.spans.first().cloned().unwrap_or_default();
        let mut block = self.block(found, text, RowKind::Card, Reason::Retrieved { rank: card.rank });
        found.bag.recipes.insert(block.text, recipe);
        block.title = NodeHead::preview_of(told.text.get(first).unwrap_or_default());
        block.atom = Some(Atom::Message { node: card.key });
        block.source = source(self.snapshot, card.position, told.id, told.external_id, span);
        block.scores = scores(card.score, &card.parts);
        Some(block)
    }

    fn block(&self, found: &mut Gathered, text: String, kind: RowKind, reason: Reason) -> Block {
        let hash = Hash::of(text.as_bytes());
        let tokens = (self.count)(&text);
        found.bag.blocks.insert(hash, text.into());
        Block {
            section: Section::Retrieved,
            kind,
            text: hash,
            tokens,
            title: String::new(),
            reason,
            atom: None,
            source: Source::default(),
            scores: Scores::default(),
        }
    }

    fn near(&self, near: &crate::retrieval::fill::Near) -> Option<Near> {
        let told = self.library.told(&near.key)?;
        let passage = told.text.get(near.span.clone()).unwrap_or_default();
        let reason = match near.why {
            MissWhy::NoRoom { missing } => Reason::Budget { free: (self.count)(passage).saturating_sub(missing) },
            MissWhy::Duplicate => Reason::Duplicate,
            MissWhy::Below => Reason::BelowThreshold,
        };
        let span = Some((short(near.span.start), short(near.span.end)));
        Some(Near {
            atom: Atom::Message { node: near.key },
            kind: RowKind::Card,
            title: NodeHead::preview_of(passage),
            tokens: (self.count)(passage),
            reason,
            remedy: ("include-once".into(), "includes its turn in this call".into()),
            source: source(self.snapshot, near.position, told.id, told.external_id, span),
            scores: scores(near.score, &near.parts),
        })
    }
}

fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The set as it is stored.
pub(crate) fn set(looked: &Looked, library: &Library<'_>, filters: &impl serde::Serialize) -> RetrievalSet {
    let text = |key: &Hash| library.told(key).map(|told| Hash::of(told.text.as_bytes())).unwrap_or_default();
    let filters = Fields::new("filters").json(filters).finish();
    let set = looked.filled.record(looked.gate, &looked.query, filters, &text);
    RetrievalSet { embedder: looked.embedder.clone(), ..set }
}

/// A score with its parts, in thousandths.
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
    let parts = named.iter().filter(|(_, part)| *part != 0.0).map(|(name, part)| ((*name).to_owned(), milli(*part)));
    Scores { score: Some(milli(score)), parts: parts.collect() }
}

#[allow(clippy::cast_possible_truncation, reason = "scores are small; what is not is held at the ends")]
fn milli(score: f32) -> i32 {
    (score * 1_000.0).round() as i32
}
