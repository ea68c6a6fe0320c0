//! The plan of the next request as displayed, and when it must be recomputed.
//! Not for: computing it (the engine), or the overlay's rows (`screens::request::model`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::meter::Calibration;
use crate::domain::planning::draft::{Draft, Planned};
use crate::domain::planning::plan::{Blocked, ContextPlan};
use std::sync::Arc;

/// How long typing must pause before a plan is requested, in milliseconds.
pub const REST: u64 = 60;

/// The displayed plan, and its origin.
#[derive(Clone, PartialEq, Debug)]
pub struct DisplayedPlan {
    /// The generation that requested it.
    pub generation: u64,
    /// The branch.
    pub branch: BranchId,
    /// The draft.
    pub draft: Draft,
    /// The plan, or why there is none.
    pub solved: Planned,
}

/// The state of planning.
#[derive(Clone, Debug, Default)]
pub struct PlanState {
    /// The newest requested generation.
    pub generation: u64,
    /// Its branch and draft.
    pub asked: Option<(BranchId, Draft)>,
    /// When the draft is planned, after typing has paused.
    pub due: Option<u64>,
    /// The branch changed since then; the engine is planning the draft again.
    pub outdated: bool,
    /// The displayed plan.
    pub shown: Option<DisplayedPlan>,
    /// The longest prefix that a plan on this branch shared with the last call, since that call.
    pub best: Option<ReusedPrefix>,
}

/// The prefix that a plan shares with the last call on its branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReusedPrefix {
    /// The branch.
    pub branch: BranchId,
    /// Tokens.
    pub tokens: u32,
    /// The savings, in millionths of a dollar.
    pub saves: u64,
}

impl ReusedPrefix {
    /// The prefix of a plan, if there was a call.
    #[must_use]
    pub fn of(shown: &DisplayedPlan) -> Option<Self> {
        match &shown.solved {
            Planned::Plan { same_prefix: Some(tokens), cost, .. } => {
                let saves = cost.map_or(0, |cost| cost.uncached_micro.saturating_sub(cost.micro));
                Some(Self { branch: shown.branch, tokens: *tokens, saves })
            }
            Planned::Plan { .. } | Planned::Blocked(_) => None,
        }
    }
}

impl PlanState {
    /// Records the longest shared prefix.
    pub fn reused(&mut self, shown: &DisplayedPlan) {
        if let Some(now) = ReusedPrefix::of(shown) {
            let less = |best: ReusedPrefix| best.branch == now.branch && best.tokens > now.tokens;
            self.best = self.best.filter(|best| less(*best)).or(Some(now));
        }
    }

    /// How much less the displayed plan shares than an earlier plan since the last call: tokens, and their cost.
    #[must_use]
    pub fn shares_less(&self) -> Option<(u32, u64)> {
        let now = ReusedPrefix::of(self.shown.as_ref()?)?;
        let best = self.best.filter(|best| best.branch == now.branch && best.tokens > now.tokens)?;
        Some((best.tokens - now.tokens, best.saves.saturating_sub(now.saves)))
    }

    /// The draft changed: request its plan soon. Typing postpones the request until it pauses.
    pub fn touch(&mut self, now: u64) {
        self.due = Some(now + REST);
    }

    /// Another draft is on the screen: request its plan at once.
    pub fn hurry(&mut self, now: u64) {
        self.due = Some(now);
    }

    /// The displayed plan of a branch.
    #[must_use]
    pub fn plan(&self, branch: BranchId) -> Option<&Arc<ContextPlan>> {
        match &self.shown.as_ref().filter(|shown| shown.branch == branch)?.solved {
            Planned::Plan { plan, .. } => Some(plan),
            Planned::Blocked(_) => None,
        }
    }

    /// The calibration for the server of the displayed plan.
    #[must_use]
    pub fn calibration(&self) -> Option<Calibration> {
        match &self.shown.as_ref()?.solved {
            Planned::Plan { calibration, .. } => *calibration,
            Planned::Blocked(_) => None,
        }
    }

    /// Why there is no plan for a branch.
    #[must_use]
    pub fn blocked(&self, branch: BranchId) -> Option<&Arc<Blocked>> {
        match &self.shown.as_ref().filter(|shown| shown.branch == branch)?.solved {
            Planned::Blocked(blocked) => Some(blocked),
            Planned::Plan { .. } => None,
        }
    }

    /// Whether no newer plan is pending, as far as the screen knows.
    #[must_use]
    pub fn current(&self) -> bool {
        self.due.is_none() && !self.outdated
    }

    /// The id of the displayed plan, if it is for exactly this draft and nothing has changed since.
    #[must_use]
    pub fn exactly(&self, branch: BranchId, draft: &Draft) -> Option<Hash> {
        let shown = self.shown.as_ref()?;
        let true_yet = self.current() && shown.generation == self.generation;
        let same = shown.branch == branch && shown.draft == *draft;
        match &shown.solved {
            Planned::Plan { plan, .. } if true_yet && same => Some(plan.id),
            Planned::Plan { .. } | Planned::Blocked(_) => None,
        }
    }
}
