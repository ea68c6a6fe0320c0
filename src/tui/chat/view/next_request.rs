//! Draws the panel of the next request: the meter, its sections with the most interesting items, the items left out,
//! and warnings.
//! Not for: actions on items (`screens::request`).

use super::empty;
use super::meter::{self, Part};
use crate::domain::base::money::money;
use crate::domain::conversation::MarkKind;
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::row_counts::RowCounts;
use crate::domain::planning::{Blocked, ContextPlan, DecidedBy, LevelUse, Reason, Row, Verdict, Warning};
use crate::tui::chat::model::next_request::{PanelItem, PanelPart, items};
use crate::tui::chat::model::plan::ReusedPrefix;
use crate::tui::model::focus::Focus;
use crate::tui::model::row_titles::row_title;
use crate::tui::view::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

pub(crate) use super::meter::ink as meter_ink;

/// Tokens of the plan and its budget: `5,204 of 28k`.
pub(crate) fn total(plan: &ContextPlan) -> String {
    text::share(u64::from(plan.est_total), u64::from(plan.budget.total()))
}

/// Draws the plan's meter.
pub(crate) fn meter(view: &ViewContext<'_>, plan: &ContextPlan, area: Rect, buf: &mut Buffer) {
    meter::bar(view, &meter::parts(plan), (plan.est_total, plan.budget.total()), area, buf);
}

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let branch = view.model.branch().map(|branch| branch.id);
    let plan = branch.and_then(|id| view.model.plan.plan(id));
    let blocked = branch.and_then(|id| view.model.plan.blocked(id)).filter(|_| plan.is_none());
    let size = match (plan, blocked) {
        (Some(plan), _) => Line::of(meter_ink(plan.est_total, &plan.budget), &total(plan)),
        (None, Some(blocked)) => {
            Line::of(Ink::Danger, &text::share(u64::from(blocked.needed), u64::from(blocked.budget.total())))
        }
        (None, None) => Line::new(),
    };
    let inside = view.panel("Next request", &size, Focus::Context, area, buf);
    if inside.is_empty() {
        return;
    }
    match (plan, blocked) {
        (Some(plan), _) => rows(view, plan, inside, buf),
        (None, Some(blocked)) => full(view, blocked, inside, buf),
        (None, None) => {
            let text = "Shows what the next request includes and what it leaves out.";
            paint::lines(view.theme, &TextRows::plain(text, usize::from(inside.width), Ink::Dim), inside, buf);
        }
    }
}

/// A row of the panel: its left and its right text.
type Pair = (Line, Line);

fn rows(view: &ViewContext<'_>, plan: &ContextPlan, area: Rect, buf: &mut Buffer) {
    let percent = format!(" {}", text::percent(plan.est_total, plan.budget.total()));
    let room = area.width.saturating_sub(u16::try_from(percent.len()).unwrap_or(0));
    meter(view, plan, Rect { width: room, height: 1, ..area }, buf);
    let ink = meter_ink(plan.est_total, &plan.budget);
    paint::right(view.theme, &Line::of(ink, &percent), Rect { height: 1, ..area }, buf);
    let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let (width, page, focused) = (usize::from(area.width), usize::from(area.height), view.focused(Focus::Context));
    let items = items(plan);
    let (groups, mut tail, warnings) =
        (groups(view, plan, &items), tail(view, plan, width), warnings(view, plan, width));
    // With the focus, all items are listed, and the panel scrolls. Warnings are dropped last.
    let least = groups.len() + warnings.len();
    if !focused {
        tail.truncate(page.saturating_sub(least));
    }
    let spare = if focused { usize::MAX } else { page.saturating_sub(least + tail.len()) };
    let shown = share(&groups.iter().map(|group| group.items.len()).collect::<Vec<_>>(), spare);
    let mut all: Vec<(Pair, Option<usize>)> = Vec::new();
    for (group, shown) in groups.into_iter().zip(shown) {
        let listed = group.items.start..group.items.start + shown;
        let hidden: u64 = items[listed.end..group.items.end].iter().map(|item| item.count).sum();
        all.push((group.line, None));
        all.extend(listed.map(|at| (item(view, items[at].row, width), Some(at))));
        if shown > 0 && hidden > 0 {
            let text = format!("   {}{hidden} more", view.theme.glyphs.ellipsis);
            all.push(((Line::of(Ink::Dim, &text), Line::new()), None));
        }
    }
    if !focused {
        all.truncate(page.saturating_sub(warnings.len()));
    }
    all.extend(tail.into_iter().chain(warnings).map(|pair| (pair, None)));
    let selected = focused.then(|| view.model.next_request.index(&items));
    let line = all.iter().position(|(_, at)| at.is_some() && *at == selected);
    let from = line.map_or(0, |line| paint::first_row(line, all.len(), page));
    for (((label, value), at), place) in all[from..].iter().zip(area.rows()) {
        paint::pair(view.theme, label, value, place, buf);
        if let Some(at) = *at {
            view.row(Focus::Context, place, at);
        }
        if at.is_some() && *at == selected {
            paint::select(view.theme, place, buf);
        }
    }
    if focused {
        // The thumb is in the panel's margin, beside the numbers.
        paint::thumb(view.theme, from, all.len(), page, Rect { width: area.width + 1, ..area }, buf);
    }
}

/// A part of the request, with the indices of the items that may be listed below it.
struct Group {
    line: Pair,
    items: Range<usize>,
}

fn groups(view: &ViewContext<'_>, plan: &ContextPlan, items: &[PanelItem<'_>]) -> Vec<Group> {
    let of = |part: PanelPart| {
        let start = items.iter().position(|item| item.part == part).unwrap_or(items.len());
        start..start + items[start..].iter().take_while(|item| item.part == part).count()
    };
    let one = |(part, tokens): (Part, u32)| {
        let items = if let Part::Section(section) = part { of(PanelPart::Section(section)) } else { 0..0 };
        Group { line: meter::line(view, (part, tokens), items.len(), &plan.rows), items }
    };
    let parts = meter::parts(plan).into_iter().filter(|(part, _)| !matches!(part, Part::Free | Part::Margin));
    let mut all: Vec<Group> = parts.map(one).collect();
    let suggested = of(PanelPart::Suggested);
    if !suggested.is_empty() {
        let line = Line::of(Ink::Accent, &format!("{SUGGESTED} Suggested pins {}", suggested.len()));
        all.push(Group { line: (line, Line::new()), items: suggested });
    }
    let out = of(PanelPart::LeftOut);
    if !out.is_empty() {
        let counts = RowCounts::of(&plan.rows);
        let line = (
            Line::of(Ink::Excluded, &format!("{} Left out {}", view.theme.glyphs.out, text::number(counts.out))),
            Line::of(Ink::Excluded, &text::short(counts.out_tokens)),
        );
        all.push(Group { line, items: out });
    }
    all
}

/// Distributes `rows` rows among the groups' items, one in turn to each group. A group that is not listed completely
/// needs one more row for the number of the others.
fn share(wanted: &[usize], rows: usize) -> Vec<usize> {
    let mut given = vec![0; wanted.len()];
    let cost = |at: usize, given: usize| given + usize::from(given > 0 && given < wanted[at]);
    let mut used = 0;
    loop {
        let before = used;
        for at in 0..wanted.len() {
            // The first of several items costs two rows, the last one none.
            let next =
                (given[at] + 1..=wanted[at]).find(|next| cost(at, *next) > cost(at, given[at]) || *next == wanted[at]);
            let Some(next) = next else { continue };
            let more = cost(at, next) - cost(at, given[at]);
            if used + more <= rows {
                given[at] = next;
                used += more;
            }
        }
        if used == before {
            return given;
        }
    }
}

fn item(view: &ViewContext<'_>, row: &Row, width: usize) -> Pair {
    let glyphs = &view.theme.glyphs;
    let (ink, sign) = match row.pin {
        Some(MarkKind::Sticky) => (Ink::Pinned, glyphs.pin),
        Some(MarkKind::Leased { .. } | MarkKind::Ephemeral) => (Ink::Leased, glyphs.lease),
        Some(MarkKind::IncludeOnce) => (Ink::Accent, glyphs.once),
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => (Ink::Excluded, glyphs.out),
        None if is_forced_out(row) => (Ink::Warn, "!"),
        None => match row.verdict {
            Verdict::In { .. } => (Ink::Dim, glyphs.kept),
            Verdict::Suggested => (Ink::Accent, SUGGESTED),
            Verdict::Out { .. } => (Ink::Dim, LEFT_OUT),
        },
    };
    let value = Line::of(Ink::Dim, &text::short(u64::from(row.tokens)));
    let title = match (row.title.trim(), row.turns) {
        ("", 2..) => text::counted(u64::from(row.turns), "turn"),
        ("", _) => row.reason.sentence(),
        (_, _) => row_title(row).trim().to_owned(),
    };
    let title = row.left_out_label().map_or_else(|| title.clone(), |parts| format!("{parts}: {title}"));
    let room = width.saturating_sub(value.width() + 5);
    let label = Line::of(ink, &format!("  {sign} ")).with(Ink::Dim, &text::fit(&title, room, glyphs.ellipsis));
    (label, value)
}

/// The sign of an item that the program left out.
pub(crate) const LEFT_OUT: &str = "-";
/// The sign of a suggested pin.
pub(crate) const SUGGESTED: &str = "?";

/// Whether a limit forced the row out.
pub(crate) fn is_forced_out(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Out { .. }) && row.reason.decided_by() == DecidedBy::Limit
}

/// The rows below the items: the safety margin, priority levels, and the cached prefix.
fn tail(view: &ViewContext<'_>, plan: &ContextPlan, width: usize) -> Vec<Pair> {
    let mut rows = vec![meter::line(view, (Part::Margin, plan.budget.safety), 0, &[])];
    rows.extend(levels(plan));
    rows.extend(cached(view, width));
    rows
}

/// The rows of the warnings, at the end.
fn warnings(view: &ViewContext<'_>, plan: &ContextPlan, width: usize) -> Vec<Pair> {
    let said = empty::says_not_trusted(view);
    let others = other_warnings(plan).filter(|warning| !(said && matches!(warning, Warning::RulesUntrusted { .. })));
    let texts = others.map(Warning::sentence).chain(unmet(view));
    texts.flat_map(|text| TextRows::plain(&text, width, Ink::Warn)).map(|line| (line, Line::new())).collect()
}

/// The plan's warnings without those about marked items, which [`UnmetRequirements`] counts.
pub(crate) fn other_warnings(plan: &ContextPlan) -> impl Iterator<Item = &Warning> {
    plan.warnings.iter().filter(|warning| !warning.is_about_decision())
}

/// Use of the priority levels, `permanent level  449 of 2k`; empty if the policy has none.
fn levels(plan: &ContextPlan) -> Vec<Pair> {
    let one = |level: LevelUse| {
        let ink = if level.is_over() { Ink::Warn } else { Ink::Dim };
        let used = text::share(u64::from(level.used), u64::from(level.budget?));
        Some((Line::of(ink, &format!("{} level", level.name)), Line::of(ink, &used)))
    };
    level_uses(plan).into_iter().filter_map(one).collect()
}

/// What the edge of the composer says about marks that have no effect.
pub(crate) fn mark_warnings(view: &ViewContext<'_>) -> impl Iterator<Item = String> {
    unmet(view).into_iter().chain(inactive(view))
}

/// The marked items of the next request that are nevertheless left out.
fn unmet(view: &ViewContext<'_>) -> Option<String> {
    let branch = view.model.branch()?.id;
    let unmet = match (view.model.plan.plan(branch), view.model.plan.blocked(branch)) {
        (Some(plan), _) => UnmetRequirements::of(&plan.rows),
        (None, Some(blocked)) => UnmetRequirements::of(blocked.rows.iter().chain(&blocked.left_out)),
        (None, None) => return None,
    };
    unmet.map(|unmet| unmet.sentence())
}

/// Marked items that are nevertheless left out. Items whose content another item already sends do not count, nor do
/// inactive marks, which a warning of the plan names.
#[derive(Default)]
pub(crate) struct UnmetRequirements {
    pins: u64,
    leases: u64,
    includes: u64,
    whys: BTreeSet<String>,
    turns: BTreeSet<u32>,
}

impl UnmetRequirements {
    /// The marked items among the rows that are left out; None if there are none.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<Self> {
        let mut found = Self::default();
        for row in rows {
            let is_missing = matches!(row.verdict, Verdict::Out { .. })
                && !matches!(row.reason, Reason::Duplicate | Reason::OffPath);
            let Some(mark) = row.pin.filter(|_| is_missing) else { continue };
            match mark {
                MarkKind::Sticky => found.pins += 1,
                MarkKind::Leased { .. } | MarkKind::Ephemeral => found.leases += 1,
                MarkKind::IncludeOnce => found.includes += 1,
                MarkKind::Exclude | MarkKind::ExcludeOnce => continue,
            }
            found.whys.insert(why_left_out(&row.reason));
            found.turns.extend(row.source.turn);
        }
        (!found.whys.is_empty()).then_some(found)
    }

    /// `1 lease left out: over budget`, without a reason if the items have different ones.
    pub(crate) fn sentence(&self) -> String {
        let counts = [("pin", self.pins), ("lease", self.leases), ("include", self.includes)];
        let parts: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| text::counted(*n, name)).collect();
        let why = self.whys.first().filter(|_| self.whys.len() == 1).map(|why| format!(": {why}"));
        format!("{} left out{}", parts.join(", "), why.unwrap_or_default())
    }

    /// The sentence with the newest turns, as many as `room` columns allow: `3 leases left out: over budget (turns 3, 2,
    /// 1).`
    pub(crate) fn with_turns(&self, room: usize) -> String {
        let numbers: Vec<String> = self.turns.iter().rev().map(u32::to_string).collect();
        let named = |count: usize| {
            let words = if self.turns.len() == 1 { "turn" } else { "turns" };
            let more = numbers.len() - count;
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{} ({words} {}{more}).", self.sentence(), numbers[..count].join(", "))
        };
        let fits = |text: &String| text::width(text) <= room;
        (1..=numbers.len()).rev().map(named).find(fits).unwrap_or_else(|| format!("{}.", self.sentence()))
    }
}

/// The inactive marks, if the panel that names them is not shown: `1 mark inactive: its message is not on this branch`.
fn inactive(view: &ViewContext<'_>) -> Option<String> {
    let plan = view.model.shown_plan().filter(|_| !view.model.context_in_view())?;
    let warning = plan.warnings.iter().find(|warning| matches!(warning, Warning::MarksInactive { .. }))?;
    Some(warning.sentence().trim_end_matches('.').to_owned())
}

/// Why a marked item is left out, in a few words. A size limit is the budget, or the share of it that the item's kind may
/// take.
fn why_left_out(reason: &Reason) -> String {
    match reason {
        Reason::Budget { .. }
        | Reason::TooLarge
        | Reason::LeaseCap { .. }
        | Reason::Allowance { .. }
        | Reason::SoftTarget { .. }
        | Reason::LevelFull { .. }
        | Reason::SummaryLimit
        | Reason::SessionFull { .. }
        | Reason::LevelsOver { .. } => "over budget".to_owned(),
        other => other.label(),
    }
}

/// `Cached prefix ≈ 82%`, or the loss by an edit: `Cached ≈ 82%, was 92% +$0.0123`, without the sign or the cost if
/// they do not fit in `width` columns, and without a cost below $0.0001.
fn cached(view: &ViewContext<'_>, width: usize) -> Option<Pair> {
    let now = ReusedPrefix::of(view.model.plan.shown.as_ref()?).filter(|now| now.tokens > 0)?;
    let value = format!("{} {}%", view.theme.glyphs.about, now.percent());
    let Some((before, cost)) = view.model.plan.lost_prefix() else {
        return Some((Line::of(Ink::Dim, "Cached prefix"), Line::of(Ink::Dim, &value)));
    };
    let label = Line::of(Ink::Dim, "Cached");
    let short = format!("{}%, was {before}% +{}", now.percent(), money(cost));
    let priced = [format!("{} {short}", view.theme.glyphs.about), short];
    let fits = |text: &String| cost >= 100 && label.width() + 1 + text::width(text) <= width;
    let text = priced.into_iter().find(fits).unwrap_or_else(|| format!("{value}, was {before}%"));
    Some((label, Line::of(Ink::Warn, &text)))
}

fn full(view: &ViewContext<'_>, blocked: &Blocked, area: Rect, buf: &mut Buffer) {
    let width = usize::from(area.width);
    let percent = format!(" {}", text::percent(blocked.needed, blocked.budget.total()));
    let room = area.width.saturating_sub(u16::try_from(percent.len()).unwrap_or(0));
    let parts = meter::over(blocked);
    let size = (blocked.needed, blocked.budget.total());
    meter::bar(view, &parts, size, Rect { width: room, height: 1, ..area }, buf);
    paint::right(view.theme, &Line::of(Ink::Danger, &percent), Rect { height: 1, ..area }, buf);
    let legend: Vec<Pair> = parts.iter().map(|part| meter::line(view, *part, 0, &blocked.rows)).collect();
    for ((label, value), place) in legend.iter().zip(area.rows().skip(1)) {
        paint::pair(view.theme, label, value, place, buf);
    }
    let used = u16::try_from(legend.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect { y: area.y + used, height: area.height - used, ..area };
    let mut rows = TextRows::plain("Too large for the budget.", width, Ink::Danger);
    rows.extend(TextRows::plain(&blocked.sentence(), width, Ink::Text));
    rows.extend(unmet(view).iter().flat_map(|text| TextRows::plain(text, width, Ink::Warn)));
    rows.push(Line::new());
    for choice in &blocked.choices {
        rows.extend(TextRows::all(&format!("- {}", choice.sentence()), width, Ink::Text));
    }
    paint::lines(view.theme, &rows, area, buf);
}

#[cfg(test)]
mod tests {
    use super::{UnmetRequirements, share};
    use std::collections::BTreeSet;

    #[test]
    fn the_turns_of_left_out_marks_are_named_as_far_as_there_is_room() {
        let whys = BTreeSet::from(["over budget".to_owned()]);
        let unmet = UnmetRequirements {
            leases: 3,
            pins: 1,
            whys,
            turns: BTreeSet::from([1, 2, 3, 14]),
            ..UnmetRequirements::default()
        };
        for (room, words) in [
            (80, "1 pin, 3 leases left out: over budget (turns 14, 3, 2, 1)."),
            (60, "1 pin, 3 leases left out: over budget (turns 14, 3, 2, 1)."),
            (57, "1 pin, 3 leases left out: over budget (turns 14, 3 more)."),
            (40, "1 pin, 3 leases left out: over budget."),
        ] {
            assert_eq!(unmet.with_turns(room), words, "{room}");
        }
        let one = UnmetRequirements { leases: 1, turns: BTreeSet::from([7]), ..UnmetRequirements::default() };
        assert_eq!(one.with_turns(80), "1 lease left out (turn 7).");
    }

    #[test]
    fn rows_are_distributed_among_items() {
        assert_eq!(share(&[2, 0, 3], 100), [2, 0, 3], "all are named where there is room");
        assert_eq!(share(&[2, 9], 0), [0, 0]);
        assert_eq!(share(&[9], 1), [0], "one row would only show the number of the others");
        assert_eq!(share(&[9], 2), [1]);
        assert_eq!(share(&[1, 9], 3), [1, 1]);
        for rows in 0..40 {
            for wanted in [[3, 5, 9], [1, 1, 30], [0, 20, 2]] {
                let given = share(&wanted, rows);
                let used: usize = given.iter().zip(wanted).map(|(n, of)| n + usize::from(*n > 0 && *n < of)).sum();
                assert!(
                    used <= rows && given.iter().zip(wanted).all(|(n, of)| *n <= of),
                    "{wanted:?} {rows} {given:?}"
                );
                assert!(used + 2 > rows || given == wanted, "{wanted:?} {rows}: rows stay empty: {given:?}");
            }
        }
    }
}
