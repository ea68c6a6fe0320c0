//! The thread of a call to a model, and the reports of such threads.
//! Not for: decisions (it reports and obeys a flag), or tools (`tool_calls`).

use super::machine::{Arrived, PartialCall};
use super::tool_calls::CallDecision;
use crate::domain::base::ids::RunId;
use crate::domain::call::provider::{Delta, Outcome, Provider, Wire};
use crate::domain::call::tokens::{CountTokens, Encoding};
use crate::domain::conversation::message::NodeHead;
use crate::domain::tool::consent::ToolEffect;
use crate::domain::tool::trace::ToolOutcome;
use crate::engine::jobs::Jobs;
use crate::store::Store;
use crate::store::types::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How often new text is reported and saved.
const PASS_ON: Duration = Duration::from_millis(24);
const SAVE: Duration = Duration::from_millis(150);
const SAVE_BYTES: usize = 4 * 1024;

/// A report of a call's or tool's thread.
pub(crate) enum Report {
    /// Pieces of an answer, in order, and the tokens of all text so far.
    Deltas { run: RunId, deltas: Vec<Delta>, tokens: u32 },
    /// The call ended.
    Ended { run: RunId, outcome: Box<Outcome> },
    /// A tool started.
    ToolBegan { run: RunId, index: usize },
    /// A call was parsed and waits for a decision.
    ToolWants { run: RunId, index: usize, effect: ToolEffect, reply: Sender<CallDecision> },
    /// A tool produced output.
    ToolSaid { run: RunId, index: usize, text: String },
    /// A tool ended.
    ToolEnded { run: RunId, index: usize, done: Box<ToolOutcome>, millis: u64 },
}

/// A call's thread.
pub(crate) struct Call {
    pub(crate) run: RunId,
    pub(crate) wire: Wire,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) store: Store,
    pub(crate) counter: Arc<dyn CountTokens>,
    pub(crate) encoding: Encoding,
    pub(crate) cancel: Arc<AtomicBool>,
    /// When it is stopped.
    pub(crate) until: Option<Instant>,
    /// Whether the text is saved while it arrives.
    pub(crate) saves: bool,
}

impl Call {
    /// Starts it. `report` must not block.
    pub(crate) fn start(self, jobs: &Jobs<impl Send + 'static>, report: impl Fn(Report) + Send + Clone + 'static) {
        let (run, failed) = (self.run, report.clone());
        let work = move || {
            let mut flow = StreamReader::new(&self, &report);
            let asked =
                std::panic::AssertUnwindSafe(|| self.provider.post(run, &self.wire, &mut |delta| flow.take(delta)));
            let outcome = std::panic::catch_unwind(asked).unwrap_or_else(|_| broken());
            flow.pass_on();
            flow.save();
            report(Report::Ended { run, outcome: Box::new(outcome) });
        };
        jobs.run("call", work, move |_| failed(Report::Ended { run, outcome: Box::new(broken()) }));
    }
}

fn broken() -> Outcome {
    use crate::domain::call::provider::{CallEnd, ProviderError, ProviderErrorKind};
    Outcome {
        end: CallEnd::Errored,
        any: false,
        finish_reason: None,
        usage: crate::domain::call::usage::Usage::default(),
        error: Some(ProviderError {
            kind: ProviderErrorKind::Protocol,
            what: "An internal error stopped reading the answer.".into(),
            hint: "Please report it with the log.".into(),
            status: None,
        }),
        attempts: 1,
        ttft_ms: None,
        total_ms: 0,
    }
}

struct StreamReader<'a> {
    call: &'a Call,
    report: &'a dyn Fn(Report),
    waiting: Vec<Delta>,
    unsaved: Arrived,
    seq: u64,
    tokens: u32,
    passed: Option<Instant>,
    saved: Instant,
}

impl<'a> StreamReader<'a> {
    fn new(call: &'a Call, report: &'a dyn Fn(Report)) -> Self {
        Self {
            call,
            report,
            waiting: Vec::new(),
            unsaved: Arrived::default(),
            seq: 0,
            tokens: 0,
            passed: None,
            saved: Instant::now(),
        }
    }

    /// Handles a delta; false stops the call.
    fn take(&mut self, delta: Delta) -> bool {
        #[cfg(debug_assertions)]
        simulate_panic();
        self.unsaved.add(&delta);
        if delta != Delta::Tick {
            merge(&mut self.waiting, delta);
        }
        if self.passed.is_none_or(|at| at.elapsed() >= PASS_ON) {
            self.pass_on();
        }
        if self.saved.elapsed() >= SAVE || self.unsaved.text.len() >= SAVE_BYTES {
            self.save();
        }
        let late = self.call.until.is_some_and(|until| Instant::now() >= until);
        !late && !self.call.cancel.load(Ordering::Relaxed)
    }

    fn pass_on(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        for delta in &self.waiting {
            if let Delta::Text(text) | Delta::Reasoning(text) | Delta::Call { args: text, .. } = delta {
                self.tokens += self.call.counter.count(self.call.encoding, text);
            }
        }
        let deltas = std::mem::take(&mut self.waiting);
        (self.report)(Report::Deltas { run: self.call.run, deltas, tokens: self.tokens });
        self.passed = Some(Instant::now());
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

/// Lets a test see how the workbench behaves when a call's task panics.
#[cfg(debug_assertions)]
fn simulate_panic() {
    assert!(std::env::var_os("PLEACH_TEST_PANIC").is_none_or(|what| what != "call"), "simulated panic in the call");
}

/// Joins neighboring pieces of one kind.
fn merge(waiting: &mut Vec<Delta>, delta: Delta) {
    match (waiting.last_mut(), delta) {
        (Some(Delta::Text(text)), Delta::Text(more)) | (Some(Delta::Reasoning(text)), Delta::Reasoning(more)) => {
            text.push_str(&more);
        }
        (_, delta) => waiting.push(delta),
    }
}

/// Joins the saved pieces of a stream.
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

/// The first line of a result, for lists.
pub(crate) fn preview(body: &str) -> String {
    NodeHead::preview_of(body.lines().next().unwrap_or_default())
}
