//! Sends the message in the composer and completes commands.
//! Not for: editing the message (`typing`), planning it (`planning`), or running commands (`commands`).

use super::{completing, planning, questions, queueing};
use crate::config::commands::read;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash};
use crate::domain::call::tokens::grouped;
use crate::domain::planning::SearchChoice;
use crate::domain::planning::blocked::UNSENT;
use crate::engine::api::{Answer, Draft, DraftKind, Request, TurnRequest};
use crate::tui::chat::model::pending::{NOTIFY_AFTER_MS, TurnPending};
use crate::tui::chat::model::slash::{self, SlashLine};
use crate::tui::model::status::{INDEXING, WAITING};
use crate::tui::update::prelude::*;

/// Handles Enter: sends exactly the displayed plan. Returns the line of a command for the caller to run.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) -> Option<SlashLine> {
    if completing::take(model, out) {
        return None;
    }
    if model.composer.commanding() {
        return command_line(model);
    }
    if let Some(name) = model.composer.command_over_lines() {
        let text = format!(
            "Not sent: /{name} is a command, and a command is one line. Join the lines, or paste the text after \
                /{name}. To send the text to the model, begin it with //."
        );
        model.status.say(Severity::Warning, text, model.now);
        return None;
    }
    let draft = model.composer.draft();
    let branch = model.branch()?.id;
    if draft.text.trim().is_empty() {
        if model.queue.held(branch).is_some() {
            queueing::next(model, branch, true, out);
        } else {
            let key = model.keys.key_in(Action::Send, KeyPlace::Composer);
            model.status.say(Severity::Notice, format!("Type a message, then press {key}."), model.now);
        }
        return None;
    }
    if queueing::put(model, branch, &draft) {
        return None;
    }
    if again(model, branch, &draft, out) {
        return None;
    }
    let plan = model.plan.exactly(branch, &draft);
    if let (None, Some(blocked), true) = (plan, model.plan.blocked(branch), model.plan.current()) {
        let failure = Failure::user(blocked.send_failure()).kept(UNSENT);
        questions::blocked(model, branch, &failure);
        return None;
    }
    ask(model, branch, draft, plan, out);
    None
}

/// Handles Enter on a draft that is being sent: if a notice said that the draft waits, sends it without searching.
/// Returns false if the draft is not being sent.
fn again(model: &mut Model, branch: BranchId, draft: &Draft, out: &mut Vec<Cmd>) -> bool {
    let same = |d: &Draft| d.kind == draft.kind && d.text == draft.text;
    let waits = model.requests.pending.iter().find_map(|(ticket, pending)| {
        let Pending::Turn(TurnPending::Ask { branch: b, draft: d, notified, .. }) = pending else { return None };
        (*b == branch && same(d)).then(|| (*ticket, *notified && d.search != SearchChoice::Never))
    });
    let Some((ticket, may)) = waits else { return false };
    if may {
        model.requests.pending.remove(&ticket);
        model.status.report(WAITING, "Sending without searching older messages.", model.now);
        ask(model, branch, Draft { search: SearchChoice::Never, ..draft.clone() }, None, out);
    }
    true
}

/// Shows a notice when a call has waited for its plan for a long time, with the keys to use.
pub(crate) fn report_waiting(model: &mut Model) {
    let (now, mut late) = (model.now, false);
    for pending in model.requests.pending.values_mut() {
        if let Pending::Turn(TurnPending::Ask { since, notified, .. }) = pending
            && !*notified
            && *since + NOTIFY_AFTER_MS <= now
        {
            (*notified, late) = (true, true);
        }
    }
    if late {
        show_waiting(model);
    }
}

/// The progress of indexing, or None when indexing is done.
fn progress(model: &Model) -> Option<String> {
    let (done, total) = model.engine.indexing?;
    Some(format!("indexing older messages, {} of {}", grouped(done as u64), grouped(total as u64)))
}

fn show_waiting(model: &mut Model) {
    let key = |action| model.keys.key_of(action).unwrap_or_default();
    let first = progress(model).unwrap_or_else(|| "searching older messages".to_owned());
    let (send, leave) = (key(Action::Send), key(Action::Leave));
    let text = format!("Not sent yet: {first}. {send} sends without older messages, {leave} cancels.");
    model.status.report(WAITING, text, model.now);
}

/// Shows the progress of indexing.
pub(crate) fn indexing(model: &mut Model, done: usize, total: usize) {
    model.engine.indexing = Some((done, total)).filter(|_| done < total);
    let Some(progress) = progress(model) else { return model.status.end(INDEXING) };
    if model.requests.any(|pending| matches!(pending, Pending::Turn(TurnPending::Ask { notified: true, .. }))) {
        model.status.end(INDEXING);
        return show_waiting(model);
    }
    model.status.report(INDEXING, progress, model.now);
}

/// Sends a draft, with the id of the plan that the person saw if there is one.
pub(crate) fn ask(model: &mut Model, branch: BranchId, draft: Draft, plan: Option<Hash>, out: &mut Vec<Cmd>) {
    model.conversation.failed.remove(&branch);
    model.status.drop_seen();
    let request = Request::Turn(TurnRequest::Ask { branch, draft: draft.clone(), plan });
    let since = model.now;
    send(model, request, TurnPending::Ask { branch, draft, since, notified: false }, out);
}

/// Sends a draft other than a new message.
pub(crate) fn ask_kind(model: &mut Model, kind: DraftKind, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        model.conversation.follow();
        ask(model, branch, Draft { text: "".into(), kind, ..Draft::default() }, None, out);
    }
}

/// Inserts the selected completion. Returns false if there is none.
pub(crate) fn complete(model: &mut Model) -> bool {
    if !model.composer.commanding() {
        return false;
    }
    let list = slash::choices(model.composer.first_line(), &model.input.recent_commands);
    let Some(choice) = list.get(model.composer.choice.unwrap_or(0)).or(list.first()) else { return false };
    let space = if choice.words.is_empty() { "" } else { " " };
    model.composer.set(&format!("/{}{space}", choice.name), DraftKind::Message);
    true
}

/// Handles Enter on a command line. Returns the selected completion if a person chose it, or if it begins with the line,
/// which is no command; otherwise the line. None while the completion needs arguments, and if the command is unknown:
/// then the line stays.
fn command_line(model: &mut Model) -> Option<SlashLine> {
    let line = model.composer.first_line().to_owned();
    let error = read::read(&line).err();
    let chosen = slash::taken(&line, model.composer.choice, &model.input.recent_commands);
    if let (None, Some(error), None) = (chosen, error, slash::known(&line)) {
        model.composer.close_list();
        model.status.say(Severity::Warning, error, model.now);
        return None;
    }
    match chosen {
        Some(row) if !row.words.is_empty() => {
            complete(model);
            None
        }
        Some(row) => Some(SlashLine::new(&format!("/{}", row.name))),
        None => Some(model.composer.slash_line()),
    }
}

/// Handles the answers to the requests of the next turn.
pub(crate) fn answered(model: &mut Model, pending: TurnPending, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    match (pending, result) {
        (TurnPending::Ask { branch, draft, .. }, result) => {
            model.status.end(WAITING);
            if !queueing::refused(model, branch, &draft, &result, out) {
                asked(model, branch, draft, result);
            }
        }
        (TurnPending::Claim(branch), result) => queueing::claim_granted(model, branch, result, out),
        (TurnPending::Plan, result) => planning::answered(model, result),
    }
}

/// Handles the answer to a sent draft: empties the composer, or shows the failure.
pub(crate) fn asked(model: &mut Model, branch: BranchId, draft: Draft, result: Result<Answer, Failure>) {
    let Err(failure) = result else {
        let now = model.composer.draft();
        if model.is_current(branch)
            && now.kind == draft.kind
            && let Some(rest) = now.text.strip_prefix(&*draft.text)
        {
            model.composer.sent(&draft.text);
            model.composer.paste(rest);
        }
        model.plan.touch(model.now);
        return;
    };
    match failure.kind {
        FailureKind::Stale => {
            let key = model.keys.key_of(Action::Send).unwrap_or_default();
            let text =
                format!("The plan changed before it was sent, so nothing was sent. Check it, then press {key} again.");
            model.status.say(Severity::Warning, text, model.now);
        }
        FailureKind::Busy => questions::busy(model, branch, draft, &failure),
        FailureKind::Blocked => questions::blocked(model, branch, &failure),
        FailureKind::User
        | FailureKind::Provider
        | FailureKind::Store
        | FailureKind::Config
        | FailureKind::Internal => {
            model.live.remove(&branch);
            model.conversation.failed.insert(branch, failure);
            model.conversation.follow();
        }
    }
}
