//! Draws the list of tool calls and the details of the selected one: its arguments, result, changes, protection, and
//! links.
//! Not for: the tools panel (`chat::view::tools`).

use super::model::{Row, Traces};
use crate::domain::base::time;
use crate::domain::base::{Fields, Hash, NodeId};
use crate::domain::conversation::{Atom, LeaseTurns, MarkKind};
use crate::domain::tool::mcp::display_name;
use crate::domain::tool::trace::UNDECIDED;
use crate::domain::tool::{FileChange, Rerun, RerunState, ToolTrace, resolution};
use crate::tui::chat::view::tools;
use crate::tui::model::session::Session;
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;
use std::rc::Rc;

/// From this width on, the selected call is drawn next to the list instead of below it.
const WIDE: u16 = 110;
/// How many bytes of a text are shown; copying gives all of it.
const MAX_SHOWN_BYTES: usize = 300_000;
/// How many calls of a session the model keeps; older ones are only in the store.
const MAX_CALLS: usize = 500;
/// Unchanged lines shown around a change.
pub(crate) const AROUND: usize = 3;

/// The measurements of a frame.
pub(crate) struct FrameRows {
    /// Nodes whose contents the frame needs.
    pub(crate) wanted: Vec<NodeId>,
    /// Number of rows of the shown call and height of its view.
    pub(crate) seen: (usize, usize),
    /// Height of the list.
    pub(crate) page: usize,
}

pub(crate) fn draw(
    view: &ViewContext<'_>,
    screen: &Traces,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> FrameRows {
    let mut measured = FrameRows { wanted: Vec::new(), seen: (0, 0), page: 0 };
    let inside = view.full_screen(
        title(view, screen, usize::from(area.width.saturating_sub(2))),
        hints(view, screen, usize::from(area.width)),
        area,
        buf,
    );
    let Some(session) = view.model.session.as_ref().filter(|_| !inside.is_empty()) else { return measured };
    if session.traces.is_empty() {
        tools::draw_empty(view, inside, buf);
        return measured;
    }
    let (list, detail) = places(screen, inside);
    if let Some(list) = list {
        measured.page = rows(view, screen, session, list, buf);
    }
    let trace = screen.selected(session).zip(screen.place());
    if let (Some(detail), Some((trace, place))) = (detail, trace) {
        match list {
            Some(list) if list.y == detail.y => paint::left_rule(view.theme, detail, buf),
            Some(list) => paint::rule(view.theme, Rect { y: list.bottom(), height: 1, ..list }, buf),
            None => {}
        }
        measured.wanted = trace.node.into_iter().collect();
        let parts =
            CallDetail { view, screen, session, trace, place }.rows(detail.width.saturating_sub(1).max(1), cache);
        let count: usize = parts.iter().map(|part| part.len()).sum();
        let page = usize::from(detail.height);
        let from = screen.scroll.top.min(count.saturating_sub(page));
        paint::lines(view.theme, parts.iter().flat_map(|part| part.iter()).skip(from), detail, buf);
        paint::thumb(view.theme, from, count, page, detail, buf);
        measured.seen = (count, page);
    }
    measured
}

/// The areas of the list and of the call; None for a hidden area.
fn places(screen: &Traces, inside: Rect) -> (Option<Rect>, Option<Rect>) {
    if screen.opened {
        return (None, Some(inside));
    }
    if inside.width >= WIDE {
        let left = inside.width * 9 / 20;
        let right = Rect { x: inside.x + left + 3, width: inside.width - left - 3, ..inside };
        return (Some(Rect { width: left, ..inside }), Some(right));
    }
    if inside.height < 9 {
        return (Some(inside), None);
    }
    let top = inside.height * 2 / 5;
    let below = Rect { y: inside.y + top + 1, height: inside.height - top - 1, ..inside };
    (Some(Rect { height: top, ..inside }), Some(below))
}

fn title(view: &ViewContext<'_>, screen: &Traces, room: usize) -> Line {
    let dot = view.theme.glyphs.dot;
    let branch = view.model.branch().map_or_else(String::new, |branch| format!(" {dot} {}", branch.name));
    let of = if screen.whole { format!(" {dot} whole session") } else { branch };
    let mut parts = vec![(0, Line::of(Ink::Heading, &format!("Tool calls{of}")))];
    let mut part = |rank: u8, ink: Ink, words: &str| parts.push((rank, Line::of(ink, words)));
    let (all, failed) = screen.counts;
    let fixed = screen.links.len();
    if all > 0 {
        part(0, Ink::Dim, &format!(" {dot} {all}"));
    }
    if screen.whole && view.model.session.as_ref().is_some_and(|session| session.traces.len() >= MAX_CALLS) {
        part(2, Ink::Dim, " (the newest; pleach traces lists all)");
    }
    if failed > 0 {
        let fixed = if fixed > 0 { format!(", {fixed} of them fixed later") } else { String::new() };
        part(1, Ink::Dim, &format!(" {dot} {failed} failed{fixed}"));
    }
    if screen.filtering || !screen.filter.is_empty() {
        let typed = if screen.filtering { screen.filter.with_cursor() } else { screen.filter.to_string() };
        part(0, Ink::Accent, &format!(" {dot} / {typed}"));
    }
    if all > 0 {
        part(3, Ink::Dim, &format!(" {dot} tokens (estimated)"));
    }
    Line::of_parts(parts, room)
}

fn hints(view: &ViewContext<'_>, screen: &Traces, width: usize) -> Line {
    if screen.filtering {
        let keys = view.keys_line(KeyPlace::Picker, &[(Action::Open, "apply"), (Action::Leave, "remove")], width);
        let words = "words, tool:run, state:failed, state:unfixed, file:src  ";
        let room = width.saturating_sub(keys.width() + 4);
        return Line::of(Ink::Dim, &text::fit(words, room, view.theme.glyphs.ellipsis)).and(keys);
    }
    if screen.rows.is_empty() {
        return view.keys_line(KeyPlace::Tools, &hints_without_calls(view, screen), width);
    }
    let whole = if screen.whole { "this branch" } else { "whole session" };
    let group = if screen.grouped { "all calls" } else { "failures" };
    let enter = if screen.opened { "back to the list" } else { "full view" };
    let runs = view.model.tools.rerun.as_ref().is_some_and(|again| again.state != RerunState::Ended);
    let mut words = vec![(Action::Open, enter), (Action::Filter, "filter"), (Action::GroupFailures, group)];
    words.push(if runs { (Action::StopAgain, "stop") } else { (Action::RunAgain, "rerun") });
    words.extend([
        (Action::Leave, "close"),
        (Action::Details, if screen.details { "fewer details" } else { "details" }),
        (Action::FollowLink, "go to fix"),
        (Action::Pin, "pin"),
        (Action::Exclude, "leave out"),
        (Action::WholeSession, whole),
        (Action::Copy, "copy"),
        (Action::ToMessage, "go to message"),
    ]);
    view.keys_line(KeyPlace::Tools, &words, width)
}

/// The keys that do something while no call is listed.
fn hints_without_calls(view: &ViewContext<'_>, screen: &Traces) -> Vec<(Action, &'static str)> {
    let mut words = Vec::new();
    if screen.counts.0 > 0 && screen.filter.is_empty() {
        words.push((Action::GroupFailures, if screen.grouped { "all calls" } else { "failures" }));
    }
    if view.model.session.as_ref().is_some_and(|session| !session.traces.is_empty()) {
        words.push((Action::WholeSession, if screen.whole { "this branch" } else { "whole session" }));
    }
    words.push((Action::Leave, if screen.filter.is_empty() { "close" } else { "remove the filter" }));
    words
}

/// Draws the list. Returns its height.
fn rows(view: &ViewContext<'_>, screen: &Traces, session: &Session, area: Rect, buf: &mut Buffer) -> usize {
    let page = usize::from(area.height);
    if screen.rows.is_empty() {
        let key = |action| view.key_in(action, KeyPlace::Tools);
        let words = match (screen.counts, screen.grouped, screen.filter.is_empty()) {
            ((0, _), ..) => {
                format!("No tool calls on this branch; {} shows the whole session.", key(Action::WholeSession))
            }
            (_, true, true) => format!("No failed calls; {} lists all calls.", key(Action::GroupFailures)),
            _ => format!("No call matches the filter; {} removes it.", key(Action::Leave)),
        };
        paint::lines(view.theme, &TextRows::plain(&words, usize::from(area.width).max(1), Ink::Dim), area, buf);
        return page;
    }
    let from = paint::first_row(screen.cursor, screen.rows.len(), page);
    let bar = u16::from(screen.rows.len() > page);
    for ((at, row), place) in screen.rows.iter().enumerate().skip(from).zip(area.rows()) {
        let place = Rect { width: place.width.saturating_sub(bar), ..place };
        match row {
            Row::Kind(tool, kind, count, fixed) => {
                let tool = display_name(tool);
                let fixed = if *fixed > 0 { format!(", {fixed} fixed") } else { String::new() };
                let value = Line::of(Ink::Dim, &format!("{}{fixed}", text::counted(*count as u64, "time")));
                let room = usize::from(place.width).saturating_sub(text::width(&tool) + value.width() + 3);
                let kind = text::fit(kind, room, view.theme.glyphs.ellipsis);
                let label = Line::of(Ink::Tool, &tool).with(Ink::Heading, &format!(" {kind}"));
                paint::pair(view.theme, &label, &value, place, buf);
            }
            Row::Call(number) => {
                if let Some(trace) = session.traces.get(*number) {
                    one(view, screen, trace, *number, place, buf);
                }
            }
        }
        view.entry(place, at, at == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, screen.rows.len(), page, area, buf);
    page
}

fn one(view: &ViewContext<'_>, screen: &Traces, trace: &ToolTrace, number: usize, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let (ink, sign) = tools::sign(view.theme, trace.status);
    let mut label = Line::of(ink, &format!("{}{sign} ", if screen.grouped { "  " } else { "" }));
    match marked(view, trace) {
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => label.push(Ink::Excluded, &format!("{} ", glyphs.out)),
        Some(MarkKind::Sticky | MarkKind::Leased { .. } | MarkKind::Ephemeral) => {
            label.push(Ink::Pinned, &format!("{} ", glyphs.pin));
        }
        Some(MarkKind::IncludeOnce) | None => {}
    }
    if trace.more.again.is_some() {
        label.push(Ink::Dim, "again ");
    }
    label.push(Ink::Tool, &trace.title());
    let mut value = Line::new();
    if screen.fix(number).is_some() {
        value.push(Ink::Good, "fixed ");
    } else if screen.fixes(number).next().is_some() {
        value.push(Ink::Good, "fixes ");
    }
    if area.width >= 50 {
        if trace.truncated_from.is_some() {
            value.push(Ink::Warn, "cut ");
        }
        if let Some(exit) = trace.exit.filter(|exit| *exit != 0) {
            value.push(Ink::Danger, &format!("exit {exit} "));
        }
        let by = trace
            .word
            .as_deref()
            .filter(|word| *word != UNDECIDED)
            .map_or("", |word| word.split(' ').next().unwrap_or_default());
        value.push(Ink::Dim, &format!("{by:>4} "));
    }
    let time = tools::duration_or_state(view.model, trace);
    value.push(Ink::Dim, &format!("{time:>7} {:>6}", text::number(u64::from(trace.est_tokens))));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Dim, &format!(" {}", text::fit(&resolution::argument(&trace.args), room, glyphs.ellipsis)));
    paint::pair(view.theme, &label, &value, area, buf);
}

/// The mark on a call's result.
fn marked(view: &ViewContext<'_>, trace: &ToolTrace) -> Option<MarkKind> {
    let key = view.model.session.as_ref()?.tree.get(trace.node?)?.key;
    let marks = &view.model.branch()?.marks;
    marks.iter().find(|mark| mark.target == Atom::Message { node: key }).map(|mark| mark.kind)
}

/// A call whose details are drawn.
struct CallDetail<'a> {
    view: &'a ViewContext<'a>,
    screen: &'a Traces,
    session: &'a Session,
    trace: &'a ToolTrace,
    place: usize,
}

type Part = Rc<Vec<Line>>;

impl CallDetail<'_> {
    fn rows(&self, width: u16, cache: &mut Cache) -> Vec<Part> {
        let room = usize::from(width);
        let texts = self.screen.texts.get(&self.trace.id());
        let mut parts = vec![Rc::new(self.head(room))];
        if let Some(again) = self.view.model.tools.rerun.as_ref().filter(|again| again.of == self.trace.id()) {
            parts.push(Rc::new(self.rerun(again, room)));
        }
        parts.push(self.text("arguments", &pretty(&self.trace.args), width, cache));
        for change in texts.into_iter().flat_map(|texts| &texts.files) {
            let key = Fields::new("trace file").text(&self.trace.id()).text(&change.path).finish();
            parts.push(cache.rows(CacheKey::Text(key, true), width, || {
                let mut rows = heading(&format!("changed {}", change.path));
                rows.extend(difference(change, room));
                rows
            }));
        }
        let body =
            self.trace.node.and_then(|node| self.view.model.bodies.get(node)).map(|node| node.content.plain_text());
        let kept = texts.and_then(|texts| texts.result.as_ref());
        parts.extend(match (&body, kept) {
            (Some(body), _) => Some(self.text("result, as sent to the model", body, width, cache)),
            (None, Some((hash, text))) => Some(self.text_rows("result", *hash, text, width, cache)),
            (None, None) if self.trace.status.is_none() => None,
            (None, None) => Some(self.text("result, first line", &self.trace.preview, width, cache)),
        });
        if let Some((hash, text)) = texts.and_then(|texts| texts.full.as_ref()).filter(|_| self.trace.node.is_some()) {
            parts.push(self.text_rows("full result, as stored", *hash, text, width, cache));
        }
        if !self.trace.more.protection.is_empty() {
            let mut rows = heading("protection");
            rows.extend(self.trace.more.protection.iter().flat_map(|line| TextRows::plain(line, room, Ink::Dim)));
            parts.push(Rc::new(rows));
        }
        parts
    }

    /// The head of the details: the call, its outcome, who allowed it, and its links.
    fn head(&self, room: usize) -> Vec<Line> {
        let trace = self.trace;
        let dot = format!(" {} ", self.view.theme.glyphs.dot);
        let (ink, sign) = tools::sign(self.view.theme, trace.status);
        let first = format!("{} {}", trace.title(), resolution::argument(&trace.args));
        let mut rows = vec![
            Line::of(ink, &format!("{sign} "))
                .with(Ink::Tool, &text::fit(&first, room - 2.min(room), self.view.theme.glyphs.ellipsis)),
        ];
        let has_ended = trace.status.is_some();
        let state = if has_ended {
            resolution::state(trace).to_owned()
        } else {
            tools::duration_or_state(self.view.model, trace)
        };
        let mut facts = vec![state];
        facts.extend(trace.exit.map(|exit| format!("exit {exit}")));
        facts.extend(has_ended.then(|| text::duration(trace.duration_ms)));
        facts.extend(self.screen.details.then(|| format!("{} bytes", text::number(trace.bytes))));
        facts.extend(has_ended.then(|| format!("{} (estimated)", text::counted(u64::from(trace.est_tokens), "token"))));
        facts.push(time::clock(trace.at, self.view.model.facts.offset));
        facts.extend(self.screen.details.then(|| trace.id()));
        rows.extend(TextRows::plain(&facts.join(&dot), room, Ink::Dim));
        let allowed = match trace.word.as_deref() {
            None if !has_ended => None,
            None => Some("No approval was needed.".to_owned()),
            Some("you") if trace.more.again.is_some() => {
                Some("You reran the call; no message contains the result.".to_owned())
            }
            Some("you") => Some("Decided by you.".to_owned()),
            Some(UNDECIDED) => Some("It waited for approval and was stopped before anyone decided.".to_owned()),
            Some("nobody") => Some("No terminal to ask on, so it was denied.".to_owned()),
            Some(word) => Some(format!("Decided by a rule: {}.", word.strip_prefix("rule ").unwrap_or(word))),
        };
        rows.extend(allowed.iter().flat_map(|words| TextRows::plain(words, room, Ink::Dim)));
        if let Some(kind) = marked(self.view, trace) {
            rows.extend(TextRows::plain(&format!("Mark on this branch: {}.", describe_mark(kind)), room, Ink::Accent));
        }
        if let Some(full) = trace.truncated_from {
            let back = trace.more.back.as_ref();
            let back = back.map_or_else(String::new, |back| format!(" The model can read the rest: {back}."));
            let kept = trace.more.kept.map_or_else(String::new, |_| " The full result is below.".to_owned());
            let words = format!("Shortened from {} bytes.{back}{kept}", text::number(full));
            rows.extend(TextRows::plain(&words, room, Ink::Warn));
        }
        rows.extend(trace.more.error.iter().flat_map(|line| TextRows::exact(line, room, Ink::Danger)));
        rows.extend(self.linked(room));
        rows
    }

    /// The fix of a failure, or the failures that the call fixed.
    fn linked(&self, room: usize) -> Vec<Line> {
        let name = |place: usize| {
            self.session.traces.get(place).map_or_else(String::new, |trace| {
                let clock = time::clock(trace.at, self.view.model.facts.offset);
                format!("{} {} ({clock})", trace.title(), resolution::argument(&trace.args))
            })
        };
        let key = self.view.key_in(Action::FollowLink, KeyPlace::Tools);
        let mut rows = Vec::new();
        if let Some(link) = self.screen.fix(self.place) {
            let since = match link.between.as_slice() {
                [] => String::new(),
                files => format!(", after {} changed", files.join(", ")),
            };
            let words = format!("Fixed by {}{since}. {key} goes to it.", name(link.fixed));
            rows.extend(TextRows::plain(&words, room, Ink::Good));
        }
        for link in self.screen.fixes(self.place).take(5) {
            let words = format!("Resolves {}. {key} goes to it.", name(link.failed));
            rows.extend(TextRows::plain(&words, room, Ink::Good));
        }
        rows
    }

    /// The rerun of the call, and the differences to the first result.
    fn rerun(&self, again: &Rerun, room: usize) -> Vec<Line> {
        let mut rows = heading("rerun");
        let words = match (&again.state, &again.change) {
            (RerunState::Asks(_), _) => format!("The rerun needs approval: {}.", self.view.key(Action::AnswerTool)),
            (RerunState::Runs, _) => "Running.".to_owned(),
            (RerunState::Ended, change) => {
                let key = self.view.key_in(Action::AddResult, KeyPlace::Tools);
                let same = change.as_ref().is_some_and(|change| change.hunks.is_empty());
                let differs = if same { "Same result as before." } else { "Before (-) and now (+):" };
                let time = text::duration(again.trace.duration_ms);
                let exit = again.trace.exit.map_or_else(String::new, |exit| format!(", exit {exit}"));
                let state = resolution::state(&again.trace);
                format!("{state}{exit}, {time}. {key} inserts it into your message. {differs}")
            }
        };
        rows.extend(TextRows::plain(&words, room, Ink::Text));
        rows.extend(again.change.iter().flat_map(|change| difference(change, room)));
        rows
    }

    fn text(&self, title: &str, text: &str, width: u16, cache: &mut Cache) -> Part {
        self.text_rows(title, Hash::of(text.as_bytes()), text, width, cache)
    }

    fn text_rows(&self, title: &str, hash: Hash, text: &str, width: u16, cache: &mut Cache) -> Part {
        let key = Fields::new("trace text").text(title).hash(hash).finish();
        cache.rows(CacheKey::Text(key, true), width, || {
            let mut rows = heading(title);
            let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
            rows.extend(TextRows::plain(text[..end].trim_end(), usize::from(width), Ink::Code));
            if end < text.len() {
                let key = self.view.key(Action::Copy);
                let words = format!(
                    "The first {} of {} bytes; {key} copies all of it.",
                    text::number(end as u64),
                    text::number(text.len() as u64)
                );
                rows.extend(TextRows::plain(&words, usize::from(width), Ink::Warn));
            }
            rows
        })
    }
}

fn heading(title: &str) -> Vec<Line> {
    vec![Line::new(), Line::of(Ink::Heading, title)]
}

/// Pretty-prints JSON arguments without changing their strings; other text is returned unchanged.
pub(crate) fn pretty(args: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(args);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| args.to_owned())
}

/// A colored diff without its file names.
pub(crate) fn difference(change: &FileChange, room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    for line in change.unified(AROUND).lines().skip(2) {
        let ink = match line.chars().next() {
            Some('+') => Ink::Good,
            Some('-') => Ink::Danger,
            Some('@') => Ink::Accent,
            _ => Ink::Dim,
        };
        rows.extend(TextRows::exact(line, room, ink));
    }
    rows
}

fn describe_mark(kind: MarkKind) -> String {
    match kind {
        MarkKind::Sticky => "pinned".into(),
        MarkKind::Leased { turns: LeaseTurns::TASK } => "leased until the task ends".into(),
        MarkKind::Leased { turns } => format!("leased for {turns} turns"),
        MarkKind::Exclude => "left out".into(),
        MarkKind::ExcludeOnce => "left out of the next request".into(),
        MarkKind::IncludeOnce | MarkKind::Ephemeral => "included in the next request".into(),
    }
}
