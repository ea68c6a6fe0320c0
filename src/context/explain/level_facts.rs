//! Corrects what the policy `levels` reported before admission, when the window and the retrieved items were not known
//! yet: some turns that it chose may not fit.
//! Not for: the decision itself (`policy::levels`).

use crate::context::admission::choose;
use crate::context::policy::levels;
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::{ContextPlan, PlanInput, Row, Verdict};
use crate::domain::planning::{Reason, Warning};

/// Corrects the volatile level's budget, the number in the warning that the levels exceed their trigger, and the reason
/// of turns that the working level has room for: they are left out because of the trigger or of the budget.
pub(super) fn correct(plan: &mut ContextPlan, input: &PlanInput) {
    let Some(budgets) = plan.level_budgets else { return };
    let total = choose::levels_total(input).saturating_add(input.budget.results);
    let spec = &input.policy.levels;
    let trigger = levels::trigger_tokens(choose::levels_total(input), spec);
    let used = level_uses(plan).map(|level| level.used);
    let [permanent, session, working, _] = budgets;
    let rest = total.saturating_sub(used[..3].iter().fold(0, |sum, tokens| sum.saturating_add(*tokens)));
    plan.level_budgets = Some([permanent, session, working, rest]);
    let (sent, free) = (plan.est_total, plan.budget.prompt.saturating_sub(plan.est_total));
    let is_full =
        |row: &&mut Row| matches!((&row.verdict, &row.reason), (Verdict::Out { .. }, Reason::LevelFull { .. }));
    for row in plan.rows.iter_mut().filter(is_full) {
        if used[2].saturating_add(row.tokens) > working {
            continue;
        }
        if sent.saturating_add(row.tokens) > trigger {
            row.reason = Reason::LevelsOver { percent: spec.trigger_percent };
        } else if row.tokens > free {
            row.reason = Reason::Budget { free };
        }
    }
    let exceeds = sent.saturating_sub(trigger);
    plan.warnings.iter_mut().for_each(|warning| {
        if let Warning::LevelsCannotFit { over, .. } = warning {
            *over = exceeds;
        }
    });
    plan.warnings.retain(|warning| !matches!(warning, Warning::LevelsCannotFit { over: 0, .. }));
}
