//! Answers to requests, each told apart by what its ticket was for. Strangers are dropped.
//! Not for: events that come by themselves (`engine`).

use super::engine::{show, solved};
use super::{open, send, trouble};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::base::safe_text::Safe;
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::Node;
use crate::engine::api::{Answer, Finding, ProgramRequest, Request, SessionView, Ticket, Told};
use crate::tui::chat::model::composer::Draft;
use crate::tui::chat::model::plan::Shown;
use crate::tui::chat::update::{ask, completing, composing, copying, folder, queueing};
use crate::tui::model::layer::{Found, Layer};
use crate::tui::model::session::Session;
use crate::tui::model::status::{WAITING, Weight};
use crate::tui::model::{Focus, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens::{self, calls, editor, picker, raw_request, tools, traces};
use std::sync::Arc;

pub(super) fn answer(model: &mut Model, ticket: Ticket, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    let Some(what_for) = model.pending.remove(&ticket.0) else { return };
    if what_for == Pending::Ahead {
        return screens::request::update::ahead(model, ticket.0, result);
    }
    let Some((what_for, result)) = calls::update::answer(model, ticket.0, what_for, result) else { return };
    let Some((what_for, result)) = editor::update::answer(model, ticket.0, what_for, result, out) else {
        return;
    };
    let Some((what_for, result)) = tools::update::answer(model, ticket.0, what_for, result, out) else {
        return;
    };
    let Some((what_for, result)) = raw_request::update::answer(model, what_for, result) else { return };
    match (what_for, result) {
        (Pending::Ask { branch, draft, .. }, result) => {
            model.status.end(WAITING);
            if !queueing::refused(model, branch, &draft, &result, out) {
                asked(model, branch, draft, result);
            }
        }
        (Pending::Turn(branch), result) => queueing::turn_came(model, branch, result, out),
        (Pending::Bodies(_), result) => bodies(model, result),
        (Pending::Attach { name, place }, result) => completing::attached(model, &name, place, result),
        (Pending::Trial(trial), result) => screens::race::update::answered(model, trial, result, out),
        (Pending::Replan, Ok(Answer::Planned(planned))) => {
            if let Some((branch, draft)) = model.plan.asked.clone().filter(|_| model.plan.due.is_none()) {
                let generation = model.plan.generation;
                show(model, Shown { generation, branch, draft, solved: solved(planned) });
            }
        }
        (Pending::Replan, Err(failure)) => {
            if !matches!(failure.kind, FailureKind::Stale | FailureKind::Blocked) {
                trouble(model, &failure);
            }
        }
        (Pending::Sessions | Pending::Models | Pending::Memories, Err(failure)) => {
            picker::update::failed(model, ticket.0);
            trouble(model, &failure);
        }
        (Pending::Find, Err(failure)) => screens::search::update::came(model, ticket.0, Err(failure)),
        (Pending::Aside, result) => screens::aside::update::asked(model, ticket.0, result, out),
        (Pending::OpenAt(_) | Pending::Back(_), Err(failure)) => unopened(model, &failure),
        (Pending::Reload(asked), Ok(Answer::Done(said))) => {
            if asked || !said.is_empty() {
                let said = if said.is_empty() { "Read again; nothing of it changed." } else { said.as_str() };
                model.status.report("reload", said, model.now);
            }
        }
        (Pending::Kept, Ok(_)) | (Pending::Steps(_) | Pending::Typed(_), Err(_)) => {}
        (Pending::Kept, Err(failure)) => composing::unkept(model, &failure),
        (Pending::RowText(atom), Err(failure)) => row_text(model, atom, &failure.to_string()),
        (Pending::Draft(branch), Err(failure)) => screens::summaries::update::failed(model, branch, &failure),
        (Pending::EditDraft { branch, number, text }, Err(failure)) => {
            screens::summaries::update::refused(model, branch, number, &text, &failure);
        }
        (Pending::Capsules, Err(failure)) => screens::summaries::update::unlisted(model, &failure),
        (_, Err(failure)) => trouble(model, &failure),
        (what_for, Ok(answer)) => came(model, ticket, what_for, answer, out),
    }
}

/// A session that could not be opened: a sentence is not seen under a full screen.
fn unopened(model: &mut Model, failure: &Failure) {
    model.layers.clear();
    trouble(model, failure);
}

/// Answers that are no failures.
fn came(model: &mut Model, ticket: Ticket, what_for: Pending, answer: Answer, out: &mut Vec<Cmd>) {
    match (what_for, answer) {
        (Pending::Typed(name), answer) => completing::known(model, name, answer, out),
        (Pending::Complete(_), Answer::Files(list)) => completing::came(model, ticket.0, list),
        (Pending::Trace(id, copy), Answer::Trace(whole)) => traces::update::came(model, &id, *whole, copy, out),
        (Pending::Complete(_), Answer::Symbols(list)) => completing::symbols_came(model, ticket.0, list),
        (Pending::Find, Answer::Found(found)) => screens::search::update::came(model, ticket.0, Ok(*found)),
        (Pending::OpenAt(node), Answer::Opened(view)) => {
            opened(model, &view, out);
            screens::search::update::arrive(model, node);
        }
        (Pending::Back(spot), Answer::Opened(view)) => {
            opened(model, &view, out);
            screens::search::update::stand(model, spot);
        }
        (Pending::Sibling(at), Answer::Branch(_)) => crate::tui::chat::update::acts::version(model, at),
        (Pending::Earlier(id), Answer::Bodies(nodes)) => {
            if model.session.as_ref().is_some_and(|session| session.card.id == id) {
                composing::earlier(model, &nodes);
            }
        }
        (Pending::Steps(atom), Answer::Steps(steps)) => item_steps(model, atom, &steps),
        (Pending::Capsules, Answer::Capsules(cards)) => screens::summaries::update::listed(model, cards),
        (Pending::CapsuleAct, answer) => screens::summaries::update::acted(model, &answer, out),
        (Pending::Open, Answer::Opened(view)) => opened(model, &view, out),
        (Pending::Sessions, Answer::Sessions(cards)) => picker::update::sessions_came(model, ticket.0, &cards),
        (Pending::Models, Answer::Models(by_profile)) => picker::update::models_came(model, ticket.0, by_profile),
        (Pending::Memories, Answer::Memories(all)) => screens::memories::update::came(model, ticket.0, &all),
        (Pending::Rules, Answer::Rules(rules)) => screens::approval::update::listed(model, rules),
        (Pending::FolderSettings, Answer::FolderSettings(card)) => folder::came(model, card.as_deref()),
        (Pending::MemoryAct, answer) => screens::memories::update::acted(model, &answer, out),
        (Pending::Doctor, Answer::Doctor(findings)) => looked(model, findings),
        (Pending::RowText(atom), Answer::Text(text)) => row_text(model, atom, &text),
        (Pending::Fork(draft), Answer::Branch(branch)) => forked(model, *branch, draft, out),
        (Pending::Switch, Answer::Branch(branch)) => {
            if let Some(session) = &mut model.session {
                session.put_branch(*branch);
                model.refresh();
            }
        }
        (Pending::EditText(id), Answer::Bodies(nodes)) => edit_text(model, id, &nodes),
        (Pending::CopyText(id), Answer::Bodies(nodes)) => {
            if let Some(node) = nodes.iter().find(|node| node.head.id == id) {
                out.push(Cmd::Copy(node.content.words()));
            }
        }
        (Pending::CopyMenu(id), Answer::Bodies(nodes)) => {
            if let Some(node) = nodes.into_iter().find(|node| node.head.id == id) {
                copying::show(model, &node);
            }
        }
        (Pending::CopyTurn(order), Answer::Bodies(nodes)) => {
            out.push(Cmd::Copy(copying::joined(&order, &nodes)));
        }
        (Pending::CopyAll, Answer::Text(text)) => out.push(Cmd::Copy(text)),
        (_, Answer::Done(text) | Answer::Text(text)) => model.status.say(Weight::Notice, text, model.now),
        (_, _) => {}
    }
}

/// The text of a row, or why there is none, in the detail pane.
fn row_text(model: &mut Model, atom: Atom, text: &str) {
    for layer in &mut model.layers {
        if let Layer::Overlay(overlay) = layer {
            overlay.texts.insert(atom.key(), Arc::from(text));
        }
    }
}

/// What happened to an item, in the detail pane.
fn item_steps(model: &mut Model, atom: Atom, steps: &[Told]) {
    for layer in &mut model.layers {
        if let Layer::Overlay(overlay) = layer {
            overlay.steps.insert(atom.key(), steps.iter().map(Told::sentence).collect());
        }
    }
}

fn looked(model: &mut Model, findings: Vec<Finding>) {
    let found = |f: Finding| Found { subject: f.subject, ok: f.ok, text: f.text, todo: f.todo };
    model.findings = findings.into_iter().map(found).collect();
}

fn forked(model: &mut Model, branch: Branch, draft: Option<Draft>, out: &mut Vec<Cmd>) {
    let id = branch.id;
    crate::tui::chat::update::branches::stand_on(model, branch);
    let node = model.land_on.take();
    let slot = node.and_then(|id| model.session.as_ref().and_then(|session| session.tree.slot(id)));
    if let (Some(node), true) = (node, slot.is_some_and(|slot| model.conversation.path.contains(&slot))) {
        screens::search::update::land(model, node);
    }
    if let Some(draft) = draft {
        ask::ask(model, id, draft, None, out);
    }
}

fn bodies(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Bodies(nodes)) => nodes.into_iter().for_each(|node| model.bodies.put(node)),
        Ok(_) => {}
        Err(failure) => trouble(model, &failure),
    }
}

fn opened(model: &mut Model, view: &SessionView, out: &mut Vec<Cmd>) {
    let before = model.session.as_ref().map(|session| session.current);
    let mut session = Session::new(view.card.clone(), view.nodes.clone(), view.branches.clone(), view.current);
    view.runs.iter().cloned().for_each(|card| session.put_run(card));
    view.traces.iter().cloned().for_each(|trace| session.put_trace(trace));
    session.workspace = view.workspace.clone();
    session.put_tags(view.tags.clone());
    session.races = view.races.iter().map(|record| (record.branch, record.clone())).collect();
    if let Some(old) = model.session.as_mut().filter(|old| old.card.id == session.card.id) {
        session.settings = std::mem::take(&mut old.settings);
        session.unread = std::mem::take(&mut old.unread);
        session.unread.remove(&view.current);
    }
    view.drafts.iter().for_each(|(branch, text)| model.composer.restore(*branch, text));
    model.composer.swap(before, view.current);
    model.session = Some(session);
    model.panel.cursor = 0;
    model.panel.forget();
    model.layers.retain(|layer| !matches!(layer, Layer::Picker(_)));
    model.focus = Focus::Composer;
    model.plan.shown = None;
    model.plan.hurry(model.now);
    model.refresh();
    model.conversation.follow();
    for sentence in &view.recovered {
        model.status.say(Weight::Trouble, sentence.clone(), model.now);
    }
    if model.findings.is_empty() && view.nodes.is_empty() && !model.facts.first_start {
        send(model, Request::Program(ProgramRequest::Doctor), Pending::Doctor, out);
    }
}

pub(crate) fn asked(model: &mut Model, branch: BranchId, draft: Draft, result: Result<Answer, Failure>) {
    let Err(failure) = result else {
        let here = model.session.as_ref().is_some_and(|session| session.current == branch);
        let now = model.composer.draft();
        if here
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
            let key = model.keys.key_of(crate::tui::model::Action::Send).unwrap_or_default();
            let text = format!("The plan changed before it was sent; nothing was sent. Look at it, then {key} again.");
            model.status.say(Weight::Trouble, text, model.now);
            model.plan.hurry(model.now);
        }
        FailureKind::Busy => open::busy(model, branch, draft, &failure),
        FailureKind::Blocked => open::blocked(model, branch, &failure),
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

fn edit_text(model: &mut Model, id: NodeId, nodes: &[Arc<Node>]) {
    if let Some(node) = nodes.iter().find(|node| node.head.id == id) {
        let text = node.content.words();
        if Safe::hidden(&text) > 0 {
            model.status.say(
                Weight::Trouble,
                "The message holds invisible characters; they are kept in the text.",
                model.now,
            );
        }
        model.composer.begin_edit(id, &text);
        model.layers.clear();
        model.focus = Focus::Composer;
        model.plan.touch(model.now);
    }
}
