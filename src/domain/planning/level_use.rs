//! What a plan takes of each priority level, and the level's budget where its policy gives one.
//! Not for: what leaves a level (`context::policy::levels`).

use super::plan::ContextPlan;
use super::policy::Section;
use crate::domain::conversation::message::Role;
use serde::{Deserialize, Serialize};

/// One priority level's use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelUse {
    /// Its name: permanent, session, working, volatile.
    pub name: String,
    /// Tokens in it in the plan.
    pub used: u32,
    /// Its budget, where the policy gives one.
    pub budget: Option<u32>,
}

impl LevelUse {
    /// Whether more is in it than its budget.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.used > budget)
    }
}

/// What a plan takes of each level: permanent is instructions, sticky pins, and tool definitions; session is state,
/// summaries, the code map, and leases; working is the turns with the message overhead; volatile is tool results and what
/// was looked up. Together they are the plan's total.
#[must_use]
pub fn level_uses(plan: &ContextPlan) -> [LevelUse; 4] {
    let mut used = [plan.tools, 0, plan.framing, 0];
    for row in plan.included() {
        let level = match row.section() {
            Some(Section::System | Section::Personality | Section::Guidelines | Section::StickyPins) => 0,
            Some(
                Section::State
                | Section::SessionSummary
                | Section::LaneSummary
                | Section::Orientation
                | Section::LeasedPins,
            ) => 1,
            Some(Section::Recent | Section::QuotedReply | Section::UserMessage) | None => 2,
            Some(Section::Retrieved) => 3,
        };
        let bodies = row.items.iter().filter(|item| item.role == Role::Tool && level == 2);
        let bodies: u32 = bodies.map(|item| item.tokens).sum();
        used[3] += bodies;
        used[level] += row.tokens.saturating_sub(bodies);
    }
    let names = ["permanent", "session", "working", "volatile"];
    let one = |at: usize| LevelUse {
        name: names[at].into(),
        used: used[at],
        budget: plan.level_budgets.map(|budgets| budgets[at]),
    };
    [0, 1, 2, 3].map(one)
}
