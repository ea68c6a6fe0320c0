//! Effects available to every part of the update: sending a request, reporting a failure, running an action afterward.
//! Not for: the details of an action (`actions`).

use crate::domain::base::plain_text::capitalized;
use crate::domain::base::{Failure, FailureKind};
use crate::engine::api::{Answer, Request, Ticket};
use crate::tui::model::status::MOVED;
use crate::tui::update::prelude::*;

/// Sends a request to the engine and records the purpose of its answer. Returns the number of its ticket.
pub(crate) fn send(
    model: &mut Model,
    request: impl Into<Request>,
    pending: impl Into<Pending>,
    out: &mut Vec<Cmd>,
) -> u64 {
    let ticket = model.requests.add(pending.into());
    out.push(Cmd::Send(Ticket(ticket), request.into()));
    ticket
}

/// Shows a failure in one sentence. Where a request was only not possible, the sentence informs and does not warn.
pub(crate) fn show_failure(model: &mut Model, failure: &Failure) {
    let severity = if failure.kind == FailureKind::User { Severity::Notice } else { Severity::Warning };
    model.status.say(severity, capitalized(&failure.to_string()).into_owned(), model.now);
}

/// Shows what was done. If the current branch was archived, the sentence also says which branch is current now.
pub(crate) fn show_done(model: &mut Model, text: &str) {
    let text = match (model.status.take(MOVED), text.rsplit_once(". ")) {
        (None, _) => text.to_owned(),
        (Some(moved), Some((done, undo))) => format!("{done}. {moved} {undo}"),
        (Some(moved), None) => format!("{text} {moved}"),
    };
    model.status.say(Severity::Notice, text, model.now);
}

/// Shows the sentence of an answer, or a failure. The other answers are listed, so that a new family must be assigned:
/// screens handle the answers that they wait for earlier, and other changes arrive as events.
pub(crate) fn show_answer(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Done(text) | Answer::Text(text)) => show_done(model, &text),
        Ok(
            Answer::Asked { .. }
            | Answer::Session(_)
            | Answer::Branch(_)
            | Answer::Plan(_)
            | Answer::Call(_)
            | Answer::Memory(_)
            | Answer::Tool(_)
            | Answer::Editable(_)
            | Answer::Program(_)
            | Answer::Summary(_),
        ) => {}
        Err(failure) => show_failure(model, &failure),
    }
}

/// Runs an action after the current message has been handled. Screens use it, so that they do not depend on the table
/// of actions.
pub(crate) fn run_next(model: &mut Model, action: Action) {
    model.input.next_actions.push_back(action);
}
