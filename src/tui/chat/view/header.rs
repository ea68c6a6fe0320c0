//! Draws the line at the top: session and branch on the left; model, price of the next request, and its size if no
//! panel shows it on the right.
//! Not for: the contents of the request (`next_request`), or the mode, which is shown at the composer.

use super::next_request;
use crate::domain::base::chart::{filled, part_of_cell};
use crate::domain::conversation::Lane;
use crate::domain::conversation::lane_use;
use crate::domain::planning::Planned;
use crate::tui::theme::Glyphs;
use crate::tui::view::prelude::*;

/// Width of the small meter.
const METER: usize = 8;
/// The width in columns at which the facts are written in full.
const WIDE: usize = 60;

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let row = Rect { x: area.x + 1, width: area.width.saturating_sub(2), height: 1, ..area };
    let right = facts(view, usize::from(row.width) * 2 / 3);
    let room = usize::from(row.width).saturating_sub(right.width() + 2);
    paint::line(view.theme, &place(view, room), row, buf);
    paint::right(view.theme, &right, row, buf);
}

/// The session's title, the branch, and its lane, task, and focus, in at most `room` columns.
fn place(view: &ViewContext<'_>, room: usize) -> Line {
    let glyphs = &view.theme.glyphs;
    let Some(session) = &view.model.session else { return Line::of(Ink::Heading, "pleach") };
    let mut line = Line::new();
    if let Some(branch) = session.branch() {
        line.push(Ink::Dim, &format!(" {} ", glyphs.folded));
        line.push(Ink::Heading, &text::fit(&branch.name, (room / 2).max(8), glyphs.ellipsis));
    }
    let topic = Some(session.lane()).filter(|lane| *lane != Lane::Root);
    let topic = topic.map(|lane| ("lane", lane_use::title(&session.tree, &lane, glyphs.ellipsis)));
    let task = session.task().map(|task| ("task", task.to_owned()));
    let focus = session.branch().map(|branch| branch.overrides.focus.as_slice()).unwrap_or_default();
    let focus = focus.split_first().map(|(first, more)| match more.len() {
        0 => ("focus", first.clone()),
        more => ("focus", format!("{first} +{more}")),
    });
    for (name, text) in [topic, task, focus].into_iter().flatten() {
        let text = text::fit(&text, (room / 4).max(8), glyphs.ellipsis);
        if line.width() + name.len() + text::width(&text) + 4 > room {
            break;
        }
        line.push(Ink::Dim, &format!(" {} {name} ", glyphs.dot));
        line.push(Ink::Accent, &text);
    }
    let left = room.saturating_sub(line.width());
    Line::of(Ink::Dim, &text::fit(&session.card.title, left, glyphs.ellipsis)).and(line)
}

/// The facts on the right; the least important are dropped if they do not fit.
fn facts(view: &ViewContext<'_>, room: usize) -> Line {
    let mut kept = all_facts(view, room);
    let wide = |facts: &[(u8, Line)]| facts.iter().map(|(_, line)| line.width() + 3).sum::<usize>().saturating_sub(3);
    while wide(&kept) > room {
        let Some(least) = (0..kept.len()).min_by_key(|at| kept[*at].0) else { break };
        kept.remove(least);
    }
    let mut line = Line::new();
    for (_, fact) in kept {
        if !line.pieces.is_empty() {
            line.push(Ink::Dim, &format!(" {} ", view.theme.glyphs.dot));
        }
        line = line.and(fact);
    }
    line
}

/// The used and the free part of the small meter, exact to an eighth of a cell.
fn small_meter(glyphs: &Glyphs, used: u32, of: u32) -> (String, String) {
    let eighths = filled(u64::from(used), u64::from(of), METER * 8);
    let (whole, rest) = (eighths / 8, eighths % 8);
    let part = part_of_cell(rest, glyphs.ascii).map_or_else(String::new, String::from);
    let free = METER - whole - usize::from(rest > 0);
    (glyphs.full.repeat(whole) + &part, glyphs.empty.repeat(free))
}

/// The facts in display order, each with its importance. A demo is always mentioned.
fn all_facts(view: &ViewContext<'_>, room: usize) -> Vec<(u8, Line)> {
    let model = view.model;
    let mut facts = Vec::new();
    if model.facts.demo {
        let short = format!("demo {} not saved", view.theme.glyphs.dot);
        let text = if room < WIDE { &short } else { "demo, nothing is saved" };
        facts.push((6, Line::of(Ink::Warn, text)));
    }
    if let Some(settings) = model.session.as_ref().and_then(|session| session.settings()) {
        facts.push((2, Line::of(Ink::Text, &settings.model.name)));
        if settings.ready.is_err() {
            facts.push((4, Line::of(Ink::Warn, "not set up")));
        }
    }
    match model.plan.shown.as_ref().map(|shown| &shown.solved) {
        Some(Planned::Plan { plan, cost, .. }) => {
            if let Some(cost) = cost.as_ref().filter(|cost| cost.micro > 0) {
                let text = text::about_money(view.theme.glyphs.about, cost.micro);
                facts.push((0, Line::of(Ink::Text, &text)));
            }
            if !model.context_in_view() {
                let ink = next_request::meter_ink(plan.est_total, &plan.budget);
                let line = Line::of(ink, &format!("{} ", next_request::total(plan)));
                let (mut used, free) = small_meter(&view.theme.glyphs, plan.est_total, plan.budget.total());
                // A warning colors the number and the end of the bar.
                let end = used.pop().map(String::from).unwrap_or_default();
                facts.push((3, line.with(Ink::MeterLow, &used).with(ink, &end).with(Ink::MeterFree, &free)));
            }
        }
        Some(Planned::Blocked(_)) => facts.push((5, Line::of(Ink::Danger, "does not fit"))),
        None => {}
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Theme;

    #[test]
    fn the_small_meter_shows_eighths_of_a_cell() {
        let of = |ascii: bool, used: u32| {
            let (used, free) = small_meter(&Theme::built_in("dark", ascii).glyphs, used, 10_000);
            format!("{used}{free}")
        };
        let shown = [0, 50, 900, 1_250, 5_000, 9_999, 10_000].map(|used| of(false, used));
        assert_eq!(shown, ["░░░░░░░░", "▏░░░░░░░", "▊░░░░░░░", "█░░░░░░░", "████░░░░", "███████▉", "████████"]);
        assert_eq!([50, 900, 1_250].map(|used| of(true, used)), [":.......", "|.......", "#......."]);
    }
}
