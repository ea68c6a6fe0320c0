//! The thread beside the engine for each episode of tool calls: one call after the other, each only once there is a word.
//! Not for: giving the word (`consent`), or what is made of results (`flow`).

use super::stream::Report;
use crate::domain::consent::{Consent, Deed};
use crate::domain::ids::RunId;
use crate::domain::trace::{Done, RunTools, ToolOutput, ToolStatus, Watch};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a call that waits for a word looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// What is said to a call.
pub(super) struct Word {
    /// The word.
    pub(super) consent: Consent,
}

/// The calls of one answer.
pub(super) struct Episode {
    pub(super) run: RunId,
    pub(super) calls: Vec<(usize, String, String)>,
    pub(super) runner: Option<Arc<dyn RunTools>>,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Episode {
    /// Starts the thread.
    pub(super) fn start(self, report: impl Fn(Report) + Send + Sync + 'static) {
        let work = move || {
            for (index, name, args) in &self.calls {
                report(Report::ToolBegan { run: self.run, index: *index });
                let mut began = Instant::now();
                let one = One { episode: &self, index: *index, name, args, report: &report };
                let done = Box::new(one.go(&mut began));
                let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                report(Report::ToolEnded { run: self.run, index: *index, done, millis });
            }
        };
        let _ = std::thread::Builder::new().name("pleach-tools".into()).spawn(work);
    }
}

fn said(status: ToolStatus, body: String) -> Done {
    Done::said(ToolOutput { status, full_bytes: body.len() as u64, body })
}

struct One<'a> {
    episode: &'a Episode,
    index: usize,
    name: &'a str,
    args: &'a str,
    report: &'a (dyn Fn(Report) + Sync),
}

impl One<'_> {
    /// `began`: when the tool did, once there was a word.
    fn go(&self, began: &mut Instant) -> Done {
        if self.cancelled() {
            return said(ToolStatus::Cancelled, "[cancelled]".into());
        }
        let Some(tools) = &self.episode.runner else {
            return said(ToolStatus::Refused, "[refused] Tools are off: the folder is not trusted.".into());
        };
        let args = if self.args.trim().is_empty() { "{}" } else { self.args };
        if serde_json::from_str::<serde_json::Value>(args).is_err() {
            return said(ToolStatus::Failed, "[failed] The arguments are not valid JSON; nothing was done.".into());
        }
        let broken = || said(ToolStatus::Failed, "[failed] The tool failed inside the program.".into());
        let deed = match std::panic::catch_unwind(AssertUnwindSafe(|| tools.deed(self.name, args))) {
            Ok(Ok(deed)) => deed,
            Ok(Err(output)) => return Done::said(output),
            Err(_) => return broken(),
        };
        let hunks = match self.word(&deed) {
            None => return said(ToolStatus::Cancelled, "[cancelled] Nothing was done.".into()),
            Some(Word { consent: Consent::No { why } }) => {
                let why = why.map_or_else(String::new, |why| format!(" {why}"));
                return said(ToolStatus::Refused, format!("[refused] Nothing was done.{why}"));
            }
            Some(Word { consent: Consent::Yes { hunks } }) => hunks,
        };
        *began = Instant::now();
        let running = AssertUnwindSafe(|| tools.carry_out(self.name, args, &deed, &hunks, self));
        std::panic::catch_unwind(running).unwrap_or_else(|_| broken())
    }

    /// Waits for a word; none where a person stopped it.
    fn word(&self, deed: &Deed) -> Option<Word> {
        let (reply, answer) = channel();
        let (run, index) = (self.episode.run, self.index);
        (self.report)(Report::ToolWants { run, index, deed: deed.clone(), reply });
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(word) => return Some(word),
                Err(RecvTimeoutError::Timeout) if !self.cancelled() => {}
                Err(_) => return None,
            }
        }
    }
}

impl Watch for One<'_> {
    fn cancelled(&self) -> bool {
        self.episode.cancel.load(Ordering::Relaxed)
    }

    fn said(&self, text: &str) {
        (self.report)(Report::ToolSaid { run: self.episode.run, index: self.index, text: text.to_owned() });
    }
}
