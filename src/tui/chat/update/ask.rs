//! From the draft to the call: planning while typing, Enter, completing commands.
//! Not for: the composer's own editing (`keys`), or carrying commands out (`commands`).

use super::{commands, completing, queueing};
use crate::config::commands::read;
use crate::domain::base::ids::BranchId;
use crate::domain::call::tokens::grouped;
use crate::domain::planning::mode::SearchWish;
use crate::engine::api::{PlanRequest, Request, TurnRequest};
use crate::tui::chat::model::composer::{Draft, DraftKind};
use crate::tui::chat::model::slash;
use crate::tui::model::status::{INDEXING, WAITING};
use crate::tui::model::{Action, Model, PATIENCE, Pending};
use crate::tui::msg::Cmd;
use crate::tui::update::{open, send, wire};

/// The draft of the next call: none while a command is typed.
pub(crate) fn present(model: &mut Model) -> Draft {
    if model.composer.commanding() { Draft::default() } else { model.composer.draft() }
}

/// Asks for a new plan when typing has rested.
pub(crate) fn replan_when_due(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.plan.due.is_none_or(|due| due > model.now) {
        return;
    }
    model.plan.due = None;
    let Some(branch) = model.session.as_ref().map(|session| session.current) else { return };
    let draft = present(model);
    model.plan.generation += 1;
    model.plan.asked = Some((branch, draft.clone()));
    model.pending.retain(|_, what_for| *what_for != Pending::Replan);
    let generation = model.plan.generation;
    send(model, Request::Plan(PlanRequest::Replan { branch, generation, draft: wire(&draft) }), Pending::Replan, out);
}

/// Enter: sends exactly the plan on the screen, or a command.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    if completing::take(model, out) {
        return;
    }
    if model.composer.commanding() {
        command_line(model, out);
        return;
    }
    let draft = model.composer.draft();
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if draft.text.trim().is_empty() {
        if model.queue.held(branch) {
            queueing::next(model, branch, true, out);
        }
        return;
    }
    if queueing::put(model, branch, &draft) {
        return;
    }
    if again(model, branch, &draft, out) {
        return;
    }
    if model.plan.exactly(branch, &draft).is_none() && model.plan.blocked(branch).is_some() && model.plan.current() {
        open::blocked_here(model, branch);
        return;
    }
    let plan = model.plan.exactly(branch, &draft);
    ask(model, branch, draft, plan, out);
}

/// Enter on a draft that is being sent already: once it was said that it waits, it goes without what it waits for.
fn again(model: &mut Model, branch: BranchId, draft: &Draft, out: &mut Vec<Cmd>) -> bool {
    let same = |d: &Draft| d.kind == draft.kind && d.text == draft.text;
    let waits = model.pending.iter().find_map(|(ticket, pending)| match pending {
        Pending::Ask { branch: b, draft: d, told, .. } if *b == branch && same(d) => {
            Some((*ticket, *told && d.search != SearchWish::Never))
        }
        _ => None,
    });
    let Some((ticket, may)) = waits else { return false };
    if may {
        model.pending.remove(&ticket);
        model.status.report(WAITING, "Sending without searching older messages.", model.now);
        ask(model, branch, Draft { search: SearchWish::Never, ..draft.clone() }, None, out);
    }
    true
}

/// Says, after a while, that a call waits, and what can be done.
pub(crate) fn tell_that_it_waits(model: &mut Model) {
    let (now, mut late) = (model.now, false);
    for pending in model.pending.values_mut() {
        if let Pending::Ask { since, told, .. } = pending
            && !*told
            && *since + PATIENCE <= now
        {
            (*told, late) = (true, true);
        }
    }
    if late {
        say_that_it_waits(model);
    }
}

fn say_that_it_waits(model: &mut Model) {
    let key = |action| model.keys.key_of(action).unwrap_or_default();
    let first = match model.indexing {
        Some((done, total)) => {
            let number = |n: usize| grouped(n as u64);
            format!("indexing older messages, {} of {}", number(done), number(total))
        }
        None => "searching older messages".to_owned(),
    };
    let (send, leave) = (key(Action::Send), key(Action::Leave));
    let text = format!("Not sent yet: {first}. {send} sends without them, {leave} cancels.");
    model.status.report(WAITING, text, model.now);
}

/// Indexing went on.
pub(crate) fn indexing(model: &mut Model, done: usize, total: usize) {
    model.indexing = Some((done, total)).filter(|_| done < total);
    if model.indexing.is_none() {
        return model.status.end(INDEXING);
    }
    if model.pending.values().any(|pending| matches!(pending, Pending::Ask { told: true, .. })) {
        model.status.end(INDEXING);
        return say_that_it_waits(model);
    }
    let number = |n: usize| grouped(n as u64);
    model.status.report(INDEXING, format!("indexing older messages, {} of {}", number(done), number(total)), model.now);
}

/// Hands a call in.
pub(crate) fn ask(
    model: &mut Model,
    branch: BranchId,
    draft: Draft,
    plan: Option<crate::domain::base::hash::Hash>,
    out: &mut Vec<Cmd>,
) {
    model.conversation.failed.remove(&branch);
    let request = Request::Turn(TurnRequest::Ask { branch, draft: wire(&draft), plan });
    let since = model.now;
    send(model, request, Pending::Ask { branch, draft, since, told: false }, out);
}

/// Asks for something other than a new message, at once.
pub(crate) fn ask_kind(model: &mut Model, kind: DraftKind, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        model.conversation.follow();
        ask(model, branch, Draft { text: "".into(), kind, ..Draft::default() }, None, out);
    }
}

/// Takes the selected completion. False when there is none.
pub(crate) fn complete(model: &mut Model) -> bool {
    if !model.composer.commanding() {
        return false;
    }
    let list = slash::completions(model.composer.first_line());
    let Some(choice) = list.get(model.composer.choice).or(list.first()) else { return false };
    let space = if choice.words.is_empty() { "" } else { " " };
    model.composer.set(&format!("/{}{space}", choice.name), DraftKind::Message);
    true
}

/// Enter on a command: the selected completion where the line means nothing yet, else what the line means.
fn command_line(model: &mut Model, out: &mut Vec<Cmd>) {
    let line = model.composer.first_line().to_owned();
    let chosen = slash::completions(&line).get(model.composer.choice).copied();
    match chosen.filter(|_| model.composer.choice > 0 || read::read(&line).is_err()) {
        Some(row) if !row.words.is_empty() => drop(complete(model)),
        Some(row) => commands::typed(model, &format!("/{}", row.name), out),
        None => commands::typed(model, &line, out),
    }
}
