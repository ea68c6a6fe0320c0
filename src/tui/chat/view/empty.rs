//! Draws the empty conversation: the purpose of the program, the first steps, and the model servers found.
//! Not for: empty panels, which draw their own text.

use crate::domain::base::Failure;
use crate::tui::model::session::Session;
use crate::tui::view::prelude::*;

pub(crate) fn opening(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let text = if view.model.requests.pending.is_empty() {
        format!("No session is open.\n{} lists your sessions.", view.key(Action::Sessions))
    } else {
        "Opening the session".to_owned()
    };
    let inside = Rect { x: area.x + area.width.min(2), width: area.width.saturating_sub(4), ..area };
    paint::lines(view.theme, &TextRows::plain(&text, usize::from(inside.width).max(1), Ink::Dim), inside, buf);
}

const PURPOSE: &str = "pleach shows every request before it is sent, and lets you change it.";
/// First steps while no model is configured.
const NOT_SET_UP: [(Action, &str); 4] = [
    (Action::Tour, TOUR),
    (Action::UseOffline, "use the built-in offline model, a placeholder that quotes its context"),
    (Action::Models, "choose one of the models found"),
    (Action::Help, "show all keys"),
];
/// First steps otherwise.
const FIRST_STEPS: [(Action, &str); 3] =
    [(Action::Tour, TOUR), (Action::Models, "choose a model"), (Action::Help, "show all keys")];
const TOUR: &str = "take the tour: nine steps, a few minutes, offline, not saved";

/// Draws the page. A notice takes `notice` rows from the pane; the page stays at the place that it has without one.
pub(crate) fn chat(view: &ViewContext<'_>, session: &Session, area: Rect, notice: u16, buf: &mut Buffer) {
    let whole = Rect { height: area.height + notice, ..area };
    let width = usize::from(area.width.saturating_sub(4).min(84)).max(1);
    let room = usize::from(whole.height);
    let mut rows = page(view, session, width);
    if rows.len() > room {
        rows = short_page(view, session, width);
    } else if view.model.facts.first_start || session.settings().is_some_and(|settings| settings.ready.is_err()) {
        rows.push(Line::new());
        rows.extend(found(view, width));
        rows.truncate(room);
    }
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let wide = u16::try_from(width).unwrap_or(u16::MAX);
    let place = paint::centered(whole, wide, height);
    let y = place.y.min(area.bottom().saturating_sub(height)).max(area.y);
    paint::lines(view.theme, &rows, Rect { y, height: height.min(area.height), ..place }, buf);
}

/// Says that the folder is not trusted.
const NOT_TRUSTED: &str = "This folder is not trusted: no tools, code, or rules. /trust-folder changes that.";

/// Whether the page is shown and says that the folder is not trusted.
pub(crate) fn says_not_trusted(view: &ViewContext<'_>) -> bool {
    let model = view.model;
    let page = model.conversation.path.is_empty() && model.live_here().is_none() && model.side_by_side();
    page && model.session.as_ref().is_some_and(|session| !session.workspace.1 && problem(session).is_none())
}

/// Why no model can be called now.
fn problem(session: &Session) -> Option<&Failure> {
    session.settings().and_then(|settings| settings.ready.as_ref().err())
}

/// Says that the profile does not list the model, if its server was asked.
fn unlisted_model(view: &ViewContext<'_>, session: &Session) -> Option<String> {
    let settings = session.settings()?;
    let names = view.model.engine.listed_models.get(&settings.profile).filter(|names| !names.is_empty())?;
    (!names.contains(&settings.model.name)).then(|| {
        let key = view.key(Action::Models);
        format!("The profile {} has no model {}. {key} lists its models.", settings.profile, settings.model.name)
    })
}

/// The page where the usual one does not fit: the purpose, and one row for each step.
fn short_page(view: &ViewContext<'_>, session: &Session, width: usize) -> Vec<Line> {
    let mut rows = TextRows::plain(PURPOSE, width, Ink::Heading);
    let problem = problem(session).map(|failure| failure.what.clone());
    rows.extend(problem.clone().or_else(|| unlisted_model(view, session)).map(|what| Line::of(Ink::Warn, &what)));
    let steps = [
        (Action::Tour, "take the tour"),
        (Action::UseOffline, "use the offline model"),
        (Action::Models, "choose a model"),
    ];
    let steps = steps.into_iter().filter(|(action, _)| problem.is_some() || *action != Action::UseOffline);
    let mut steps: Vec<(String, &str)> = steps.map(|(action, text)| (view.key(action), text)).collect();
    steps.push((view.key_in(Action::Send, When::Composer), "send a message: type it below"));
    let wide = steps.iter().map(|(key, _)| text::width(key)).max().unwrap_or(0);
    rows.extend(steps.iter().map(|(key, text)| Line::of(Ink::Accent, &format!("{key:wide$}  ")).with(Ink::Text, text)));
    if problem.is_none() && !session.workspace.1 {
        rows.push(Line::of(Ink::Dim, NOT_TRUSTED));
    }
    rows.into_iter().map(|row| row.fit(width, view.theme.glyphs.ellipsis)).collect()
}

/// The usual page, without the model servers.
fn page(view: &ViewContext<'_>, session: &Session, width: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    let mut say = |text: &str, ink: Ink| rows.extend(TextRows::plain(text, width, ink));
    say(PURPOSE, Ink::Heading);
    say("Branch the conversation anywhere; compare, go back, undo.", Ink::Dim);
    say("", Ink::Text);
    if let Some(failure) = problem(session) {
        say(&failure.what, Ink::Warn);
        for text in [&failure.kept, &failure.todo].into_iter().filter(|text| !text.is_empty()) {
            say(&with_bound_keys(&view.model.keys, IN_CONVERSATION, text), Ink::Text);
        }
        say("", Ink::Text);
        rows.extend(steps(view, &NOT_SET_UP, width));
    } else {
        if let Some(text) = unlisted_model(view, session) {
            say(&text, Ink::Warn);
            say("", Ink::Text);
        }
        rows.extend(steps(view, &FIRST_STEPS, width));
        let then = if session.settings().is_some_and(|settings| settings.profile == "offline") {
            "the built-in offline model answers"
        } else {
            "pleach sends exactly the request shown"
        };
        let key = view.key_in(Action::Send, When::Composer);
        rows.extend(TextRows::plain(&format!("Or type a message and press {key}: {then}."), width, Ink::Text));
        if !session.workspace.1 {
            rows.extend(TextRows::plain(NOT_TRUSTED, width, Ink::Dim));
        }
    }
    rows
}

/// One row per step: its key and its description.
fn steps(view: &ViewContext<'_>, all: &[(Action, &str)], width: usize) -> Vec<Line> {
    let keys: Vec<String> = all.iter().map(|(action, _)| view.key(*action)).collect();
    let wide = keys.iter().map(|key| text::width(key)).max().unwrap_or(0);
    let one = |((_, text), key): (&(Action, &str), &String)| {
        let room = width.saturating_sub(wide + 2).max(1);
        let key = format!("{key}{}  ", " ".repeat(wide - text::width(key)));
        let text = TextRows::plain(text, room, Ink::Text).into_iter().enumerate();
        let line = |(nth, row): (usize, Line)| {
            let lead = if nth == 0 { key.clone() } else { " ".repeat(wide + 2) };
            Line::of(Ink::Accent, &lead).and(row)
        };
        text.map(line).collect::<Vec<Line>>()
    };
    all.iter().zip(&keys).flat_map(one).collect()
}

/// The model servers, by state: running, not running, without a key; and how to configure one.
fn found(view: &ViewContext<'_>, width: usize) -> Vec<Line> {
    let findings = &view.model.engine.findings;
    if findings.is_empty() {
        return vec![Line::of(Ink::Dim, "Looking for model servers…")];
    }
    let glyphs = &view.theme.glyphs;
    let servers = |state: Option<bool>| {
        let those = findings.iter().filter(move |finding| finding.ok == state);
        those.filter_map(|finding| Some((finding.subject.strip_prefix("profile ")?, finding)))
    };
    let mut rows = vec![Line::of(Ink::Heading, "Model servers")];
    for (name, finding) in servers(Some(true)) {
        let line = Line::of(Ink::Good, &format!("{} ", glyphs.ok)).with(Ink::Text, name);
        rows.push(line.with(Ink::Dim, &format!(": {}", finding.text)).fit(width, glyphs.ellipsis));
    }
    for (sign, text, state) in [(glyphs.fail, "not running:", Some(false)), (glyphs.dot, "no key:", None)] {
        let names: Vec<&str> = servers(state).map(|(name, _)| name).collect();
        if !names.is_empty() {
            rows.extend(TextRows::plain(&format!("{sign} {text} {}", names.join(", ")), width, Ink::Dim));
        }
    }
    for text in [
        "For a real model, set OPENAI_API_KEY (or another key) and restart pleach;",
        "for your own server, set OPENAI_BASE_URL=http://localhost:PORT/v1;",
        "or add a profile to config.toml (`pleach config path` prints its path).",
    ] {
        rows.extend(TextRows::plain(text, width, Ink::Text));
    }
    rows
}
