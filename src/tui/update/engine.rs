//! Events of the engine, and their effect on the model.
//! Not for: answers to requests (`answers`).

use super::{answers, settings};
use crate::domain::base::{BranchId, Failure, NodeId};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{RunCard, RunStatus};
use crate::domain::conversation::{Branch, End, NodeHead, Role, StateVersion};
use crate::engine::api::{Draft, Event, IndexingEvent, ProgramEvent, SessionEvent, SummaryEvent, ToolEvent, TurnEvent};
use crate::tui::chat::model::live::{Live, Retry};
use crate::tui::chat::update::{acts, ask, branches, planning, queueing, quit};
use crate::tui::model::Model;
use crate::tui::model::status::{MOVED, Severity};
use crate::tui::msg::{Cmd, EngineMsg};
use crate::tui::screens;
use crate::tui::screens::summaries::model::PendingSummary;
use crate::tui::screens::summaries::update_modules;
use std::sync::Arc;

/// Handles a report of an engine.
pub(super) fn message(model: &mut Model, msg: EngineMsg, out: &mut Vec<Cmd>) {
    match msg {
        EngineMsg::Event(reported) => event(model, *reported, out),
        // The run loop turns it into an event of the workbench that it belongs to.
        EngineMsg::TourEvent(..) => {}
        EngineMsg::Gone => model.quit = true,
    }
}

fn event(model: &mut Model, event: Event, out: &mut Vec<Cmd>) {
    match event {
        Event::Answer { ticket, result } => answers::answer(model, ticket, result, out),
        Event::Planned { branch, generation, planned } => planning::plan_solved(model, branch, generation, planned),
        Event::Session(event) => session(model, event, out),
        Event::Turn(event) => turn(model, event, out),
        Event::Tool(event) => tool(model, event, out),
        Event::Summary(event) => summary(model, event),
        Event::Indexing(event) => indexing(model, event),
        Event::Program(event) => program(model, event),
    }
}

fn session(model: &mut Model, event: SessionEvent, out: &mut Vec<Cmd>) {
    match event {
        SessionEvent::Nodes { session, heads } => {
            if model.session.as_ref().is_some_and(|open| open.card.id == session) {
                let removed = heads.iter().any(|head| head.end == End::Removed);
                nodes(model, heads);
                if removed {
                    screens::request::update_sent::removed(model, out);
                }
            }
        }
        SessionEvent::Branch(branch) => {
            branch_changed(model, *branch, out);
            screens::tools::update::changed(model, out);
        }
        SessionEvent::Tags { session, tags } => {
            if let Some(open) = model.session.as_mut().filter(|open| open.card.id == session) {
                open.put_tags(tags);
            }
        }
        SessionEvent::Card(card) => {
            if let Some(session) = model.session.as_mut().filter(|open| open.card.id == card.id) {
                session.card = card;
            }
        }
        SessionEvent::State { branch, version, missing } => state(model, branch, version, missing),
        SessionEvent::Settings { branch, settings } => {
            if let Some(session) = &mut model.session {
                session.settings.insert(branch, *settings);
            }
            settings::ask_for_models(model, out);
        }
    }
}

fn turn(model: &mut Model, event: TurnEvent, out: &mut Vec<Cmd>) {
    match event {
        TurnEvent::Opened { branch, text, after } => opened(model, branch, text, after),
        TurnEvent::Run(card) => run(model, *card, out),
        TurnEvent::Stream { branch, run, text, reasoning, tokens, certainty, cost_micro } => {
            let now = model.now;
            let live = model.live.entry(branch).or_insert_with(|| Live::open("".into(), None, now));
            live.stream(run, &text, &reasoning);
            (live.tokens, live.certainty, live.cost) = (tokens, Some(certainty), cost_micro);
        }
        TurnEvent::Retrying { branch, attempt, wait_ms, why } => {
            let until = model.now + wait_ms;
            if let Some(live) = model.live.get_mut(&branch) {
                live.retry = Some(Retry { attempt, until, why });
            }
        }
        TurnEvent::Closed { branch, draft, failure } => closed(model, branch, draft, failure, out),
        TurnEvent::BranchRun(record) => {
            if let Some(session) = model.session.as_mut().filter(|session| session.find(record.branch).is_some()) {
                session.races.insert(record.branch, *record);
            }
        }
        TurnEvent::Aside(view) => screens::aside::update::arrived(model, *view),
    }
}

fn tool(model: &mut Model, event: ToolEvent, out: &mut Vec<Cmd>) {
    match event {
        ToolEvent::Trace(trace) => {
            if let Some(session) = &mut model.session {
                session.put_trace(*trace);
            }
            model.update_links();
        }
        ToolEvent::Output { branch, run, text, .. } => screens::approval::update::add_output(model, branch, run, &text),
        ToolEvent::Approval { branch, pending } => screens::approval::update::arrived(model, branch, pending),
        ToolEvent::Rerun(view) => screens::traces::update::rerun_changed(model, *view),
        ToolEvent::ServersChanged => screens::tools::update::changed(model, out),
    }
}

fn summary(model: &mut Model, event: SummaryEvent) {
    match event {
        SummaryEvent::Progress { branch, turns, by, done, of, tokens } => {
            let making = PendingSummary { turns, by, parts: (done, of), tokens };
            model.drafts.making.insert(branch, making);
        }
        SummaryEvent::ModuleProgress { branch, path, files, tokens, .. } => {
            update_modules::progressed(model, branch, &path, files, tokens);
        }
        SummaryEvent::Draft { branch, draft } => screens::summaries::update::arrived(model, branch, draft),
    }
}

fn indexing(model: &mut Model, event: IndexingEvent) {
    match event {
        IndexingEvent::Messages { done, total } => ask::indexing(model, done, total),
        IndexingEvent::Vectors { made, total } => {
            model.status.report("embedding", format!("embedding messages, {made} of {total}"), model.now);
        }
        IndexingEvent::Code { done, files, .. } => code_indexing(model, done as u64, files as u64),
    }
}

fn program(model: &mut Model, event: ProgramEvent) {
    match event {
        ProgramEvent::Notice(text) => model.status.say(Severity::Notice, text, model.now),
        ProgramEvent::Alarm(text) => model.status.say(Severity::Alarm, text, model.now),
        ProgramEvent::StorageFailure(why) => quit::room(model, why),
    }
}

fn code_indexing(model: &mut Model, done: u64, files: u64) {
    if done >= files {
        return model.status.end("code");
    }
    let files = grouped(files);
    model.status.report("code", format!("reading code, {} of {files} files", grouped(done)), model.now);
}

/// A turn started.
fn opened(model: &mut Model, branch: BranchId, text: Arc<str>, after: Option<NodeId>) {
    model.conversation.failed.remove(&branch);
    let head = model.session.as_ref().and_then(|session| session.find(branch)?.head);
    model.live.insert(branch, Live { head, ..Live::open(text, after, model.now) });
    model.plan.best = model.plan.best.filter(|best| best.branch != branch);
    if model.is_current(branch) {
        model.conversation.follow();
    }
}

fn nodes(model: &mut Model, heads: Vec<NodeHead>) {
    let Some(session) = &mut model.session else { return };
    for head in heads {
        let changed = session.tree.get(head.id).is_some_and(|old| old.content != head.content || old.end != head.end);
        if changed {
            model.bodies.forget(head.id);
        }
        if session.tree.get(head.id).is_some_and(|old| *old != head) {
            model.conversation.forget();
        }
        session.tree.insert(head);
    }
    model.refresh();
}

fn branch_changed(model: &mut Model, branch: Branch, out: &mut Vec<Cmd>) {
    let Some(session) = &mut model.session else { return };
    if branch.session != session.card.id {
        return;
    }
    let id = branch.id;
    // An answer is unread when it arrived below the previous head: a fork, an undo or a moved head is not.
    let slot = |node| session.tree.slot(node);
    let old = session.find(id).map(|old| old.head.and_then(slot));
    let came = branch.head.and_then(slot).zip(old).is_some_and(|(new, old)| {
        let below = old.is_none_or(|old| old != new && session.tree.contains(old, new));
        below && session.tree.head(new).role == Role::Assistant
    });
    let unread = came && !model.live.contains_key(&id) && !is_visible(model, id);
    let Some(session) = &mut model.session else { return };
    if unread {
        session.unread.insert(id);
    }
    let other = session.find(id).is_some_and(|old| old.summaries != branch.summaries);
    let archived = branch.archived && session.find(id).is_some_and(|old| !old.archived);
    let left = archived && id == session.current;
    let parent = branch.parent;
    session.put_branch(branch);
    if left {
        leave(model, parent, out);
    }
    if archived {
        branches::move_unsent(model, id, out);
    }
    model.refresh();
    if other {
        screens::summaries::update::reload_list(model, out);
    }
    if model.is_current(id) {
        model.plan.outdated = true;
    }
}

/// The current branch was archived (its fork was undone): switches to its parent and keeps the focus.
fn leave(model: &mut Model, parent: Option<BranchId>, out: &mut Vec<Cmd>) {
    let Some(session) = &model.session else { return };
    let open = |id: &BranchId| session.find(*id).is_some_and(|branch| !branch.archived);
    let first = || session.branches.iter().find(|branch| !branch.archived).map(|branch| branch.id);
    if let Some(next) = parent.filter(open).or_else(first) {
        let focus = model.focus;
        branches::switch(model, next, out);
        model.focus = focus;
        report_move(model, next);
    }
}

/// Says which branch, and which model, is current now.
fn report_move(model: &mut Model, branch: BranchId) {
    let Some(session) = &model.session else { return };
    let Some(name) = session.find(branch).map(|branch| &branch.name) else { return };
    let of = session.settings.get(&branch).map(|settings| format!(" ({})", settings.model.name)).unwrap_or_default();
    let text = format!("You are now on {name}{of}.");
    model.status.report(MOVED, text, model.now);
}

/// Whether the head of a branch is a different answer than before.
fn answered(model: &Model, id: BranchId, before: Option<NodeId>) -> bool {
    let Some(session) = &model.session else { return false };
    let head = session.find(id).and_then(|branch| branch.head).filter(|head| Some(*head) != before);
    head.and_then(|id| session.tree.get(id)).is_some_and(|head| head.role == Role::Assistant)
}

/// Whether a branch is visible: it is current, or the topmost screen shows it.
fn is_visible(model: &Model, id: BranchId) -> bool {
    model.is_current(id) || model.layers.last().is_some_and(|screen| screen.shows(id))
}

fn run(model: &mut Model, card: RunCard, out: &mut Vec<Cmd>) {
    screens::calls::update::changed(model, &card, out);
    if card.status != RunStatus::Open
        && card.answer.is_some()
        && let Some(live) = model.live.get_mut(&card.branch).filter(|live| live.run == Some(card.id))
    {
        live.text.clear();
        live.reasoning.clear();
    }
    // An answer shows the warning itself.
    if let Some(short) = card.short_read.filter(|_| card.uses.is_none() && card.answer.is_none()) {
        model.status.say(Severity::Warning, format!("{} {}", short.sentence(), short.todo()), model.now);
    }
    if let Some(session) = model.session.as_mut().filter(|open| open.card.id == card.session) {
        session.put_run(card);
    }
}

fn closed(model: &mut Model, branch: BranchId, draft: Option<Draft>, failure: Option<Failure>, out: &mut Vec<Cmd>) {
    notify(model, branch, failure.is_some(), out);
    let live = model.live.remove(&branch);
    let stopped = live.as_ref().is_some_and(|live| live.stopping);
    let before = live.and_then(|live| live.head);
    let here = model.is_current(branch);
    let draft = draft.filter(|draft| !draft.text.is_empty());
    let place = draft.and_then(|draft| queueing::take_back(model, branch, draft));
    let failed = failure.is_some();
    if let Some(mut failure) = failure {
        failure.kept = place.unwrap_or(failure.kept);
        model.plan.best = model.plan.best.filter(|best| best.branch != branch);
        model.conversation.failed.insert(branch, failure);
    }
    if here {
        model.refresh();
        model.plan.schedule_now(model.now);
        acts::report_moved_head(model, branch, before);
    } else if (failed || answered(model, branch, before)) && !is_visible(model, branch) {
        // A failure counts as unread, like an answer.
        if let Some(session) = model.session.as_mut().filter(|session| session.find(branch).is_some()) {
            session.unread.insert(branch);
        }
    }
    queueing::turn_ended(model, branch, (failed, stopped), out);
}

fn state(model: &mut Model, branch: BranchId, version: Option<StateVersion>, missing: bool) {
    let Some(session) = &mut model.session else { return };
    let current = session.current == branch;
    if let Some(known) = session.branches.iter_mut().find(|known| known.id == branch) {
        if !missing {
            known.state = version;
        } else if current && known.state.is_some() {
            let text = "The answer has no state block; the previous state block remains in use.";
            model.status.say(Severity::Notice, text, model.now);
        }
    }
}

/// Notifies a user who looks at another window that a long turn has ended.
fn notify(model: &Model, branch: BranchId, failed: bool, out: &mut Vec<Cmd>) {
    let Some(live) = model.live.get(&branch).filter(|_| model.away) else { return };
    if live.seconds(model.now) < u64::from(model.display.settings.notify_after) {
        return;
    }
    let named = model.session.as_ref().and_then(|session| session.find(branch));
    let name = crate::tui::model::title::name(named.map_or("", |branch| branch.name.as_str()));
    let what = if failed { "The call failed" } else { "The answer is complete" };
    out.push(Cmd::Notify(format!("{what} on {name}, after {} s", live.seconds(model.now))));
}
