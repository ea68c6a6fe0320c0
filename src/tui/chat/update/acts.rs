//! Actions on the selected item: marks, replies, forks, edits, regeneration, siblings, and copying.
//! Not for: switching and configuring branches (`branches`).

use super::{ask, questions};
use crate::domain::base::{BranchId, NodeId};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{Atom, Mark, MarkKind, Role, Slot};
use crate::domain::planning::Row;
use crate::domain::tool::ToolCost;
use crate::engine::api::{Act, BranchRequest, Draft, DraftKind, ItemName, ServerAct, SessionRequest, ToolRequest};
use crate::tui::chat::model::pending::MessagePending;
use crate::tui::model::pending::SessionPending;
use crate::tui::screens::question::model::Act as Choice;
use crate::tui::screens::request::model::{RequestScreen, SETTINGS_CONTROL, node_of};
use crate::tui::screens::screen::{Copied, Screen};
use crate::tui::screens::tools::model::ToolsPending;
use crate::tui::screens::tree::model::TreeScreen;
use crate::tui::update::prelude::*;

/// Sets a mark on the selected item, or removes it if the item has that mark.
pub(crate) fn mark(model: &mut Model, kind: MarkKind, out: &mut Vec<Cmd>) {
    act(model, Act::Set { kind, toggle: true }, kind.excludes(), out);
}

/// Leases the selected item, or removes its lease.
pub(crate) fn lease(model: &mut Model, out: &mut Vec<Cmd>) {
    act(model, Act::Lease { toggle: true }, false, out);
}

/// Switches whether the next call searches older messages: always, never, or by the mode.
pub(crate) fn search(model: &mut Model) {
    model.composer.search = model.composer.search.next();
    model.status.say(Severity::Notice, model.composer.search.sentence(), model.now);
    model.plan.schedule_now(model.now);
}

/// Makes the next message a reply to the selected message.
pub(crate) fn reply(model: &mut Model, out: &mut Vec<Cmd>) {
    act(model, Act::Reply, true, out);
}

fn act(model: &mut Model, act: Act, message: bool, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(overlay) = model.layers.top::<RequestScreen>()
        && overlay.selection.is_empty()
        && (overlay.on_tools() || overlay.selected_tool().is_some())
    {
        let tool = overlay.selected_tool().cloned();
        return switch(model, branch, tool, &act, out);
    }
    let on_state = |overlay: &RequestScreen| overlay.selection.is_empty() && overlay.unasked_state().is_some();
    if model.layers.top::<RequestScreen>().is_some_and(on_state) {
        return model.status.say(Severity::Notice, SETTINGS_CONTROL, model.now);
    }
    let all_have = |kind| model.layers.top::<RequestScreen>().is_some_and(|overlay| overlay.all_have(kind));
    let (items, act) = match (crate::tui::screens::request::update::selected_items(model), act) {
        (Some(items), Act::Set { kind, .. }) => (items, Act::Set { kind, toggle: all_have(kind) }),
        (Some(items), Act::Lease { .. }) => (items, Act::Lease { toggle: all_have(MarkKind::leased(1)) }),
        (_, act) => (selected_item(model, message).into_iter().collect(), act),
    };
    if items.is_empty() {
        let key = model.on_next_request().then(|| model.keys.key(Action::NextRequest));
        let text = key.map_or_else(
            || "Select an item first.".to_owned(),
            |key| format!("This works on an item of the list; {key} opens it."),
        );
        model.status.say(Severity::Notice, text, model.now);
        return;
    }
    send(model, BranchRequest::Mark { branch, items, act }, Pending::Act, out);
}

/// Disables or enables a tool on the branch; tools take no other mark. `tool` is None on the line of all tools.
fn switch(model: &mut Model, branch: BranchId, tool: Option<ToolCost>, act: &Act, out: &mut Vec<Cmd>) {
    let out_key = model.keys.key_of(Action::Exclude).unwrap_or_default();
    let Some(tool) = tool else {
        let key = model.keys.key_in(Action::Open, KeyPlace::Panel);
        let text = format!("{key} lists the tools; {out_key} disables or enables a tool.");
        return model.status.say(Severity::Notice, text, model.now);
    };
    if !matches!(act, Act::Set { kind: MarkKind::Exclude, .. }) {
        let text =
            format!("Every request on this branch includes the tool, or none does: {out_key} disables or enables it.");
        return model.status.say(Severity::Notice, text, model.now);
    }
    let act = ServerAct::Switch { keys: vec![tool.name], on: !tool.on };
    send(model, ToolRequest::Servers(Some(branch), act), ToolsPending::Change, out);
}

/// Whether rows of a request are listed: in the overlay, or in the focused panel.
fn lists_rows(model: &Model) -> bool {
    model.layers.on::<RequestScreen>() || model.on_next_request()
}

/// The selected row of the request overlay or of the focused panel of the next request, with the index of the message if
/// one is selected.
fn selected_row(model: &Model) -> Option<(&Row, Option<usize>)> {
    match model.layers.top::<RequestScreen>() {
        Some(overlay) => overlay.selected(),
        None => model.panel_row().map(|row| (row, None)),
    }
}

/// The selected item. In the conversation, `message` selects a single answer or tool result instead of its turn; a
/// person's own message always selects its turn.
pub(crate) fn selected_item(model: &Model, message: bool) -> Option<ItemName> {
    if let Some(turn) = model.layers.top().and_then(RequestScreen::selected_range_turn) {
        return Some(ItemName::Atom(turn.atom));
    }
    if lists_rows(model) {
        let (row, item) = selected_row(model)?;
        return match item {
            None => Some(ItemName::Atom(row.atom)),
            Some(at) => {
                let item = row.items.get(at)?;
                item.node.map(|_| ItemName::Atom(Atom::Message { node: item.key }))
            }
        };
    }
    if let Some(trace) = crate::tui::screens::traces::update::selected(model) {
        return trace.node.map(ItemName::Message);
    }
    if model.focus != Focus::Conversation {
        return None;
    }
    let session = model.session.as_ref()?;
    let head = session.tree.head(model.conversation.selected()?);
    let just_it = message && head.role != Role::User;
    Some(if just_it { ItemName::Message(head.id) } else { ItemName::TurnOf(head.id) })
}

/// The selected node of the topmost pane or screen.
pub(crate) fn selected_node(model: &Model) -> Option<NodeId> {
    if let Some(overlay) = model.layers.top::<RequestScreen>() {
        return overlay.selected_node();
    }
    if model.on_next_request() {
        return model.panel_row().and_then(|row| node_of(row, None));
    }
    let session = model.session.as_ref()?;
    let tree = model.layers.top::<TreeScreen>();
    let slot = tree.map_or_else(|| model.conversation.selected(), |tree| tree.message(session));
    slot.map(|slot| session.tree.head(slot).id)
}

/// Forks at the selected place: a branch's head, a message, or the end of a turn among the rows of a request.
pub(crate) fn fork(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(mut branch) = model.branch().map(|branch| branch.id) else { return };
    let at = if lists_rows(model) {
        let last = last_selected(model);
        if last.is_none() {
            model.status.say(Severity::Notice, "Select the message to fork from.", model.now);
            return;
        }
        last
    } else if let Some(tree) = model.layers.top::<TreeScreen>() {
        let session = model.session.as_ref();
        session.and_then(|session| Some(session.tree.head(tree.selected(session)?.last).id))
    } else {
        match model.focus {
            Focus::Conversation => selected_node(model),
            Focus::Branches => {
                branch = model.panel.selected().unwrap_or(branch);
                model.panel.selected_end().map(|end| end.node)
            }
            Focus::Composer | Focus::Tools | Focus::Context => None,
        }
    };
    if nothing_to_fork(model, branch) {
        return;
    }
    model.remember_place();
    send(model, BranchRequest::Fork { branch, at, name: None, switch: true }, SessionPending::Fork(None), out);
}

/// The selected message among the rows of a request, or the last message of the selected row.
pub(crate) fn last_selected(model: &Model) -> Option<NodeId> {
    let (row, item) = selected_row(model)?;
    match item {
        Some(at) => row.items.get(at).and_then(|item| item.node),
        None => row.items.iter().rev().find_map(|item| item.node),
    }
}

/// Whether a branch has no messages, so that there is nothing to fork; if so, a notice says that.
pub(crate) fn nothing_to_fork(model: &mut Model, branch: BranchId) -> bool {
    let empty = model.session.as_ref().and_then(|session| session.find(branch)).is_some_and(|b| b.head.is_none());
    if empty {
        let text = "There is nothing to fork yet: this branch has no messages.";
        model.status.say(Severity::Notice, text, model.now);
    }
    empty
}

/// The user message of the selected turn.
pub(crate) fn selected_question(model: &Model) -> Option<NodeId> {
    if lists_rows(model) {
        let (row, item) = selected_row(model)?;
        let mut first = item.and_then(|at| row.items.get(at)).into_iter().chain(&row.items);
        return first.find(|item| item.role == Role::User)?.node;
    }
    let session = model.session.as_ref().filter(|_| model.layers.is_empty())?;
    let slot = model.conversation.asked_by(&session.tree, model.conversation.cursor)?;
    Some(session.tree.head(slot).id)
}

/// Loads the selected turn's user message into the composer for editing.
pub(crate) fn edit(model: &mut Model, out: &mut Vec<Cmd>) {
    match selected_question(model) {
        Some(id) => {
            send(model, SessionRequest::Bodies { nodes: vec![id] }, MessagePending::Edit(id), out);
        }
        None => model.status.say(Severity::Notice, "You can edit only your own messages.", model.now),
    }
}

/// Generates another answer to the question of the selected turn.
pub(crate) fn regenerate(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(session) = &model.session else { return };
    let asked = model.conversation.asked_by(&session.tree, model.conversation.cursor);
    match asked.map(|slot| session.tree.head(slot).id) {
        Some(id) => regenerate_question(model, id, out),
        None => {
            model.status.say(Severity::Notice, "There is no answer to regenerate here.", model.now);
        }
    }
}

/// Generates another answer to a question. Asks first if later messages follow, since the branch will end at the new
/// answer.
pub(crate) fn regenerate_question(model: &mut Model, id: NodeId, out: &mut Vec<Cmd>) {
    let later = model.session.as_ref().map_or(0, |session| model.conversation.later_than(&session.tree, id));
    let Some((branch, name)) = model.branch().filter(|_| later > 0).map(|here| (here.id, here.name.clone())) else {
        return ask::ask_kind(model, DraftKind::Regenerate(id), out);
    };
    let kept = model.session.as_ref().map_or(0, |session| model.conversation.after(&session.tree, id));
    let messages = counted(kept as u64, "message");
    let are = if kept == 1 { "is" } else { "are" };
    let text = format!(
        "{name} will end at the new answer. The {messages} after the question {are} kept as another version; {} returns \
         to them.",
        model.key_anywhere(Action::Undo)
    );
    let draft = Draft { kind: DraftKind::Regenerate(id), ..Draft::default() };
    let choices = [
        ('n', "no", Choice::Close),
        ('f', "fork first, and regenerate on the fork", Choice::ForkAndSend(branch, draft)),
        ('y', "yes, regenerate here", Choice::Regenerate(id)),
    ];
    questions::open(model, "Regenerate an earlier answer?", vec![text], choices);
}

/// If a turn moved a branch's head off its former path, shows how many messages are kept, how many marks act only on
/// them, and the key that returns to them.
pub(crate) fn report_moved_head(model: &mut Model, branch: BranchId, before: Option<NodeId>) {
    let Some(session) = &model.session else { return };
    let Some(here) = session.find(branch) else { return };
    let slot = |id: Option<NodeId>| id.and_then(|id| session.tree.slot(id));
    let (Some(old), Some(new)) = (slot(before), slot(here.head)) else { return };
    if session.tree.contains(old, new) {
        return;
    }
    let now = session.tree.path(new);
    let left = session.tree.path(old).into_iter().enumerate().filter(|(at, slot)| now.get(*at) != Some(slot));
    let left: Vec<Slot> = left.map(|(_, slot)| slot).collect();
    let kept = left.iter().filter(|slot| session.tree.head(**slot).role != Role::Tool).count();
    let last = |mark: &Mark| session.tree.by_key(mark.target.ends()?.1);
    let marks = match here.marks.iter().filter_map(last).filter(|slot| left.contains(slot)).count() {
        0 => String::new(),
        1 => ", and 1 mark acts only there".to_owned(),
        marks => format!(", and {marks} marks act only there"),
    };
    let (are, them) = if kept == 1 { ("is", "it") } else { ("are", "them") };
    let text = format!(
        "{} now ends here. {} of the earlier version {are} kept{marks}; u returns to {them}.",
        here.name,
        counted(kept as u64, "message"),
    );
    model.status.say(Severity::Notice, text, model.now);
}

/// Continues the last answer if it was cut off, or the turn if it stopped after a tool call.
pub(crate) fn continue_answer(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(session) = &model.session else { return };
    match model.conversation.unfinished(&session.tree) {
        Some(id) => ask::ask_kind(model, DraftKind::Continue(id), out),
        None => {
            model.status.say(Severity::Notice, "The last answer is complete; there is nothing to continue.", model.now);
        }
    }
}

/// Switches to a sibling of the selected message, or of the nearest message above that has siblings. That message stays
/// selected, so that the same key steps through all of its versions.
pub(crate) fn sibling(model: &mut Model, step: i32, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let Some(session) = &model.session else { return };
    let upto = model.conversation.path.get(..=model.conversation.cursor).unwrap_or_default();
    let at = upto.iter().rposition(|slot| session.tree.place(*slot).1 > 1);
    let node = at.map(|at| session.tree.head(model.conversation.path[at]).id).or_else(|| selected_node(model));
    let Some(node) = node else { return };
    let pending = at.map_or(Pending::Act, |at| Pending::Message(MessagePending::Sibling(at)));
    send(model, BranchRequest::Sibling { branch, node, step }, pending, out);
}

/// Selects the message whose version was switched, and shows its number.
pub(crate) fn version(model: &mut Model, at: usize) {
    model.conversation.select(at);
    let Some(session) = &model.session else { return };
    let Some(slot) = model.conversation.selected() else { return };
    let (place, count) = session.tree.place(slot);
    if count > 1 {
        let key = |action| model.keys.key_of(action).unwrap_or_default();
        let (before, after) = (key(Action::PrevSibling), key(Action::NextSibling));
        let name = model.branch().map(|branch| branch.name.clone()).unwrap_or_default();
        let text = format!("Version {} of {count}. {name} now ends there; {before} and {after} switch.", place + 1);
        model.status.say(Severity::Notice, text, model.now);
    }
}

/// Copies the text of the topmost screen, or else the selected branch's name or message.
pub(crate) fn copy(model: &mut Model, out: &mut Vec<Cmd>) {
    match model.layers.last_mut().map(Screen::copy) {
        Some(Copied::Text(text)) => out.push(Cmd::Copy(text)),
        Some(Copied::Then(run)) => run(model, out),
        Some(Copied::Nothing) => model.status.say(Severity::Notice, "There is no text to copy here.", model.now),
        None if model.focus == Focus::Branches => {
            let name = model.panel.selected().and_then(|id| model.session.as_ref()?.find(id)).map(|b| b.name.clone());
            out.extend(name.map(Cmd::Copy));
        }
        None => copy_message(model, out),
    }
}

/// Copies the selected message.
pub(crate) fn copy_message(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(id) = selected_node(model) else { return };
    match model.bodies.get(id) {
        Some(node) => out.push(Cmd::Copy(node.content.plain_text())),
        None => {
            send(model, SessionRequest::Bodies { nodes: vec![id] }, MessagePending::Copy(id), out);
        }
    }
}
