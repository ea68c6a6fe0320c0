//! The panel at the right: how full the next call is, by section, what is out, what it costs.
//! Not for: acting on it (the overlay).

use super::meter;
use crate::domain::planning::plan::{Blocked, ContextPlan};
use crate::tui::chat::model::plan::Solved;
use crate::tui::model::{Action, Focus};
use crate::tui::text::markdown::Flow;
use crate::tui::text::{self, Line};
use crate::tui::theme::Ink;
use crate::tui::view::{Look, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) use super::meter::ink as meter_ink;

/// `5,213 / 8,000 est`.
pub(crate) fn total(plan: &ContextPlan) -> String {
    let (used, of) = (text::number(u64::from(plan.est_total)), text::number(u64::from(plan.budget.prompt)));
    format!("{used} / {of} {}", plan.certainty.label())
}

/// What the server would count: `→ 5,480 cal ±2 %`.
pub(crate) fn calibrated(look: &Look<'_>, plan: &ContextPlan) -> Option<String> {
    let known = look.model.plan.calibration()?;
    let glyphs = &look.theme.glyphs;
    Some(format!("{} {}", glyphs.becomes, known.words(plan.est_total).replace('±', glyphs.within)))
}

/// The bar by section, as far as it fits into one row.
pub(crate) fn meter(look: &Look<'_>, plan: &ContextPlan, area: Rect, buf: &mut Buffer) {
    let full = meter_ink(plan.est_total, plan.budget.prompt);
    meter::bar(look, &meter::parts(plan), full, area, buf);
}

pub(crate) fn draw(look: &Look<'_>, area: Rect, buf: &mut Buffer) {
    let focus = look.focused(Focus::Context);
    let branch = look.model.branch().map(|branch| branch.id);
    let plan = branch.and_then(|id| look.model.plan.plan(id));
    let mut title = Line::of(Ink::Heading, "Context");
    if let Some(plan) = plan {
        title.push(Ink::Text, &format!(" {}", total(plan)));
    }
    let inside = look.frame(title, focus, area, buf);
    if inside.is_empty() {
        return;
    }
    match (plan, branch.and_then(|id| look.model.plan.blocked(id))) {
        (Some(plan), _) => rows(look, plan, inside, buf),
        (None, Some(blocked)) => full(look, blocked, inside, buf),
        (None, None) => {
            let words = "Shows what the next call will hold, and what it leaves out.";
            paint::lines(look.theme, &Flow::plain(words, usize::from(inside.width), Ink::Dim), inside, buf);
        }
    }
}

fn rows(look: &Look<'_>, plan: &ContextPlan, area: Rect, buf: &mut Buffer) {
    let percent = format!(" {} %", u64::from(plan.est_total) * 100 / u64::from(plan.budget.prompt.max(1)));
    let room = area.width.saturating_sub(u16::try_from(percent.len()).unwrap_or(0));
    meter(look, plan, Rect { width: room, height: 1, ..area }, buf);
    let ink = meter_ink(plan.est_total, plan.budget.prompt);
    paint::right(look.theme, &Line::of(ink, &percent), Rect { height: 1, ..area }, buf);
    let known = calibrated(look, plan).unwrap_or_default();
    let mut lines = vec![(Line::of(Ink::Text, &known), Line::of(Ink::Dim, &format!("tok {}", plan.certainty.label())))];
    lines.extend(meter::legend(look, &meter::parts(plan), &plan.rows, ink));
    let out: u64 = plan.excluded().map(|row| u64::from(row.turns.max(1))).sum();
    if out > 0 {
        let rule = look.theme.glyphs.rule.repeat(usize::from(area.width).saturating_sub(10 + text::number(out).len()));
        lines.push((
            Line::of(Ink::Excluded, &rule),
            Line::of(Ink::Excluded, &format!("excluded {}", text::number(out))),
        ));
    }
    let suggested = plan.suggested().count();
    if suggested > 0 {
        let key = Line::of(Ink::Dim, &look.key(Action::Context));
        lines.push((Line::of(Ink::Dim, &format!("Suggested pins ({suggested}):")), key));
    }
    lines.extend(cached(look));
    for ((label, value), place) in lines.iter().zip(area.rows().skip(1)) {
        paint::pair(look.theme, label, value, place, buf);
    }
    let below = Rect { y: area.y.saturating_add(u16::try_from(lines.len() + 2).unwrap_or(u16::MAX)), ..area };
    notes(look, plan, below, area, buf);
}

fn cached(look: &Look<'_>) -> Option<(Line, Line)> {
    match &look.model.plan.shown.as_ref()?.solved {
        Solved::Plan { same_prefix: Some(same), plan, .. } if *same > 0 => {
            let percent = u64::from(*same) * 100 / u64::from(plan.est_total.max(1));
            let value = format!("{} {percent} %", look.theme.glyphs.about);
            let Some((less, cost)) = look.model.plan.shares_less() else {
                return Some((Line::of(Ink::Dim, "same as last call"), Line::of(Ink::Dim, &value)));
            };
            let percent = u64::from(less) * 100 / u64::from(plan.est_total.max(1));
            let cost = if cost == 0 { String::new() } else { format!(" +{}", crate::tui::text::money(cost)) };
            Some((Line::of(Ink::Dim, "same"), Line::of(Ink::Warn, &format!("{value}, {percent} less{cost}"))))
        }
        Solved::Plan { .. } | Solved::Blocked(_) => None,
    }
}

fn notes(look: &Look<'_>, plan: &ContextPlan, from: Rect, within: Rect, buf: &mut Buffer) {
    let mut rows: Vec<Line> = Vec::new();
    for warning in &plan.warnings {
        rows.extend(Flow::plain(&warning.sentence(), usize::from(within.width), Ink::Warn));
    }
    if look.focused(Focus::Context) {
        let hint = format!("{} or Enter: look inside", look.key(Action::Context));
        rows.extend(Flow::plain(&hint, usize::from(within.width), Ink::Dim));
    }
    for (row, y) in rows.iter().zip(from.y..within.bottom()) {
        paint::line(look.theme, row, Rect { y, height: 1, ..within }, buf);
    }
}

fn full(look: &Look<'_>, blocked: &Blocked, area: Rect, buf: &mut Buffer) {
    let width = usize::from(area.width);
    let (parts, ink) = (meter::over(blocked), meter_ink(blocked.needed, blocked.budget.prompt));
    let percent = format!(" {} %", u64::from(blocked.needed) * 100 / u64::from(blocked.budget.prompt.max(1)));
    let room = area.width.saturating_sub(u16::try_from(percent.len()).unwrap_or(0));
    meter::bar(look, &parts, ink, Rect { width: room, height: 1, ..area }, buf);
    paint::right(look.theme, &Line::of(ink, &percent), Rect { height: 1, ..area }, buf);
    let legend = meter::legend(look, &parts, &blocked.rows, ink);
    for ((label, value), place) in legend.iter().zip(area.rows().skip(1)) {
        paint::pair(look.theme, label, value, place, buf);
    }
    let used = u16::try_from(legend.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect { y: area.y + used, height: area.height - used, ..area };
    let mut rows = Flow::plain("It does not fit.", width, Ink::Danger);
    rows.extend(Flow::plain(&blocked.sentence(), width, Ink::Text));
    rows.push(Line::new());
    for choice in &blocked.choices {
        rows.extend(Flow::all(&format!("- {}", choice.sentence()), width, Ink::Text));
    }
    paint::lines(look.theme, &rows, area, buf);
}
