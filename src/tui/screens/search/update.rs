//! Searching messages of all sessions while typing, going to a message, and going back.
//! Not for: lists that are filtered by typing (`update::travel`), or scrolling.

use super::model::{ReturnPoint, SearchPending, SearchScreen, remember};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::NodeId;
use crate::domain::conversation::search::FoundMessages;
use crate::engine::api::{Answer, Request, SessionRequest};
use crate::tui::chat::update::branches;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::pending::Pending;
use crate::tui::model::status::Severity;
use crate::tui::msg::Cmd;
use crate::tui::update::effects::{send, show_answer, trouble};
use crate::tui::update::session;

/// Maximum number of requested messages.
const LIMIT: usize = 200;

/// Handles the answers to the requests of the search.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: SearchPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (SearchPending::Find, Ok(Answer::Found(found))) => arrived(model, ticket, Ok(*found)),
        (SearchPending::Find, Err(failure)) => arrived(model, ticket, Err(failure)),
        (SearchPending::GoTo(node), Ok(Answer::Opened(view))) => {
            session::opened(model, &view, out);
            arrive(model, Some(node));
        }
        (SearchPending::Return(point), Ok(Answer::Opened(view))) => {
            session::opened(model, &view, out);
            restore(model, point);
        }
        (SearchPending::GoTo(_) | SearchPending::Return(_), Err(failure)) => {
            // A sentence is not seen below a screen that takes the whole terminal.
            model.layers.clear();
            trouble(model, &failure);
        }
        (SearchPending::Find | SearchPending::GoTo(_) | SearchPending::Return(_), result) => show_answer(model, result),
    }
}

/// Opens the search, optionally with a text.
pub(crate) fn open(model: &mut Model, line: String, out: &mut Vec<Cmd>) {
    if model.layers.on::<SearchScreen>() {
        model.layers.pop();
        return;
    }
    model.layers.push(SearchScreen { line, ..SearchScreen::default() });
    changed(model, out);
}

/// The line changed.
pub(crate) fn changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(finder) = model.layers.top_mut::<SearchScreen>() else { return };
    finder.cursor = 0;
    if finder.line.trim().is_empty() {
        finder.found = FoundMessages::default();
        (finder.loading, finder.ticket) = (false, 0);
        return;
    }
    let line = finder.line.clone();
    let ticket = send(
        model,
        Request::Session(SessionRequest::Find { line, limit: LIMIT }),
        Pending::Search(SearchPending::Find),
        out,
    );
    if let Some(finder) = model.layers.top_mut::<SearchScreen>() {
        (finder.loading, finder.ticket) = (true, ticket);
    }
}

/// Shows the results, or why there are none.
fn arrived(model: &mut Model, ticket: u64, result: Result<FoundMessages, Failure>) {
    let Some(finder) = model.layers.all_mut::<SearchScreen>().find(|finder| finder.ticket == ticket) else { return };
    match result {
        Ok(found) => finder.fill(found),
        Err(failure) => {
            finder.loading = false;
            if failure.kind != FailureKind::Stale {
                finder.found = FoundMessages { problems: vec![failure.to_string()], ..FoundMessages::default() };
            }
        }
    }
}

/// Goes to the selected message.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(finder) = model.layers.top::<SearchScreen>() else { return };
    let Some((session, node)) = finder.selected().map(|message| (message.session, message.node)) else { return };
    leave_here(model);
    let here = model.session.as_ref().filter(|open| open.card.id == session).and_then(|open| open.tree.slot(node));
    if here.is_some_and(|slot| model.conversation.path.contains(&slot)) {
        land(model, node);
        return;
    }
    send(
        model,
        Request::Session(SessionRequest::OpenAt { session, node }),
        Pending::Search(SearchPending::GoTo(node)),
        out,
    );
}

/// Goes to a message of the open session, on a branch that contains it.
pub(crate) fn go(model: &mut Model, node: NodeId, out: &mut Vec<Cmd>) {
    leave_here(model);
    let Some(session) = &model.session else { return };
    let here = session.tree.slot(node).is_some_and(|slot| model.conversation.path.contains(&slot));
    let holding = session.holding(node).filter(|_| !here);
    model.layers.clear();
    if let Some(branch) = holding {
        branches::switch(model, branch, out);
    }
    land(model, node);
}

/// Remembers the current location and scroll position.
pub(crate) fn leave_here(model: &mut Model) {
    let Some(session) = &model.session else { return };
    let slot = model.conversation.selected().filter(|_| model.focus == Focus::Conversation);
    let node = slot.map(|slot| session.tree.head(slot).id);
    let place = model.conversation.place;
    remember(&mut model.jumps.before, ReturnPoint { session: session.card.id, branch: session.current, node, place });
}

/// Goes back to the location before the last jump.
pub(crate) fn back(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(spot) = model.jumps.before.pop() else {
        model.status.say(Severity::Notice, "There is no earlier place to go back to.", model.now);
        return;
    };
    let here = model.session.as_ref().map(|session| (session.card.id, session.current));
    if here.is_some_and(|(session, _)| session == spot.session) {
        if model.session.as_ref().is_some_and(|session| session.find(spot.branch).is_some()) {
            branches::switch(model, spot.branch, out);
        }
        return restore(model, spot);
    }
    let (session, branch) = (Some(spot.session.to_string()), Some(spot.branch.to_string()));
    send(
        model,
        Request::Session(SessionRequest::Open { session, branch, create: false }),
        Pending::Search(SearchPending::Return(spot)),
        out,
    );
}

/// Restores a location: the selected message and the visible rows.
fn restore(model: &mut Model, spot: ReturnPoint) {
    arrive(model, spot.node);
    if model.layers.is_empty() {
        model.conversation.place = spot.place;
        model.conversation.reveal = false;
    }
}

/// Goes to a message of the open session, or to the end of its path.
fn arrive(model: &mut Model, node: Option<NodeId>) {
    model.layers.clear();
    if let Some(node) = node {
        land(model, node);
    } else {
        model.focus = Focus::Composer;
        model.conversation.follow();
    }
}

/// Selects a message of the path, in view.
pub(crate) fn land(model: &mut Model, node: NodeId) {
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
