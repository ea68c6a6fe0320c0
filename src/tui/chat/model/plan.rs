//! The displayed plan of the next call, and when the draft must be planned again.
//! Not for: solving plans (the engine) or the rows of the request overlay (`screens::request::model`).

use crate::domain::base::{BranchId, Hash};
use crate::domain::call::Calibration;
use crate::domain::planning::Blocked;
use crate::domain::planning::{ContextPlan, Draft, Planned};
use std::sync::Arc;

/// How long typing must rest before a plan is requested, in milliseconds.
pub const PLAN_DELAY_MS: u64 = 60;

/// A displayed plan, with the branch and draft that it was solved for.
#[derive(Clone, PartialEq, Debug)]
pub struct DisplayedPlan {
    /// Generation of the request that it answers.
    pub generation: u64,
    pub branch: BranchId,
    pub draft: Draft,
    /// The outcome.
    pub solved: Planned,
}

/// The displayed plan and the requests for newer ones.
#[derive(Clone, Debug, Default)]
pub struct PlanState {
    /// Generation of the newest request.
    pub generation: u64,
    /// Branch and draft of the newest request.
    pub asked: Option<(BranchId, Draft)>,
    /// When to request the plan of the draft, in milliseconds of the model's clock.
    pub due: Option<u64>,
    /// Whether the branch changed since; the engine is planning the draft again.
    pub outdated: bool,
    pub shown: Option<DisplayedPlan>,
    /// The longest prefix that any plan shared with the branch's last call, since that call.
    pub best: Option<ReusedPrefix>,
}

/// The prefix that a plan shares with the last call of its branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReusedPrefix {
    pub branch: BranchId,
    /// Estimated tokens of the prefix.
    pub tokens: u32,
    /// Estimated tokens of the whole request.
    pub of: u32,
    /// The saving from caching it, in millionths of a dollar.
    pub saves: u64,
}

impl ReusedPrefix {
    /// The reused prefix of a plan; None if there was no call or no plan.
    pub fn of(shown: &DisplayedPlan) -> Option<Self> {
        match &shown.solved {
            Planned::Plan { same_prefix: Some(tokens), cost, plan, .. } => {
                let saves = cost.map_or(0, |cost| cost.uncached_micro.saturating_sub(cost.micro));
                Some(Self { branch: shown.branch, tokens: *tokens, of: plan.est_total, saves })
            }
            Planned::Plan { .. } | Planned::Blocked(_) => None,
        }
    }

    /// The prefix's share of its own request, in percent, at most 100.
    pub fn percent(&self) -> u32 {
        let percent = u64::from(self.tokens) * 100 / u64::from(self.of.max(1));
        u32::try_from(percent).unwrap_or(100).min(100)
    }
}

/// A share that fell by fewer points than this is not reported.
const NOTABLE_FALL: u32 = 5;

impl PlanState {
    /// Stores the longest reused prefix.
    pub fn reused(&mut self, shown: &DisplayedPlan) {
        if let Some(now) = ReusedPrefix::of(shown) {
            let less = |best: ReusedPrefix| best.branch == now.branch && best.tokens > now.tokens;
            self.best = self.best.filter(|best| less(*best)).or(Some(now));
        }
    }

    /// The best share since the last call, in percent, and the cost of the lost part of the prefix, in millionths of a
    /// dollar. None unless the displayed plan shares less, and its share is at least 5 points lower.
    pub fn lost_prefix(&self) -> Option<(u32, u64)> {
        let now = ReusedPrefix::of(self.shown.as_ref()?)?;
        let best = self.best.filter(|best| best.branch == now.branch && best.tokens > now.tokens)?;
        let fell = best.percent() >= now.percent() + NOTABLE_FALL;
        fell.then(|| (best.percent(), best.saves.saturating_sub(now.saves)))
    }

    /// Schedules planning after the draft changed; each change postpones it.
    pub fn touch(&mut self, now: u64) {
        self.due = Some(now + PLAN_DELAY_MS);
    }

    /// Schedules planning immediately, after another draft was shown.
    pub fn schedule_now(&mut self, now: u64) {
        self.due = Some(now);
    }

    /// The displayed plan, if it is for this branch.
    pub fn plan(&self, branch: BranchId) -> Option<&Arc<ContextPlan>> {
        match &self.shown.as_ref().filter(|shown| shown.branch == branch)?.solved {
            Planned::Plan { plan, .. } => Some(plan),
            Planned::Blocked(_) => None,
        }
    }

    /// The model server's counts compared with the estimate, if known.
    pub fn calibration(&self) -> Option<Calibration> {
        match &self.shown.as_ref()?.solved {
            Planned::Plan { calibration, .. } => *calibration,
            Planned::Blocked(_) => None,
        }
    }

    /// Why there is no plan for this branch, if it is blocked.
    pub fn blocked(&self, branch: BranchId) -> Option<&Arc<Blocked>> {
        match &self.shown.as_ref().filter(|shown| shown.branch == branch)?.solved {
            Planned::Blocked(blocked) => Some(blocked),
            Planned::Plan { .. } => None,
        }
    }

    /// Whether no newer plan is pending, as far as the screen knows.
    pub fn current(&self) -> bool {
        self.due.is_none() && !self.outdated
    }

    /// Id of the displayed plan if it is current and for exactly this branch and draft.
    pub fn exactly(&self, branch: BranchId, draft: &Draft) -> Option<Hash> {
        let shown = self.shown.as_ref()?;
        let is_current = self.current() && shown.generation == self.generation;
        let same = shown.branch == branch && shown.draft == *draft;
        match &shown.solved {
            Planned::Plan { plan, .. } if is_current && same => Some(plan.id),
            Planned::Plan { .. } | Planned::Blocked(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_share_of_its_own_request() {
        let share = |tokens, of| {
            let branch = BranchId(uuid::Uuid::from_u128(1));
            ReusedPrefix { branch, tokens, of, saves: 0 }.percent()
        };
        assert_eq!([share(900, 1_000), share(0, 1_000), share(1_000, 1_000)], [90, 0, 100]);
        assert_eq!([share(1_450, 1_000), share(5, 0)], [100, 100], "never more than the whole");
    }
}
