//! Copies parts of a message chosen from a list: its code blocks, the message, its turn, or the whole branch.
//! Not for: copying the selected message directly (`acts`), or accessing a clipboard (`shell`).

use crate::domain::base::NodeId;
use crate::domain::call::tokens::{counted, grouped};
use crate::domain::conversation::state;
use crate::domain::conversation::{End, Node, Role};
use crate::engine::api::SessionRequest;
use crate::tui::chat::model::excerpts::code_blocks;
use crate::tui::chat::model::pending::MessagePending;
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::update::prelude::*;
use std::fmt::Write as _;
use std::sync::Arc;

/// Opens the list of parts of the selected message that can be copied.
pub(crate) fn menu(model: &mut Model, out: &mut Vec<Cmd>) {
    let slot = model.conversation.selected();
    let Some((slot, session)) = slot.zip(model.session.as_ref()) else {
        return model.status.say(Severity::Notice, "Select a message first.", model.now);
    };
    let id = session.tree.head(slot).id;
    match model.bodies.get(id).cloned() {
        Some(node) => show(model, &node),
        None => {
            send(model, SessionRequest::Bodies { nodes: vec![id] }, MessagePending::CopyMenu(id), out);
        }
    }
}

/// Shows the list for a loaded message.
pub(crate) fn show(model: &mut Model, node: &Node) {
    let text = text_of(node);
    let mut entries: Vec<Entry> = Vec::new();
    for (at, block) in code_blocks(&text).into_iter().enumerate() {
        let first = block.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let language = if block.language.is_empty() { String::new() } else { format!(" {}", block.language) };
        let label = format!("code {}{language}: {first}", at + 1);
        entries.push(Entry { label, detail: sized(&block.text), choice: Choice::Copy(Arc::from(block.text)) });
    }
    let whole = |label: &str, detail: String, choice| Entry { label: label.to_owned(), detail, choice };
    entries.push(whole("the message", sized(&text), Choice::Copy(Arc::from(text))));
    entries.push(whole("this turn: question and answers", "Markdown".to_owned(), Choice::CopyTurn(node.head.id)));
    let detail = "Markdown, with possible secrets masked".to_owned();
    entries.push(whole("the whole branch", detail, Choice::CopyBranch));
    let mut picker = Picker::new(Kind::Copies);
    picker.fill(entries);
    model.layers.push(picker);
}

fn sized(text: &str) -> String {
    format!("{}, {} bytes", counted(text.lines().count() as u64, "line"), grouped(text.len() as u64))
}

/// The text of a message, without an answer's state block.
fn text_of(node: &Node) -> String {
    let text = node.content.plain_text();
    if node.head.role == Role::Assistant { state::strip(&text, node.head.end == End::Complete) } else { text }
}

/// Copies the turn of a message.
pub(crate) fn turn(model: &mut Model, node: NodeId, out: &mut Vec<Cmd>) {
    let Some(session) = &model.session else { return };
    let path = &model.conversation.path;
    let head = |at: usize| session.tree.head(path[at]);
    let Some(here) = (0..path.len()).find(|at| head(*at).id == node) else { return };
    let first = (0..=here).rev().find(|at| head(*at).role == Role::User).unwrap_or(here);
    let after = (here + 1..path.len()).find(|at| head(*at).role == Role::User).unwrap_or(path.len());
    let nodes: Vec<NodeId> = (first..after).map(|at| head(at).id).collect();
    send(model, SessionRequest::Bodies { nodes: nodes.clone() }, MessagePending::CopyTurn(nodes), out);
}

/// Joins messages into one Markdown text, in this order.
pub(crate) fn joined(order: &[NodeId], nodes: &[Arc<Node>]) -> String {
    let mut text = String::new();
    for node in order.iter().filter_map(|id| nodes.iter().find(|node| node.head.id == *id)) {
        let who = match node.head.role {
            Role::User => node.head.name.as_deref().unwrap_or("you"),
            Role::Assistant => node.head.model.as_deref().unwrap_or("model"),
            Role::System => "instructions",
            Role::Tool => node.head.name.as_deref().unwrap_or("tool"),
        };
        let own = text_of(node);
        if !own.trim().is_empty() {
            let _ = write!(text, "## {who}\n\n{}\n\n", own.trim_end());
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Copies the current branch.
pub(crate) fn branch(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, SessionRequest::Markdown { branch }, MessagePending::CopyBranch, out);
    }
}
