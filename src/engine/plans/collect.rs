//! Collects everything that a plan is solved from: the messages of the snapshot, then the candidates of each source.
//! Not for: fetching and counting (`input_builder`), the candidates of a source (`sources`), or deciding which
//! candidates fit (`context`).

use super::input::InputAssembly;
use super::input_builder::{BuiltInput, InputBuilder};
use super::snapshot::Snapshot;
use super::sources::{code, error_pairs, memory, retrieval, rules, subjects, suggested_pins, summaries};
use crate::context;
use crate::domain::base::{Failure, Fields, Hash};
use crate::domain::conversation::NodeHead;
use crate::domain::planning::{SummaryInput, Warning};
use crate::engine::branches::undo::stored_anchor_for_summaries;

impl InputBuilder {
    /// Collects a plan's input. If the model's own tokenizer cannot be loaded, another encoding counts and a warning
    /// says so.
    pub(crate) fn collect(&mut self, snapshot: &Snapshot) -> Result<BuiltInput, Failure> {
        let (instead, why) = self.counter().settle(snapshot.rules.model.encoding);
        let Some(why) = why else { return self.collect_counted(snapshot) };
        let mut settled = snapshot.clone();
        settled.rules.model.encoding = instead;
        let mut built = self.collect_counted(&settled)?;
        built.input.warnings.push(Warning::TokenizerUnused { why, instead });
        Ok(built)
    }

    /// Collects the input. With summaries, also collects the input without the newest one, for which other items may be
    /// found, and returns that one if its plan is smaller or contains more turns: an accepted summary never makes a
    /// request larger. Later rounds of a turn keep the summaries of its first, unless more was searched because a
    /// summary lacks what the question names.
    fn collect_counted(&mut self, snapshot: &Snapshot) -> Result<BuiltInput, Failure> {
        let (built, reopened) = self.collect_once(snapshot)?;
        let covers = |by: Hash| built.input.covered.iter().any(|covered| covered.by == by);
        // A summary of another lane that the question names takes free room.
        let is_limited = |one: &&SummaryInput| reopened || !one.named || (covers(one.by) && !one.elsewhere);
        let newest = built.input.summaries.iter().rfind(is_limited).map(|newest| newest.by);
        let retains = context::retains_summaries(&built.input);
        let is_first_round = snapshot.round_before.is_none();
        let without = newest.filter(|_| reopened || is_first_round).and_then(|newest| snapshot.without_summary(newest));
        let Some((mut snapshot, newest)) = without else { return Ok(built) };
        if retains && is_first_round {
            // The window of the last request was chosen with the summary. Undoing the summary restores the one before.
            let summaries = &snapshot.branch.summaries;
            let (known, anchor) = stored_anchor_for_summaries(self.store(), snapshot.branch.id, summaries)?;
            snapshot.branch.anchor = anchor.filter(|_| known);
        }
        let mut without = self.collect_counted(&snapshot)?;
        let Some(why) = context::why_worse(&built.input, &without.input) else { return Ok(built) };
        without.input.near.push(summaries::omitted(&newest, why));
        without.input.basis.frozen =
            Fields::new("saves nothing").hash(without.input.basis.frozen).hash(newest.id).finish();
        Ok(without)
    }

    /// Collects the input. Also returns whether turns are searched only because a summary lacks what the question names.
    fn collect_once(&mut self, snapshot: &Snapshot) -> Result<(BuiltInput, bool), Failure> {
        let joins = snapshot.rules.profile.dialect.strict_alternation;
        let heads: Vec<&NodeHead> =
            snapshot.turns.iter().chain([&snapshot.open]).flat_map(|turn| &turn.heads).collect();
        self.prepare(&heads, snapshot.rules.model.encoding, joins)?;
        let question = retrieval::question(self, snapshot)?;
        let mut built = InputAssembly::new(self, snapshot, question.as_deref().unwrap_or_default()).build()?;
        built.input.allowance = retrieval::limits(snapshot).retrieval_tokens;
        rules::add(self, snapshot, &mut built)?;
        built.contents.subject = subjects::place(self, snapshot, question.as_deref())?;
        memory::add(self, snapshot, question.as_deref(), &mut built)?;
        let search = code::add(self, snapshot, question.as_deref(), &mut built)?;
        // Sources must not repeat what the request contains anyway.
        let already_in = context::already_in(&built.input, search.is_some());
        if let Some(already_in) = &already_in {
            error_pairs::add(self, snapshot, already_in, &mut built)?;
            if let Some(search) = search {
                search.add(self, snapshot, already_in, &mut built)?;
            }
            retrieval::add(self, snapshot, question, already_in, &mut built)?;
        }
        suggested_pins::add(snapshot, &mut built.input);
        Ok((built, already_in.is_some_and(|already_in| already_in.reopened)))
    }
}
