//! Draws the request overlay: title, meter, the list of rows with their reasons, and the pane for the selected row.
//! Not for: the order of the list (`model`).

use super::model::{Content, Entry, RequestScreen};
use super::model_range::RangeTurn;
use super::view_detail;
use super::view_row::{self, breaks_at};
use super::view_sent;
use super::view_state_request;
use crate::domain::base::plain_text;
use crate::domain::conversation::MarkKind;
use crate::domain::planning::{Blocked, Budget, Warning};
use crate::domain::planning::{ContextPlan, Form, Item, Planned, Reason, Row, RowKind};
use crate::domain::tool::ToolCost;
use crate::tui::chat::view::meter::{self, Part};
use crate::tui::chat::view::next_request::{self, UnmetRequirements, other_warnings};
use crate::tui::chat::view::notice;
use crate::tui::model::row_titles::item_title;
use crate::tui::view::prelude::*;

/// Minimum height at which warnings and the budget each have a line.
const BOTH: u16 = 20;

/// Rows above the list: the title, the meter, a line of warnings, one about the budget, and a rule.
fn head_height(overlay: &RequestScreen, height: u16) -> u16 {
    let warns = match &overlay.content {
        None => false,
        Some(Content::Blocked(_)) => true,
        Some(Content::Plan(plan)) => {
            view_sent::is_edited(overlay)
                || UnmetRequirements::of(&plan.rows).is_some()
                || other_warnings(plan).next().is_some()
        }
    };
    if warns && height >= BOTH { 5 } else { 4 }
}

/// The screen's area without its margins and its line of keys.
fn inside(area: Rect) -> Rect {
    let side = u16::from(area.width > 2);
    Rect { x: area.x + side, width: area.width - 2 * side, height: area.height.saturating_sub(1), ..area }
}

fn split(overlay: &RequestScreen, inside: Rect) -> (Rect, Rect) {
    let head = inside.height.min(head_height(overlay, inside.height));
    let body = Rect { y: inside.y + head, height: inside.height - head, ..inside };
    paint::split(body, 100, body.width * 55 / 100, (body.height * 3 / 5).max(body.height.min(3)))
}

/// Draws the overlay. Returns the height of the list and the largest scroll position of the detail pane.
pub(crate) fn draw(
    view: &ViewContext<'_>,
    overlay: &RequestScreen,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> (u16, usize) {
    paint::clear(area, buf);
    let inside = inside(area);
    if inside.is_empty() {
        return (0, 0);
    }
    let footer = Rect { x: inside.x, y: area.bottom() - 1, width: inside.width, height: 1 };
    paint::line(view.theme, &hints(view, overlay, usize::from(footer.width)), footer, buf);
    let inside = notice::above(view, inside);
    head(view, overlay, inside, buf);
    let (list, pane) = split(overlay, inside);
    if let Some(found) = overlay.call().filter(|found| found.plan.is_err()) {
        let rows = view_sent::without_plan(view, found, usize::from(list.width).max(1));
        paint::lines(view.theme, &rows, list, buf);
    }
    entries(view, overlay, list, buf);
    let rows = view_detail::rows(view, overlay, cache, pane.width);
    let room = paint::divide(view.theme, inside, pane, buf);
    let most = rows.len().saturating_sub(usize::from(room.height));
    more_detail(view, most.saturating_sub(overlay.detail_scroll), room, buf);
    cache_break(view, overlay, [list, pane], buf);
    paint::colored_lines(view.theme, &rows[overlay.detail_scroll.min(most)..], cache, room, buf);
    (list.height, most)
}

/// `Next request · 11 in, 9 left out · 1.1k of 1.3k · ≈ $0.0003`, without the parts for which `room` columns are too
/// few. The size is also in the meter below the title.
fn title(view: &ViewContext<'_>, overlay: &RequestScreen, room: usize) -> Line {
    let name = overlay.sent().map_or_else(|| "Next request".to_owned(), view_sent::name);
    let mut parts = vec![(0, Line::of(Ink::Heading, &name))];
    let dot = |rank: u8, ink: Ink, words: &str| {
        (rank, Line::of(Ink::Text, &format!(" {} ", view.theme.glyphs.dot)).with(ink, words))
    };
    let (included, out) = (overlay.counts.included, text::number(overlay.counts.out));
    match &overlay.content {
        None => {}
        Some(Content::Plan(plan)) => {
            let ink = next_request::meter_ink(plan.est_total, &plan.budget);
            parts.push(dot(1, Ink::Text, &format!("{included} in, {out} left out")));
            parts.push(dot(2, ink, &next_request::total(plan)));
        }
        Some(Content::Blocked(blocked)) => {
            let sizes = text::different([blocked.needed, blocked.budget.total()].map(u64::from));
            parts.push(dot(2, Ink::Text, &format!("{included} required, {out} left out")));
            parts.push(dot(1, Ink::Danger, &format!("{} of {}, does not fit", sizes[0], sizes[1])));
        }
    }
    let shown = view.model.plan.shown.as_ref().map(|shown| &shown.solved);
    let cost = match (overlay.sent(), shown) {
        (Some(sent), _) => view_sent::cost(sent),
        (None, Some(Planned::Plan { cost: Some(cost), .. })) => {
            Some(text::about_money(view.theme.glyphs.about, cost.micro))
        }
        (None, _) => None,
    };
    parts.extend(cost.map(|cost| dot(3, Ink::Text, &cost)));
    if overlay.filtering || !overlay.filter.is_empty() {
        let typed = if overlay.filtering { overlay.filter.with_cursor() } else { overlay.filter.to_string() };
        parts.push((0, Line::of(Ink::Accent, &format!("  / {typed}"))));
    }
    if !overlay.selection.is_empty() {
        let (count, tokens) = (overlay.selection.len() as u64, text::short_tokens(overlay.selected_tokens()));
        parts.push((0, Line::of(Ink::Pinned, &format!("  {} selected, {tokens}", text::number(count)))));
    }
    let words = overlay.arrangement.description();
    parts.extend(words.map(|words| (4, Line::of(Ink::Dim, &format!("  {words}")))));
    Line::of_parts(parts, room).fit(room, view.theme.glyphs.ellipsis)
}

fn hints(view: &ViewContext<'_>, overlay: &RequestScreen, width: usize) -> Line {
    if overlay.sent().is_some() {
        return view_sent::hints(view, overlay, width);
    }
    if overlay.entries.is_empty() {
        let filters = !overlay.filter.is_empty();
        let filter = filters.then_some((Action::Filter, "change the filter"));
        let words: Vec<_> = filter.into_iter().chain([(Action::Leave, "close")]).collect();
        return view.keys_line(KeyPlace::Overlay, &words, width);
    }
    let suggests = overlay.entries.iter().any(|entry| matches!(entry, Entry::Suggested(_)));
    let row = overlay.selected().map(|(row, _)| row).filter(|_| overlay.selection.is_empty());
    let is_pinned = row.is_some_and(|row| row.pin == Some(MarkKind::Sticky));
    let is_excluded = row.is_some_and(|row| matches!(row.reason, Reason::UserExcluded { .. }));
    let words = [
        (Action::Pin, if is_pinned { "unpin" } else { "pin" }),
        (Action::Exclude, if is_excluded { "remove exclusion" } else { "leave out" }),
        (Action::IncludeOnce, "include once"),
        (Action::Dismiss, "dismiss"),
        (Action::Details, "details"),
        (Action::Filter, "filter"),
        (Action::Leave, "close"),
        (Action::TakeRow, "select"),
        (Action::PlanDiff, "changes"),
    ];
    // Marks and selections do not apply to tools.
    let others = words[5..7].iter().copied().chain(words[8..].iter().copied());
    if overlay.on_tools() {
        let fold = if overlay.tools_opened { "hide the tools" } else { "list the tools" };
        let words: Vec<_> = std::iter::once((Action::Open, fold)).chain(others).collect();
        return view.keys_line(KeyPlace::Overlay, &words, width);
    }
    if overlay.selected_tool().is_some() {
        let act = [(Action::Open, "show the tool"), (Action::Exclude, "on or off")];
        let words: Vec<_> = act.into_iter().chain(others).collect();
        return view.keys_line(KeyPlace::Overlay, &words, width);
    }
    // Where marks have no effect, only the keys that act on any row.
    let entry = overlay.entries.get(overlay.cursor);
    if overlay.selection.is_empty() && entry.is_some_and(|entry| overlay.fixed(*entry).is_some()) {
        let range = overlay.selected().is_some_and(|(row, _)| row.kind == RowKind::Range);
        let state = overlay.unasked_state().is_some_and(|outcome| outcome.remedies().0.is_some());
        let open = state.then_some((Action::Open, "write a state block"));
        let open = open.or(range.then_some((Action::Open, "list the turns")));
        let words: Vec<_> = open.into_iter().chain([words[4]]).chain(others).collect();
        return view.keys_line(KeyPlace::Overlay, &words, width);
    }
    let words: Vec<_> = words.into_iter().filter(|(action, _)| suggests || *action != Action::Dismiss).collect();
    view.keys_line(KeyPlace::Overlay, &words, width)
}

fn head(view: &ViewContext<'_>, overlay: &RequestScreen, area: Rect, buf: &mut Buffer) {
    let height = head_height(overlay, area.height);
    let mut rows = area.rows().take(usize::from(height));
    let Some(top) = rows.next() else { return };
    let room = usize::from(area.width);
    paint::line(view.theme, &title(view, overlay, room), top, buf);
    let below = match &overlay.content {
        None => match overlay.sent() {
            None => vec![Line::of(Ink::Dim, "Planning the request")],
            Some(sent) => match &sent.failure {
                None => vec![Line::of(Ink::Dim, "Loading the request")],
                Some(why) => TextRows::plain(why, room.max(1), Ink::Danger).into_iter().take(2).collect(),
            },
        },
        Some(Content::Blocked(blocked)) => {
            let percent = text::percent(blocked.needed, blocked.budget.total());
            if let Some(row) = rows.next() {
                let bar = meter_area(row, &percent);
                meter::bar(view, &meter::over(blocked), (blocked.needed, blocked.budget.total()), bar, buf);
                paint::right(view.theme, &Line::of(Ink::Danger, &percent), row, buf);
            }
            let excess = paint::cut(view.theme, Ink::Danger, &excess(blocked), room);
            let below = [excess, budget(view, &blocked.budget, room)];
            below.into_iter().take(usize::from(height.saturating_sub(3))).collect()
        }
        Some(Content::Plan(plan)) => {
            let ink = next_request::meter_ink(plan.est_total, &plan.budget);
            let percent = text::percent(plan.est_total, plan.budget.total());
            if let Some(row) = rows.next() {
                next_request::meter(view, plan, meter_area(row, &percent), buf);
                paint::right(view.theme, &Line::of(ink, &percent), row, buf);
            }
            let below = match overlay.sent() {
                Some(sent) => view_sent::facts(view, sent, room),
                None => budget(view, &plan.budget, room),
            };
            let both = [warnings(view, overlay, plan, room), Some(below)];
            both.into_iter().flatten().take(usize::from(height.saturating_sub(3))).collect()
        }
    };
    for (line, row) in below.iter().zip(rows) {
        paint::line(view.theme, line, row, buf);
    }
    if area.height >= height {
        paint::rule(view.theme, Rect { y: area.y + height - 1, height: 1, ..area }, buf);
    }
}

/// The area of the meter next to its percentage.
fn meter_area(row: Rect, percent: &str) -> Rect {
    let wide = u16::try_from(text::width(percent) + 1).unwrap_or(u16::MAX).min(row.width);
    Rect { width: row.width - wide, ..row }
}

/// `Required items are 1.6k tokens over budget. Nothing is sent until they fit.`
fn excess(blocked: &Blocked) -> String {
    let over = blocked.needed.saturating_sub(blocked.budget.prompt);
    let over = text::short_tokens(u64::from(over));
    format!("Required items are {over} over budget. Nothing is sent until they fit.")
}

/// Shows in the rule above the pane how many more rows it has, and the key that scrolls to them.
fn more_detail(view: &ViewContext<'_>, below: usize, pane: Rect, buf: &mut Buffer) {
    if below > 0 && !pane.is_empty() {
        let edge = Rect { y: pane.y.saturating_sub(1), height: 1, ..pane };
        let hint = Line::of(Ink::Accent, &view.key_in(Action::DetailDown, KeyPlace::Overlay));
        paint::caption(view.theme, hint.with(Ink::Dim, &format!(" {} more", text::number(below as u64))), edge, buf);
    }
}

/// Shows in a rule that the cached prefix ends above or below the visible rows.
fn cache_break(view: &ViewContext<'_>, overlay: &RequestScreen, [list, pane]: [Rect; 2], buf: &mut Buffer) {
    let rows = overlay.content.as_ref().map(Content::rows).unwrap_or_default();
    let breaks = |entry: &Entry| matches!(entry, Entry::Row(at) if rows.get(*at).is_some_and(|row| breaks_at(view, overlay, row)));
    let Some(at) = overlay.entries.iter().position(breaks) else { return };
    let shown = usize::from(list.height);
    let from = paint::first_row(overlay.cursor, overlay.entries.len(), shown);
    let top = Rect { y: list.y.saturating_sub(1), height: 1, ..list };
    let stacked = pane.y >= list.bottom();
    let (words, edge) = match at {
        _ if at < from => ("above", top),
        _ if at < from + shown => return,
        _ if stacked => ("below", Rect { height: 1, ..pane }),
        _ => ("below", top),
    };
    let words = format!(" {} cache breaks {words} ", view.theme.glyphs.differs);
    paint::right(view.theme, &Line::of(Ink::Warn, &words), edge, buf);
}

/// The plan's warnings. Marked items that are left out are counted, so that none of them is cut off.
fn warnings(view: &ViewContext<'_>, overlay: &RequestScreen, plan: &ContextPlan, room: usize) -> Option<Line> {
    let unmet = UnmetRequirements::of(&plan.rows).map(|unmet| unmet.with_turns(room));
    let others = other_warnings(plan).map(Warning::sentence);
    let warnings: Vec<String> = view_sent::edited(view, overlay).into_iter().chain(unmet).chain(others).collect();
    (!warnings.is_empty()).then(|| paint::cut(view.theme, Ink::Warn, &warnings.join(" "), room))
}

/// The budget next to the model's context, in the longest form that fits: whose budget it is and the tokens reserved for
/// the answer stay longest, then the keys that change it.
fn budget(view: &ViewContext<'_>, budget: &Budget, room: usize) -> Line {
    let size = |n: u32| text::short(u64::from(n));
    let part = |rank: u8, words: String| (rank, Line::of(Ink::Dim, &words));
    let (shown, window) = (size(budget.total()), size(budget.context_window));
    let own = view.model.branch().is_some_and(|branch| branch.overrides.budget.is_some());
    let name = if own { "your budget" } else { "budget" };
    let mut rest = Vec::new();
    if budget.reserved_output > 0 {
        rest.push(part(1, format!(", {} reserved for the answer", size(budget.reserved_output))));
    }
    rest.push(part(3, format!(", safety margin {}", size(budget.safety))));
    if budget.results > 0 {
        rest.push(part(4, format!(", {} for this turn's results", size(budget.results))));
    }
    let key = |action| view.key_in(action, KeyPlace::Overlay);
    rest.push(part(2, format!("; {} {} change it", key(Action::BudgetDown), key(Action::BudgetUp))));
    let wide = part(0, format!("{name} {shown} of this model's {window} context"));
    let needed = wide.1.width() + rest.iter().map(|(_, part)| part.width()).sum::<usize>();
    let first = if needed <= room { wide } else { part(0, format!("{name} {shown} of {window}")) };
    let parts = std::iter::once(first).chain(rest).collect();
    Line::of_parts(parts, room).fit(room, view.theme.glyphs.ellipsis)
}

fn entries(view: &ViewContext<'_>, overlay: &RequestScreen, area: Rect, buf: &mut Buffer) {
    let Some(content) = &overlay.content else { return };
    let rows = content.rows();
    if overlay.entries.is_empty() && !overlay.filter.is_empty() {
        let text = "No row matches the filter.";
        return paint::lines(view.theme, &TextRows::plain(text, usize::from(area.width), Ink::Dim), area, buf);
    }
    let page = usize::from(area.height);
    let from = paint::first_row(overlay.cursor, overlay.entries.len(), page);
    for ((at, entry), place) in overlay.entries.iter().enumerate().skip(from).zip(area.rows()) {
        match *entry {
            Entry::Section(section, tokens) => heading(view, (Part::Section(section), rows), tokens, place, buf),
            Entry::Tools(tokens) => tools(view, overlay, tokens, place, buf),
            Entry::Tool(tool) => {
                if let Some(tool) = plan_of(content).and_then(|plan| plan.tool_costs.get(tool)) {
                    one_tool(view, tool, place, buf);
                }
            }
            Entry::Framing(tokens) => heading(view, (Part::Framing, rows), tokens, place, buf),
            Entry::Suggested(count) => border(view, &format!("Suggested pins {count}"), place, buf),
            Entry::Excluded(count, tokens) => {
                let all = overlay.counts.out;
                let of = if count < all { format!(" of {}", text::number(all)) } else { String::new() };
                let words = format!("Left out {}{of}, {}", text::number(count), text::short_tokens(tokens));
                border(view, &words, place, buf);
            }
            Entry::NotAsked => border(view, "Not asked for", place, buf),
            Entry::StateRequest => view_state_request::line(view, overlay, place, buf),
            Entry::Group(heading, count, tokens) => {
                let label = Line::of(Ink::Heading, &heading.title()).with(Ink::Dim, &format!(" {count}"));
                paint::pair(view.theme, &label, &Line::of(Ink::Heading, &text::short(tokens)), place, buf);
            }
            Entry::Row(row) => {
                if let Some(row) = rows.get(row) {
                    view_row::draw(view, overlay, row, place, buf);
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
fn heading(view: &ViewContext<'_>, (part, rows): (Part, &[Row]), tokens: u32, area: Rect, buf: &mut Buffer) {
    // A message that is not typed yet has no tokens; `0` would look like a real count.
    let value = if tokens > 0 { Line::of(Ink::Heading, &text::short(u64::from(tokens))) } else { Line::new() };
    paint::pair(view.theme, &Line::of(Ink::Heading, meter::name(view, part, rows)), &value, area, buf);
}

fn border(view: &ViewContext<'_>, words: &str, area: Rect, buf: &mut Buffer) {
    let rule = view.theme.glyphs.rule;
    let left = usize::from(area.width).saturating_sub(text::width(words) + 2);
    let line = format!("{} {words} {}", rule.repeat(left / 2), rule.repeat(left - left / 2));
    paint::line(view.theme, &Line::of(Ink::Excluded, &line), area, buf);
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
    let mut label = Line::of(Ink::Heading, meter::name(view, Part::Tools, &[]));
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
    label.push(ink, &text::fit(&item_title(item), room, view.theme.glyphs.ellipsis));
    label.push(Ink::Warn, &format!(" {form}"));
    paint::pair(view.theme, &label, &value, area, buf);
}

fn range_turn(view: &ViewContext<'_>, turn: &RangeTurn, area: Rect, buf: &mut Buffer) {
    let value = Line::of(Ink::Excluded, &format!("~{}", text::short(turn.tokens)));
    let mut label = Line::of(Ink::Dim, &format!("     {:>3} ", turn.number));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Excluded, &text::fit(&plain_text::line(&turn.title), room, view.theme.glyphs.ellipsis));
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
