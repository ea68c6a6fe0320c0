//! Updates of the tree screen: opening it, folding, filtering, and going to a message.
//! Not for: the segments (`tui::model::tree_rows`) or the branches panel.

use super::model::{Row, TreeScreen};
use crate::domain::base::{BranchId, NodeId};
use crate::engine::api::BranchRequest;
use crate::tui::chat::update::branches;
use crate::tui::model::pending::SessionPending;
use crate::tui::model::session::Session;
use crate::tui::screens;
use crate::tui::update::prelude::*;

/// Opens the tree at the selected message, or closes it if it is on top.
pub(crate) fn open(model: &mut Model) {
    if model.layers.on::<TreeScreen>() {
        model.layers.pop();
        return;
    }
    let slot = model.conversation.selected().filter(|_| model.focus == Focus::Conversation);
    let node = model.session.as_ref().zip(slot).map(|(session, slot)| session.tree.head(slot).id);
    open_at(model, node);
}

/// Opens the tree at a message.
pub(crate) fn open_at(model: &mut Model, node: Option<NodeId>) {
    let Some(session) = &mut model.session else { return };
    session.sync_tree_rows();
    let screen = TreeScreen::new(session, node);
    model.layers.push(screen);
}

/// Opens the tree at a message that is on no branch.
pub(crate) fn open_for(model: &mut Model, node: NodeId) {
    open_at(model, Some(node));
    if let Some(screen) = model.layers.top_mut::<TreeScreen>() {
        screen.wanted = model.session.as_ref().and_then(|s| screen.selected(s)).map(|row| (node, row.first));
    }
}

/// Changes the tree if it is the top screen.
pub(crate) fn change(model: &mut Model, act: impl FnOnce(&mut TreeScreen, &Session)) {
    if let (Some(session), Some(screen)) = (&model.session, model.layers.top_mut()) {
        act(screen, session);
    }
}

/// Continues a filter that has segments left to check.
pub(crate) fn continue_filter(model: &mut Model) {
    change(model, TreeScreen::step_filter);
}

/// Renames the branch of the selected segment.
pub(crate) fn rename(model: &mut Model) {
    let (Some(session), Some(screen)) = (&model.session, model.layers.top::<TreeScreen>()) else { return };
    let branch = screen.selected(session).and_then(|row| session.tree_rows.branches(row).first().copied());
    if let Some(id) = branch {
        branches::rename_prompt(model, id);
    }
}

/// A branch that leads to a segment: the current one, one whose head is its end, or any.
fn leading(session: &Session, row: &Row) -> Option<BranchId> {
    if row.on_path {
        return Some(session.current);
    }
    session.tree_rows.branches(row).first().copied().or_else(|| session.holding(session.tree.head(row.last).id))
}

/// Goes to the selected segment, after creating a branch if none leads there.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top_mut::<TreeScreen>() else { return };
    if screen.filtering {
        screen.filtering = false;
        return;
    }
    let Some(session) = &model.session else { return };
    let (Some(row), Some(message)) = (screen.selected(session), screen.message(session)) else { return };
    let (first, last) = (session.tree.head(message).id, session.tree.head(row.last).id);
    let wanted = screen.wanted.filter(|(_, stretch)| *stretch == row.first).map(|(node, _)| node);
    let (leading, current) = (leading(session, row), session.current);
    model.remember_place();
    if let Some(branch) = leading {
        branches::switch(model, branch, out);
        screens::search::update::select_message(model, first);
        return;
    }
    model.jumps.land_on = Some(wanted.unwrap_or(first));
    let request = BranchRequest::Fork { branch: current, at: Some(last), name: None, switch: true };
    send(model, request, SessionPending::Fork(None), out);
}
