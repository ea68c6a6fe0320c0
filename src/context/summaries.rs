//! Summaries in a plan: which turns they stand for, whether they are used, and their row where they are not.
//! Not for: which capsule is offered (`engine`) or the window itself (`window`).

use crate::domain::base::hash::Hash;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::input::{Block, Gap, PlanInput};
use crate::domain::planning::plan::{Budget, Reason, Remedy, Row, RowKind, Verdict};
use std::collections::HashMap;

/// See the module.
pub(super) struct Summed {
    /// For each turn: the capsule that stands for it.
    pub(super) by: Vec<Option<Hash>>,
    /// Turns before this index go by a summary; they are not in the window.
    pub(super) floor: usize,
    gaps: HashMap<Hash, Hash>,
    offered: bool,
    idle: Option<Reason>,
}

impl Summed {
    pub(super) fn new(input: &PlanInput) -> Self {
        let covered: HashMap<(Hash, Hash), Hash> = input.covered.iter().map(|c| ((c.user, c.tip), c.by)).collect();
        let by: Vec<Option<Hash>> = input
            .turns
            .iter()
            .map(|turn| match turn.atom {
                Atom::Turn { user, tip } => covered.get(&(user, tip)).copied(),
                _ => None,
            })
            .collect();
        let gaps: HashMap<Hash, Hash> = input.covered.iter().map(|c| (c.tip, c.by)).collect();
        let behind = input.gaps.iter().filter(|gap| gaps.contains_key(&gap.range.1)).map(|gap| gap.before).max();
        let floor = by.iter().rposition(Option::is_some).map_or(0, |at| at + 1).max(behind.unwrap_or(0));
        let offered = input.blocks.iter().any(|block| block.kind == RowKind::Summary);
        Self { by, floor, gaps, offered, idle: None }
    }

    /// The same, none of it used.
    pub(super) fn idle(&self, why: Reason) -> Self {
        Self { by: vec![None; self.by.len()], floor: 0, gaps: HashMap::new(), offered: self.offered, idle: Some(why) }
    }

    /// There is no summary.
    pub(super) fn none(&self) -> bool {
        !self.offered
    }

    /// Whether a window that starts there, without summaries, leaves out a turn for which there is one.
    pub(super) fn lost(input: &PlanInput, start: usize) -> bool {
        let first = |covered: &crate::domain::planning::input::Covered| {
            input.turns.iter().position(|turn| turn.atom == Atom::Turn { user: covered.user, tip: covered.tip })
        };
        input.covered.iter().any(|covered| first(covered).is_none_or(|at| at < start))
    }

    /// The capsule that stands for a gap.
    pub(super) fn gap(&self, gap: &Gap) -> Option<Hash> {
        self.gaps.get(&gap.range.1).copied()
    }

    /// Whether this block is a summary that is not used.
    pub(super) fn leaves_out(&self, block: &Block) -> bool {
        self.idle.is_some() && block.kind == RowKind::Summary
    }

    /// The row of a summary that is not used.
    pub(super) fn row(&self, row: Row, free: u32, budget: &Budget) -> Option<Row> {
        let (reason, (action, does)) = match self.idle.clone()? {
            Reason::Budget { .. } => (Reason::Budget { free }, budget.remedy()),
            other => (other, ("cycle-mode", "takes a mode in which summaries go")),
        };
        let remedy = Remedy { action: action.into(), does: does.into(), pushes_out: 0, pushes_turns: 0 };
        let verdict = Verdict::Out { needed: row.tokens.saturating_sub(free), remedy: Some(remedy) };
        Some(Row { verdict, reason, ..row })
    }
}
