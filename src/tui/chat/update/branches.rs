//! Updates of branches and their settings: switching, renaming, archiving, mode, model, and budget.
//! Not for: marks on messages (`acts`).

use super::{composing, queueing};
use crate::domain::base::BranchId;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{Branch, Overrides};
use crate::engine::api::BranchRequest;
use crate::tui::model::pending::SessionPending;
use crate::tui::model::status::MOVED;
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::update::prelude::*;

/// Switches to a branch, on the screen and in the store.
pub(crate) fn switch(model: &mut Model, id: BranchId, out: &mut Vec<Cmd>) {
    let Some(session) = &model.session else { return };
    if session.current == id {
        model.focus = Focus::Composer;
        return;
    }
    let Some(branch) = session.find(id).cloned() else { return };
    switch_to(model, branch, false);
    send(model, BranchRequest::Switch { branch: id }, SessionPending::Switch, out);
}

/// Switches to a branch on the screen only. The draft stays with the previous branch, or moves along with `with_draft`.
pub(crate) fn switch_to(model: &mut Model, branch: Branch, with_draft: bool) {
    let Some(session) = &mut model.session else { return };
    let id = branch.id;
    let before = session.current;
    session.put_branch(branch);
    session.current = id;
    session.unread.remove(&id);
    if !(with_draft && model.composer.move_draft(before, id)) {
        model.composer.swap(Some(before), id);
    }
    model.focus = Focus::Composer;
    model.layers.clear();
    model.refresh();
    model.panel.select(id);
    model.conversation.follow();
    model.plan.schedule_now(model.now);
}

/// Moves the unsent text of a branch that was archived into the composer if that is empty, otherwise into the history, and
/// says so. Does nothing while the archived branch is current, because no other branch is open.
pub(crate) fn move_unsent(model: &mut Model, archived: BranchId, out: &mut Vec<Cmd>) {
    let Some(name) = model.session.as_ref().and_then(|session| session.find(archived)).map(|b| b.name.clone()) else {
        return;
    };
    let text = composing::unsent(model, archived, &model.composer.unsent_on(archived));
    if model.is_current(archived) || text.trim().is_empty() {
        return;
    }
    while model.queue.unqueue_last(archived).is_some() {}
    let place = if model.composer.adopt(archived, &text) {
        "is in the composer".to_owned()
    } else {
        let key = model.keys.key_in(Action::HistoryUp, KeyPlace::Composer);
        format!("is in the history; {key} in an empty composer restores it")
    };
    let moved = model.status.take(MOVED).map_or_else(String::new, |moved| format!("{moved} "));
    model.status.report(MOVED, format!("{moved}The unsent message of {name} {place}."), model.now);
    model.plan.touch(model.now);
    queueing::save_unsent(model, archived, out);
}

/// Applies a person's choice of settings to the current branch. A choice that equals what is stored takes precedence
/// over the settings from the command line too.
pub(crate) fn choose(model: &mut Model, change: impl Fn(&mut Overrides), out: &mut Vec<Cmd>) {
    let Some(Branch { id: branch, overrides: stored, .. }) = model.branch().cloned() else { return };
    let (mut overrides, mut chosen) = (stored.clone(), Overrides::default());
    change(&mut overrides);
    change(&mut chosen);
    if overrides == stored {
        send(model, BranchRequest::Choose { branch, chosen }, Pending::Act, out);
        return;
    }
    if let Some(session) = &mut model.session {
        if let (Some(mode), Some(settings)) = (overrides.mode, session.settings.get_mut(&branch)) {
            settings.mode = mode;
        }
        if let Some(known) = session.branches.iter_mut().find(|known| known.id == branch) {
            known.overrides = overrides.clone();
        }
    }
    send(model, BranchRequest::Override { branch, overrides }, Pending::Act, out);
}

/// Switches to the next context mode.
pub(crate) fn cycle_mode(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch() else { return };
    let now = model.session.as_ref().and_then(|s| s.settings()).map(|s| s.mode);
    let next = now.or(branch.overrides.mode).unwrap_or_default().next();
    choose(model, |overrides| overrides.mode = Some(next), out);
    model.status.say(Severity::Notice, format!("Context mode: {}", next.title()), model.now);
}

/// Raises or lowers the budget by about a quarter, to a multiple of 500.
pub(crate) fn step_budget(model: &mut Model, up: bool, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch() else { return };
    let budget = model.plan.plan(branch.id).map(|plan| plan.budget);
    let budget = budget.or_else(|| model.plan.blocked(branch.id).map(|blocked| blocked.budget));
    let known =
        branch.overrides.budget.or_else(|| budget.and_then(|b| b.cap.or(Some(b.total())).map(|cap| cap - b.results)));
    let Some(now) = known else { return };
    let next = stepped(now, up);
    let ceiling = budget.map(|budget| budget.most());
    let next = ceiling.filter(|top| *top > 0).map_or(next, |top| next.min(top));
    if next == now {
        let text = format!("The budget stays at {}.", counted(now.into(), "token"));
        return model.status.say(Severity::Notice, text, model.now);
    }
    choose(model, |overrides| overrides.budget = Some(next), out);
    model.status.say(Severity::Notice, format!("Budget: {}", counted(next.into(), "token")), model.now);
}

/// Returns a budget raised or lowered by about a quarter, to a multiple of 500.
fn stepped(now: u32, up: bool) -> u32 {
    let wished = if up { (now / 4).saturating_mul(5).saturating_add(250) } else { now / 5 * 4 };
    (wished.saturating_add(250) / 500 * 500).max(500)
}

/// Switches the branch to the offline model.
pub(crate) fn use_offline(model: &mut Model, out: &mut Vec<Cmd>) {
    choose(model, |overrides| (overrides.profile, overrides.model) = (Some("offline".to_owned()), None), out);
}

/// Asks for a new name of the branch that is selected in the panel.
pub(crate) fn rename_selected(model: &mut Model) {
    if let Some(id) = model.panel.selected() {
        rename_prompt(model, id);
    }
}

/// Asks for a new name of a branch.
pub(crate) fn rename_prompt(model: &mut Model, id: BranchId) {
    let name = model.session.as_ref().and_then(|session| session.find(id)).map(|branch| branch.name.clone());
    let Some(text) = name else { return };
    let title = "Rename the branch".to_owned();
    model.layers.push(Prompt { title, text: text.into(), purpose: Purpose::RenameBranch(id) });
}

/// Asks for a new title of the session.
pub(crate) fn title_prompt(model: &mut Model) {
    let Some(session) = &model.session else { return };
    let (title, text) = ("Rename the session".to_owned(), session.card.title.clone());
    let purpose = Purpose::RenameSession(Some(session.card.id));
    model.layers.push(Prompt { title, text: text.into(), purpose });
}

/// Archives the selected branch, or restores it.
pub(crate) fn archive(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(id) = model.panel.selected() else { return };
    let Some(branch) = model.session.as_ref().and_then(|session| session.find(id)) else { return };
    let archived = !branch.archived;
    if archived && model.is_current(id) {
        let text = "This is the current branch. Switch to another branch before you archive it.";
        return model.status.say(Severity::Notice, text, model.now);
    }
    send(model, BranchRequest::Archive { branch: id, archived }, Pending::Act, out);
}

#[cfg(test)]
mod tests {
    use super::stepped;

    #[test]
    fn budgets_step_by_a_quarter_up_to_the_largest_number() {
        assert_eq!([stepped(8_000, true), stepped(10_500, false), stepped(100, false)], [10_500, 8_500, 500]);
        assert_eq!(stepped(4_000_000_000, true), 4_294_967_000);
    }
}
