//! The context overlay: every row of the plan in its section with its reason, and the selected one in full beside it.
//! Not for: the list's order (the model works it out).

use super::cache::{Cache, Of};
use super::{Look, context, paint};
use crate::domain::hash::Hash;
use crate::domain::mark::MarkKind;
use crate::domain::meter::PromptCost;
use crate::domain::plan::{Form, Item, Row, RowKind, Verdict};
use crate::domain::tokens::Encoding;
use crate::tui::model::overlay::{Content, Entry, Overlay, Past};
use crate::tui::model::plan::Solved;
use crate::tui::model::{Action, When};
use crate::tui::text::markdown::Flow;
use crate::tui::text::{self, Line};
use crate::tui::theme::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Bytes of a row's text that are shown in the detail pane; the rest is in the raw request.
const DETAIL_BYTES: usize = 200_000;

/// Steps of an item that are shown, the newest first.
const STEPS: usize = 4;

/// How many rows of the screen the list has.
pub(super) fn list_rows(area: Rect) -> u16 {
    let inside = super::layout::inside(area);
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

pub(super) fn draw(look: &Look<'_>, overlay: &Overlay, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
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
    let (list, detail) = split(inside);
    entries(look, overlay, list, buf);
    let rows = detail_rows(look, overlay, cache, detail.width);
    if detail.width == inside.width && !detail.is_empty() {
        let rule = look.theme.glyphs.rule.repeat(usize::from(detail.width));
        paint::line(look.theme, &Line::of(Ink::Border, &rule), detail, buf);
        let below = Rect { y: detail.y + 1, height: detail.height - 1, ..detail };
        paint::lines(look.theme, rows.iter().skip(overlay.detail_scroll), below, buf);
    } else {
        paint::beside(look.theme, detail, buf);
        paint::lines(look.theme, rows.iter().skip(overlay.detail_scroll), detail, buf);
    }
}

fn title(overlay: &Overlay) -> Line {
    let mut line = Line::of(Ink::Heading, "What the next call holds");
    if overlay.filtering || !overlay.filter.is_empty() {
        line.push(Ink::Accent, &format!("  / {}", overlay.filter));
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
        (Action::Dismiss, "dismiss"),
        (Action::PlanDiff, "what changed"),
        (Action::ItemHistory, "history"),
        (Action::SearchAnyway, "search"),
        (Action::Fork, "fork"),
        (Action::Edit, "edit"),
        (Action::BudgetDown, "less"),
        (Action::BudgetUp, "more"),
        (Action::RawRequest, "exact request"),
        (Action::Undo, "undo"),
        (Action::Filter, "filter"),
    ];
    let mut line = Line::new();
    for (action, word) in words.into_iter().filter(|(action, _)| suggests || *action != Action::Dismiss) {
        let key = look.key(action);
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
            let ink = context::meter_ink(plan.est_total, plan.budget.prompt);
            let mut sum = Line::of(ink, &format!("{} {percent} %", context::total(plan)));
            if let Some(known) = context::calibrated(look, plan).filter(|_| area.width >= 60) {
                sum.push(Ink::Text, &format!("  {known}"));
            }
            if let Some(row) = rows.next() {
                let wide = u16::try_from(sum.width() + 1).unwrap_or(u16::MAX).min(row.width);
                context::meter(look, plan, Rect { width: row.width - wide, ..row }, buf);
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
            let warnings: Vec<String> = plan.warnings.iter().map(crate::domain::plan::Warning::sentence).collect();
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
    for ((at, entry), place) in overlay.entries.iter().enumerate().skip(from).zip(area.rows()) {
        match *entry {
            Entry::Section(section, tokens) => {
                let value = Line::of(Ink::Heading, &text::number(u64::from(tokens)));
                paint::pair(look.theme, &Line::of(Ink::Heading, section.title()), &value, place, buf);
            }
            Entry::Suggested(count) => border(look, &format!("suggested pins {count}"), place, buf),
            Entry::Excluded(count, tokens) => {
                border(look, &format!("excluded {count}, {} tok est", text::number(tokens)), place, buf);
            }
            Entry::Row(row) => {
                if let Some(row) = rows.get(row) {
                    one(look, overlay, row, place, buf);
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
fn breaks_at(look: &Look<'_>, row: &Row) -> bool {
    let Some(Solved::Plan { breaks: Some(at), .. }) = look.model.plan.shown.as_ref().map(|shown| &shown.solved) else {
        return false;
    };
    row.included() && (row.text == Some(*at) || row.items.iter().any(|item| item.key == *at))
}

fn one(look: &Look<'_>, overlay: &Overlay, row: &Row, area: Rect, buf: &mut Buffer) {
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
    let (pin_ink, pin) = pin_sign(look, row.pin);
    let mut label = Line::of(Ink::Dim, &format!(" {fold} ")).with(pin_ink, &pin);
    if let Some(turn) = row.source.turn {
        label.push(Ink::Dim, &format!("{turn:>3} "));
    }
    let mut value = Line::new();
    if breaks_at(look, row) {
        value.push(Ink::Warn, &format!("{} ", glyphs.differs));
    }
    let sign = value.width();
    value.push(ink, &text::number(u64::from(row.tokens)));
    let mark = look.model.branch().and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    if mark.and_then(|mark| mark.origin.as_ref()).is_some_and(|origin| look.stale(origin)) {
        label.push(Ink::Warn, "stale ");
    }
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    let why = row.reason.name().replace('_', " ");
    let why_room = if room + sign > 48 { text::width(&why) + 2 } else { 0 };
    let blank = row.title.is_empty() && row.included();
    let title = if blank { "(nothing is typed yet)" } else { row.title.as_str() };
    let title_ink = if blank { Ink::Dim } else { ink };
    label.push(title_ink, &text::fit(title, room - why_room, glyphs.ellipsis));
    let mut right = Line::new();
    if why_room > 0 {
        right.push(Ink::Dim, &format!("{why}  "));
    }
    right.pieces.extend(value.pieces);
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

fn detail_rows(look: &Look<'_>, overlay: &Overlay, cache: &mut Cache, width: u16) -> Vec<Line> {
    let Some((row, item)) = overlay.selected() else { return Vec::new() };
    let room = usize::from(width).max(1);
    let mut rows = Flow::plain(&row.reason.sentence(), room, Ink::Accent);
    if let Verdict::Out { needed, remedy } = &row.verdict {
        match remedy {
            Some(remedy) => {
                let key = look.model.keys.key_named(&remedy.action);
                rows.extend(Flow::plain(&remedy.sentence(&key), room, Ink::Text));
            }
            None => rows.push(Line::of(Ink::Dim, "Nothing brings it in.")),
        }
        if *needed > 0 {
            let words = format!("It needs {} tok est more than are free.", text::number(u64::from(*needed)));
            rows.extend(Flow::plain(&words, room, Ink::Text));
        }
    }
    if breaks_at(look, row) {
        let words = "Up to here the request begins as the last one on this branch, so a server that keeps prefixes reads it from its cache; from here on it reads anew.";
        rows.extend(Flow::plain(words, room, Ink::Text));
    }
    rows.extend(Flow::plain(&source(look, row), room, Ink::Dim));
    rows.extend(origin(look, row, room));
    rows.extend(score(row).iter().flat_map(|words| Flow::plain(words, room, Ink::Dim)));
    let steps = overlay.selected_atom().and_then(|atom| overlay.steps.get(&atom.key()));
    for step in steps.into_iter().flatten().rev().take(STEPS) {
        rows.extend(Flow::plain(&format!("{} {step}", look.theme.glyphs.dot), room, Ink::Dim));
    }
    let lately = overlay.selected_atom().and_then(|atom| overlay.lately.get(&atom.key()));
    rows.extend(lately.map(|history| super::diff::lately(look, history, room)).unwrap_or_default());
    rows.push(Line::new());
    if let Some(item) = item.and_then(|at| row.items.get(at)) {
        let words = format!("{}: {}", item.role.name(), item.title);
        rows.extend(Flow::plain(&words, room, Ink::Dim));
        rows.push(Line::new());
    }
    let found = overlay.selected_atom().and_then(|atom| overlay.texts.get(&atom.key()));
    match found {
        Some(text) => {
            let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= DETAIL_BYTES).unwrap_or(text.len());
            let of = Of::Held(text.as_ptr().addr(), text.len());
            let wrapped = cache.rows(of, width, || Flow::exact(&text[..end], room, Ink::Text));
            rows.extend(wrapped.iter().take(4_000).cloned());
        }
        None => rows.extend(Flow::plain(&row.title, room, Ink::Dim)),
    }
    rows
}

/// Where a text came from that was picked or brought back from another branch, and whether that went on since.
fn origin(look: &Look<'_>, row: &Row, room: usize) -> Vec<Line> {
    let mark = look.model.branch().and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    let Some(origin) = mark.and_then(|mark| mark.origin.as_ref()) else { return Vec::new() };
    let messages = text::counted(origin.sources.len() as u64, "message");
    let mut rows = Flow::plain(&format!("{}, {messages}.", origin.words()), room, Ink::Text);
    if look.stale(origin) {
        let key = look.key_in(Action::Compare, When::Branches);
        let words =
            format!("Stale: that branch went on since. {key} in the branches looks at both; bring it back anew.");
        rows.extend(Flow::plain(&words, room, Ink::Warn));
    }
    rows
}

/// A score and what it is made of.
fn score(row: &Row) -> Option<String> {
    let whole = row.scores.score?;
    let parts: Vec<String> =
        row.scores.parts.iter().map(|(name, part)| format!("{name} {}", text::thousandths(*part))).collect();
    Some(format!("score {} = {}", text::thousandths(whole), parts.join(" + ")))
}

fn source(look: &Look<'_>, row: &Row) -> String {
    let dot = format!(" {} ", look.theme.glyphs.dot);
    let mut words = vec![format!("{}, {} tok est", row.kind.name(), text::number(u64::from(row.tokens)))];
    if row.turns > 1 {
        words.push(text::counted(u64::from(row.turns), "turn"));
    }
    if let Some(turn) = row.source.turn {
        words.push(format!("turn {turn}"));
    }
    if let Some(at) = row.source.at {
        let offset = look.model.facts.offset;
        words.push(format!("{} {}", text::date(at, offset), text::clock(at, offset)));
    }
    if let Some(id) = &row.source.external_id {
        words.push(format!("imported as {id}"));
    }
    if let Some(pin) = row.pin {
        words.push(pin.name().to_owned());
    }
    words.join(&dot)
}
