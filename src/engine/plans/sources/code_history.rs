//! The history of the code search: the symbols of the previous question, which a message without content keeps, and the
//! set that a call records.
//! Not for: searching (`code_search`), or the rounds of one turn (`rounds`).

use super::code_search::{own_words, read_message};
use crate::code::parse::words::Analyzer;
use crate::context::activation::HORIZON;
use crate::domain::base::{Failure, Fields, Hash};
use crate::domain::call::{CodeCandidate, CodeSet, Gate};
use crate::engine::indexing::code_workspace::CodeWorkspace;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::snapshot::Snapshot;

/// Returns a set without candidates.
pub(crate) fn set(snapshot: &Snapshot, workspace: &CodeWorkspace, query: &str, gate: Gate) -> CodeSet {
    let focus = snapshot.rules.code.as_ref().map(|rules| rules.focus.clone()).unwrap_or_default();
    let filters = Fields::new("code filters").maybe(snapshot.head).json(&snapshot.rules.mode).json(&focus);
    CodeSet {
        id: Hash::default(),
        query: query.to_owned(),
        filters: filters.finish(),
        workspace: workspace_id(workspace),
        gate,
        mode: snapshot.rules.mode,
        focus,
        among: 0,
        candidates: Vec::new(),
        embedder: None,
    }
}

fn workspace_id(workspace: &CodeWorkspace) -> Hash {
    Fields::new("workspace").text(&workspace.own().to_string_lossy()).finish()
}

/// Returns whether a message has no content, such as "ok continue": it names nothing and attaches nothing.
pub(crate) fn is_follow_up(analyzer: &mut Analyzer, asked: &str) -> bool {
    let own = own_words(asked);
    if own.trim().is_empty() || own.len() != asked.len() {
        return false;
    }
    let read = read_message(analyzer, own);
    read.content.is_empty() && read.names.is_empty() && read.paths.is_empty()
}

/// Returns the symbols that were sent with the newest turn of the path whose search is recorded. Empty if that search
/// brought nothing, was made in another workspace, or was made under another focus: in these cases, the subject has
/// changed.
pub(crate) fn kept(
    builder: &InputBuilder,
    snapshot: &Snapshot,
    workspace: &CodeWorkspace,
) -> Result<Vec<CodeCandidate>, Failure> {
    let tips: Vec<Hash> = snapshot.closed_tips().take(HORIZON).collect();
    let touches = builder.store().touches(snapshot.session, &tips)?;
    let Some(id) = tips.iter().find_map(|tip| touches.get(tip)?.code_set) else { return Ok(Vec::new()) };
    let focus = snapshot.rules.code.as_ref().map(|rules| rules.focus.as_slice()).unwrap_or_default();
    let same = |set: &CodeSet| set.workspace == workspace_id(workspace) && set.focus == focus;
    let set = builder.store().code_set(id)?.filter(same);
    Ok(set.map(|set| set.sent().cloned().collect()).unwrap_or_default())
}
