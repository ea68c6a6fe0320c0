//! The queue of messages that wait for an answer to end: queueing, taking back, sending, and holding after a failure.
//! Not for: sending by Enter (`ask`).

use super::{ask, composing};
use crate::domain::base::{BranchId, Failure};
use crate::engine::api::{Answer, BranchRequest, Draft, DraftKind, TurnRequest};
use crate::tui::chat::model::pending::{ComposerPending, TurnPending};
use crate::tui::chat::model::queue::QueueState;
use crate::tui::model::status::ASKING;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Handles Enter during an answer: queues the message. Returns false if the message cannot wait or nothing is running.
pub(crate) fn put(model: &mut Model, branch: BranchId, draft: &Draft) -> bool {
    let may = draft.kind == DraftKind::Message && model.live.contains_key(&branch);
    if may && !asks_whether_answer(model, branch, &draft.text) {
        model.queue.push(branch, draft.clone());
        model.composer.sent(&draft.text);
        model.plan.touch(model.now);
        model.conversation.follow();
    }
    may
}

/// Words that approve a call when they are the whole message.
const YES: &[&str] = &["y", "yes", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "allow", "go"];
/// Words that deny a call when they are the whole message.
const NO: &[&str] = &["n", "no", "nope", "deny", "denied", "stop", "don't"];

/// If a call needs approval and the message is a bare yes or no, says which key answers the call. Returns false if the
/// message is no such word, or if Enter is pressed on it again.
fn asks_whether_answer(model: &mut Model, branch: BranchId, text: &Arc<str>) -> bool {
    let word = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let verb = match () {
        () if YES.contains(&word.as_str()) => "approve",
        () if NO.contains(&word.as_str()) => "deny",
        () => return false,
    };
    let Some(live) = model.live.get_mut(&branch).filter(|live| live.asks.is_some()) else { return false };
    if live.likely_answer.replace(text.clone()).is_some_and(|before| before == *text) {
        return false;
    }
    let (answer, enter) = (model.keys.key(Action::AnswerTool), model.keys.key_in(Action::Send, KeyPlace::Composer));
    let words = format!("To {verb}, press {answer} first; {enter} again sends this as a message.");
    model.status.report(ASKING, words, model.now);
    true
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
    model.queue.hold(branch, why.what.trim_end_matches('.'));
    model.status.say(Severity::Warning, format!("Queued message not sent: {}", why.what), model.now);
}

/// Moves the newest queued message back into the composer, before its text. Returns false if there is none.
pub(crate) fn unqueue_last(model: &mut Model) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    if model.composer.kind() != DraftKind::Message {
        return false;
    }
    let Some(draft) = model.queue.unqueue_last(branch) else { return false };
    model.composer.take_back(&draft.text);
    model.composer.search = draft.search;
    model.focus = Focus::Composer;
    model.plan.touch(model.now);
    true
}

/// Why queued messages wait after a failure.
const FAILED: &str = "the previous call failed";
/// Why queued messages wait after the person stopped the answer.
const STOPPED: &str = "the previous answer was stopped";

/// Handles the end of a turn: sends the next message, or holds all if the turn failed or was stopped. Only a key that
/// is no text sends held messages, because the person may be typing when the turn ends.
pub(crate) fn turn_ended(model: &mut Model, branch: BranchId, (failed, stopped): (bool, bool), out: &mut Vec<Cmd>) {
    match (failed, stopped) {
        (false, false) => drop(next(model, branch, false, out)),
        (_, true) => model.queue.hold(branch, STOPPED),
        (true, false) => model.queue.hold(branch, FAILED),
    }
    save_unsent(model, branch, out);
}

/// Handles Esc before another program has ended its call on the branch: holds the messages that wait for it. Returns
/// false if none does.
pub(crate) fn hold_waiting(model: &mut Model) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    let waiting = model.queue.of(branch).first().is_some_and(|first| first.state == QueueState::Waiting);
    let waits = waiting && !model.live.contains_key(&branch);
    if waits {
        model.queue.hold(branch, "you stopped it");
    }
    waits
}

/// Keeps a message whose call failed before the server answered. It returns to the composer if that is empty, or else
/// to the front of the queue; a changed text of an earlier message then goes into the history. Returns the sentence
/// that says where it is; None if it is in the composer of the current branch.
pub(crate) fn take_back(model: &mut Model, branch: BranchId, draft: Draft) -> Option<String> {
    let here = model.is_current(branch);
    let edits = matches!(draft.kind, DraftKind::Edit(_));
    if here && model.composer.is_empty() {
        match draft.kind {
            DraftKind::Edit(node) => model.composer.begin_edit(node, &draft.text),
            DraftKind::Message | DraftKind::Regenerate(_) | DraftKind::Continue(_) => {
                model.composer.take_back(&draft.text);
            }
        }
        return None;
    }
    let of = model.session.as_ref().and_then(|session| session.find(branch)).map(|branch| branch.name.as_str());
    let of = of.unwrap_or("its branch").to_owned();
    if !here && model.composer.restore_unsent(branch, &draft.text) {
        let key = model.key_anywhere(Action::Branches);
        return Some(format!("Your message is in the composer of {of}: switch to it ({key}) to send it again."));
    }
    if edits {
        model.composer.keep_in_history(&draft.text);
        let key = model.keys.key_in(Action::HistoryUp, KeyPlace::Composer);
        return Some(format!("Your text is in the history; {key} in an empty composer restores it."));
    }
    model.queue.put_back(branch, Draft { kind: DraftKind::Message, ..draft }, FAILED);
    Some(if here { "Your message is queued.".to_owned() } else { format!("Your message is queued on {of}.") })
}

/// Handles the key that sends queued messages: sends the held ones in order, or says why none can be sent.
pub(crate) fn send_held(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let held = model.queue.held(branch).is_some();
    let text = if model.queue.of(branch).is_empty() {
        "No message is queued here."
    } else if !held {
        "Queued messages are sent when the answer is complete."
    } else if next(model, branch, true, out) {
        return;
    } else {
        "Another answer is still arriving; queued messages can be sent after it."
    };
    model.status.say(Severity::Notice, text, model.now);
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

/// Moves the newest queued message back into the composer, or shows that there is none.
pub(crate) fn take(model: &mut Model) {
    if !unqueue_last(model) {
        model.status.say(Severity::Notice, "No message is queued here.", model.now);
    }
}

/// Saves the unsent text of a branch that is not current, after it changed.
pub(crate) fn save_unsent(model: &mut Model, branch: BranchId, out: &mut Vec<Cmd>) {
    if model.branch().is_some_and(|here| here.id != branch) && !model.facts.demo {
        let text = composing::unsent(model, branch, &model.composer.unsent_on(branch));
        if !model.composer.is_saved(branch, &text) {
            model.composer.mark_saved(branch, text.clone());
            send(model, BranchRequest::KeepDraft { branch, text }, ComposerPending::Save, out);
        }
    }
}
