//! The state of a running command (streams, client, flags), and the end of a command: error messages and the exit code.
//! Not for: any particular command.

use super::client::{Client, unexpected};
use super::output::{Io, Outlet, in_commands, sentence};
use super::stop::Stop;
use super::{pick, shape};
use crate::config::commands::args::{Args, Global};
use crate::config::load::Config;
use crate::domain::base::{BranchId, Failure, Safe};
use crate::domain::call::bundle::{Bundle, BundleReport, CheckedCall, WrittenBundle};
use crate::domain::conversation::{IncomingPieces, Transcript, resolve};
use crate::domain::planning::blocked::UNSENT;
use crate::engine::api::{Answer, BranchAnswer, Draft, ItemName, Request, SessionRequest, SessionView, TurnRequest};
use serde_json::json;
use std::io::{BufRead, IsTerminal as _, Write as _};
use std::sync::Arc;

/// The functions of import and export, passed in so that this module does not depend on theirs.
#[derive(Clone, Copy)]
pub struct Formats {
    /// Checks whether a file with these first bytes and this name can be imported.
    pub check: fn(&[u8], &str) -> Result<(), Failure>,
    /// Opens a file of any size with this name.
    pub read: fn(std::fs::File, &str) -> Result<IncomingPieces, Failure>,
    /// Writes JSON lines, optionally masked.
    pub jsonl: fn(&Transcript, bool) -> String,
    /// Writes Markdown, optionally masked.
    pub markdown: fn(&Transcript, bool) -> String,
    /// Writes one HTML page, optionally masked: the current path, or the whole tree.
    pub html: fn(&Transcript, bool, bool) -> String,
    /// The functions of bundles.
    pub bundles: BundleFormat,
}

/// The functions of bundles.
#[derive(Clone, Copy)]
pub struct BundleFormat {
    /// Writes a bundle.
    pub write: fn(&Bundle) -> WrittenBundle,
    /// Checks the bundle with this name.
    pub verify: fn(&mut dyn BufRead, &str) -> Result<BundleReport, Failure>,
    /// Finds a call in the bundle with this name, and checks the bundle.
    pub recorded: fn(&mut dyn BufRead, &str, &str) -> Result<CheckedCall, Failure>,
}

/// Everything that a running command uses.
pub struct Run<'r, 'io> {
    pub(super) global: &'r Global,
    pub(super) config: &'r Config,
    pub(super) client: Client<'r>,
    pub(super) io: Io<'io>,
    pub(super) formats: &'r Formats,
}

impl Run<'_, '_> {
    /// Opens the session and the branch that the flags name.
    pub(super) fn open(&mut self, create: bool) -> Result<Arc<SessionView>, Stop> {
        self.client.open(&self.global.session, &self.global.branch, create, &mut self.io)
    }

    /// Opens the session and the branch that the flags name, or a new session that is not stored if there is none.
    pub(super) fn open_unsaved(&mut self) -> Result<Arc<SessionView>, Stop> {
        let (session, branch) = (self.global.session.clone(), self.global.branch.clone());
        self.client.open_by(SessionRequest::OpenUnsaved { session, branch }, &mut self.io)
    }

    /// Plans the next request without a message if `item` may name a row of it that is no message: only its plan knows the
    /// ids of such rows. No command can name the other rows of a plan with a message.
    pub(super) fn plan_row_named(&mut self, view: &SessionView, item: &ItemName) {
        let ItemName::Named { text, message: false } = item else { return };
        let may_be_id = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Ok(branch) = pick::branch(view, None) else { return };
        let tree = pick::tree(view);
        if may_be_id && resolve::message(&tree, &pick::path(&tree, branch), text).is_err() {
            // Whatever prevents the plan is no reason to refuse the item.
            let _ = self.client.plan(view, Draft::default(), &mut self.io);
        }
    }

    /// Sends a request and returns its answer.
    pub(super) fn call(&mut self, request: impl Into<Request>) -> Result<Answer, Stop> {
        self.client.call(request, &mut self.io)
    }

    /// Cancels the turns of these branches after the first Ctrl+C. Returns an error after the second.
    pub(super) fn cancel_on_ctrl_c(
        &mut self,
        cancelled: &mut bool,
        branches: impl IntoIterator<Item = BranchId>,
    ) -> Result<(), Stop> {
        let pressed = (self.io.interrupts)();
        if pressed > 1 {
            return Err(Stop::Interrupted);
        }
        if pressed == 1 && !std::mem::replace(cancelled, true) {
            for branch in branches {
                self.client.send(TurnRequest::Cancel { branch });
            }
        }
        Ok(())
    }

    /// Requests a change and prints the engine's message, or `message` if the engine has none.
    pub(super) fn change(&mut self, request: impl Into<Request>, message: &str) -> Result<(), Stop> {
        let answer = self.call(request)?;
        self.print_result(answer, message)
    }

    /// Prints the result of a change, or `message` if the result has no message.
    pub(super) fn print_result(&mut self, answer: Answer, message: &str) -> Result<(), Stop> {
        let words = match answer {
            Answer::Done(words) if words.is_empty() => message.to_owned(),
            // The store of a demonstration ends with the command, so there is nothing to undo later.
            Answer::Done(words) if self.global.demo && self.io.joins => {
                sentence(words.trim_end_matches(" u undoes it."))
            }
            Answer::Done(words) => sentence(&in_commands(&words)),
            Answer::Branch(BranchAnswer::Branch(_)) | Answer::Text(_) => message.to_owned(),
            other => return Err(unexpected(&other)),
        };
        let words = self.io.as_typed(&words);
        self.io.either(&json!({ "done": true, "message": words }), &words)
    }
}

pub(super) fn on_process(args: &Args, interrupts: &dyn Fn() -> usize, work: impl FnOnce(Io<'_>) -> u8) -> u8 {
    let (stdout, mut err, mut input) = (std::io::stdout(), std::io::stderr(), std::io::stdin().lock());
    let (out_tty, err_tty) = (stdout.is_terminal(), err.is_terminal());
    let mut out = Outlet::new(stdout);
    let io = Io {
        out_tty,
        err_tty,
        in_tty: input.is_terminal(),
        joins: true,
        out: &mut out,
        err: &mut err,
        input: &mut input,
        json: args.global.json,
        escape: args.global.escape,
        interrupts,
    };
    let code = work(io);
    let Some(failed) = out.close() else { return code };
    let _ = writeln!(err, "pleach: {}", Safe::line(&write_failure(&failed)));
    if code == 0 { 1 } else { code }
}

/// Returns the message about a failed write to standard output.
pub(super) fn write_failure(failed: &std::io::Error) -> String {
    let what = sentence(&format!("Can't write to standard output: {failed}"));
    format!(
        "{what} The printed output is incomplete; the command's changes are in the store. Free disk space, then print \
        the output again."
    )
}

/// Prints why a command ended early, unless that was printed already, and returns the exit code.
pub(super) fn finish(result: Result<(), Stop>, io: &mut Io<'_>) -> u8 {
    let Err(stop) = result else { return 0 };
    match &stop {
        Stop::Failed(failure) | Stop::Stopped(failure) => io.note(&describe(failure)),
        Stop::Usage(what) => io.note(what),
        Stop::Interrupted => io.note("interrupted; the text received so far is kept"),
        Stop::Printed(_) => {}
        Stop::Blocked(blocked) | Stop::Unsent(blocked) => {
            if matches!(stop, Stop::Unsent(_)) {
                io.note(&format!("{} {}", blocked.send_failure(), sentence(&in_commands(UNSENT))));
            } else {
                io.note(&blocked.sentence());
            }
            for choice in &blocked.choices {
                io.note(&format!("you can {}", choice.sentence()));
            }
            if io.json {
                let _ = io.value(&shape::blocked(blocked));
            }
        }
    }
    stop.code()
}

/// Describes a failure in sentences: the problem, the data that was kept, and the next step.
pub(super) fn describe(failure: &Failure) -> String {
    let parts = [&failure.what, &failure.kept, &failure.todo].map(|part| sentence(&in_commands(part)));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
