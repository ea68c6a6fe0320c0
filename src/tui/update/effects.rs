//! What any part of the update may do: send a request, report a failure, run an action afterwards.
//! Not for: what an action does (`actions`).

use crate::domain::base::failure::Failure;
use crate::engine::api::{Answer, Request, Ticket};
use crate::tui::model::Model;
use crate::tui::model::keys::Action;
use crate::tui::model::pending::Pending;
use crate::tui::model::status::Severity;
use crate::tui::msg::Cmd;

/// Sends a request to the engine and remembers what its answer is for. Returns the number of its ticket.
pub(crate) fn send(model: &mut Model, request: Request, pending: Pending, out: &mut Vec<Cmd>) -> u64 {
    let ticket = model.requests.add(pending);
    out.push(Cmd::Send(Ticket(ticket), request));
    ticket
}

/// Shows a failure in one sentence.
pub(crate) fn trouble(model: &mut Model, failure: &Failure) {
    model.status.say(Severity::Trouble, failure.to_string(), model.now);
}

/// Shows an answer that is only a sentence, or a failure. Other answers show nothing: what they bring arrives as an event
/// too.
pub(crate) fn said(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Done(text) | Answer::Text(text)) => model.status.say(Severity::Notice, text, model.now),
        Ok(_) => {}
        Err(failure) => trouble(model, &failure),
    }
}

/// Runs an action after the current message has been handled. Screens use it, so that they need not know the table of
/// actions.
pub(crate) fn run_next(model: &mut Model, action: Action) {
    model.input.next_actions.push_back(action);
}
