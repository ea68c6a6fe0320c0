//! The context overlay: every row of the plan in its section with its reason, and the selected one in full beside it.
//! Not for: the list's order (the model works it out).

use super::model::{Content, Entry, Overlay, Past};
use super::model_filter::Group;
use super::view_detail;
use crate::domain::base::hash::Hash;
use crate::domain::call::meter::PromptCost;
use crate::domain::call::tokens::Encoding;
use crate::domain::conversation::mark::MarkKind;
use crate::domain::planning::plan::{ContextPlan, Form, Item, Row, RowKind, Verdict};
use crate::domain::tool::cards::ToolCost;
use crate::tui::chat::model::plan::Solved;
use crate::tui::chat::view::{composer, next_request};
use crate::tui::model::{Action, When};
use crate::tui::text::markdown::Flow;
use crate::tui::text::{self, Line};
use crate::tui::theme::Ink;
use crate::tui::view::cache::Cache;
use crate::tui::view::{Look, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// How many rows of the screen the list has.
pub(crate) fn list_rows(area: Rect) -> u16 {
    let inside = crate::tui::view::layout::inside(area);
    split(inside).0.height.saturating_sub(1)
}

fn split(inside: Rect) -> (Rect, Rect) {
    let head = inside.height.min(4);
    let body = Rect { y: inside.y + head, height: inside.height - head, ..inside };
    if body.width >= 100 {
        let left = body.width * 55 / 100;
        (Rect { width: left, ..body }, Rect { x: body.x + left + 3, width: body.width - left - 3, ..body })
    } else {
        let top = (body.height * 3 / 5).max(body.height.min(3));
        (Rect { height: top, ..body }, Rect { y: body.y + top, height: body.height - top, ..body })
    }
}

pub(crate) fn draw(look: &Look<'_>, overlay: &Overlay, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
    paint::wipe(area, buf);
    let inside = look.frame(title(overlay), true, area, buf);
    if area.height >= 2 {
        let edge = Rect { y: area.bottom() - 1, height: 1, ..area };
        paint::caption(look.theme, hints(look, overlay, usize::from(area.width)), edge, buf);
    }
    if inside.is_empty() {
        return;
    }
    head(look, overlay, inside, buf);
    let (list, pane) = split(inside);
    entries(look, overlay, list, buf);
    let rows = view_detail::rows(look, overlay, cache, pane.width);
    if pane.width == inside.width && !pane.is_empty() {
        let rule = look.theme.glyphs.rule.repeat(usize::from(pane.width));
        paint::line(look.theme, &Line::of(Ink::Border, &rule), pane, buf);
        let below = Rect { y: pane.y + 1, height: pane.height - 1, ..pane };
        paint::lines(look.theme, rows.iter().skip(overlay.detail_scroll), below, buf);
    } else {
        paint::beside(look.theme, pane, buf);
        paint::lines(look.theme, rows.iter().skip(overlay.detail_scroll), pane, buf);
    }
    if look.model.status.shown().is_some() && inside.height > 8 {
        let foot = Rect { y: inside.bottom() - 1, height: 1, ..inside };
        paint::wipe(foot, buf);
        composer::notice(look, foot, buf);
    }
}

fn title(overlay: &Overlay) -> Line {
    let mut line = Line::of(Ink::Heading, "What the next call holds");
    if overlay.filtering || !overlay.filter.is_empty() {
        line.push(Ink::Accent, &format!("  / {}", overlay.filter));
    }
    if !overlay.taken.is_empty() {
        let (count, tokens) = (overlay.taken.len() as u64, text::number(overlay.taken_tokens()));
        line.push(Ink::Pinned, &format!("  {} taken, {tokens} tok est", text::number(count)));
    }
    if let Some(words) = overlay.arranged.words() {
        line.push(Ink::Dim, &format!("  {words}"));
    }
    line
}

fn hints(look: &Look<'_>, overlay: &Overlay, width: usize) -> Line {
    let suggests = overlay.entries.iter().any(|entry| matches!(entry, Entry::Suggested(_)));
    let words = [
        (Action::Pin, "pin"),
        (Action::Exclude, "leave out"),
        (Action::ExcludeOnce, "out once"),
        (Action::IncludeOnce, "in once"),
        (Action::TakeRow, "take"),
        (Action::Dismiss, "dismiss"),
        (Action::PlanDiff, "what changed"),
        (Action::RawRequest, "exact request"),
        (Action::Filter, "filter"),
        (Action::Order, "order"),
        (Action::Group, "group"),
        (Action::ItemHistory, "history"),
        (Action::EditRequest, "edit the request"),
        (Action::TakeAll, "take all"),
        (Action::Undo, "undo"),
        (Action::SearchAnyway, "search"),
        (Action::Fork, "fork"),
        (Action::Edit, "edit"),
        (Action::BudgetDown, "less"),
        (Action::BudgetUp, "more"),
    ];
    let mut line = Line::new();
    for (action, word) in words.into_iter().filter(|(action, _)| suggests || *action != Action::Dismiss) {
        let key = look.key_in(action, When::Overlay);
        if line.width() + key.len() + word.len() + 9 > width {
            break;
        }
        line.push(Ink::Accent, &format!("{}{key}", if line.pieces.is_empty() { "" } else { "  " }));
        line.push(Ink::Dim, &format!(" {word}"));
    }
    line
}

fn head(look: &Look<'_>, overlay: &Overlay, area: Rect, buf: &mut Buffer) {
    let mut rows = area.rows();
    let dot = format!(" {} ", look.theme.glyphs.dot);
    match &overlay.content {
        None => {
            if let Some(row) = rows.next() {
                paint::line(look.theme, &Line::of(Ink::Dim, "The plan is being worked out"), row, buf);
            }
        }
        Some(Content::Blocked(blocked)) => {
            for (line, row) in Flow::plain(&blocked.sentence(), usize::from(area.width), Ink::Danger).iter().zip(rows) {
                paint::line(look.theme, line, row, buf);
            }
        }
        Some(Content::Plan(plan)) => {
            let percent = u64::from(plan.est_total) * 100 / u64::from(plan.budget.prompt.max(1));
            let ink = next_request::meter_ink(plan.est_total, plan.budget.prompt);
            let mut sum = Line::of(ink, &format!("{} {percent} %", next_request::total(plan)));
            if let Some(known) = next_request::calibrated(look, plan).filter(|_| area.width >= 60) {
                sum.push(Ink::Text, &format!("  {known}"));
            }
            if let Some(row) = rows.next() {
                let wide = u16::try_from(sum.width() + 1).unwrap_or(u16::MAX).min(row.width);
                next_request::meter(look, plan, Rect { width: row.width - wide, ..row }, buf);
                paint::right(look.theme, &sum, row, buf);
            }
            let mut facts = vec![
                format!("policy {} v{}", plan.policy, plan.policy_version),
                format!("mode {}", plan.mode.title()),
                format!("layout {}", plan.layout.name()),
                format!("{} / {}", plan.profile, plan.model),
            ];
            if let Encoding::File(_) = plan.encoding {
                facts.push(format!("counted by {}", plan.encoding.title()));
            }
            if let Some(row) = rows.next() {
                paint::line(look.theme, &Line::of(Ink::Text, &facts.join(&dot)), row, buf);
            }
            if let Some(row) = rows.next() {
                paint::line(look.theme, &Line::of(Ink::Dim, &ids(look, plan.id, &dot)), row, buf);
            }
            let warnings: Vec<String> =
                plan.warnings.iter().map(crate::domain::planning::plan::Warning::sentence).collect();
            if let (Some(row), false) = (rows.next(), warnings.is_empty()) {
                let line = paint::cut(look.theme, Ink::Warn, &warnings.join(" "), usize::from(row.width));
                paint::line(look.theme, &line, row, buf);
            }
        }
    }
}

fn ids(look: &Look<'_>, plan: Hash, dot: &str) -> String {
    let mut words = vec![format!("plan {}", plan.short())];
    if let Some(Solved::Plan { digest, bytes, cost, .. }) = look.model.plan.shown.as_ref().map(|shown| &shown.solved) {
        words.push(format!("request {}", digest.short()));
        words.push(format!("{} bytes", text::number(*bytes)));
        words.extend(cost.map(|cost| cost_words(look, &cost)));
    }
    words.join(dot)
}

/// `≈ $0.0004 est, $0.0009 uncached`
fn cost_words(look: &Look<'_>, cost: &PromptCost) -> String {
    let words = format!("{} {} {}", look.theme.glyphs.about, text::money(cost.micro), cost.certainty.label());
    if cost.cached == 0 { words } else { format!("{words}, {} uncached", text::money(cost.uncached_micro)) }
}

fn entries(look: &Look<'_>, overlay: &Overlay, area: Rect, buf: &mut Buffer) {
    let Some(content) = &overlay.content else { return };
    let rows = content.rows();
    let area = heading(look, content, area, buf);
    let page = usize::from(area.height);
    let from = overlay.cursor.saturating_sub(page / 2).min(overlay.entries.len().saturating_sub(page));
    let most = rows.iter().map(|row| row.tokens).max().unwrap_or_default();
    let wide = text::number(u64::from(most)).len();
    for ((at, entry), place) in overlay.entries.iter().enumerate().skip(from).zip(area.rows()) {
        match *entry {
            Entry::Section(section, tokens) => {
                let value = Line::of(Ink::Heading, &text::number(u64::from(tokens)));
                paint::pair(look.theme, &Line::of(Ink::Heading, section.title()), &value, place, buf);
            }
            Entry::Tools(tokens) => tools(look, overlay, tokens, place, buf),
            Entry::Tool(tool) => {
                if let Some(tool) = plan_of(content).and_then(|plan| plan.tool_costs.get(tool)) {
                    one_tool(look, tool, place, buf);
                }
            }
            Entry::Framing(tokens) => {
                let label = Line::of(Ink::Heading, "framing").with(Ink::Dim, "  around the messages");
                let value = Line::of(Ink::Heading, &text::number(u64::from(tokens)));
                paint::pair(look.theme, &label, &value, place, buf);
            }
            Entry::Suggested(count) => border(look, &format!("suggested pins {count}"), place, buf),
            Entry::Excluded(count, tokens) => {
                border(look, &format!("excluded {count}, {} tok est", text::number(tokens)), place, buf);
            }
            Entry::Group(heading, count, tokens) => {
                let label = Line::of(Ink::Heading, &heading.title()).with(Ink::Dim, &format!(" {count}"));
                paint::pair(look.theme, &label, &Line::of(Ink::Heading, &text::number(tokens)), place, buf);
            }
            Entry::Row(row) => {
                if let Some(row) = rows.get(row) {
                    one(look, overlay, row, wide, place, buf);
                }
            }
            Entry::Item(row, item) => {
                if let Some(item) = rows.get(row).and_then(|row| row.items.get(item)) {
                    message(look, item, place, buf);
                }
            }
            Entry::Past(row, turn) => {
                if let Some(turn) = rows.get(row).and_then(|row| overlay.past_of(row).get(turn)) {
                    past(look, turn, place, buf);
                }
            }
        }
        look.item(place, at);
        if overlay.is_taken(*entry) {
            paint::line(look.theme, &Line::of(Ink::Pinned, look.theme.glyphs.ok), place, buf);
        }
        if at == overlay.cursor {
            paint::select(look.theme, place, buf);
        }
    }
}

/// What the numbers are, over their column: on the last row of the head, or below it where warnings stand there. Gives the
/// rest of the list's room.
fn heading(look: &Look<'_>, content: &Content, area: Rect, buf: &mut Buffer) -> Rect {
    if area.is_empty() {
        return area;
    }
    let over = u16::from(matches!(content, Content::Plan(plan) if plan.warnings.is_empty()));
    let row = Rect { y: area.y.saturating_sub(over), height: 1, ..area };
    let sign = look.theme.glyphs.differs;
    let marked = content.rows().iter().any(|row| breaks_at(look, row));
    let words =
        if marked { format!("{sign} from here on not as in the last call   tok est") } else { "tok est".to_owned() };
    paint::pair(look.theme, &Line::new(), &Line::of(Ink::Dim, &words), row.intersection(buf.area), buf);
    let used = (1 - over).min(area.height);
    Rect { y: area.y + used, height: area.height - used, ..area }
}

fn border(look: &Look<'_>, words: &str, area: Rect, buf: &mut Buffer) {
    let rule = look.theme.glyphs.rule;
    let left = usize::from(area.width).saturating_sub(text::width(words) + 2);
    let line = format!("{} {words} {}", rule.repeat(left / 2), rule.repeat(left - left / 2));
    paint::line(look.theme, &Line::of(Ink::Excluded, &line), area, buf);
}

fn pin_sign(look: &Look<'_>, pin: Option<MarkKind>) -> (Ink, String) {
    let glyphs = &look.theme.glyphs;
    match pin {
        None => (Ink::Text, "  ".to_owned()),
        Some(MarkKind::Sticky) => (Ink::Pinned, format!("{} ", glyphs.pin)),
        Some(MarkKind::Leased { turns }) => (Ink::Leased, format!("{}{turns} ", glyphs.lease)),
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => (Ink::Excluded, format!("{} ", glyphs.out)),
        Some(MarkKind::IncludeOnce) => (Ink::Accent, format!("{} ", glyphs.once)),
        Some(MarkKind::Ephemeral) => (Ink::Leased, format!("{}1 ", glyphs.lease)),
    }
}

/// The request of the last call on this branch and the one that would be sent part at this row.
pub(crate) fn breaks_at(look: &Look<'_>, row: &Row) -> bool {
    let Some(Solved::Plan { breaks: Some(at), .. }) = look.model.plan.shown.as_ref().map(|shown| &shown.solved) else {
        return false;
    };
    row.included() && (row.text == Some(*at) || row.items.iter().any(|item| item.key == *at))
}

fn one(look: &Look<'_>, overlay: &Overlay, row: &Row, wide: usize, area: Rect, buf: &mut Buffer) {
    let glyphs = &look.theme.glyphs;
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
    let out = !row.included() && overlay.arranged.group != Group::Section;
    let (pin_ink, pin) = match row.verdict {
        Verdict::Out { .. } if out && row.pin.is_none() => (Ink::Excluded, format!("{} ", glyphs.out)),
        _ => pin_sign(look, row.pin),
    };
    let mut label = Line::of(Ink::Dim, &format!(" {fold} ")).with(pin_ink, &pin);
    if let Some(turn) = row.source.turn {
        label.push(Ink::Dim, &format!("{turn:>3} "));
    }
    let mut value = Line::new();
    if breaks_at(look, row) {
        value.push(Ink::Warn, &format!("{} ", glyphs.differs));
    }
    let sign = value.width();
    let tokens = text::number(u64::from(row.tokens));
    value.push(ink, &tokens);
    let mark = look.model.branch().and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    if mark.and_then(|mark| mark.origin.as_ref()).is_some_and(|origin| look.stale(origin)) {
        label.push(Ink::Warn, "stale ");
    }
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    let mut why = row.reason.name().replace('_', " ");
    if out {
        why.insert_str(0, if row.verdict == Verdict::Suggested { "suggested: " } else { "out: " });
    }
    // So that the reasons stand below one another.
    let blank = wide.saturating_sub(tokens.len() + sign);
    let why_room = if room + sign > 48 { text::width(&why) + blank + 2 } else { 0 };
    let empty = row.title.is_empty() && row.included();
    let title = if empty { "(nothing is typed yet)" } else { row.title.as_str() };
    let title_ink = if empty { Ink::Dim } else { ink };
    label.push(title_ink, &text::fit(title, room - why_room, glyphs.ellipsis));
    let mut right = Line::new();
    if why_room > 0 {
        right.push(Ink::Dim, &format!("{why}  {}", " ".repeat(blank)));
    }
    right.pieces.extend(value.pieces);
    paint::pair(look.theme, &label, &right, area, buf);
}

fn plan_of(content: &Content) -> Option<&ContextPlan> {
    match content {
        Content::Plan(plan) => Some(plan),
        Content::Blocked(_) => None,
    }
}

fn tools(look: &Look<'_>, overlay: &Overlay, tokens: u32, area: Rect, buf: &mut Buffer) {
    let costs = overlay.content.as_ref().and_then(plan_of).map(|plan| plan.tool_costs.as_slice()).unwrap_or_default();
    let off = costs.iter().filter(|tool| !tool.on).count();
    let off_words = if off > 0 { format!(", {} switched off", text::number(off as u64)) } else { String::new() };
    let words = format!("  {}{off_words}", text::number((costs.len() - off) as u64));
    let fold = if overlay.tools_opened { look.theme.glyphs.opened } else { look.theme.glyphs.folded };
    let mut label = Line::of(Ink::Heading, "tool schemas");
    if !costs.is_empty() {
        label.push(Ink::Dim, &format!(" {fold}{words}"));
    }
    let value = Line::of(Ink::Heading, &text::number(u64::from(tokens)));
    paint::pair(look.theme, &label, &value, area, buf);
}

fn one_tool(look: &Look<'_>, tool: &ToolCost, area: Rect, buf: &mut Buffer) {
    let (ink, sign) = if tool.on { (Ink::Text, " ") } else { (Ink::Excluded, look.theme.glyphs.out) };
    let value = Line::of(ink, &text::number(u64::from(tool.tokens)));
    let mut right = Line::new();
    if !tool.on {
        right.push(Ink::Dim, "switched off  ");
    }
    right.pieces.extend(value.pieces);
    let mut label = Line::of(Ink::Excluded, &format!("   {sign} "));
    let room = usize::from(area.width).saturating_sub(label.width() + right.width() + 2);
    label.push(ink, &text::fit(&tool.name, room, look.theme.glyphs.ellipsis));
    paint::pair(look.theme, &label, &right, area, buf);
}

fn message(look: &Look<'_>, item: &Item, area: Rect, buf: &mut Buffer) {
    let ink = if matches!(item.form, Form::Out | Form::Gone | Form::Placeholder) { Ink::Excluded } else { Ink::Dim };
    let mut label = Line::of(ink, &format!("        {} ", item.role.name()));
    let value = Line::of(ink, &text::number(u64::from(item.tokens)));
    let form = form_words(item.form);
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + form.len() + 3);
    label.push(ink, &text::fit(&item.title, room, look.theme.glyphs.ellipsis));
    label.push(Ink::Warn, &format!(" {form}"));
    paint::pair(look.theme, &label, &value, area, buf);
}

fn past(look: &Look<'_>, turn: &Past, area: Rect, buf: &mut Buffer) {
    let value = Line::of(Ink::Excluded, &format!("~{}", text::number(turn.tokens)));
    let mut label = Line::of(Ink::Dim, &format!("     {:>3} ", turn.number));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Excluded, &text::fit(&turn.title, room, look.theme.glyphs.ellipsis));
    paint::pair(look.theme, &label, &value, area, buf);
}

fn form_words(form: Form) -> &'static str {
    match form {
        Form::Full | Form::Card => "",
        Form::NoState => "without its state block",
        Form::Cut(_) => "shortened",
        Form::Elided => "call in one line",
        Form::Gone => "named in the call's line",
        Form::Placeholder => "left out, a line in its place",
        Form::Out => "out with its turn",
    }
}
