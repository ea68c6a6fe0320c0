//! Collects the input of a plan: the messages of the snapshot, then the candidates of every source in turn.
//! Not for: fetching and counting (`input_builder`), the offers of a source (`sources`), or admission (`context`).

use super::input::Work;
use super::input_builder::{BuiltInput, InputBuilder};
use super::snapshot::Snapshot;
use super::sources::{code, error_pairs, memory, retrieval, rules, subjects, suggested_pins};
use crate::context;
use crate::domain::base::failure::Failure;
use crate::domain::conversation::message::NodeHead;
use crate::domain::planning::plan::Warning;

impl InputBuilder {
    /// Collects a plan's input. If the model's own tokenizer cannot be used, another vocabulary counts, and a warning
    /// reports that.
    pub(crate) fn collect(&mut self, snapshot: &Snapshot) -> Result<BuiltInput, Failure> {
        let (instead, why) = self.counter().settle(snapshot.rules.model.encoding);
        let Some(why) = why else { return self.collect_counted(snapshot) };
        let mut settled = snapshot.clone();
        settled.rules.model.encoding = instead;
        let mut found = self.collect_counted(&settled)?;
        found.input.warnings.push(Warning::TokenizerUnused { why, instead });
        Ok(found)
    }

    fn collect_counted(&mut self, snapshot: &Snapshot) -> Result<BuiltInput, Failure> {
        let joins = snapshot.rules.profile.dialect.strict_alternation;
        let heads: Vec<&NodeHead> =
            snapshot.turns.iter().chain([&snapshot.open]).flat_map(|turn| &turn.heads).collect();
        self.prepare(&heads, snapshot.rules.model.encoding, joins)?;
        let asked = retrieval::asked(self, snapshot)?;
        let mut found = Work::new(self, snapshot, asked.as_deref().unwrap_or_default()).assemble()?;
        found.input.allowance = retrieval::limits(snapshot).retrieval_tokens;
        rules::add(self, snapshot, &mut found)?;
        found.contents.subject = subjects::place(self, snapshot, asked.as_deref())?;
        memory::add(self, snapshot, asked.as_deref(), &mut found)?;
        let search = code::add(self, snapshot, asked.as_deref(), &mut found)?;
        // Turns that are sent in any case are not searched; this is the only decision before the plan is solved.
        if let Some(already_in) = context::already_in(&found.input, found.input.allowance) {
            error_pairs::add(self, snapshot, &already_in, &mut found)?;
            if let Some(search) = search {
                search.add(self, snapshot, &already_in, &mut found)?;
            }
            retrieval::add(self, snapshot, asked, &already_in, &mut found)?;
        }
        suggested_pins::add(snapshot, &mut found.input);
        Ok(found)
    }
}
