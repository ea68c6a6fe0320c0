//! Labels and favorites: setting and listing them.
//! Not for: going to a message (`screens::search::update`).

use super::acts;
use crate::domain::base::NodeId;
use crate::engine::api::{BranchRequest, ItemName, TagAct};
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::screens::tree::model::TreeScreen;
use crate::tui::update::prelude::*;

/// Toggles whether the selected message is a favorite.
pub(crate) fn favorite(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(node) = wanted(model) {
        put(model, node, TagAct::Favorite(None), out);
    }
}

/// Handles `/label LABEL`.
pub(crate) fn label(model: &mut Model, label: &str, out: &mut Vec<Cmd>) {
    if let Some(node) = wanted(model) {
        put(model, node, TagAct::Label(label.to_owned()), out);
    }
}

/// Changes a message's label, or whether it is a favorite.
pub(crate) fn put(model: &mut Model, node: NodeId, act: TagAct, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    send(model, BranchRequest::Tag { branch, item: ItemName::Message(node), act }, Pending::Act, out);
}

/// The message to tag: the selected one, or the head of the selected branch, or else the head of the current branch.
fn wanted(model: &mut Model) -> Option<NodeId> {
    let (alone, tree) = (model.layers.is_empty(), model.layers.on::<TreeScreen>());
    let found = if tree || alone && model.focus == Focus::Conversation {
        acts::selected_node(model)
    } else if alone && model.focus == Focus::Branches {
        let of = |id| model.session.as_ref()?.find(id)?.head;
        model.panel.selected().map_or_else(|| model.panel.selected_end().map(|end| end.node), of)
    } else {
        model.branch().and_then(|branch| branch.head)
    };
    if found.is_none() {
        model.status.say(Severity::Notice, "Select a message to label.", model.now);
    }
    found
}

/// Asks for the label of the selected message.
pub(crate) fn prompt(model: &mut Model) {
    let Some(node) = wanted(model) else { return };
    let Some(session) = &model.session else { return };
    let tag = session.tree.get(node).and_then(|head| session.tag(head));
    let text = tag.map(|tag| tag.label.clone()).unwrap_or_default();
    let title = "Label of the message (empty removes the label)".to_owned();
    model.layers.push(Prompt { title, text: text.into(), purpose: Purpose::Label(node) });
}

/// Opens the list of all labeled messages and favorites, oldest first.
pub(crate) fn list(model: &mut Model) {
    let Some(session) = &model.session else { return };
    let mut found: Vec<_> =
        session.tags.values().filter_map(|tag| Some((session.tree.by_key(tag.node)?, tag))).collect();
    found.sort_by_key(|(slot, _)| *slot);
    let entries: Vec<Entry> = found
        .into_iter()
        .map(|(slot, tag)| {
            let head = session.tree.head(slot);
            let sign = if tag.favorite { "* " } else { "" };
            let branch = session.holding(head.id).and_then(|id| session.find(id));
            let branch = branch.map_or_else(String::new, |branch| format!(" · {}", branch.name));
            Entry {
                label: format!("{sign}{}", if tag.label.is_empty() { &head.preview } else { &tag.label }),
                detail: format!("{}{branch} · {}", head.role.name(), head.preview),
                choice: Choice::Message(head.id),
            }
        })
        .collect();
    if entries.is_empty() {
        let key = model.keys.key_of(Action::Label).unwrap_or_default();
        let text = format!("No message has a label or is a favorite yet; {key} on a message labels it.");
        return model.status.say(Severity::Notice, text, model.now);
    }
    let mut picker = Picker::new(Kind::Labels);
    picker.fill(entries);
    model.layers.push(picker);
}
