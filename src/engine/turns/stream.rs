//! The thread of a call to a model, and the reports of such threads.
//! Not for: decisions (the thread only reports and can be canceled), or tools (`tool_calls`).

use super::machine::{Arrived, PartialCall};
use super::tool_calls::CallDecision;
use crate::domain::base::RunId;
use crate::domain::call::{
    CallEnd, CountTokens, Delta, Encoding, Outcome, Provider, ProviderError, ProviderErrorKind, Wire,
};
use crate::domain::tool::{ToolEffect, ToolOutcome};
use crate::engine::jobs::{CancelToken, Jobs};
use crate::store::Store;
use crate::store::types::Write;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How often new text is reported, how often it is saved, and the size in bytes at which it is saved earlier.
const REPORT_INTERVAL: Duration = Duration::from_millis(24);
const SAVE_INTERVAL: Duration = Duration::from_millis(150);
const SAVE_BYTES: usize = 4 * 1024;

/// A report of a call's or tool's thread.
pub(crate) enum Report {
    /// Pieces of an answer, in order, and the tokens of all text so far.
    Deltas { run: RunId, deltas: Vec<Delta>, tokens: u32 },
    /// The call ended.
    Ended { run: RunId, outcome: Box<Outcome> },
    /// A tool call began.
    ToolStarted { run: RunId, index: usize },
    /// A call was parsed and waits for a decision.
    ToolNeedsDecision { run: RunId, index: usize, effect: ToolEffect, reply: Sender<CallDecision> },
    /// A tool produced output.
    ToolOutput { run: RunId, index: usize, text: String },
    /// A tool call ended.
    ToolEnded { run: RunId, index: usize, done: Box<ToolOutcome>, millis: u64 },
}

/// A call to a model.
pub(crate) struct Call {
    pub(crate) run: RunId,
    pub(crate) wire: Wire,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) store: Store,
    pub(crate) counter: Arc<dyn CountTokens>,
    pub(crate) encoding: Encoding,
    /// The time at which the call is stopped.
    pub(crate) until: Option<Instant>,
    /// Whether the text is saved while it arrives.
    pub(crate) saves: bool,
}

impl Call {
    /// Starts the call on a separate thread and returns the token that cancels it. `report` must not block.
    pub(crate) fn start(
        self,
        jobs: &Jobs<impl Send + 'static>,
        report: impl Fn(Report) + Send + Clone + 'static,
    ) -> CancelToken {
        let (run, failed) = (self.run, report.clone());
        let work = move |cancel: &CancelToken| {
            let mut buffer = StreamBuffer::new(&self, cancel, &report);
            let asked =
                std::panic::AssertUnwindSafe(|| self.provider.post(run, &self.wire, &mut |delta| buffer.push(delta)));
            let outcome = std::panic::catch_unwind(asked).unwrap_or_else(|_| panicked());
            buffer.report_deltas();
            buffer.save();
            report(Report::Ended { run, outcome: Box::new(outcome) });
        };
        jobs.run("call", work, move |_| failed(Report::Ended { run, outcome: Box::new(panicked()) }))
    }
}

fn panicked() -> Outcome {
    let error = ProviderError {
        kind: ProviderErrorKind::Protocol,
        what: "An internal error interrupted the answer.".into(),
        hint: "Please report it with the log.".into(),
        status: None,
    };
    Outcome { error: Some(error), ..Outcome::of(CallEnd::Errored) }
}

struct StreamBuffer<'a> {
    call: &'a Call,
    cancel: &'a CancelToken,
    report: &'a dyn Fn(Report),
    unreported: Vec<Delta>,
    unsaved: Arrived,
    seq: u64,
    tokens: u32,
    reported: Option<Instant>,
    saved: Instant,
}

impl<'a> StreamBuffer<'a> {
    fn new(call: &'a Call, cancel: &'a CancelToken, report: &'a dyn Fn(Report)) -> Self {
        Self {
            call,
            cancel,
            report,
            unreported: Vec::new(),
            unsaved: Arrived::default(),
            seq: 0,
            tokens: 0,
            reported: None,
            saved: Instant::now(),
        }
    }

    /// Adds a piece of the answer. Returns whether the call should continue.
    fn push(&mut self, delta: Delta) -> bool {
        #[cfg(debug_assertions)]
        panic_if_requested();
        self.unsaved.add(&delta);
        if delta != Delta::Tick {
            merge(&mut self.unreported, delta);
        }
        if self.reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            self.report_deltas();
        }
        if self.saved.elapsed() >= SAVE_INTERVAL || self.unsaved.text.len() >= SAVE_BYTES {
            self.save();
        }
        let late = self.call.until.is_some_and(|until| Instant::now() >= until);
        !late && !self.cancel.is_canceled()
    }

    fn report_deltas(&mut self) {
        if self.unreported.is_empty() {
            return;
        }
        for delta in &self.unreported {
            if let Delta::Text(text) | Delta::Reasoning(text) | Delta::Call { args: text, .. } = delta {
                self.tokens += self.call.counter.count(self.call.encoding, text);
            }
        }
        let deltas = std::mem::take(&mut self.unreported);
        (self.report)(Report::Deltas { run: self.call.run, deltas, tokens: self.tokens });
        self.reported = Some(Instant::now());
    }

    fn save(&mut self) {
        self.saved = Instant::now();
        if self.unsaved.is_empty() || !self.call.saves {
            return;
        }
        let piece = std::mem::take(&mut self.unsaved);
        if let Ok(body) = serde_json::to_vec(&piece) {
            self.call.store.post(vec![Write::PutChunk { run: self.call.run, seq: self.seq, body }]);
            self.seq += 1;
        }
    }
}

/// Panics if a test asked for it, to show how the workbench reacts when a call's thread panics.
#[cfg(debug_assertions)]
fn panic_if_requested() {
    assert!(std::env::var_os("PLEACH_TEST_PANIC").is_none_or(|what| what != "call"), "simulated panic in the call");
}

/// Adds a piece, merged with the last one if both are text or both are reasoning.
fn merge(unreported: &mut Vec<Delta>, delta: Delta) {
    match (unreported.last_mut(), delta) {
        (Some(Delta::Text(text)), Delta::Text(more)) | (Some(Delta::Reasoning(text)), Delta::Reasoning(more)) => {
            text.push_str(&more);
        }
        (_, delta) => unreported.push(delta),
    }
}

/// Restores an answer from the saved pieces of its stream.
pub(crate) fn restore(chunks: &[Vec<u8>]) -> Arrived {
    let mut whole = Arrived::default();
    for piece in chunks.iter().filter_map(|chunk| serde_json::from_slice::<Arrived>(chunk).ok()) {
        whole.text.push_str(&piece.text);
        whole.reasoning.push_str(&piece.reasoning);
        for PartialCall { index, id, name, args } in piece.calls {
            whole.add(&Delta::Call { index, id: Some(id), name: Some(name), args });
        }
    }
    whole
}
