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

/// A paragraph of the page, which is shown whole or not at all.
struct Paragraph {
    /// The paragraphs with the highest rank are left out first.
    rank: u8,
    /// Whether an empty row precedes it.
    gap: bool,
    rows: Vec<Line>,
}

/// The highest rank of a paragraph.
const MAX_RANK: u8 = 6;
/// Where the usual page would have only paragraphs below this rank, the short page is shown.
const LEAST_RANK: u8 = 2;

/// Draws the page. A notice takes `notice` rows from the pane; the page stays at the place that it has without one.
pub(crate) fn chat(view: &ViewContext<'_>, session: &Session, area: Rect, notice: u16, buf: &mut Buffer) {
    let whole = Rect { height: area.height + notice, ..area };
    let width = usize::from(area.width.saturating_sub(4).min(84)).max(1);
    let mut rows = rows(view, session, width, whole.height);
    let wide = u16::try_from(width).unwrap_or(u16::MAX);
    let height = |rows: &[Line]| u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let place = paint::centered(whole, wide, height(&rows));
    if rows.len() > usize::from(area.height) {
        rows = self::rows(view, session, width, area.height);
    }
    let y = place.y.min(area.bottom().saturating_sub(height(&rows))).max(area.y);
    paint::lines(view.theme, &rows, Rect { y, height: height(&rows).min(area.height), ..place }, buf);
}

/// The rows of the page in at most `height` rows.
fn rows(view: &ViewContext<'_>, session: &Session, width: usize, height: u16) -> Vec<Line> {
    let room = usize::from(height);
    let usual = page(view, session, width);
    let usual = (LEAST_RANK..=MAX_RANK).rev().map(|rank| up_to(&usual, rank)).find(|rows| rows.len() <= room);
    usual.unwrap_or_else(|| {
        let short = short_page(view, session, width);
        let mut fitting = (0..=MAX_RANK).rev().map(|rank| up_to(&short, rank));
        fitting.find(|rows| rows.len() <= room).unwrap_or_else(|| up_to(&short, 0))
    })
}

/// The rows of the paragraphs up to a rank.
fn up_to(paragraphs: &[Paragraph], rank: u8) -> Vec<Line> {
    let mut rows = Vec::new();
    for paragraph in paragraphs.iter().filter(|paragraph| paragraph.rank <= rank) {
        rows.extend((paragraph.gap && !rows.is_empty()).then(Line::new));
        rows.extend(paragraph.rows.iter().cloned());
    }
    rows
}

/// Says that the folder is not trusted.
const NOT_TRUSTED: &str = "This folder is not trusted: no tools, code, or rules. /trust changes that.";

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

/// The page where the usual one does not fit: the purpose, and one row for each step.
fn short_page(view: &ViewContext<'_>, session: &Session, width: usize) -> Vec<Paragraph> {
    let paragraph = |rank, text: &str, ink| Paragraph { rank, gap: false, rows: TextRows::plain(text, width, ink) };
    let mut page = vec![paragraph(2, PURPOSE, Ink::Heading)];
    let problem = problem(session).map(|failure| failure.what.clone());
    let warning = problem.clone().or_else(|| view.model.model_problem());
    page.extend(warning.map(|text| paragraph(1, &text, Ink::Warn)));
    let steps = [
        (Action::Tour, "take the tour"),
        (Action::UseOffline, "use the offline model"),
        (Action::Models, "choose a model"),
    ];
    let steps = steps.into_iter().filter(|(action, _)| problem.is_some() || *action != Action::UseOffline);
    let mut steps: Vec<(String, &str)> = steps.map(|(action, text)| (view.key(action), text)).collect();
    steps.push((view.key_in(Action::Send, KeyPlace::Composer), "send a message: type it below"));
    let wide = steps.iter().map(|(key, _)| text::width(key)).max().unwrap_or(0);
    let step = |(key, text): &(String, &str)| Line::of(Ink::Accent, &format!("{key:wide$}  ")).with(Ink::Text, text);
    let fit = |row: Line| row.fit(width, view.theme.glyphs.ellipsis);
    page.push(Paragraph { rank: 0, gap: false, rows: steps.iter().map(step).map(fit).collect() });
    if problem.is_none() && !session.workspace.1 {
        page.push(paragraph(3, NOT_TRUSTED, Ink::Dim));
    }
    page
}

/// The usual page.
fn page(view: &ViewContext<'_>, session: &Session, width: usize) -> Vec<Paragraph> {
    let paragraph = |rank, gap, text: &str, ink| Paragraph { rank, gap, rows: TextRows::plain(text, width, ink) };
    let mut page = vec![
        paragraph(2, false, PURPOSE, Ink::Heading),
        paragraph(6, false, "Branch the conversation anywhere; compare, go back, undo.", Ink::Dim),
    ];
    let problem = problem(session);
    if let Some(failure) = problem {
        page.push(paragraph(0, true, &failure.what, Ink::Warn));
        for text in [&failure.kept, &failure.todo].into_iter().filter(|text| !text.is_empty()) {
            page.push(paragraph(1, false, &with_bound_keys(&view.model.keys, IN_CONVERSATION, text), Ink::Text));
        }
        page.push(Paragraph { rank: 0, gap: true, rows: steps(view, &NOT_SET_UP, width) });
    } else {
        page.extend(view.model.model_problem().map(|text| paragraph(0, true, &text, Ink::Warn)));
        page.push(Paragraph { rank: 0, gap: true, rows: steps(view, &FIRST_STEPS, width) });
        let then = if session.settings().is_some_and(|settings| settings.profile == "offline") {
            "the built-in offline model answers"
        } else {
            "pleach sends exactly the request shown"
        };
        let key = view.key_in(Action::Send, KeyPlace::Composer);
        let text = format!("Or type a message and press {key}: {then}.");
        page.push(paragraph(2, false, &text, Ink::Text));
        if !session.workspace.1 {
            page.push(paragraph(5, false, NOT_TRUSTED, Ink::Dim));
        }
    }
    if view.model.facts.first_start || problem.is_some() {
        page.extend(found(view, problem.is_some_and(|failure| !failure.todo.is_empty()), width));
    }
    page
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

/// The model servers, by state: running, not running, without a key; and how to configure one. `has_remedy` if the page
/// says already what to set.
fn found(view: &ViewContext<'_>, has_remedy: bool, width: usize) -> Vec<Paragraph> {
    let findings = &view.model.engine.findings;
    if findings.is_empty() {
        let rows = vec![Line::of(Ink::Dim, "Looking for model servers…")];
        return vec![Paragraph { rank: 3, gap: true, rows }];
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
    let key = "For a real model, set OPENAI_API_KEY (or another key) and restart pleach.";
    let server = [
        "For your own server, set OPENAI_BASE_URL=http://localhost:PORT/v1,",
        "or add a profile to config.toml (`pleach config path` prints its path).",
    ];
    let how = Some(key).filter(|_| !has_remedy).into_iter().chain(server);
    let how = how.flat_map(|text| TextRows::plain(text, width, Ink::Text)).collect();
    vec![Paragraph { rank: 4, gap: true, rows }, Paragraph { rank: 3, gap: false, rows: how }]
}
