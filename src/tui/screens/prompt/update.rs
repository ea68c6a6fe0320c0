//! The effect of a submitted line.
//! Not for: opening a prompt (each caller).

use super::model::{Prompt, Purpose};
use crate::engine::api::{self, BranchRequest, SessionRequest};
use crate::tui::chat::update::{focus, quit, tags};
use crate::tui::model::pending::SessionPending;
use crate::tui::screens::{editor, memories, picker};
use crate::tui::update::prelude::*;

/// Handles Enter: closes the prompt and uses the line.
pub(crate) fn submit(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Prompt { text, purpose, .. }) = model.layers.take_top() else { return };
    let text = text.trim().to_owned();
    if text.is_empty() && !matches!(purpose, Purpose::NewSession | Purpose::Label(_) | Purpose::Focus) {
        return;
    }
    match purpose {
        Purpose::RenameBranch(branch) => {
            send(model, BranchRequest::Rename { branch, name: text }, Pending::Act, out);
        }
        Purpose::RenameSession(id) => {
            let session = id.map(|id| id.to_string());
            send(model, SessionRequest::Rename { session, title: Some(text) }, Pending::Act, out);
            picker::update::filter_changed(model, out);
        }
        Purpose::SaveUnsaved => quit::named(model, text, out),
        Purpose::CopyPolicy(preset) => editor::update::name_copy(model, &preset, text),
        Purpose::Focus => focus::set(model, &text, out),
        Purpose::Label(node) => tags::put(model, node, api::TagAct::Label(text), out),
        Purpose::Remember => memories::update::remember(model, &text, out),
        Purpose::EditMemory(id) => {
            memories::update::act(model, id, api::MemoryAct::Edit(Some(text), None), out);
        }
        Purpose::NewSession => {
            send(model, SessionRequest::New { title: text }, SessionPending::New, out);
        }
    }
}
