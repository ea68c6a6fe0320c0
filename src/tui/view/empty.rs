//! What stands where there is no message yet: how to begin, what was looked for, what to do.
//! Not for: empty side panels, which say their own line.

use super::{Look, paint};
use crate::tui::model::Action;
use crate::tui::model::session::Session;
use crate::tui::text::Line;
use crate::tui::text::markdown::Flow;
use crate::tui::theme::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn opening(look: &Look<'_>, area: Rect, buf: &mut Buffer) {
    let words = if look.model.pending.is_empty() { "No session is open." } else { "Opening the session" };
    let mut rows = Flow::plain(words, usize::from(area.width), Ink::Dim);
    if look.model.pending.is_empty() {
        let hint = format!("{} shows the sessions there are.", look.key(Action::Sessions));
        rows.extend(Flow::plain(&hint, usize::from(area.width), Ink::Dim));
    }
    paint::lines(look.theme, &rows, area, buf);
}

pub(super) fn chat(look: &Look<'_>, session: &Session, area: Rect, buf: &mut Buffer) {
    let width = usize::from(area.width.saturating_sub(4).min(90)).max(1);
    let ready = session.settings().map(|settings| settings.ready.clone());
    let mut rows = Vec::new();
    if let Some(Err(failure)) = ready {
        rows.extend(Flow::plain(&failure.what, width, Ink::Warn));
        for words in [&failure.kept, &failure.todo].into_iter().filter(|words| !words.is_empty()) {
            rows.extend(Flow::plain(words, width, Ink::Text));
        }
        rows.push(Line::new());
        let offline = format!(
            "{} uses the built-in offline model: it answers by quoting its context, and is no language model.",
            look.key(Action::UseOffline)
        );
        rows.extend(Flow::plain(&offline, width, Ink::Accent));
        let models = format!("{} chooses among the servers that were found.", look.key(Action::Models));
        rows.extend(Flow::plain(&models, width, Ink::Text));
        rows.push(Line::new());
        rows.extend(found(look, width));
    } else {
        rows.extend(Flow::plain("Write below; Enter sends exactly what the panel Context shows.", width, Ink::Text));
        if look.model.facts.first_start {
            rows.push(Line::new());
            rows.extend(found(look, width));
        }
    }
    rows.push(Line::new());
    let keys = format!(
        "{} what goes in and why {dot} {} how much context is gathered {dot} {} all keys",
        look.key(Action::Context),
        look.key(Action::CycleMode),
        look.key(Action::Help),
        dot = look.theme.glyphs.dot,
    );
    rows.extend(Flow::plain(&keys, width, Ink::Dim));
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let wide = u16::try_from(width).unwrap_or(u16::MAX);
    paint::lines(look.theme, &rows, paint::middle(area, wide, height), buf);
}

fn found(look: &Look<'_>, width: usize) -> Vec<Line> {
    if look.model.findings.is_empty() {
        return Vec::new();
    }
    let glyphs = &look.theme.glyphs;
    let mut rows = vec![Line::of(Ink::Dim, "What was looked for:")];
    for finding in &look.model.findings {
        let (ink, sign) = match finding.ok {
            Some(true) => (Ink::Good, glyphs.ok),
            Some(false) => (Ink::Dim, glyphs.fail),
            None => (Ink::Dim, glyphs.dot),
        };
        let mut line = Line::of(ink, &format!("{sign} ")).with(Ink::Text, &format!("{}: ", finding.subject));
        line.push(Ink::Dim, &finding.text);
        rows.push(paint_cut(look, &line, width));
        if finding.ok == Some(false) && !finding.todo.is_empty() {
            rows.extend(Flow::plain(&format!("    {}", finding.todo), width, Ink::Dim));
        }
    }
    rows.push(Line::new());
    rows
}

fn paint_cut(look: &Look<'_>, line: &Line, width: usize) -> Line {
    let mut out = Line::new();
    for piece in &line.pieces {
        let room = width.saturating_sub(out.width());
        out.push(piece.ink, &crate::tui::text::fit(&piece.text, room, look.theme.glyphs.ellipsis));
    }
    out
}
