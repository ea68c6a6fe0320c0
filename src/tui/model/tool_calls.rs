//! The tool calls of the displayed path, and the notes that link failed calls to the calls that resolved them.
//! Not for: the list of tool calls (`screens::traces`), or the panel (`chat::view::tools`).

use crate::domain::base::{NodeId, RunId};
use crate::domain::tool::resolution;
use crate::domain::tool::{LinkKind, ToolTrace};
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::session::Session;
use std::collections::HashMap;

/// Indices of the calls of the displayed path: calls whose result is on it, calls running on it, and reruns of both.
pub fn shown(session: &Session, conversation: &Conversation, live: Option<RunId>) -> Vec<usize> {
    let on_path = |trace: &ToolTrace| {
        let slot = trace.node.and_then(|node| session.tree.slot(node));
        slot.is_some_and(|slot| {
            let depth = usize::try_from(session.tree.depth(slot)).unwrap_or(usize::MAX);
            conversation.path.get(depth) == Some(&slot)
        })
    };
    let first = |trace: &ToolTrace| {
        let call = trace.more.again.as_deref()?;
        session.traces.iter().find(|known| known.run == trace.run && known.call_id == call)
    };
    let here = |trace: &ToolTrace| {
        on_path(trace)
            || first(trace).is_some_and(on_path)
            || (trace.node.is_none() && trace.more.again.is_none() && live == Some(trace.run))
    };
    (0..session.traces.len()).filter(|place| here(&session.traces[*place])).collect()
}

/// For each result on the path that failed or fixed a failure: whether it is the fix, and a short note about the other.
pub fn link_notes(session: &Session, conversation: &Conversation) -> HashMap<NodeId, (bool, String)> {
    let here = shown(session, conversation, None);
    let traces: Vec<&ToolTrace> = here.iter().map(|place| &session.traces[*place]).collect();
    let mut notes: HashMap<NodeId, (bool, String)> = HashMap::new();
    let mut resolved: HashMap<NodeId, usize> = HashMap::new();
    let name = |trace: &ToolTrace| format!("{} {}", trace.title(), resolution::argument(&trace.args));
    for link in resolution::links(&traces, |_, _| true) {
        let (failed, fixed) = (traces[link.failed], traces[link.fixed]);
        let since = match link.between.as_slice() {
            [] => String::new(),
            [one] => format!(" after {} changed", one.rsplit('/').next().unwrap_or(one)),
            more => format!(" after {} files changed", more.len()),
        };
        let same = resolution::resolves(failed, fixed) == Some(LinkKind::Same);
        if let Some(node) = failed.node {
            let by = if same { "worked later".to_owned() } else { format!("fixed by {}", name(fixed)) };
            notes.insert(node, (false, format!("{by}{since}")));
        }
        if let Some(node) = fixed.node {
            let count = resolved.entry(node).or_default();
            *count += 1;
            let note = match *count {
                1 if same => "resolves the failure".to_owned(),
                1 => format!("resolves {}", name(failed)),
                more => format!("resolves {more} failures"),
            };
            notes.insert(node, (true, note));
        }
    }
    notes
}
