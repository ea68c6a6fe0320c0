//! The tokens of each priority level in a plan, and the level's budget if its policy gives one.
//! Not for: evicting items from a level (`context::policy::levels`).

use super::plan::ContextPlan;
use super::policy::Section;
use crate::domain::conversation::mark::MarkKind;
use crate::domain::conversation::message::Role;
use serde::{Deserialize, Serialize};

/// The use of one priority level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelUse {
    /// The level's name: permanent, session, working, or volatile.
    pub name: String,
    /// Tokens of the level in the plan.
    pub used: u32,
    /// The level's budget; `None` if the policy gives none.
    pub budget: Option<u32>,
}

impl LevelUse {
    /// Returns whether the level exceeds its budget.
    pub fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.used > budget)
    }
}

/// Returns the tokens of each level in a plan: permanent is instructions, permanent pins (including pinned turns in the
/// window), and tool definitions; session is state, summaries, the code map, and leases; working is the turns with
/// message overhead; volatile is tool results and retrieved items. They sum to the plan's total.
pub fn level_uses(plan: &ContextPlan) -> [LevelUse; 4] {
    let mut used = [plan.tools, 0, plan.framing, 0];
    for row in plan.included() {
        let level = match row.section() {
            Some(Section::System | Section::Personality | Section::Guidelines | Section::StickyPins) => 0,
            _ if row.pin == Some(MarkKind::Sticky) => 0,
            Some(
                Section::State
                | Section::SessionSummary
                | Section::LaneSummary
                | Section::Orientation
                | Section::LeasedPins,
            ) => 1,
            Some(Section::Recent | Section::QuotedReply | Section::UserMessage | Section::DuringTurn) | None => 2,
            Some(Section::Retrieved) => 3,
        };
        let tool_results = row.items.iter().filter(|item| item.role == Role::Tool && level == 2);
        let tool_results: u32 = tool_results.map(|item| item.tokens).sum();
        used[3] += tool_results;
        used[level] += row.tokens.saturating_sub(tool_results);
    }
    let names = ["permanent", "session", "working", "volatile"];
    let level_use = |at: usize| LevelUse {
        name: names[at].into(),
        used: used[at],
        budget: plan.level_budgets.map(|budgets| budgets[at]),
    };
    [0, 1, 2, 3].map(level_use)
}
