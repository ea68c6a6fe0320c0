//! Updates of the search over all messages: searching while the person types, going to a message, and going back.
//! Not for: lists that are filtered by typing (`picker`).

use super::model::{SearchPending, SearchScreen};
use crate::domain::base::{Failure, FailureKind, NodeId};
use crate::domain::conversation::FoundMessages;
use crate::engine::api::{Answer, SessionAnswer, SessionRequest};
use crate::tui::chat::update::branches;
use crate::tui::model::jumps::ReturnPoint;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use crate::tui::update::session;

/// How many messages are requested at most.
const MAX_RESULTS: usize = 200;

/// Handles the answers to the requests of the search.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: SearchPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (SearchPending::Find, Ok(Answer::Session(SessionAnswer::Found(found)))) => arrived(model, ticket, Ok(*found)),
        (SearchPending::Find, Err(failure)) => arrived(model, ticket, Err(failure)),
        (SearchPending::GoTo(node), Ok(Answer::Session(SessionAnswer::Opened(view)))) => {
            session::opened(model, &view, out);
            go_to(model, Some(node));
        }
        (SearchPending::Return(point), Ok(Answer::Session(SessionAnswer::Opened(view)))) => {
            session::opened(model, &view, out);
            restore(model, point);
        }
        (SearchPending::GoTo(_) | SearchPending::Return(_), Err(failure)) => {
            // A screen that covers the terminal would hide the message.
            model.layers.clear();
            show_failure(model, &failure);
        }
        (SearchPending::Find | SearchPending::GoTo(_) | SearchPending::Return(_), result) => show_answer(model, result),
    }
}

/// Opens the search with a query, or closes it if it is on top.
pub(crate) fn open(model: &mut Model, line: String, out: &mut Vec<Cmd>) {
    if model.layers.on::<SearchScreen>() {
        model.layers.pop();
        return;
    }
    model.layers.push(SearchScreen { line: line.into(), ..SearchScreen::default() });
    changed(model, out);
}

/// Handles a changed query.
pub(crate) fn changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top_mut::<SearchScreen>() else { return };
    screen.cursor = 0;
    if screen.line.trim().is_empty() {
        screen.found = FoundMessages::default();
        (screen.loading, screen.ticket) = (false, 0);
        return;
    }
    let line = screen.line.to_string();
    let ticket = send(model, SessionRequest::Find { line, limit: MAX_RESULTS }, SearchPending::Find, out);
    if let Some(screen) = model.layers.top_mut::<SearchScreen>() {
        (screen.loading, screen.ticket) = (true, ticket);
    }
}

/// Shows the messages found, or the reason why the search failed.
fn arrived(model: &mut Model, ticket: u64, result: Result<FoundMessages, Failure>) {
    let Some(screen) = model.layers.all_mut::<SearchScreen>().find(|screen| screen.ticket == ticket) else { return };
    match result {
        Ok(found) => screen.fill(found),
        Err(failure) => {
            screen.loading = false;
            if failure.kind != FailureKind::Stale {
                screen.found = FoundMessages { problems: vec![failure.to_string()], ..FoundMessages::default() };
            }
        }
    }
}

/// Goes to the message under the cursor.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<SearchScreen>() else { return };
    let Some((session, node)) = screen.selected().map(|message| (message.session, message.node)) else { return };
    model.remember_place();
    let here = model.session.as_ref().filter(|open| open.card.id == session).and_then(|open| open.tree.slot(node));
    if here.is_some_and(|slot| model.conversation.path.contains(&slot)) {
        select_message(model, node);
        return;
    }
    send(model, SessionRequest::OpenAt { session, node }, SearchPending::GoTo(node), out);
}

/// Goes to a message of the open session, on a branch that contains it.
pub(crate) fn go(model: &mut Model, node: NodeId, out: &mut Vec<Cmd>) {
    model.remember_place();
    let Some(session) = &model.session else { return };
    let here = session.tree.slot(node).is_some_and(|slot| model.conversation.path.contains(&slot));
    let holding = session.holding(node).filter(|_| !here);
    model.layers.clear();
    if let Some(branch) = holding {
        branches::switch(model, branch, out);
    }
    select_message(model, node);
}

/// Returns to the place before the last jump.
pub(crate) fn back(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(spot) = model.jumps.before.pop() else {
        return model.status.say(Severity::Notice, "There is no previous location to return to.", model.now);
    };
    if let Some(session) = model.session.as_ref().filter(|session| session.card.id == spot.session) {
        if session.find(spot.branch).is_some() {
            branches::switch(model, spot.branch, out);
        }
        return restore(model, spot);
    }
    let (session, branch) = (Some(spot.session.to_string()), Some(spot.branch.to_string()));
    send(model, SessionRequest::Open { session, branch, create: false }, SearchPending::Return(spot), out);
}

/// Restores the selected message and the scroll position of a place.
fn restore(model: &mut Model, spot: ReturnPoint) {
    go_to(model, spot.node);
    if model.layers.is_empty() {
        model.conversation.place = spot.place;
        model.conversation.reveal = false;
    }
}

/// Goes to a message of the open session, or to the end of the path.
fn go_to(model: &mut Model, node: Option<NodeId>) {
    model.layers.clear();
    if let Some(node) = node {
        select_message(model, node);
    } else {
        model.focus = Focus::Composer;
        model.conversation.follow();
    }
}

/// Selects a message of the path and scrolls to it; a message elsewhere is shown in the tree.
pub(crate) fn select_message(model: &mut Model, node: NodeId) {
    let Some(session) = &model.session else { return };
    let at = session.tree.slot(node).and_then(|slot| model.conversation.path.iter().position(|here| *here == slot));
    model.layers.clear();
    if let Some(at) = at {
        model.conversation.select(at);
        model.focus = Focus::Conversation;
    } else {
        crate::tui::screens::tree::update::open_for(model, node);
    }
}
