//! Answers to requests, each told apart by what its ticket was for. Strangers are dropped.
//! Not for: events that come by themselves (`engine`).

use super::effects::{send, trouble};
use super::open;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::base::safe_text::Safe;
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::Node;
use crate::engine::api::{Answer, Draft, ProgramRequest, Request, SessionView, Ticket, TransitionReport};
use crate::tui::chat::model::plan::DisplayedPlan;
use crate::tui::chat::update::{ask, completing, composing, copying, folder, planning, queueing};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::pending::Pending;
use crate::tui::model::session::Session;
use crate::tui::model::status::{Severity, WAITING};
use crate::tui::msg::Cmd;
use crate::tui::screens::picker::model::Picker;
use crate::tui::screens::request::model::RequestScreen;
use crate::tui::screens::{
    approval, aside, calls, compare, editor, memories, picker, race, raw_request, request, search, summaries, tools,
    traces, usage,
};
use std::sync::Arc;

/// Tells every answer apart by what its ticket was for: a request whose answer nobody takes does not compile.
#[deny(clippy::wildcard_enum_match_arm)]
#[expect(clippy::too_many_lines, clippy::match_same_arms, reason = "a table")]
pub(super) fn answer(model: &mut Model, ticket: Ticket, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    use {Answer as A, Pending as P};
    let Some(what_for) = model.pending.remove(&ticket.0) else { return };
    let ticket = ticket.0;
    match (what_for, result) {
        // The message and its plan.
        (P::Ask { branch, draft, .. }, result) => {
            model.status.end(WAITING);
            if !queueing::refused(model, branch, &draft, &result, out) {
                ask::asked(model, branch, draft, result);
            }
        }
        (P::Turn(branch), result) => queueing::turn_came(model, branch, result, out),
        (P::Attach { name, place }, result) => completing::attached(model, &name, place, result),
        (P::Typed(name), Ok(answer)) => completing::known(model, name, answer, out),
        (P::Complete(_), Ok(A::Files(list))) => completing::came(model, ticket, list),
        (P::Complete(_), Ok(A::Symbols(list))) => completing::symbols_came(model, ticket, list),
        (P::Kept, Ok(_)) | (P::Steps(_) | P::Typed(_), Err(_)) | (P::Stopped, _) => {}
        (P::Kept, Err(failure)) => composing::unkept(model, &failure),
        (P::Earlier(id), Ok(A::Bodies(nodes))) => {
            if model.session.as_ref().is_some_and(|session| session.card.id == id) {
                composing::earlier(model, &nodes);
            }
        }
        (P::Replan, Ok(A::Planned(planned))) => {
            if let Some((branch, draft)) = model.plan.asked.clone().filter(|_| model.plan.due.is_none()) {
                let generation = model.plan.generation;
                planning::show(model, DisplayedPlan { generation, branch, draft, solved: planned });
            }
        }
        (P::Replan, Err(failure)) if matches!(failure.kind, FailureKind::Stale | FailureKind::Blocked) => {}

        // The conversation, its branches, the session.
        (P::Bodies(_), Ok(A::Bodies(nodes))) => nodes.into_iter().for_each(|node| model.bodies.put(node)),
        (P::Bodies(_), Ok(_)) => {}
        (P::Sibling(at), Ok(A::Branch(_))) => crate::tui::chat::update::acts::version(model, at),
        (P::Fork(draft), Ok(A::Branch(branch))) => forked(model, *branch, draft, out),
        (P::Switch, Ok(A::Branch(branch))) => {
            if let Some(session) = &mut model.session {
                session.put_branch(*branch);
                model.refresh();
            }
        }
        (P::EditText(id), Ok(A::Bodies(nodes))) => edit_text(model, id, &nodes),
        (P::CopyText(id), Ok(A::Bodies(nodes))) => {
            if let Some(node) = nodes.iter().find(|node| node.head.id == id) {
                out.push(Cmd::Copy(node.content.words()));
            }
        }
        (P::CopyMenu(id), Ok(A::Bodies(nodes))) => {
            if let Some(node) = nodes.into_iter().find(|node| node.head.id == id) {
                copying::show(model, &node);
            }
        }
        (P::CopyTurn(order), Ok(A::Bodies(nodes))) => out.push(Cmd::Copy(copying::joined(&order, &nodes))),
        (P::CopyAll, Ok(A::Text(text))) => out.push(Cmd::Copy(text)),
        (P::Open, Ok(A::Opened(view))) => opened(model, &view, out),
        (P::OpenAt(node), Ok(A::Opened(view))) => {
            opened(model, &view, out);
            search::update::arrive(model, node);
        }
        (P::Back(spot), Ok(A::Opened(view))) => {
            opened(model, &view, out);
            search::update::stand(model, spot);
        }
        (P::OpenAt(_) | P::Back(_), Err(failure)) => unopened(model, &failure),
        (P::Reload(asked), Ok(A::Done(said))) => {
            if asked || !said.is_empty() {
                let said = if said.is_empty() { "Settings read again; nothing changed." } else { said.as_str() };
                model.status.report("reload", said, model.now);
            }
        }
        (P::Doctor, Ok(A::Doctor(findings))) => model.findings = findings,
        (P::FolderSettings, Ok(A::FolderSettings(card))) => folder::came(model, card.as_deref()),

        // Screens.
        (P::Ahead, result) => request::update::ahead(model, ticket, result),
        (P::RowText(atom), Ok(A::Text(text))) => row_text(model, atom, &text),
        (P::RowText(atom), Err(failure)) => row_text(model, atom, &failure.to_string()),
        (P::Steps(atom), Ok(A::Steps(steps))) => item_steps(model, atom, &steps),
        (P::Lately(atom), Ok(A::History(history))) => calls::update::lately(model, atom, Some(&history)),
        (P::Lately(_), Err(failure)) if failure.kind == FailureKind::Stale => {}
        (P::Lately(atom), Err(_)) => calls::update::lately(model, atom, None),
        (P::Calls, Ok(A::Runs(cards))) => calls::update::came(model, &cards),
        (P::Diff, Ok(A::Diff(diff))) => calls::update::differs(model, ticket, diff),
        (P::Diff, Err(failure)) => calls::update::undiffered(model, ticket, &failure),
        (P::History, Ok(A::History(history))) => calls::update::told(model, history),
        (P::Ledger, Ok(A::Ledger(found))) => usage::update::came(model, ticket, found),
        (P::Ledger, Err(failure)) => usage::update::failed(model, ticket, &failure),
        (P::Unused, Ok(A::Ledger(found))) => request::update::unused(model, &found.uses.unused),
        (P::Unused, _) => request::update::unused(model, &[]),
        (P::Compare, Ok(A::Compared(compared))) => compare::update::came(model, ticket, compared),
        (P::Compare, Err(failure)) => compare::update::failed(model, ticket, &failure),
        (P::Raw { branch, draft, edit }, Ok(A::Raw(found))) => {
            raw_request::update::came(model, branch, draft, edit, *found);
        }
        (P::Weigh(digest), Ok(A::Weighed(found))) => raw_request::update::weighed(model, digest, &found),
        (P::SendEdited { branch, draft, digest }, result) => {
            raw_request::update::sent(model, branch, draft, digest, result);
        }
        (P::Trial(trial), result) => race::update::answered(model, trial, result, out),
        (P::Aside, result) => aside::update::asked(model, ticket, result, out),
        (P::Find, Ok(A::Found(found))) => search::update::came(model, ticket, Ok(*found)),
        (P::Find, Err(failure)) => search::update::came(model, ticket, Err(failure)),
        (P::Sessions, Ok(A::Sessions(cards))) => picker::update::sessions_came(model, ticket, &cards),
        (P::Models, Ok(A::Models(by_profile))) => picker::update::models_came(model, ticket, by_profile),
        (P::Memories, Ok(A::Memories(all))) => memories::update::came(model, ticket, &all),
        (P::Sessions | P::Models | P::Memories, Err(failure)) => picker::update::failed(model, ticket, &failure),
        (P::MemoryAct, Ok(answer)) => memories::update::acted(model, &answer, out),
        (P::Draft(branch), Err(failure)) => summaries::update::failed(model, branch, &failure),
        (P::EditDraft { branch, number, text }, Err(failure)) => {
            summaries::update::refused(model, branch, number, &text, &failure);
        }
        (P::Summaries, Ok(A::Summaries(cards))) => summaries::update::listed(model, cards),
        (P::Summaries, Err(failure)) => summaries::update::unlisted(model, &failure),
        (P::SummaryAct, Ok(answer)) => summaries::update::acted(model, &answer, out),
        (P::Editables, Ok(A::Editables(kind, things))) => editor::update::came(model, ticket, kind, things),
        (P::Editables, Err(failure)) => editor::update::failed(model, ticket, &failure),
        (P::TryPolicy, result) => editor::update::tried(model, ticket, result),
        (P::EditableAct, result) => editor::update::done(model, ticket, result, out),
        (P::Rules, Ok(A::Rules(rules))) => approval::update::listed(model, rules),
        (P::Toolbox, Ok(A::Toolbox(all))) => tools::update::came(model, ticket, all),
        (P::Toolbox, Err(failure)) => tools::update::failed(model, ticket, &failure),
        (P::ToolAct, result) => tools::update::acted(model, result, out),
        (P::Trace(id, copy), Ok(A::Trace(whole))) => traces::update::came(model, &id, *whole, copy, out),

        (P::Act | P::Bodies(_) | P::Complete(_) | P::Earlier(_) | P::Replan, result) => said(model, result),
        (P::Sibling(_) | P::Fork(_) | P::Switch | P::Open | P::OpenAt(_) | P::Back(_), result) => said(model, result),
        (P::EditText(_) | P::CopyText(_) | P::CopyMenu(_) | P::CopyTurn(_) | P::CopyAll, result) => said(model, result),
        (P::Reload(_) | P::Doctor | P::FolderSettings | P::RowText(_) | P::Steps(_), result) => said(model, result),
        (P::Lately(_) | P::Calls | P::Diff | P::History | P::Ledger | P::Compare, result) => said(model, result),
        (P::Raw { .. } | P::Weigh(_) | P::Find | P::Sessions | P::Models | P::Memories, result) => said(model, result),
        (P::MemoryAct | P::Draft(_) | P::EditDraft { .. } | P::Summaries, result) => said(model, result),
        (P::SummaryAct | P::Editables | P::Rules | P::Toolbox | P::Trace(..), result) => said(model, result),
    }
}

/// A session that could not be opened: a sentence is not seen under a full screen.
fn unopened(model: &mut Model, failure: &Failure) {
    model.layers.clear();
    trouble(model, failure);
}

/// The text of a row, or why there is none, in the detail pane.
fn row_text(model: &mut Model, atom: Atom, text: &str) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.texts.insert(atom.key(), Arc::from(text));
    }
}

/// What happened to an item, in the detail pane.
fn item_steps(model: &mut Model, atom: Atom, steps: &[TransitionReport]) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.steps.insert(atom.key(), steps.iter().map(TransitionReport::sentence).collect());
    }
}

fn forked(model: &mut Model, branch: Branch, draft: Option<Draft>, out: &mut Vec<Cmd>) {
    let id = branch.id;
    crate::tui::chat::update::branches::stand_on(model, branch);
    let node = model.land_on.take();
    let slot = node.and_then(|id| model.session.as_ref().and_then(|session| session.tree.slot(id)));
    if let (Some(node), true) = (node, slot.is_some_and(|slot| model.conversation.path.contains(&slot))) {
        search::update::land(model, node);
    }
    if let Some(draft) = draft {
        ask::ask(model, id, draft, None, out);
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
    model.layers.close::<Picker>(|_| true);
    model.focus = Focus::Composer;
    model.plan.shown = None;
    model.plan.hurry(model.now);
    model.refresh();
    model.conversation.follow();
    for sentence in &view.recovered {
        model.status.say(Severity::Trouble, sentence.clone(), model.now);
    }
    if model.findings.is_empty() && view.nodes.is_empty() && !model.facts.first_start {
        send(model, Request::Program(ProgramRequest::Doctor), Pending::Doctor, out);
    }
}

fn edit_text(model: &mut Model, id: NodeId, nodes: &[Arc<Node>]) {
    if let Some(node) = nodes.iter().find(|node| node.head.id == id) {
        let text = node.content.words();
        if Safe::hidden(&text) > 0 {
            model.status.say(
                Severity::Trouble,
                "The message contains invisible characters; they stay in the text.",
                model.now,
            );
        }
        model.composer.begin_edit(id, &text);
        model.layers.clear();
        model.focus = Focus::Composer;
        model.plan.touch(model.now);
    }
}
