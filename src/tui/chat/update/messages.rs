//! Handles loaded contents of messages: stores, edits, or copies them.
//! Not for: requesting them (`acts`, `copying`).

use super::{acts, copying};
use crate::domain::base::{Failure, NodeId, Safe};
use crate::domain::conversation::Node;
use crate::engine::api::{Answer, BranchAnswer, SessionAnswer};
use crate::tui::chat::model::pending::MessagePending;
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Handles the answers to requests about messages.
pub(crate) fn answered(
    model: &mut Model,
    pending: MessagePending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    use MessagePending as P;
    use SessionAnswer::Bodies;
    let find = |nodes: &[Arc<Node>], id| nodes.iter().find(|node| node.head.id == id).cloned();
    match (pending, result) {
        (P::Contents, Ok(Answer::Session(Bodies(nodes)))) => nodes.into_iter().for_each(|node| model.bodies.put(node)),
        (P::Contents, Ok(_)) => {}
        (P::Sibling(at), Ok(Answer::Branch(BranchAnswer::Branch(_)))) => acts::version(model, at),
        (P::Edit(id), Ok(Answer::Session(Bodies(nodes)))) => edit_text(model, id, &nodes),
        (P::Copy(id), Ok(Answer::Session(Bodies(nodes)))) => {
            out.extend(find(&nodes, id).map(|node| Cmd::Copy(node.content.plain_text())));
        }
        (P::CopyMenu(id), Ok(Answer::Session(Bodies(nodes)))) => {
            if let Some(node) = find(&nodes, id) {
                copying::show(model, &node);
            }
        }
        (P::CopyTurn(order), Ok(Answer::Session(Bodies(nodes)))) => {
            out.push(Cmd::Copy(copying::joined(&order, &nodes)));
        }
        (P::CopyBranch, Ok(Answer::Text(text))) => out.push(Cmd::Copy(text)),
        (
            P::Contents | P::Sibling(_) | P::Edit(_) | P::Copy(_) | P::CopyMenu(_) | P::CopyTurn(_) | P::CopyBranch,
            result,
        ) => show_answer(model, result),
    }
}

/// Puts the text of a message into the composer for editing.
fn edit_text(model: &mut Model, id: NodeId, nodes: &[Arc<Node>]) {
    if let Some(node) = nodes.iter().find(|node| node.head.id == id) {
        let text = node.content.plain_text();
        if Safe::hidden(&text) > 0 {
            let text = "The message contains invisible characters; they stay in the text.";
            model.status.say(Severity::Warning, text, model.now);
        }
        model.composer.begin_edit(id, &text);
        model.layers.clear();
        model.focus = Focus::Composer;
        model.plan.touch(model.now);
    }
}
