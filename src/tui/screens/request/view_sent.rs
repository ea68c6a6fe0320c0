//! Draws the parts of the request overlay that only a past call has: its name, when and how it was sent, the server's
//! counts, how the answer used an item, and the known facts if its plan is not stored.
//! Not for: the rows of the plan, which are drawn like the rows of the next request (`view`).

use super::model::RequestScreen;
use super::model_sent::SentCall;
use crate::domain::base::money::money;
use crate::domain::call::{RunCard, RunStatus, SentRequest, ShortRead};
use crate::domain::planning::{Row, Verdict};
use crate::tui::view::prelude::*;

/// `Request of turn 12, round 2 of 4`
pub(crate) fn name(sent: &SentCall) -> String {
    let Some(found) = &sent.found else { return "Request of a call".to_owned() };
    let of = match found.turn {
        _ if found.card.aside => "a side question".to_owned(),
        Some(turn) => format!("turn {turn}"),
        None => "a call".to_owned(),
    };
    let round = match (found.card.round, found.rounds) {
        (0 | 1, 0 | 1) => String::new(),
        (round, rounds) => format!(", round {round} of {rounds}"),
    };
    format!("Request of {of}{round}")
}

/// The cost of the call by the server's count; None if it is not known.
pub(crate) fn cost(sent: &SentCall) -> Option<String> {
    Some(money(sent.found.as_ref()?.card.cost_micro?))
}

/// When and where the call was sent, how it ended, and how many of its items the answer used.
pub(crate) fn facts(view: &ViewContext<'_>, sent: &SentCall, room: usize) -> Line {
    let Some(found) = &sent.found else { return Line::new() };
    let card = &found.card;
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let mut line = Line::of(Ink::Dim, &format!("sent {}{dot}", view.date_time(card.at)));
    let ink = match card.status {
        RunStatus::Complete => Ink::Dim,
        RunStatus::Open => Ink::Accent,
        RunStatus::Truncated | RunStatus::Cancelled | RunStatus::Interrupted => Ink::Warn,
        RunStatus::Errored => Ink::Danger,
    };
    line.push(ink, status(card.status));
    let mut words: Vec<String> = card.uses.map(|uses| uses.to_text()).into_iter().collect();
    words.push(format!("{} / {}", card.profile, card.model));
    let session = view.model.session.as_ref();
    let elsewhere = session.filter(|session| session.current != card.branch);
    words.extend(elsewhere.and_then(|session| session.find(card.branch)).map(|branch| format!("on {}", branch.name)));
    for words in words {
        if line.width() + dot.len() + text::width(&words) <= room {
            line.push(Ink::Dim, &format!("{dot}{words}"));
        }
    }
    line
}

fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Open => "the answer is arriving",
        RunStatus::Complete | RunStatus::Truncated | RunStatus::Cancelled | RunStatus::Interrupted => status.name(),
        RunStatus::Errored => "failed",
    }
}

/// The warning of a request that was edited by hand.
pub(crate) fn edited(view: &ViewContext<'_>, overlay: &RequestScreen) -> Option<String> {
    is_edited(overlay).then(|| {
        let key = view.key_in(Action::RawRequest, KeyPlace::Panel);
        format!("Edited by hand: what was sent ({key}) differs from these rows.")
    })
}

/// Whether the request was edited by hand.
pub(crate) fn is_edited(overlay: &RequestScreen) -> bool {
    overlay.call().is_some_and(|found| found.card.edited)
}

/// How the answer used the selected row, and for a row that was left out, the tokens that were missing.
pub(crate) fn about_row(overlay: &RequestScreen, row: &Row, room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    if let Verdict::Out { needed: needed @ 1.., .. } = row.verdict {
        let words = format!("It needed {} more than were free.", text::short_tokens(u64::from(needed)));
        rows.extend(TextRows::plain(&words, room, Ink::Text));
    }
    if let Some(item) = overlay.use_of(row) {
        let kinds: Vec<&str> = item.by.iter().map(|kind| kind.name()).collect();
        let (ink, words) = match kinds.as_slice() {
            [] => (Ink::Text, "Not used: the answer shows no trace of it.".to_owned()),
            kinds => (Ink::Good, format!("Used by the answer: {}.", kinds.join(", "))),
        };
        rows.extend(TextRows::plain(&words, room, ink));
    }
    rows
}

/// The server's counts compared with the estimate, as sentences.
pub(crate) fn counts(card: &RunCard, est: u32) -> Vec<String> {
    let number = |n: u32| text::number(u64::from(n));
    let mut words = Vec::new();
    match card.usage.whole_prompt() {
        Some(prompt) => {
            let cached = card.usage.cached_read.filter(|n| *n > 0);
            let cached = cached.map_or_else(String::new, |n| format!(", {} from its cache", number(n)));
            let answer = card
                .usage
                .completion
                .map_or_else(String::new, |n| format!("; answer {}", text::counted(n.into(), "token")));
            words.push(format!(
                "Server's count: {} tokens, {}{cached}{answer}.",
                number(prompt),
                compared(prompt, est)
            ));
        }
        None if card.status == RunStatus::Open => words.push("The server has not reported its count yet.".to_owned()),
        None => words.push("The server reported no count.".to_owned()),
    }
    words.extend(card.cost_micro.map(|micro| format!("Cost by the server's count: {}.", money(micro))));
    words.extend(card.short_read.map(ShortRead::sentence));
    words.extend(card.error.clone());
    words
}

/// `2.9% more than estimated`
fn compared(counted: u32, est: u32) -> String {
    let tenths = (u64::from(counted.abs_diff(est)) * 1_000 + u64::from(est) / 2) / u64::from(est.max(1));
    if tenths == 0 {
        return "as estimated".to_owned();
    }
    let way = if counted > est { "more" } else { "fewer" };
    format!("{}.{}% {way} than estimated", tenths / 10, tenths % 10)
}

/// The known facts about a call whose plan cannot be shown.
pub(crate) fn without_plan(view: &ViewContext<'_>, found: &SentRequest, room: usize) -> Vec<Line> {
    let card = &found.card;
    let mut words = vec![
        format!("Sent {} to {} / {}.", view.date_time(card.at), card.profile, card.model),
        format!("Estimated: {}.", text::counted(u64::from(card.est_total), "token")),
    ];
    words.extend(counts(card, card.est_total));
    words.extend(card.uses.map(|uses| format!("Items: {}.", uses.to_text())));
    let mut rows: Vec<Line> = words.iter().flat_map(|words| TextRows::plain(words, room, Ink::Text)).collect();
    rows.push(Line::new());
    let (before, after) =
        (view.key_in(Action::CallBefore, KeyPlace::Overlay), view.key_in(Action::CallAfter, KeyPlace::Overlay));
    let words = format!("The question and the answer are kept in the conversation. {before} {after} show other calls.");
    rows.extend(TextRows::plain(&words, room, Ink::Dim));
    rows
}

/// The keys for the request of a call.
pub(crate) fn hints(view: &ViewContext<'_>, overlay: &RequestScreen, width: usize) -> Line {
    let words: &[(Action, &str)] = &[
        (Action::CallBefore, "previous call"),
        (Action::CallAfter, "next"),
        (Action::PlanDiff, "compare"),
        (Action::Replay, "replay"),
        (Action::Details, "details"),
        (Action::Leave, "close"),
        (Action::Filter, "filter"),
        (Action::RawRequest, "exact request"),
        (Action::ToMessage, "go to the message"),
    ];
    let without_rows = &[words[0], words[1], (Action::Leave, "close")];
    view.keys_line(KeyPlace::Overlay, if overlay.content.is_some() { words } else { without_rows }, width + 4)
}
