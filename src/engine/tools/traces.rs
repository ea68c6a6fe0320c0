//! Calls to tools that were made: listed, one shown whole, what of a result is kept; and what is noted of one when it ended.
//! Not for: running them (`turns::tool_calls`, `calls::rerun`).

use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::SessionId;
use crate::domain::tool::consent::FileChange;
use crate::domain::tool::resolution;
use crate::domain::tool::trace::{Done, Texts, ToolStatus, ToolTrace};
use crate::engine::api::{Answer, TraceAct, TraceWhole};
use crate::engine::core::Core;
use crate::engine::turns::stream::preview;
use crate::store::Store;
use crate::store::types::Write;
use crate::tools;
use std::sync::Arc;

/// Calls of a session that are looked through for an id.
const LOOKED: usize = 20_000;

impl Core {
    /// Requests about calls to tools.
    pub(crate) fn traces(&mut self, act: TraceAct) -> Result<Answer, Failure> {
        match act {
            TraceAct::List { most } => Ok(Answer::Traces(self.store.traces(self.session()?.card.id, most)?)),
            TraceAct::Show { id } => {
                let (session, trace) = self.trace_by(&id)?;
                Ok(Answer::Trace(Box::new(self.whole(session, trace)?)))
            }
            TraceAct::Again { branch, id } => self.run_again(branch, &id),
            TraceAct::Word { consent, always } => self.word_again(consent, always),
            TraceAct::Stop => self.stop_again(),
        }
    }

    /// The call that a prefix of its id names, in the open session.
    pub(crate) fn trace_by(&self, id: &str) -> Result<(SessionId, ToolTrace), Failure> {
        let session = self.session()?.card.id;
        let mut found = self.store.traces(session, LOOKED)?;
        found.retain(|trace| !id.is_empty() && trace.id().starts_with(id));
        match found.len() {
            1 => Ok((session, found.remove(0))),
            0 => Err(Failure::user(format!("This session has no tool call {id:?}.")).todo("pleach traces lists them.")),
            _ => Err(Failure::user(format!("{id:?} matches several calls.")).todo("Type more of the id.")),
        }
    }

    fn whole(&self, session: SessionId, trace: ToolTrace) -> Result<TraceWhole, Failure> {
        let text = |hash: Option<Hash>| -> Result<Option<Option<Arc<str>>>, Failure> {
            let Some(hash) = hash else { return Ok(Some(None)) };
            Ok(self.store.file_text(session, hash)?.map(|text| Some(Arc::from(text))))
        };
        let mut files: Vec<FileChange> = Vec::new();
        for Texts { path, before, after } in &trace.more.files {
            if let (Some(before), Some(after)) = (text(*before)?, text(*after)?) {
                files.push(tools::compared(path, before, after.as_deref()));
            }
        }
        let full = self.store.tool_output(trace.run, &trace.call_id)?.map(Arc::from);
        Ok(TraceWhole { result: self.result_of(&trace).map(Arc::from), full, files, trace })
    }

    /// The result as the model got it.
    pub(crate) fn result_of(&self, trace: &ToolTrace) -> Option<String> {
        match trace.node {
            Some(node) => self.content(node).ok().map(|content| content.words()),
            None => self.store.tool_output(trace.run, &trace.call_id).ok().flatten(),
        }
    }
}

/// What is kept of a call's result, by the call's id.
pub(crate) fn kept(store: &Store, session: SessionId, id: &str) -> Option<String> {
    let all = store.traces(session, LOOKED).ok()?;
    let trace = all.into_iter().rev().find(|trace| trace.id() == id)?;
    store.tool_output(trace.run, &trace.call_id).ok().flatten()
}

/// Notes of a call what it came to.
pub(crate) fn ended(trace: &mut ToolTrace, done: &Done, tokens: u32, millis: u64) {
    let Done { output, changed, exit, cut } = done;
    trace.status = Some(output.status);
    trace.bytes = output.body.len() as u64;
    trace.truncated_from = Some(output.full_bytes).filter(|full| *full > trace.bytes);
    trace.est_tokens = tokens;
    trace.duration_ms = millis;
    trace.preview = preview(&output.body);
    trace.exit = *exit;
    trace.changed = changed.iter().map(|change| change.path.clone()).collect();
    trace.more.error = (output.status == ToolStatus::Failed).then(|| resolution::fault(&output.body)).flatten();
    trace.more.back = cut.as_ref().map(|cut| cut.back.clone());
    trace.more.kept = cut.as_ref().and_then(|cut| cut.full.as_ref()).map(|full| full.len() as u64);
    let hash = |text: &Option<Arc<str>>| text.as_ref().map(|text| Hash::of(text.as_bytes()));
    let texts = |change: &FileChange| Texts {
        path: change.path.clone(),
        before: hash(&change.before),
        after: hash(&change.after),
    };
    trace.more.files = changed.iter().map(texts).collect();
}

/// What is to be kept of a result beyond what the model gets.
pub(crate) fn kept_of(session: SessionId, trace: &ToolTrace, done: &Done) -> Vec<Write> {
    let full = done.cut.as_ref().and_then(|cut| cut.full.as_deref());
    full.map(|full| output(session, trace, full)).into_iter().collect()
}

/// A result that is kept.
pub(crate) fn output(session: SessionId, trace: &ToolTrace, text: &str) -> Write {
    Write::PutToolOutput { session, run: trace.run, call_id: trace.call_id.clone(), text: text.into() }
}
