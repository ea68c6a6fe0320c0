//! Updates of the comparison: opening it, picking turns for the other branch, and merging a result into it.
//! Not for: moving the cursor (`tui::update::travel`).

use super::model::CompareView;
use crate::domain::base::{BranchId, Failure};
use crate::domain::conversation::Branch;
use crate::domain::conversation::resolve;
use crate::engine::api::{Answer, BranchAnswer, BranchRequest, ItemName};
use crate::tui::screens::calls::model::DiffView;
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Compares the current branch with the branch selected in the panel, or else with an obvious other branch; if none is
/// obvious, opens a list of the other branches.
pub(crate) fn selected(model: &mut Model, out: &mut Vec<Cmd>) {
    let here = model.branch().map(|branch| branch.id);
    let other = model.panel.selected().filter(|_| model.focus == Focus::Branches).filter(|id| Some(*id) != here);
    if let Some(other) = other.or_else(|| only_other(model)) {
        open(model, other, out);
    } else {
        list(model);
    }
}

/// Opens the list of the other branches, archived ones last.
fn list(model: &mut Model) {
    let Some(session) = model.session.as_ref() else { return };
    let mut others: Vec<_> = session.branches.iter().filter(|branch| branch.id != session.current).collect();
    others.sort_by_key(|branch| branch.archived);
    let detail = |archived| if archived { "archived".to_owned() } else { String::new() };
    let entry = |branch: &&Branch| Entry {
        label: branch.name.clone(),
        detail: detail(branch.archived),
        choice: Choice::CompareWith(branch.id),
    };
    let entries: Vec<Entry> = others.iter().map(entry).collect();
    if entries.is_empty() {
        let fork = model.keys.key(Action::Fork);
        let text = format!("This session has one branch. {fork} on a message forks another branch.");
        return model.status.say(Severity::Notice, text, model.now);
    }
    let mut picker = Picker::new(Kind::CompareWith);
    picker.fill(entries);
    model.layers.push(picker);
}

/// The parent of the current branch or, without a parent, the only other branch.
fn only_other(model: &Model) -> Option<BranchId> {
    let session = model.session.as_ref()?;
    let here = session.branch()?;
    let others: Vec<BranchId> =
        session.branches.iter().filter(|b| !b.archived && b.id != here.id).map(|b| b.id).collect();
    here.parent.or(match others.as_slice() {
        [one] => Some(*one),
        _ => None,
    })
}

/// Handles `/compare BRANCH`; the beginning of the name is enough if only one branch has it.
pub(crate) fn named(model: &mut Model, words: &str, out: &mut Vec<Cmd>) {
    if words.is_empty() {
        return selected(model, out);
    }
    let Some(session) = &model.session else { return };
    let wanted = words.to_lowercase();
    let exact = session.branches.iter().find(|branch| branch.name == words);
    let begins = |branch: &&Branch| branch.name.to_lowercase().starts_with(&wanted);
    let mut found: Vec<&Branch> =
        exact.map_or_else(|| session.branches.iter().filter(begins).collect(), |branch| vec![branch]);
    if found.len() > 1 {
        found.retain(|branch| branch.id != session.current);
    }
    let refusal = match found.as_slice() {
        [only] if only.id == session.current => "That is the current branch; name another branch.".to_owned(),
        [only] => return open(model, only.id, out),
        [] => resolve::no_branch(words).to_string(),
        several => {
            let names: Vec<&str> = several.iter().map(|branch| branch.name.as_str()).collect();
            format!("{} branches begin with {words:?}: {}. Type more of the name.", several.len(), names.join(", "))
        }
    };
    model.status.say(Severity::Warning, refusal, model.now);
}

pub(crate) fn open(model: &mut Model, other: BranchId, out: &mut Vec<Cmd>) {
    let Some(here) = model.branch().map(|branch| branch.id) else { return };
    let ticket = send(model, BranchRequest::Compare { a: here, b: other }, Pending::Compare, out);
    model.layers.push(CompareView { ticket, ..CompareView::default() });
}

/// Handles the comparison of both branches.
pub(crate) fn answered(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Branch(BranchAnswer::Compared(compared))) => {
            if let Some(view) = model.layers.all_mut::<CompareView>().find(|view| view.ticket == ticket) {
                view.compared = Some(compared);
            }
        }
        Ok(answer) => show_answer(model, Ok(answer)),
        Err(failure) => {
            model.layers.close::<CompareView>(|view| view.ticket == ticket);
            show_failure(model, &failure);
        }
    }
}

/// Handles Enter: opens the differences between the plans of both branches' last calls.
pub(crate) fn enter(model: &mut Model) {
    let Some(view) = model.layers.top::<CompareView>() else { return };
    let Some(compared) = &view.compared else { return };
    if let Some(plans) = compared.plans.clone() {
        let mut view = DiffView::default();
        view.show(plans);
        model.layers.push(view);
    } else {
        let text = "Plans can be compared only if both branches have made a call.";
        model.status.say(Severity::Notice, text, model.now);
    }
}

/// Picks the selected turns, or the turn under the cursor, for the other branch.
pub(crate) fn pick(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(view) = model.layers.top_mut::<CompareView>() else { return };
    let Some((from, onto)) = view.branches() else { return };
    let items: Vec<ItemName> = view.wanted().into_iter().map(ItemName::Atom).collect();
    let side = view.side;
    view.taken[side].clear();
    if items.is_empty() {
        return model.status.say(Severity::Notice, "This side has no turns of its own.", model.now);
    }
    let together = items.len() > 1;
    send(model, BranchRequest::Pick { from, items, onto, together }, Pending::Act, out);
}

/// Merges the result of the focused branch into the other branch.
pub(crate) fn return_result(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(view) = model.layers.top::<CompareView>() else { return };
    let Some((from, onto)) = view.branches() else { return };
    send(model, BranchRequest::BringBack { from, onto: Some(onto) }, Pending::Act, out);
}
