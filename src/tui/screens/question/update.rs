//! The effect of a choice in a question.
//! Not for: opening a question (each caller).

use super::model::{Act, Question};
use crate::domain::conversation::{Atom, MarkKind};
use crate::domain::tool::Consent;
use crate::engine::api::{self, BranchRequest, DraftKind, ItemName, SessionRequest, ToolRequest};
use crate::tui::chat::update::{ask, branches, commands, folder, queueing, quit};
use crate::tui::model::pending::SessionPending;
use crate::tui::screens::approval::model::ApprovalScreen;
use crate::tui::screens::{approval, picker, race, summaries, tools};
use crate::tui::update::effects::run_next;
use crate::tui::update::prelude::*;

/// Handles Enter: closes the question and carries out the choice.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(question) = model.layers.top::<Question>() else { return };
    let Some((_, _, act)) = question.choices.get(question.cursor).cloned() else { return };
    model.layers.pop();
    match act {
        Act::Close => {}
        Act::Run(action) => run_next(model, action),
        Act::Command(line) => commands::typed(model, &line, out),
        Act::ForkAndSend(branch, draft) => {
            let request = BranchRequest::Fork { branch, at: None, name: None, switch: true };
            send(model, request, SessionPending::Fork(Some(draft)), out);
        }
        Act::Regenerate(node) => ask::ask_kind(model, DraftKind::Regenerate(node), out),
        Act::Wait(branch, draft) => {
            if !queueing::put(model, branch, &draft) {
                queueing::wait_for_others(model, branch, draft, out);
            }
        }
        Act::SaveUnsaved => quit::save(model),
        Act::Leave => model.quit = true,
        Act::LeaveTour => out.push(Cmd::Tour(false)),
        Act::Budget(cap) => branches::choose(model, |overrides| overrides.budget = Some(cap), out),
        Act::Policy(policy) => {
            branches::choose(model, |overrides| overrides.policy = Some(policy.clone()), out);
        }
        Act::Unpin(atoms) => mark(model, atoms, api::Act::Clear, out),
        Act::Instructions(atoms, kept) => {
            let kind = if kept { MarkKind::Sticky } else { MarkKind::Exclude };
            mark(model, atoms, api::Act::Set { kind, toggle: false }, out);
        }
        Act::Replay(run) => race::update::replay(model, run, None, None, out),
        Act::ReplayModel(run) => race::update::models(model, run, out),
        Act::ReplayWithout(run) => race::update::without(model, run, out),
        Act::DeleteSession(id) => {
            send(model, SessionRequest::Delete { session: Some(id.to_string()) }, Pending::Act, out);
            picker::update::filter_changed(model, out);
        }
        Act::RejectDraft(branch) => summaries::update::reject(model, branch, out),
        Act::Redraft => summaries::update::redraft(model, out),
        Act::Forget => drop(model.layers.pop()),
        Act::Always(branch, index, scope, rule) => {
            let hunks = model.layers.all::<ApprovalScreen>().next_back().map(ApprovalScreen::chosen);
            let yes = Consent::Yes { hunks: hunks.unwrap_or_default() };
            approval::update::give(model, (branch, index), yes, Some((scope, rule)), out);
        }
        Act::FolderServers(digest, yes) => tools::update::decide_file(model, digest, yes, out),
        Act::FolderSettings(digest, yes) => folder::decide(model, digest, yes, out),
        Act::Trust(trusted) => trusted_now(model, trusted, out),
    }
}

/// Marks items on the current branch.
fn mark(model: &mut Model, atoms: Vec<Atom>, act: api::Act, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        let items = atoms.into_iter().map(ItemName::Atom).collect();
        send(model, BranchRequest::Mark { branch, items, act }, Pending::Act, out);
    }
}

/// Records that the folder is trusted, or no longer trusted.
fn trusted_now(model: &mut Model, trusted: bool, out: &mut Vec<Cmd>) {
    if let Some(session) = &mut model.session {
        session.workspace.1 = trusted;
    }
    send(model, ToolRequest::Trust { trusted }, Pending::Act, out);
}
