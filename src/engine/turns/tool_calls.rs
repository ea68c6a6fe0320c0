//! The thread that runs the tool calls of an answer, one after the other, each only after a decision on it.
//! Not for: the decision (`consent`), or the use of results (`effects`).

use super::runner::Runner;
use super::stream::Report;
use crate::domain::base::{Failure, RunId, SessionId};
use crate::domain::tool::consent::{CANCELED, DENIED_BY_PERSON};
use crate::domain::tool::trace::{self, KEPT, kept_path};
use crate::domain::tool::{Consent, FileVisibility, ToolEffect, ToolObserver, ToolOutcome, ToolOutput, ToolStatus};
use crate::engine::jobs::{CancelToken, Jobs};
use crate::store::Store;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often a waiting call checks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Tells the model that a call was stopped before it started.
const NOT_STARTED: &str = "The person stopped this turn before the call started. Nothing was done.";

/// Tells the model that a call was stopped while it waited for approval.
const STOPPED_WAITING: &str = "The person stopped this turn before deciding on the call. Nothing was done.";

/// The decision on a call.
pub(crate) struct CallDecision {
    pub(crate) consent: Consent,
    /// Whether a person decided, not a rule.
    pub(crate) by_person: bool,
    /// The rules about files at the time of the decision.
    pub(crate) visibility: FileVisibility,
}

/// The calls of one answer.
pub(crate) struct AnswerCalls {
    pub(crate) run: RunId,
    pub(crate) calls: Vec<(usize, String, String)>,
    pub(crate) runner: Option<Arc<Runner>>,
    /// The model's ids of all calls of the answer.
    pub(crate) ids: Vec<String>,
    pub(crate) session: SessionId,
    pub(crate) store: Store,
    /// The rules about files when the answer ended.
    pub(crate) visibility: FileVisibility,
}

impl AnswerCalls {
    /// Starts the calls, one after the other, on a separate thread, and returns the token that cancels them. If the
    /// thread cannot be started, each of them fails.
    pub(crate) fn start(
        self,
        jobs: &Jobs<impl Send + 'static>,
        report: impl Fn(Report) + Send + Sync + Clone + 'static,
    ) -> CancelToken {
        let (run, all, failed) = (self.run, self.calls.iter().map(|call| call.0).collect::<Vec<_>>(), report.clone());
        let lost = move |failure: Failure| {
            for index in all {
                failed(Report::ToolEnded { run, index, done: Box::new(lost_call(&failure)), millis: 0 });
            }
        };
        let work = move |cancel: &CancelToken| {
            for (index, name, args) in &self.calls {
                report(Report::ToolStarted { run: self.run, index: *index });
                let mut began = Instant::now();
                let host = RequestedCall { episode: &self, index: *index, report: &report };
                let (runner, visibility) = (self.runner.as_deref(), &self.visibility);
                let call = SingleCall { name, args, runner, cancel, host: &host, visibility };
                let done = Box::new(call.run(&mut began));
                let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                report(Report::ToolEnded { run: self.run, index: *index, done, millis });
            }
        };
        jobs.run("tools", work, lost)
    }
}

fn outcome(status: ToolStatus, body: String) -> ToolOutcome {
    ToolOutcome::unchanged(ToolOutput::whole(status, body))
}

/// Returns the outcome of a call whose thread could not be started.
pub(crate) fn lost_call(failure: &Failure) -> ToolOutcome {
    outcome(ToolStatus::Failed, format!("[failed] {}", failure.what))
}

/// Gets the decision on a call and receives its output.
pub(crate) trait CallHost: Sync {
    /// Asks for a decision on a parsed call, to be sent to `reply`.
    fn request_decision(&self, effect: ToolEffect, reply: Sender<CallDecision>);
    /// Receives output of the running call.
    fn on_output(&self, text: &str);
    /// Returns the id of the call's trace.
    fn id(&self) -> String;
    /// Returns the stored result of an earlier call.
    fn stored_result(&self, id: &str) -> Option<String>;
}

/// One call, from its arguments to its end.
pub(crate) struct SingleCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a str,
    pub(crate) runner: Option<&'a Runner>,
    pub(crate) cancel: &'a CancelToken,
    pub(crate) host: &'a dyn CallHost,
    pub(crate) visibility: &'a FileVisibility,
}

/// A running call with the rules about files at the time of the decision.
struct ActiveCall<'a> {
    one: &'a SingleCall<'a>,
    visibility: FileVisibility,
}

impl SingleCall<'_> {
    /// Runs the call and returns its outcome. Sets `began` to the time of the decision, after which the
    /// tool starts.
    pub(crate) fn run(&self, began: &mut Instant) -> ToolOutcome {
        if self.cancel.is_canceled() {
            return outcome(ToolStatus::Cancelled, format!("{CANCELED} {NOT_STARTED}"));
        }
        let Some(tools) = self.runner else {
            return outcome(ToolStatus::Refused, "[refused] Tools are off: the folder is not trusted.".into());
        };
        let args = if self.args.trim().is_empty() { "{}" } else { self.args };
        let Ok(read) = serde_json::from_str::<serde_json::Value>(args) else {
            return outcome(ToolStatus::Failed, "[failed] The arguments are not valid JSON; nothing was done.".into());
        };
        let is_reader = matches!(self.name, "read_file" | "search");
        let kept = read["path"].as_str().and_then(|path| path.strip_prefix(KEPT)).filter(|_| is_reader);
        let panicked = || outcome(ToolStatus::Failed, "[failed] An internal error stopped the tool.".into());
        let effect = match kept {
            Some(id) => ToolEffect::Read { what: kept_path(id) },
            // The effect is not even computed: that would already reveal something about the file.
            None if let Some(path) = self.denied_path(&read) => ToolEffect::Read { what: path.to_owned() },
            None => match std::panic::catch_unwind(AssertUnwindSafe(|| tools.effect(self.name, args))) {
                Ok(Ok(effect)) => effect,
                Ok(Err(output)) => return ToolOutcome::unchanged(output),
                Err(_) => return panicked(),
            },
        };
        let decision = self.await_decision(&effect);
        // The time that a person needs to decide is not part of the call's duration.
        *began = Instant::now();
        let (hunks, visibility) = match decision {
            None => return outcome(ToolStatus::Cancelled, format!("{CANCELED} {STOPPED_WAITING}")),
            Some(CallDecision { consent: Consent::Unasked, .. }) => {
                return outcome(
                    ToolStatus::Refused,
                    "[refused] Nothing was done. There was no terminal to ask on.".to_owned(),
                );
            }
            Some(CallDecision { consent: Consent::No { why }, by_person, .. }) => {
                let why = why.map_or_else(String::new, |why| format!(" {why}"));
                let what = if by_person { DENIED_BY_PERSON } else { "[refused] Nothing was done." };
                return outcome(ToolStatus::Refused, format!("{what}{why}"));
            }
            Some(CallDecision { consent: Consent::Yes { hunks }, visibility, .. }) => (hunks, visibility),
        };
        let working = ActiveCall { one: self, visibility };
        let running = AssertUnwindSafe(|| match kept {
            None => tools.carry_out(self.name, args, &effect, &hunks, &working),
            Some(id) => match self.host.stored_result(id) {
                Some(text) => tools.over(self.name, args, &text),
                None => {
                    outcome(ToolStatus::Failed, format!("Failed: no stored result has the path {}.", kept_path(id)))
                }
            },
        });
        std::panic::catch_unwind(running).unwrap_or_else(|_| panicked())
    }

    /// Returns the path that the arguments name, if a rule denies it.
    fn denied_path<'v>(&self, read: &'v serde_json::Value) -> Option<&'v str> {
        read["path"].as_str().filter(|path| self.visibility.denies(self.name, path).is_some())
    }

    /// Waits for a decision; `None` if a person stopped the call.
    fn await_decision(&self, effect: &ToolEffect) -> Option<CallDecision> {
        let (reply, answer) = channel();
        self.host.request_decision(effect.clone(), reply);
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(decision) => return Some(decision),
                Err(RecvTimeoutError::Timeout) if !self.cancel.is_canceled() => {}
                Err(_) => return None,
            }
        }
    }
}

impl ToolObserver for ActiveCall<'_> {
    fn cancelled(&self) -> bool {
        self.one.cancel.is_canceled()
    }

    fn file_visibility(&self) -> FileVisibility {
        self.visibility.clone()
    }

    fn on_output(&self, text: &str) {
        self.one.host.on_output(text);
    }

    fn full_result_path(&self) -> Option<String> {
        Some(kept_path(&self.one.host.id()))
    }
}

/// A call of an answer.
struct RequestedCall<'a> {
    episode: &'a AnswerCalls,
    index: usize,
    report: &'a (dyn Fn(Report) + Sync),
}

impl CallHost for RequestedCall<'_> {
    fn request_decision(&self, effect: ToolEffect, reply: Sender<CallDecision>) {
        (self.report)(Report::ToolNeedsDecision { run: self.episode.run, index: self.index, effect, reply });
    }

    fn on_output(&self, text: &str) {
        (self.report)(Report::ToolOutput { run: self.episode.run, index: self.index, text: text.to_owned() });
    }

    fn id(&self) -> String {
        trace::id(self.episode.run, self.episode.ids.get(self.index).map_or("", String::as_str))
    }

    fn stored_result(&self, id: &str) -> Option<String> {
        crate::engine::tools::trace_records::kept(&self.episode.store, self.episode.session, id)
    }
}
