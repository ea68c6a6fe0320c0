//! What stands where there is no message yet: how to begin, what was looked for, what to do.
//! Not for: empty side panels, which say their own line.

use crate::tui::model::Action;
use crate::tui::model::layer::Found;
use crate::tui::model::session::Session;
use crate::tui::text::Line;
use crate::tui::text::markdown::Flow;
use crate::tui::theme::Ink;
use crate::tui::view::{Look, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) fn opening(look: &Look<'_>, area: Rect, buf: &mut Buffer) {
    let words = if look.model.pending.is_empty() { "No session is open." } else { "Opening the session" };
    let mut rows = Flow::plain(words, usize::from(area.width), Ink::Dim);
    if look.model.pending.is_empty() {
        let hint = format!("{} shows the sessions there are.", look.key(Action::Sessions));
        rows.extend(Flow::plain(&hint, usize::from(area.width), Ink::Dim));
    }
    paint::lines(look.theme, &rows, area, buf);
}

pub(crate) fn chat(look: &Look<'_>, session: &Session, area: Rect, buf: &mut Buffer) {
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
        if session.settings().is_some_and(|settings| settings.profile == "offline") {
            let words = "The built-in offline model answers: it quotes its context and is no language model.";
            rows.extend(Flow::plain(words, width, Ink::Dim));
        }
        if !session.workspace.1 {
            let words = "No tools, no code: this folder is not trusted. /trust-folder changes that.";
            rows.extend(Flow::plain(words, width, Ink::Dim));
        }
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

/// What was looked for, one line a kind: what answers, what has no key, what does not answer, and how to set one up.
fn found(look: &Look<'_>, width: usize) -> Vec<Line> {
    let findings = &look.model.findings;
    if findings.is_empty() {
        return vec![Line::of(Ink::Dim, "Looking for model servers.")];
    }
    let glyphs = &look.theme.glyphs;
    let server = |f: &&Found| f.subject.starts_with("profile ");
    let named = |keep: &dyn Fn(&Found) -> bool| -> String {
        let names =
            findings.iter().filter(server).filter(|f| keep(f)).map(|f| f.subject["profile ".len()..].to_owned());
        names.collect::<Vec<String>>().join(", ")
    };
    let mut rows = vec![Line::of(Ink::Heading, "What was looked for")];
    for finding in findings.iter().filter(server).filter(|f| f.ok == Some(true)) {
        let mut line =
            Line::of(Ink::Good, &format!("{} ", glyphs.ok)).with(Ink::Text, &finding.subject["profile ".len()..]);
        line.push(Ink::Dim, &format!(": {}", finding.text));
        rows.push(paint_cut(look, &line, width));
    }
    let silent = named(&|f| f.ok == Some(false));
    let keyless = named(&|f| f.ok.is_none());
    for (sign, words, names) in [(glyphs.fail, "no server answers for", silent), (glyphs.dot, "no key for", keyless)] {
        if !names.is_empty() {
            rows.extend(Flow::plain(&format!("{sign} {words} {names}"), width, Ink::Dim));
        }
    }
    rows.push(Line::new());
    rows.push(Line::of(Ink::Heading, "To ask a real model"));
    for words in [
        "Start with OPENAI_API_KEY=… (or another profile's key) in the environment,",
        "or with OPENAI_BASE_URL=http://localhost:PORT/v1 for a server of your own,",
        "or write a profile into config.toml (pleach config path says where).",
    ] {
        rows.extend(Flow::plain(words, width, Ink::Text));
    }
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
