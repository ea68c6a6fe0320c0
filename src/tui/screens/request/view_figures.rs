//! Draws the overlay's details of the plan: how its tokens were counted, the parts of the budget, policy, and hashes.
//! Not for: the selected row (`view_detail`).

use super::model::{Content, RequestScreen};
use super::view_sent;
use crate::domain::base::money::money;
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::{LevelUse, Planned};
use crate::tui::view::prelude::*;
use std::fmt::Write as _;

/// The figures of the plan as sentences, wrapped to `room` columns.
pub(crate) fn rows(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Vec<Line> {
    let Some(Content::Plan(plan)) = &overlay.content else { return Vec::new() };
    let number = |n: u32| text::number(u64::from(n));
    let budget = &plan.budget;
    let mut words =
        vec![format!("Estimated: {} tokens, counted with {}.", number(plan.est_total), plan.encoding.title())];
    let sent = overlay.call();
    if let Some(found) = sent {
        words.extend(view_sent::counts(&found.card, plan.est_total));
    } else if let Some(known) = view.model.plan.calibration() {
        let within =
            known.error_pct.map_or_else(String::new, |error| format!(", {} {error:.0}%", view.theme.glyphs.within));
        let calls = text::counted(u64::from(known.samples), "call");
        words.push(format!("Calibrated: {} tokens{within}, from {calls}.", number(known.apply(plan.est_total))));
    }
    let input = budget.input_limit.map_or_else(String::new, |most| format!(", input limit {}", number(most)));
    let results = match budget.results {
        0 => String::new(),
        results => format!(" with {} for this turn's results", number(results)),
    };
    let cap = budget.cap.map_or_else(String::new, |cap| format!(", cap {}{results}", number(cap)));
    words.push(format!(
        "Budget: {} tokens (context {}{input}{cap}).",
        number(budget.total()),
        number(budget.context_window)
    ));
    words.push(format!("Reserved for the answer: {} tokens.", number(budget.reserved_output)));
    words.push(format!(
        "Safety margin: {} tokens of the budget, because token counts are estimates; the request may take {}.",
        number(budget.safety),
        number(budget.prompt)
    ));
    if plan.level_budgets.is_some() {
        let level =
            |level: LevelUse| format!("{} {} of {}", level.name, number(level.used), number(level.budget.unwrap_or(0)));
        words.push(format!("Priority levels: {}.", level_uses(plan).map(level).join(", ")));
    }
    let (layout, mode) = (plan.layout.name(), plan.mode.title());
    words.push(format!(
        "Policy {} v{}, mode {mode}, layout {layout}, {} / {}.",
        plan.policy, plan.policy_version, plan.profile, plan.model
    ));
    let mut ids = format!("plan {}", plan.id.short());
    if let Some(found) = sent {
        let _ = write!(ids, ", request {}, call {}", found.card.request_digest.short(), found.card.id);
    } else if let Some(Planned::Plan { request_digest: digest, bytes, cost, .. }) =
        view.model.plan.shown.as_ref().map(|shown| &shown.solved)
    {
        let _ = write!(ids, ", request {}, {} bytes", digest.short(), text::number(*bytes));
        if let Some(cost) = cost.filter(|cost| cost.cached > 0) {
            words.push(format!("{} without the cached prefix.", money(cost.uncached_micro)));
        }
    }
    words.push(ids);
    let mut rows = vec![Line::new()];
    rows.extend(words.iter().flat_map(|words| TextRows::plain(words, room, Ink::Dim)));
    rows
}
