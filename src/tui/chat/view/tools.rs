//! Draws tool calls in the panel, and the output of a running tool.
//! Not for: the one line of a call within the conversation (`message`), or the screen of all calls
//! (`screens::traces::view`).

use crate::domain::tool::consent::{CANCELED, DENIED_BY_PERSON};
use crate::domain::tool::resolution::argument;
use crate::domain::tool::{ToolStatus, ToolTrace};
use crate::tui::chat::model::live::Live;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::screens::approval::view_inline;
use crate::tui::theme::Theme;
use crate::tui::view::prelude::*;
use std::borrow::Cow;

/// How many rows of a running tool's output are shown.
const MAX_OUTPUT_ROWS: usize = 8;

/// Ink and sign of a call's status.
pub(crate) fn sign(theme: &Theme, status: Option<ToolStatus>) -> (Ink, &'static str) {
    match status {
        None => (Ink::Accent, theme.glyphs.running),
        Some(ToolStatus::Ok) => (Ink::Good, theme.glyphs.ok),
        Some(ToolStatus::Failed | ToolStatus::Refused) => (Ink::Danger, theme.glyphs.fail),
        Some(ToolStatus::Cancelled) => (Ink::Warn, theme.glyphs.out),
    }
}

/// Duration of a call; if it has not ended, whether it runs or needs approval.
pub(crate) fn duration_or_state(model: &Model, trace: &ToolTrace) -> String {
    if trace.status.is_some() {
        return text::duration(trace.duration_ms);
    }
    let mut asks = model.live.values().filter_map(|live| live.asks.as_ref());
    let waits = asks.any(|asking| asking.tool == trace.name && asking.args == trace.args);
    if waits { "needs approval".into() } else { "running".into() }
}

/// The first line of a result for a person, with "you" for the person.
pub(crate) fn preview(first: &str) -> Cow<'_, str> {
    if let Some(why) = first.strip_prefix(DENIED_BY_PERSON) {
        return format!("Denied by you.{why}").into();
    }
    first.strip_prefix(CANCELED).map_or(first.into(), |rest| format!("Canceled.{rest}").into())
}

pub(crate) fn panel(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let focus = view.focused(Focus::Tools);
    let inside = view.panel("Tools", &Line::new(), Focus::Tools, area, buf);
    let calls = view.model.tool_calls();
    if calls.is_empty() {
        draw_empty(view, inside, buf);
    } else {
        list(view, &calls, focus, inside, buf);
    }
}

pub(crate) fn draw_empty(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let session = view.model.session.as_ref();
    let trusted = session.is_some_and(|session| session.workspace.1);
    let has_calls = session.is_some_and(|session| !session.traces.is_empty());
    let text = if has_calls && session.is_some_and(|session| session.branches.len() > 1) {
        "No tool calls on this branch. Other branches of the session have some."
    } else if has_calls {
        "The first tool call is running or needs approval."
    } else if trusted {
        "No tool calls yet. A call appears here when the model reads a file, searches, or runs a command."
    } else {
        "No tools: this folder is not trusted. /trust changes that."
    };
    paint::lines(view.theme, &TextRows::plain(text, usize::from(area.width), Ink::Dim), area, buf);
}

fn list(view: &ViewContext<'_>, calls: &[&ToolTrace], focus: bool, area: Rect, buf: &mut Buffer) {
    let cursor = view.model.tools.selected.min(calls.len() - 1);
    let page = usize::from(area.height);
    let from = cursor.saturating_sub(page.saturating_sub(1));
    for ((at, trace), place) in calls.iter().enumerate().skip(from).zip(area.rows()) {
        let (ink, sign) = sign(view.theme, trace.status);
        let time = duration_or_state(view.model, trace);
        let value = match trace.status {
            Some(_) => Line::of(Ink::Dim, &format!("{time} {:>4}", text::short(u64::from(trace.est_tokens)))),
            None => Line::of(Ink::Dim, &time),
        };
        let mut label = Line::of(ink, sign).with(Ink::Text, " ");
        let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 1);
        label.push(Ink::Tool, &text::fit(&trace.title(), room, view.theme.glyphs.ellipsis));
        let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
        if room >= 6 {
            let args = text::fit(&argument(&trace.args), room, view.theme.glyphs.ellipsis);
            label.push(Ink::Dim, &format!(" {args}"));
        }
        paint::pair(view.theme, &label, &value, place, buf);
        view.row(Focus::Tools, place, at);
        if focus && at == cursor {
            paint::select(view.theme, place, buf);
        }
    }
}

/// The latest output of the running tool, or the call that needs approval.
pub(crate) fn running_output(view: &ViewContext<'_>, live: &Live, cache: &mut Cache, width: usize) -> Vec<Line> {
    if let Some(asking) = &live.asks {
        return view_inline::rows(view, asking, cache, width);
    }
    if live.tool_output.is_empty() {
        return Vec::new();
    }
    let rows = TextRows::plain(live.tool_output.trim_end(), width, Ink::Dim);
    rows[rows.len().saturating_sub(MAX_OUTPUT_ROWS)..].to_vec()
}
