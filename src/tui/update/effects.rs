//! Effects available to every part of the update: sending a request, reporting a failure, running an action afterward.
//! Not for: the details of an action (`actions`).

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
    let severity = if failure.kind == FailureKind::User { Severity::Notice } else { Severity::Trouble };
    model.status.say(severity, failure.to_string(), model.now);
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

/// Shows the sentence of an answer, or a failure. All other answers are listed, so that a new one must be assigned:
/// screens handle the answers that they wait for earlier, and other changes arrive as events.
#[expect(clippy::match_same_arms, reason = "a table, in groups")]
pub(crate) fn show_answer(model: &mut Model, result: Result<Answer, Failure>) {
    use Answer as A;
    let answer = match result {
        Ok(answer) => answer,
        Err(failure) => return show_failure(model, &failure),
    };
    match answer {
        A::Done(text) | A::Text(text) => show_done(model, &text),
        // The session, its messages and branches.
        A::Sessions(_) | A::Found(_) | A::Opened(_) | A::Bodies(_) | A::Transcript(_) | A::Imported { .. } => {}
        A::Branch(_) | A::Compared(_) | A::Steps(_) | A::Added(_) | A::Race(_) | A::Asked { .. } => {}
        // Plans and calls.
        A::Planned(_) | A::WhatIf(_) | A::Preview(_) | A::Raw(_) | A::Weighed(_) | A::Retrieved(_) => {}
        A::Runs(_) | A::Ledger(_) | A::Uses(_) | A::StoredPlan { .. } | A::SentRequest(_) => {}
        A::Diff(_) | A::History(_) => {}
        A::Replayed { .. } | A::Replaying(_) => {}
        // Summaries, memories, policies.
        A::Draft(_) | A::Summaries(_) | A::Stats(_) | A::Memories(_) | A::Modules(_) | A::Editables(..) => {}
        A::Policies { .. } | A::Refused(_) => {}
        // Tools, files, code.
        A::ToolList(_) | A::Rules(_) | A::Traces(_) | A::Trace(_) | A::Files(_) | A::Attached { .. } => {}
        A::Project(_) | A::Indexed(_) | A::Code(_) | A::Symbols(_) | A::Source(_) | A::Map(_) => {}
        // The program.
        A::Models(_) | A::Meters(_) | A::Doctor(_) | A::Backups(_) | A::FolderSettings(_) => {}
    }
}

/// Runs an action after the current message has been handled. Screens use it, so that they do not depend on the table
/// of actions.
pub(crate) fn run_next(model: &mut Model, action: Action) {
    model.input.next_actions.push_back(action);
}
