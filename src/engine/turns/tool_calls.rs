//! The thread that runs the tool calls of an answer, one after the other, each only after a decision on it.
//! Not for: the decision (`consent`), or what happens with results (`effects`).

use super::stream::Report;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{RunId, SessionId};
use crate::domain::tool::consent::{Consent, ToolEffect};
use crate::domain::tool::trace::{self, KEPT, RunTools, ToolObserver, ToolOutcome, ToolOutput, ToolStatus, kept_path};
use crate::domain::tool::visibility::FileVisibility;
use crate::engine::jobs::Jobs;
use crate::store::Store;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often a waiting call checks whether it was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// The decision on a call.
pub(crate) struct CallDecision {
    /// The decision.
    pub(crate) consent: Consent,
    /// The rules about files at the time of the decision.
    pub(crate) sight: FileVisibility,
}

/// The calls of one answer.
pub(crate) struct AnswerCalls {
    pub(crate) run: RunId,
    pub(crate) calls: Vec<(usize, String, String)>,
    pub(crate) runner: Option<Arc<dyn RunTools>>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// The model's ids of all calls of the answer.
    pub(crate) ids: Vec<String>,
    pub(crate) session: SessionId,
    pub(crate) store: Store,
    /// The rules about files at its start.
    pub(crate) sight: FileVisibility,
}

impl AnswerCalls {
    /// Runs the calls one after the other on a separate thread. If the thread cannot be started, each of them has
    /// failed.
    pub(crate) fn start(
        self,
        jobs: &Jobs<impl Send + 'static>,
        report: impl Fn(Report) + Send + Sync + Clone + 'static,
    ) {
        let (run, all, failed) = (self.run, self.calls.iter().map(|call| call.0).collect::<Vec<_>>(), report.clone());
        let lost = move |failure: Failure| {
            for index in all {
                failed(Report::ToolEnded { run, index, done: Box::new(lost_call(&failure)), millis: 0 });
            }
        };
        let work = move || {
            for (index, name, args) in &self.calls {
                report(Report::ToolBegan { run: self.run, index: *index });
                let mut began = Instant::now();
                let host = RequestedCall { episode: &self, index: *index, report: &report };
                let (runner, sight) = (self.runner.as_deref(), &self.sight);
                let one = SingleCall { name, args, runner, cancel: &self.cancel, host: &host, sight };
                let done = Box::new(one.go(&mut began));
                let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                report(Report::ToolEnded { run: self.run, index: *index, done, millis });
            }
        };
        jobs.run("tools", work, lost);
    }
}

fn said(status: ToolStatus, body: String) -> ToolOutcome {
    ToolOutcome::unchanged(ToolOutput { status, full_bytes: body.len() as u64, body })
}

/// The end of a call for which there was no thread.
pub(crate) fn lost_call(failure: &Failure) -> ToolOutcome {
    said(ToolStatus::Failed, format!("[failed] {}", failure.what))
}

/// Who decides on a call and receives its output.
pub(crate) trait Host: Sync {
    /// The call was parsed and waits for a decision.
    fn wants(&self, effect: ToolEffect, reply: Sender<CallDecision>);
    /// It produced output meanwhile.
    fn said(&self, text: &str);
    /// The call's id.
    fn id(&self) -> String;
    /// The stored part of an earlier call's result.
    fn kept(&self, id: &str) -> Option<String>;
}

/// One call, from its arguments to its end.
pub(crate) struct SingleCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a str,
    pub(crate) runner: Option<&'a dyn RunTools>,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) host: &'a dyn Host,
    pub(crate) sight: &'a FileVisibility,
}

/// A running call, under the rules at the time of the decision.
struct ActiveCall<'a> {
    one: &'a SingleCall<'a>,
    sight: FileVisibility,
}

impl SingleCall<'_> {
    /// `began`: the start time of the tool, after the decision.
    pub(crate) fn go(&self, began: &mut Instant) -> ToolOutcome {
        if self.cancelled() {
            return said(ToolStatus::Cancelled, "[cancelled]".into());
        }
        let Some(tools) = self.runner else {
            return said(ToolStatus::Refused, "[refused] Tools are off: the folder is not trusted.".into());
        };
        let args = if self.args.trim().is_empty() { "{}" } else { self.args };
        let Ok(read) = serde_json::from_str::<serde_json::Value>(args) else {
            return said(ToolStatus::Failed, "[failed] The arguments are not valid JSON; nothing was done.".into());
        };
        let kept = read["path"].as_str().and_then(|path| path.strip_prefix(KEPT)).filter(|_| self.reads());
        let broken = || said(ToolStatus::Failed, "[failed] An internal error stopped the tool.".into());
        let effect = match kept {
            Some(id) => ToolEffect::Look { what: kept_path(id) },
            // The effect is not even determined: it would already reveal something about the file.
            None if let Some(path) = self.denied(&read) => ToolEffect::Look { what: path.to_owned() },
            None => match std::panic::catch_unwind(AssertUnwindSafe(|| tools.effect(self.name, args))) {
                Ok(Ok(effect)) => effect,
                Ok(Err(output)) => return ToolOutcome::unchanged(output),
                Err(_) => return broken(),
            },
        };
        let (hunks, sight) = match self.word(&effect) {
            None => return said(ToolStatus::Cancelled, "[cancelled] Nothing was done.".into()),
            Some(CallDecision { consent: Consent::Unasked, .. }) => {
                return said(
                    ToolStatus::Refused,
                    "[refused] Nothing was done. There was no terminal to ask on.".to_owned(),
                );
            }
            Some(CallDecision { consent: Consent::No { why }, .. }) => {
                let why = why.map_or_else(String::new, |why| format!(" {why}"));
                return said(ToolStatus::Refused, format!("[refused] Nothing was done.{why}"));
            }
            Some(CallDecision { consent: Consent::Yes { hunks }, sight }) => (hunks, sight),
        };
        *began = Instant::now();
        let working = ActiveCall { one: self, sight };
        let running = AssertUnwindSafe(|| match kept {
            None => tools.carry_out(self.name, args, &effect, &hunks, &working),
            Some(id) => match self.host.kept(id) {
                Some(text) => tools.over(self.name, args, &text),
                None => said(ToolStatus::Failed, format!("Failed: no stored result has the path {}.", kept_path(id))),
            },
        });
        std::panic::catch_unwind(running).unwrap_or_else(|_| broken())
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The named file, if a rule denies it.
    fn denied<'v>(&self, read: &'v serde_json::Value) -> Option<&'v str> {
        read["path"].as_str().filter(|path| self.sight.denies(self.name, path).is_some())
    }

    /// Whether the tool can read stored results.
    fn reads(&self) -> bool {
        matches!(self.name, "read_file" | "search")
    }

    /// Waits for a decision; `None` if a person stopped it.
    fn word(&self, effect: &ToolEffect) -> Option<CallDecision> {
        let (reply, answer) = channel();
        self.host.wants(effect.clone(), reply);
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(word) => return Some(word),
                Err(RecvTimeoutError::Timeout) if !self.cancelled() => {}
                Err(_) => return None,
            }
        }
    }
}

impl ToolObserver for ActiveCall<'_> {
    fn cancelled(&self) -> bool {
        self.one.cancelled()
    }

    fn sight(&self) -> FileVisibility {
        self.sight.clone()
    }

    fn said(&self, text: &str) {
        self.one.host.said(text);
    }

    fn kept_as(&self) -> Option<String> {
        Some(kept_path(&self.one.host.id()))
    }
}

/// A call of an answer.
struct RequestedCall<'a> {
    episode: &'a AnswerCalls,
    index: usize,
    report: &'a (dyn Fn(Report) + Sync),
}

impl Host for RequestedCall<'_> {
    fn wants(&self, effect: ToolEffect, reply: Sender<CallDecision>) {
        (self.report)(Report::ToolWants { run: self.episode.run, index: self.index, effect, reply });
    }

    fn said(&self, text: &str) {
        (self.report)(Report::ToolSaid { run: self.episode.run, index: self.index, text: text.to_owned() });
    }

    fn id(&self) -> String {
        trace::id(self.episode.run, self.episode.ids.get(self.index).map_or("", String::as_str))
    }

    fn kept(&self, id: &str) -> Option<String> {
        crate::engine::tools::trace_records::kept(&self.episode.store, self.episode.session, id)
    }
}
