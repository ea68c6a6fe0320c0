//! Requests about tool traces: the list, one in full, its result.
//! Not for: running tools (`turns::tool_calls`, `calls::rerun`).

use super::trace_records::MOST_SEARCHED;
use crate::domain::base::{Failure, Hash, SessionId};
use crate::domain::tool::{FileChange, FileTexts, ToolTrace};
use crate::engine::api::{Answer, ToolAnswer, TraceAct, TraceWhole};
use crate::engine::core::{Core, content};
use crate::store::Store;
use crate::tools;
use std::sync::Arc;

impl Core {
    /// Handles a request about tool calls.
    pub(crate) fn traces(&mut self, act: TraceAct) -> Result<Answer, Failure> {
        match act {
            TraceAct::List { most } => {
                Ok(ToolAnswer::Traces(self.store.traces(self.sessions.current()?.card.id, most)?).into())
            }
            TraceAct::Show { id } => {
                let (session, trace) = self.find_trace(&id)?;
                Ok(ToolAnswer::Trace(Box::new(whole(&self.store, session, trace)?)).into())
            }
            TraceAct::Again { branch, id } => self.start_rerun(branch, &id),
            TraceAct::Word { consent, always } => self.decide_rerun(consent, always),
            TraceAct::Stop => self.turns.stop_rerun(),
        }
    }

    /// Returns the call of the open session that a prefix of its id names.
    pub(crate) fn find_trace(&self, id: &str) -> Result<(SessionId, ToolTrace), Failure> {
        let session = self.sessions.current()?.card.id;
        let mut found = self.store.traces(session, MOST_SEARCHED)?;
        found.retain(|trace| !id.is_empty() && trace.id().starts_with(id));
        match found.len() {
            1 => Ok((session, found.remove(0))),
            0 => Err(Failure::user(format!("This session has no tool call {id:?}."))
                .todo("`pleach traces` lists the calls.")),
            _ => Err(Failure::user(format!("{id:?} matches several calls.")).todo("Type more of the id.")),
        }
    }
}

fn whole(store: &Store, session: SessionId, trace: ToolTrace) -> Result<TraceWhole, Failure> {
    let text = |hash: Option<Hash>| -> Result<Option<Option<Arc<str>>>, Failure> {
        let Some(hash) = hash else { return Ok(Some(None)) };
        Ok(store.file_text(session, hash)?.map(|text| Some(Arc::from(text))))
    };
    let mut files: Vec<FileChange> = Vec::new();
    for FileTexts { path, before, after } in &trace.more.files {
        if let (Some(before), Some(after)) = (text(*before)?, text(*after)?) {
            files.push(tools::compared(path, before, after.as_deref()));
        }
    }
    let full = store.tool_output(trace.run, &trace.call_id)?.map(Arc::from);
    Ok(TraceWhole { result: result_of(store, &trace).map(Arc::from), full, files, trace })
}

/// Returns the result that the model read; for a rerun, the stored result.
pub(crate) fn result_of(store: &Store, trace: &ToolTrace) -> Option<String> {
    match trace.node {
        Some(node) => content(store, node).ok().map(|content| content.plain_text()),
        None => store.tool_output(trace.run, &trace.call_id).ok().flatten(),
    }
}
