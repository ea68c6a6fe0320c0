//! The data that a tool trace records when its call ends, and the stored result.
//! Not for: requests about traces (`traces`), or running tools (`turns::tool_calls`).

use crate::domain::base::{Hash, SessionId};
use crate::domain::conversation::NodeHead;
use crate::domain::tool::{FileChange, FileTexts, ToolOutcome, ToolStatus, ToolTrace, resolution};
use crate::store::Store;
use crate::store::types::Write;
use std::sync::Arc;

/// The number of calls of a session that are searched for an id.
pub(crate) const MOST_SEARCHED: usize = 20_000;

/// Returns the stored result of a call, by the call's id.
pub(crate) fn kept(store: &Store, session: SessionId, id: &str) -> Option<String> {
    let all = store.traces(session, MOST_SEARCHED).ok()?;
    let trace = all.into_iter().rev().find(|trace| trace.id() == id)?;
    store.tool_output(trace.run, &trace.call_id).ok().flatten()
}

/// Records the result of a call in its trace.
pub(crate) fn ended(trace: &mut ToolTrace, done: &ToolOutcome, tokens: u32, millis: u64) {
    let ToolOutcome { output, changed, exit, cut } = done;
    trace.status = Some(output.status);
    trace.bytes = output.body.len() as u64;
    trace.truncated_from = Some(output.full_bytes).filter(|full| *full > trace.bytes);
    trace.est_tokens = tokens;
    trace.duration_ms = millis;
    trace.preview = NodeHead::preview_of(output.body.lines().next().unwrap_or_default());
    trace.exit = *exit;
    trace.changed = changed.iter().map(|change| change.path.clone()).collect();
    trace.more.error = (output.status == ToolStatus::Failed).then(|| resolution::fault(&output.body)).flatten();
    trace.more.back = cut.as_ref().map(|cut| cut.back.clone());
    trace.more.kept = cut.as_ref().and_then(|cut| cut.full.as_ref()).map(|full| full.len() as u64);
    let hash = |text: &Option<Arc<str>>| text.as_ref().map(|text| Hash::of(text.as_bytes()));
    let texts = |change: &FileChange| FileTexts {
        path: change.path.clone(),
        before: hash(&change.before),
        after: hash(&change.after),
    };
    trace.more.files = changed.iter().map(texts).collect();
}

/// Returns the write that stores the full result if the model did not read all of it.
pub(crate) fn kept_of(session: SessionId, trace: &ToolTrace, done: &ToolOutcome) -> Vec<Write> {
    let full = done.cut.as_ref().and_then(|cut| cut.full.as_deref());
    full.map(|full| output(session, trace, full)).into_iter().collect()
}

/// Returns the write that stores a result.
pub(crate) fn output(session: SessionId, trace: &ToolTrace, text: &str) -> Write {
    Write::PutToolOutput { session, run: trace.run, call_id: trace.call_id.clone(), text: text.into() }
}
