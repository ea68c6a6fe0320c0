//! Changes a solved plan without solving it again: without one item, or for another model. For calls that are repeated
//! to see the effect of the change.
//! Not for: new calls, which are always solved.

use crate::context::{explain, render};
use crate::domain::conversation::Atom;
use crate::domain::planning::Reason;
use crate::domain::planning::{Budget, ContextPlan, RequestShape, Section, Verdict};

/// Returns the plan without the row of `atom`; `None` if no such row is included, or if it is the question itself.
pub fn without_item(plan: &ContextPlan, shape: &RequestShape, atom: Atom) -> Option<ContextPlan> {
    let mut changed = plan.clone();
    let row = changed.rows.iter_mut().find(|row| row.included() && row.atom == atom)?;
    if row.section() == Some(Section::UserMessage) {
        return None;
    }
    row.verdict = Verdict::Out { needed: 0, remedy: None };
    row.reason = Reason::UserExcluded { once: true };
    Some(with_sums(changed, shape))
}

/// Returns the plan for another model, with that model's budget. Token counts stay unchanged.
pub fn for_model(plan: &ContextPlan, shape: &RequestShape, profile: &str, budget: Budget) -> ContextPlan {
    let changed = ContextPlan { profile: profile.to_owned(), model: shape.model.clone(), budget, ..plan.clone() };
    with_sums(changed, shape)
}

/// Returns the plan with its total set to `tokens`, as counted by [`crate::context::render::checks`]. The difference
/// comes from labels or separators that changed because a neighbor is missing; it is added to the question.
pub fn with_total(mut plan: ContextPlan, tokens: u32) -> ContextPlan {
    let (more, less) = (tokens.saturating_sub(plan.est_total), plan.est_total.saturating_sub(tokens));
    if let Some(row) = plan.rows.iter_mut().find(|row| row.section() == Some(Section::UserMessage)) {
        row.tokens = (row.tokens + more).saturating_sub(less);
        plan.est_total = tokens;
    }
    plan
}

fn with_sums(mut plan: ContextPlan, shape: &RequestShape) -> ContextPlan {
    plan.framing = render::framing(&render::skeleton(&plan.rows, plan.layout, &shape.dialect));
    let rows: u32 = plan.included().map(|row| row.tokens).sum();
    plan.est_total = rows + plan.framing + plan.tools;
    plan.id = explain::identity(shape, &plan);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::explain::cause_tests::{plan, row, turn};
    use crate::domain::call::model::Dialect;

    #[test]
    fn another_total_changes_the_question_alone() {
        let goes = |n: u32, section, tokens| row(turn(n), Verdict::In { section }, tokens, Reason::Recent);
        let rows = vec![goes(1, Section::Recent, 20), goes(2, Section::UserMessage, 30)];
        let before = ContextPlan { est_total: 60, ..plan(rows) };
        for (tokens, question) in [(60, 30), (63, 33), (51, 21), (20, 0)] {
            let made = with_total(before.clone(), tokens);
            let counted: Vec<u32> = made.rows.iter().map(|row| row.tokens).collect();
            assert_eq!((made.est_total, counted), (tokens, vec![20, question]));
        }
        let bare = ContextPlan { rows: before.rows[..1].to_vec(), ..before };
        assert_eq!(with_total(bare.clone(), 9), bare, "no question");
    }

    #[test]
    fn a_plan_for_another_model_has_its_name_and_its_room_and_nothing_else_of_it() {
        let (before, budget) = (plan(Vec::new()), Budget::compute(64_000, Some(50_000), Some(1_000), None));
        let shape = RequestShape {
            model: "other".into(),
            dialect: Dialect::default(),
            max_output: Some(1_000),
            temperature: None,
            tools: Vec::new(),
        };
        let changed = for_model(&before, &shape, "profile", budget);
        assert_eq!((changed.profile.as_str(), changed.model.as_str(), changed.budget), ("profile", "other", budget));
        assert_eq!((changed.rows, changed.layout, changed.policy), (before.rows, before.layout, before.policy));
    }
}
