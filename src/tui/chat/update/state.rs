//! The state block of the current branch: editing it, rebuilding it, or adopting an imported one.
//! Not for: extracting it from an answer (the engine).

use crate::engine::api::BranchRequest;
use crate::tui::chat::model::composer;
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::prelude::*;

/// Opens the state block to read and edit it.
pub(crate) fn edit(model: &mut Model) {
    let Some(branch) = model.branch() else { return };
    let text = branch.state.as_ref().map_or("", |state| state.text.as_str());
    let version = branch.state.as_ref().map_or_else(
        || "none yet: your text here is sent as the state block".to_owned(),
        |state| format!("version {}{}", state.version, if state.edited { ", edited by you" } else { "" }),
    );
    let clean: String = composer::line_ends(text).chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let lines = clean.split('\n').map(str::to_owned).collect();
    let (title, what) = (format!("State block ({version})"), Edited::State(branch.id));
    let editor = Editor { title, area: composer::area(lines), what, fault: None, saving: None, before: None };
    model.layers.push(editor);
}

/// Rebuilds the state block from the messages in the window.
pub(crate) fn rebuild(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, BranchRequest::RebuildState(branch), Pending::Act, out);
    }
}

/// Adopts the state block that came with an import.
pub(crate) fn adopt(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, BranchRequest::AdoptState(branch), Pending::Act, out);
    }
}
