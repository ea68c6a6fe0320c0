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
use crate::engine::api::{Answer, Finding, ProgramRequest, Request, SessionView, Ticket, TransitionReport};
use crate::tui::chat::model::composer::Draft;
use crate::tui::chat::model::plan::DisplayedPlan;
use crate::tui::chat::update::{ask, completing, composing, copying, folder, queueing};
use crate::tui::model::Found;
use crate::tui::model::session::Session;
use crate::tui::model::status::{Severity, WAITING};
use crate::tui::model::{Focus, Model, Pending};
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
                asked(model, branch, draft, result);
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
                show(model, DisplayedPlan { generation, branch, draft, solved: solved(planned) });
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
        (P::Doctor, Ok(A::Doctor(findings))) => looked(model, findings),
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

/// Shows the sentence of an answer, or a failure. All other answers are listed, so that a new one has to be placed: those
/// that a screen reads are taken above, and what the rest changed arrives as events.
#[deny(clippy::wildcard_enum_match_arm)]
fn said(model: &mut Model, result: Result<Answer, Failure>) {
    use Answer as A;
    match result {
        Ok(A::Done(text) | A::Text(text)) => model.status.say(Severity::Notice, text, model.now),
        Err(failure) => trouble(model, &failure),
        // The session, its messages and branches.
        Ok(
            A::Sessions(_) | A::Found(_) | A::Opened(_) | A::Bodies(_) | A::Transcript(_) | A::Imported { .. }
            | A::Branch(_) | A::Compared(_) | A::Steps(_) | A::Added(_) | A::Race(_) | A::Asked { .. },
        )
        // Plans and calls.
        | Ok(
            A::Planned(_) | A::WhatIf(_) | A::Preview(_) | A::Raw(_) | A::Weighed(_) | A::Retrieved(_) | A::Runs(_)
            | A::Ledger(_) | A::Uses(_) | A::StoredPlan { .. } | A::Diff(_) | A::History(_) | A::Replayed { .. }
            | A::Replaying(_),
        )
        // Summaries, memories, policies.
        | Ok(
            A::Draft(_) | A::Summaries(_) | A::Stats(_) | A::Memories(_) | A::Modules(_) | A::Editables(..)
            | A::Policies { .. } | A::Refused(_),
        )
        // Tools, files, code.
        | Ok(
            A::Toolbox(_) | A::Rules(_) | A::Traces(_) | A::Trace(_) | A::Files(_) | A::Attached { .. } | A::Project(_)
            | A::Indexed(_) | A::Code(_) | A::Symbols(_) | A::Source(_) | A::Map(_),
        )
        // The program.
        | Ok(A::Models(_) | A::Meters(_) | A::Doctor(_) | A::Backups(_) | A::FolderSettings(_)) => {}
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
            let text = format!(
                "The plan changed before it was sent, so nothing was sent. Check it, then press \
                {key} again."
            );
            model.status.say(Severity::Trouble, text, model.now);
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
