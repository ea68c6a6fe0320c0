//! Draws the request overlay: title, meter, the list of rows with their reasons, and the pane for the selected row.
//! Not for: the order of the list (`model`).

use super::model::{Content, Entry, RequestScreen};
use super::model_filter::Group;
use super::model_range::RangeTurn;
use super::view_detail;
use crate::domain::conversation::mark::MarkKind;
use crate::domain::planning::draft::Planned;
use crate::domain::planning::plan::{ContextPlan, Form, Item, Row, RowKind, Verdict};
use crate::domain::planning::reason::DecidedBy;
use crate::domain::tool::cards::ToolCost;
use crate::tui::chat::view::meter::{self, Part};
use crate::tui::chat::view::{composer, next_request};
use crate::tui::view::prelude::*;
use std::fmt::Write as _;

/// Rows above the list: the title, the meter, a line of warnings or about the budget, and a rule.
const HEAD: u16 = 4;

/// Height of the list, in rows.
pub(crate) fn list_rows(area: Rect) -> u16 {
    split(inside(area)).0.height
}

/// The screen's area without its margins and its line of keys.
fn inside(area: Rect) -> Rect {
    let side = u16::from(area.width > 2);
    Rect { x: area.x + side, width: area.width - 2 * side, height: area.height.saturating_sub(1), ..area }
}

fn split(inside: Rect) -> (Rect, Rect) {
    let head = inside.height.min(HEAD);
    let body = Rect { y: inside.y + head, height: inside.height - head, ..inside };
    paint::split(body, 100, body.width * 55 / 100, (body.height * 3 / 5).max(body.height.min(3)))
}

/// Draws the overlay. Returns the largest scroll position of the detail pane.
pub(crate) fn draw(
    view: &ViewContext<'_>,
    overlay: &RequestScreen,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> usize {
    paint::clear(area, buf);
    let inside = inside(area);
    if inside.is_empty() {
        return 0;
    }
    head(view, overlay, inside, buf);
    let (list, pane) = split(inside);
    entries(view, overlay, list, buf);
    let rows = view_detail::rows(view, overlay, cache, pane.width);
    let room = paint::divide(view.theme, inside, pane, buf);
    let most = rows.len().saturating_sub(usize::from(room.height));
    paint::lines(view.theme, &rows[overlay.detail_scroll.min(most)..], room, buf);
    let foot = Rect { x: inside.x, y: area.bottom() - 1, width: inside.width, height: 1 };
    paint::line(view.theme, &hints(view, overlay, usize::from(foot.width)), foot, buf);
    if inside.height >= HEAD {
        // A notice is above the list, so that the keys stay visible.
        composer::notice(view, Rect { y: inside.y + HEAD - 1, height: 1, ..inside }, buf);
    }
    most
}

/// `Next request · 11 in, 9 left out · 1.1k of 1.3k · ≈ $0.0003`
fn title(view: &ViewContext<'_>, overlay: &RequestScreen) -> Line {
    let mut line = Line::of(Ink::Heading, "Next request");
    let dot = format!(" {} ", view.theme.glyphs.dot);
    if overlay.content.is_some() {
        let counts = &overlay.counts;
        line.push(Ink::Text, &format!("{dot}{} in, {} left out", counts.included, counts.out));
    }
    if let Some(Content::Plan(plan)) = &overlay.content {
        line.push(Ink::Text, &dot);
        line.push(next_request::meter_ink(plan.est_total, plan.budget.prompt), &next_request::total(plan));
    }
    if let Some(Planned::Plan { cost: Some(cost), .. }) = view.model.plan.shown.as_ref().map(|shown| &shown.solved) {
        line.push(Ink::Text, &format!("{dot}{}", text::about_money(view.theme.glyphs.about, cost.micro)));
    }
    if overlay.filtering || !overlay.filter.is_empty() {
        line.push(Ink::Accent, &format!("  / {}", overlay.filter));
    }
    if !overlay.selection.is_empty() {
        let (count, tokens) = (overlay.selection.len() as u64, text::short(overlay.selected_tokens()));
        line.push(Ink::Pinned, &format!("  {} selected, {tokens} tokens", text::number(count)));
    }
    if let Some(words) = overlay.arrangement.description() {
        line.push(Ink::Dim, &format!("  {words}"));
    }
    line
}

fn hints(view: &ViewContext<'_>, overlay: &RequestScreen, width: usize) -> Line {
    let suggests = overlay.entries.iter().any(|entry| matches!(entry, Entry::Suggested(_)));
    let words = [
        (Action::Pin, "pin"),
        (Action::Exclude, "leave out"),
        (Action::IncludeOnce, "include once"),
        (Action::Dismiss, "dismiss"),
        (Action::Details, "details"),
        (Action::Filter, "filter"),
        (Action::Leave, "close"),
        (Action::TakeRow, "select"),
        (Action::PlanDiff, "changes"),
    ];
    let mut line = Line::new();
    for (action, word) in words.into_iter().filter(|(action, _)| suggests || *action != Action::Dismiss) {
        let key = view.key_in(action, When::Overlay);
        if line.width() + key.len() + word.len() + 9 > width {
            break;
        }
        line.push(Ink::Accent, &format!("{}{key}", if line.pieces.is_empty() { "" } else { "  " }));
        line.push(Ink::Dim, &format!(" {word}"));
    }
    line
}

fn head(view: &ViewContext<'_>, overlay: &RequestScreen, area: Rect, buf: &mut Buffer) {
    let mut rows = area.rows().take(usize::from(HEAD));
    let Some(top) = rows.next() else { return };
    paint::line(view.theme, &title(view, overlay), top, buf);
    let mut below = None;
    match &overlay.content {
        None => below = Some(Line::of(Ink::Dim, "Planning the request")),
        Some(Content::Blocked(blocked)) => {
            let lines = TextRows::plain(&blocked.sentence(), usize::from(area.width), Ink::Danger);
            for (line, row) in lines.iter().zip(rows.by_ref().take(2)) {
                paint::line(view.theme, line, row, buf);
            }
        }
        Some(Content::Plan(plan)) => {
            let ink = next_request::meter_ink(plan.est_total, plan.budget.prompt);
            let sum = Line::of(ink, &text::percent(plan.est_total, plan.budget.prompt));
            if let Some(row) = rows.next() {
                let wide = u16::try_from(sum.width() + 1).unwrap_or(u16::MAX).min(row.width);
                next_request::meter(view, plan, Rect { width: row.width - wide, ..row }, buf);
                paint::right(view.theme, &sum, row, buf);
            }
            below = Some(remark(view, plan, usize::from(area.width)));
        }
    }
    if let (Some(line), Some(row)) = (below, rows.next()) {
        paint::line(view.theme, &line, row, buf);
    }
    if area.height >= HEAD {
        let last = Rect { y: area.y + HEAD - 1, height: 1, ..area };
        paint::rule(view.theme, last, buf);
        let broken = overlay.content.as_ref().is_some_and(|it| it.rows().iter().any(|row| breaks_at(view, row)));
        if broken {
            let beside = Rect { width: split(area).0.width, ..last };
            let words = format!(" {} cache breaks here ", view.theme.glyphs.differs);
            paint::right(view.theme, &Line::of(Ink::Warn, &words), beside, buf);
        }
    }
}

/// The plan's warnings; without any, the budget beside the model's context.
fn remark(view: &ViewContext<'_>, plan: &ContextPlan, room: usize) -> Line {
    let warnings: Vec<String> = plan.warnings.iter().map(crate::domain::planning::plan::Warning::sentence).collect();
    if !warnings.is_empty() {
        return paint::cut(view.theme, Ink::Warn, &warnings.join(" "), room);
    }
    let size = |n: u32| text::short(u64::from(n));
    let budget = &plan.budget;
    let mut words = format!("budget {} of this model's {} context", size(budget.prompt), size(budget.context_window));
    if budget.results > 0 {
        let _ = write!(words, ", {} for this turn's results", size(budget.results));
    }
    if budget.cap.is_some() {
        let key = |action| view.key_in(action, When::Overlay);
        let _ = write!(words, "; {} {} change it", key(Action::BudgetDown), key(Action::BudgetUp));
    }
    paint::cut(view.theme, Ink::Dim, &words, room)
}

fn entries(view: &ViewContext<'_>, overlay: &RequestScreen, area: Rect, buf: &mut Buffer) {
    let Some(content) = &overlay.content else { return };
    let rows = content.rows();
    let page = usize::from(area.height);
    let from = paint::first_row(overlay.cursor, overlay.entries.len(), page);
    for ((at, entry), place) in overlay.entries.iter().enumerate().skip(from).zip(area.rows()) {
        match *entry {
            Entry::Section(section, tokens) => heading(view, Part::Section(section), tokens, place, buf),
            Entry::Tools(tokens) => tools(view, overlay, tokens, place, buf),
            Entry::Tool(tool) => {
                if let Some(tool) = plan_of(content).and_then(|plan| plan.tool_costs.get(tool)) {
                    one_tool(view, tool, place, buf);
                }
            }
            Entry::Framing(tokens) => heading(view, Part::Framing, tokens, place, buf),
            Entry::Suggested(count) => border(view, &format!("Suggested pins {count}"), place, buf),
            Entry::Unused(count, tokens) => sum(view, ("Never used", " a call"), (count, tokens), place, buf),
            Entry::Excluded(count, tokens) => sum(view, ("Left out", ""), (count, tokens), place, buf),
            Entry::Group(heading, count, tokens) => {
                let label = Line::of(Ink::Heading, &heading.title()).with(Ink::Dim, &format!(" {count}"));
                paint::pair(view.theme, &label, &Line::of(Ink::Heading, &text::short(tokens)), place, buf);
            }
            Entry::Row(row) => {
                if let Some(row) = rows.get(row) {
                    one(view, overlay, row, place, buf);
                }
            }
            Entry::Item(row, item) => {
                if let Some(item) = rows.get(row).and_then(|row| row.items.get(item)) {
                    message(view, item, place, buf);
                }
            }
            Entry::RangeTurn(row, turn) => {
                if let Some(turn) = rows.get(row).and_then(|row| overlay.turns_in_range(row).get(turn)) {
                    range_turn(view, turn, place, buf);
                }
            }
        }
        view.item(place, at);
        if overlay.is_selected(*entry) {
            paint::line(view.theme, &Line::of(Ink::Pinned, view.theme.glyphs.ok), place, buf);
        }
        if at == overlay.cursor {
            paint::select(view.theme, place, buf);
        }
    }
}

/// The heading of a part of the request, with its tokens.
fn heading(view: &ViewContext<'_>, part: Part, tokens: u32, area: Rect, buf: &mut Buffer) {
    let value = Line::of(Ink::Heading, &text::short(u64::from(tokens)));
    paint::pair(view.theme, &Line::of(Ink::Heading, meter::name(part)), &value, area, buf);
}

fn border(view: &ViewContext<'_>, words: &str, area: Rect, buf: &mut Buffer) {
    let rule = view.theme.glyphs.rule;
    let left = usize::from(area.width).saturating_sub(text::width(words) + 2);
    let line = format!("{} {words} {}", rule.repeat(left / 2), rule.repeat(left - left / 2));
    paint::line(view.theme, &Line::of(Ink::Excluded, &line), area, buf);
}

/// A separator with the number of rows below it and their tokens.
fn sum(view: &ViewContext<'_>, words: (&str, &str), rows: (usize, u64), area: Rect, buf: &mut Buffer) {
    border(view, &format!("{} {}, {} tokens{}", words.0, rows.0, text::short(rows.1), words.1), area, buf);
}

/// The sign before a row and its ink: a mark's glyph, `!` for what a limit forced out, a dot, dash, or check for the
/// rest.
fn state_sign(view: &ViewContext<'_>, row: &Row) -> (Ink, String) {
    let glyphs = &view.theme.glyphs;
    match row.pin {
        Some(MarkKind::Sticky) => return (Ink::Pinned, format!("{} ", glyphs.pin)),
        Some(MarkKind::Leased { turns }) => return (Ink::Leased, format!("{}{turns} ", glyphs.lease)),
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => return (Ink::Good, format!("{} ", glyphs.out)),
        Some(MarkKind::IncludeOnce) => return (Ink::Good, format!("{} ", glyphs.once)),
        Some(MarkKind::Ephemeral) => return (Ink::Leased, format!("{}1 ", glyphs.lease)),
        None => {}
    }
    match (&row.verdict, row.reason.decided_by()) {
        (Verdict::Out { .. }, DecidedBy::Limit) => (Ink::Warn, "! ".to_owned()),
        (Verdict::Suggested, _) => (Ink::Accent, "? ".to_owned()),
        (_, DecidedBy::Person) => (Ink::Good, format!("{} ", glyphs.ok)),
        (Verdict::Out { .. }, DecidedBy::Program) => (Ink::Dim, "- ".to_owned()),
        (Verdict::In { .. }, _) => (Ink::Dim, format!("{} ", glyphs.dot)),
    }
}

/// Whether the next request first differs at this row from the last call of the branch, which ends the cached prefix.
pub(crate) fn breaks_at(view: &ViewContext<'_>, row: &Row) -> bool {
    let Some(Planned::Plan { breaks: Some(at), .. }) = view.model.plan.shown.as_ref().map(|shown| &shown.solved) else {
        return false;
    };
    row.included() && (row.text == Some(*at) || row.items.iter().any(|item| item.key == *at))
}

fn one(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let ink = match row.verdict {
        Verdict::In { .. } => Ink::Text,
        Verdict::Out { .. } => Ink::Excluded,
        Verdict::Suggested => Ink::Dim,
    };
    let fold = match (row.items.len() > 1 || row.kind == RowKind::Range, overlay.opened.contains(&row.atom.key())) {
        (false, _) => " ",
        (true, false) => glyphs.folded,
        (true, true) => glyphs.opened,
    };
    let out = !row.included() && overlay.arrangement.group != Group::Section;
    let (pin_ink, pin) = state_sign(view, row);
    let mut label = Line::of(Ink::Dim, &format!(" {fold} ")).with(pin_ink, &pin);
    if let Some(turn) = row.source.turn {
        label.push(Ink::Dim, &format!("{turn:>3} "));
    }
    let mut value = Line::new();
    if breaks_at(view, row) {
        value.push(Ink::Warn, &format!("{} ", glyphs.differs));
    }
    let sign = value.width();
    let tokens = text::short(u64::from(row.tokens));
    value.push(ink, &tokens);
    let mark = view.model.branch().and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    if mark.and_then(|mark| mark.origin.as_ref()).is_some_and(|origin| view.stale(origin)) {
        label.push(Ink::Warn, "stale ");
    }
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    let mut why = match overlay.counts.cards_of(row) {
        0 => row.reason.label(),
        count => format!("{} included", text::counted(count as u64, "card")),
    };
    if out && row.verdict != Verdict::Suggested && !why.starts_with("left out") {
        why.insert_str(0, "left out: ");
    }
    // Aligns the ends of the reasons.
    let blank = overlay.counts.widest.saturating_sub(tokens.len() + sign);
    let why_room = if room + sign > 48 { text::width(&why) + blank + 2 } else { 0 };
    let empty = row.title.is_empty() && row.included();
    let title = if empty { "(nothing typed yet)" } else { row.title.as_str() };
    let title_ink = if empty { Ink::Dim } else { ink };
    label.push(title_ink, &text::fit(title, room - why_room, glyphs.ellipsis));
    let mut right = Line::new();
    if why_room > 0 {
        let ink = match (row.reason.decided_by(), row.included()) {
            (DecidedBy::Person, _) => Ink::Good,
            (DecidedBy::Limit, false) => Ink::Warn,
            (DecidedBy::Limit, true) | (DecidedBy::Program, _) => Ink::Dim,
        };
        right.push(ink, &format!("{why}  {}", " ".repeat(blank)));
    }
    right.pieces.extend(value.pieces);
    paint::pair(view.theme, &label, &right, area, buf);
}

fn plan_of(content: &Content) -> Option<&ContextPlan> {
    match content {
        Content::Plan(plan) => Some(plan),
        Content::Blocked(_) => None,
    }
}

fn tools(view: &ViewContext<'_>, overlay: &RequestScreen, tokens: u32, area: Rect, buf: &mut Buffer) {
    let costs = overlay.content.as_ref().and_then(plan_of).map(|plan| plan.tool_costs.as_slice()).unwrap_or_default();
    let off = costs.iter().filter(|tool| !tool.on).count();
    let off_words = if off > 0 { format!(", {} disabled", text::number(off as u64)) } else { String::new() };
    let words = format!("  {}{off_words}", text::number((costs.len() - off) as u64));
    let fold = if overlay.tools_opened { view.theme.glyphs.opened } else { view.theme.glyphs.folded };
    let mut label = Line::of(Ink::Heading, meter::name(Part::Tools));
    if !costs.is_empty() {
        label.push(Ink::Dim, &format!(" {fold}{words}"));
    }
    let value = Line::of(Ink::Heading, &text::short(u64::from(tokens)));
    paint::pair(view.theme, &label, &value, area, buf);
}

fn one_tool(view: &ViewContext<'_>, tool: &ToolCost, area: Rect, buf: &mut Buffer) {
    let (ink, sign) = if tool.on { (Ink::Text, " ") } else { (Ink::Excluded, view.theme.glyphs.out) };
    let value = Line::of(ink, &text::short(u64::from(tool.tokens)));
    let mut right = Line::new();
    if !tool.on {
        right.push(Ink::Dim, "disabled  ");
    }
    right.pieces.extend(value.pieces);
    let mut label = Line::of(Ink::Excluded, &format!("   {sign} "));
    let room = usize::from(area.width).saturating_sub(label.width() + right.width() + 2);
    label.push(ink, &text::fit(&tool.name, room, view.theme.glyphs.ellipsis));
    paint::pair(view.theme, &label, &right, area, buf);
}

fn message(view: &ViewContext<'_>, item: &Item, area: Rect, buf: &mut Buffer) {
    let ink = if matches!(item.form, Form::Out | Form::Gone | Form::Placeholder) { Ink::Excluded } else { Ink::Dim };
    let mut label = Line::of(ink, &format!("        {} ", item.role.name()));
    let value = Line::of(ink, &text::short(u64::from(item.tokens)));
    let form = form_words(item.form);
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + form.len() + 3);
    label.push(ink, &text::fit(&item.title, room, view.theme.glyphs.ellipsis));
    label.push(Ink::Warn, &format!(" {form}"));
    paint::pair(view.theme, &label, &value, area, buf);
}

fn range_turn(view: &ViewContext<'_>, turn: &RangeTurn, area: Rect, buf: &mut Buffer) {
    let value = Line::of(Ink::Excluded, &format!("~{}", text::short(turn.tokens)));
    let mut label = Line::of(Ink::Dim, &format!("     {:>3} ", turn.number));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Excluded, &text::fit(&turn.title, room, view.theme.glyphs.ellipsis));
    paint::pair(view.theme, &label, &value, area, buf);
}

fn form_words(form: Form) -> &'static str {
    match form {
        Form::Full | Form::Card => "",
        Form::NoState => "without its state block",
        Form::Cut(_) => "shortened",
        Form::Elided => "call named in one line",
        Form::Gone => "named in the call's line",
        Form::Placeholder => "replaced by one line",
        Form::Out => "left out with its turn",
    }
}
