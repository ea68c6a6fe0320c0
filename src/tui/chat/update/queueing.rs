//! The queue of messages that wait for an answer to end: queueing, taking back, sending, and holding after a failure.
//! Not for: sending by Enter (`ask`).

use super::{ask, composing, questions};
use crate::domain::base::{BranchId, Failure};
use crate::engine::api::{Answer, BranchRequest, Draft, DraftKind, TurnRequest};
use crate::tui::chat::model::pending::{ComposerPending, TurnPending};
use crate::tui::screens::question::model::Act;
use crate::tui::update::prelude::*;

/// Handles Enter during an answer: queues the message. Returns false if the message cannot wait or nothing is running.
pub(crate) fn put(model: &mut Model, branch: BranchId, draft: &Draft) -> bool {
    let may = draft.kind == DraftKind::Message && model.live.contains_key(&branch);
    if may {
        model.queue.push(branch, draft.clone());
        model.composer.sent(&draft.text);
        model.plan.touch(model.now);
        model.conversation.follow();
    }
    may
}

/// Queues a message until another program has ended its call on the branch. A draft that cannot be queued is sent again
/// immediately.
pub(crate) fn wait_for_others(model: &mut Model, branch: BranchId, draft: Draft, out: &mut Vec<Cmd>) {
    if draft.kind != DraftKind::Message {
        return ask::ask(model, branch, draft, None, out);
    }
    model.composer.sent(&draft.text);
    model.queue.push(branch, draft);
    model.plan.touch(model.now);
    send(model, TurnRequest::Claim(branch), TurnPending::Claim(branch), out);
}

/// Handles a granted claim on the branch: sends the first queued message, or releases the claim if there is none.
pub(crate) fn claim_granted(model: &mut Model, branch: BranchId, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    match result {
        Ok(_) => {
            if !next(model, branch, false, out) {
                send(model, TurnRequest::GiveBackClaim(branch), ComposerPending::Save, out);
            }
        }
        Err(why) => hold(model, branch, &why),
    }
}

/// Holds the queue, because its first message was refused.
fn hold(model: &mut Model, branch: BranchId, why: &Failure) {
    model.queue.hold(branch);
    model.status.say(Severity::Trouble, format!("Queued message not sent: {}", why.what), model.now);
}

/// Moves the newest queued message back into the composer, before its text. Returns false if there is none.
pub(crate) fn unqueue_last(model: &mut Model) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    if model.composer.kind() != DraftKind::Message {
        return false;
    }
    let Some(draft) = model.queue.unqueue_last(branch) else { return false };
    let written = model.composer.text();
    let text = if written.trim().is_empty() { draft.text.to_string() } else { format!("{}\n\n{written}", draft.text) };
    model.composer.replace(&text, DraftKind::Message);
    model.composer.search = draft.search;
    model.focus = Focus::Composer;
    model.plan.touch(model.now);
    true
}

/// Handles the end of a turn: sends the next message, or holds all if the turn failed or was stopped.
pub(crate) fn turn_ended(model: &mut Model, branch: BranchId, well: bool, out: &mut Vec<Cmd>) {
    if well {
        next(model, branch, false, out);
    } else if model.queue.hold(branch) {
        question(model, branch);
    }
    save_unsent(model, branch, out);
}

/// Sends the first queued message. Returns false if none may be sent.
pub(crate) fn next(model: &mut Model, branch: BranchId, released: bool, out: &mut Vec<Cmd>) -> bool {
    if model.live.contains_key(&branch) {
        return false;
    }
    let Some(draft) = model.queue.next(branch, released) else { return false };
    ask::ask(model, branch, draft, None, out);
    true
}

/// Handles the answer to a sent draft. If a queued message was refused, holds the queue and returns true.
pub(crate) fn refused(
    model: &mut Model,
    branch: BranchId,
    draft: &Draft,
    result: &Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) -> bool {
    let ours = model.queue.is_sending(branch, draft);
    match result {
        Ok(_) => drop(model.queue.remove_sent(branch, draft)),
        Err(why) if ours => hold(model, branch, why),
        Err(_) => {}
    }
    save_unsent(model, branch, out);
    ours && result.is_err()
}

/// Asks what to do with queued messages after an answer failed or was stopped.
fn question(model: &mut Model, branch: BranchId) {
    if model.branch().is_none_or(|here| here.id != branch) || !model.layers.is_empty() {
        return;
    }
    let waiting = model.queue.of(branch).len();
    let words = model.queue.of(branch).first().map(|queued| first_words(&queued.draft.text)).unwrap_or_default();
    let more = if waiting > 1 { format!(" and {} more", waiting - 1) } else { String::new() };
    let words = vec![format!("The previous answer was stopped or failed. Queued: {words}{more}")];
    let choices = [
        ('n', "not yet; keep them queued", Act::Close),
        ('b', "move them back to the composer", Act::TakeQueued),
        ('s', "send now", Act::SendQueued(branch)),
    ];
    questions::open(model, "Send the queued messages?", words, choices);
}

/// The beginning of a message, on one line.
fn first_words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.chars().take(60).collect()
}

/// Moves the newest queued message back into the composer, or shows that there is none.
pub(crate) fn take(model: &mut Model) {
    if !unqueue_last(model) {
        model.status.say(Severity::Notice, "No message is queued here.", model.now);
    }
}

/// Moves all queued messages back into the composer, in their order.
pub(crate) fn take_all(model: &mut Model) {
    while unqueue_last(model) {}
}

/// Saves the unsent text of a branch that is not current, after its queue changed.
fn save_unsent(model: &mut Model, branch: BranchId, out: &mut Vec<Cmd>) {
    if model.branch().is_some_and(|here| here.id != branch) && !model.facts.demo {
        let text = composing::unsent(model, branch, &model.composer.unsent_on(branch));
        if !model.composer.is_saved(branch, &text) {
            model.composer.mark_saved(branch, text.clone());
            send(model, BranchRequest::KeepDraft { branch, text }, ComposerPending::Save, out);
        }
    }
}
