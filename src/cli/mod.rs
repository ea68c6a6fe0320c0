//! The command line: sends requests to the engine, prints answers as text or JSON, and sets the exit code.
//! Not for: the work itself (the engine).

mod client;
mod consent;
mod editor;
mod input;
mod inside;
mod interrupt;
pub mod output;
mod pick;
pub mod shape;
pub mod stop;

use crate::config::commands::args::{Args, Global};
use crate::config::commands::command::Command;
use crate::config::commands::read;
use crate::config::error::ConfigError;
use crate::config::load::Config;
use crate::domain::base::failure::Failure;
use crate::domain::base::safe_text::Safe;
use crate::domain::conversation::record::{Incoming, Transcript};
use crate::domain::summary::draft::SummaryAuthor;
use crate::engine::api::{Answer, Door, Events, Request, SessionRequest, SessionView};
use client::{Client, unexpected};
use context::{code, memory, pins, plan, retrieve, stats, summaries, what_if};
use conversation::{aside, ask, files, messages, race, sessions, settings};
pub use inside::{CommandRunner, inside};
use output::{Io, Outlet, in_commands, sentence};
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stop::Stop;
use system::{backups, mcp, program, project, traces, trust};

/// The formats of import and export, passed in so that this module does not depend on theirs.
#[derive(Clone, Copy)]
pub struct Formats {
    /// Checks whether a file with these first bytes and this name can be imported.
    pub check: fn(&[u8], &str) -> Result<(), Failure>,
    /// Opens a file of any size with this name.
    pub read: fn(std::fs::File, &str) -> Result<Incoming, Failure>,
    /// Writes JSON lines, optionally masked.
    pub jsonl: fn(&Transcript, bool) -> String,
    /// Writes Markdown, optionally masked.
    pub markdown: fn(&Transcript, bool) -> String,
}

/// Everything that a command uses.
pub struct Run<'r, 'io> {
    global: &'r Global,
    config: &'r Config,
    client: Client<'r>,
    io: Io<'io>,
    formats: &'r Formats,
}

/// Runs a command on the process's streams and returns its exit code.
#[must_use]
pub fn run(args: &Args, config: &Config, door: &dyn Door, events: &Events, formats: &Formats) -> u8 {
    // Counting starts when a turn first checks for Ctrl+C: until then, and for every other command, Ctrl+C ends the
    // program.
    let pressed = std::cell::OnceCell::new();
    let count = || pressed.get_or_init(interrupt::count).load(Ordering::SeqCst);
    on_process(args, &count, |io| run_on(args, config, door, events, formats, io))
}

/// Runs a command without the engine (see [`Args::local`]) and returns its exit code.
#[must_use]
pub fn run_local(args: &Args, loaded: &Result<Config, ConfigError>) -> u8 {
    on_process(args, &|| 0, |mut io| {
        let result = system::program::local(args, loaded, &mut io);
        finish(result, &mut io)
    })
}

/// Reports a failure before any command could run, and returns its exit code.
#[must_use]
pub fn fail(args: &Args, failure: &Failure) -> u8 {
    on_process(args, &|| 0, |mut io| finish(Err(Stop::Failed(failure.clone())), &mut io))
}

fn on_process(args: &Args, interrupts: &dyn Fn() -> usize, work: impl FnOnce(Io<'_>) -> u8) -> u8 {
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
    let _ = writeln!(err, "pleach: {}", Safe::line(&unwritten(&failed)));
    if code == 0 { 1 } else { code }
}

/// The message about failed writes to standard output.
fn unwritten(failed: &std::io::Error) -> String {
    let what = sentence(&format!("Can't write to standard output: {failed}"));
    format!(
        "{what} The printed output is incomplete; the command's changes are in the store. Free disk space, then print \
        the output again."
    )
}

/// Runs a command on the given streams and returns its exit code.
pub fn run_on(args: &Args, config: &Config, door: &dyn Door, events: &Events, formats: &Formats, io: Io<'_>) -> u8 {
    let rules = args.global.allow.iter().map(|text| consent::allowed(text)).collect();
    let client = Client::new(door, events, rules);
    let mut run = Run { global: &args.global, config, client, io, formats };
    system::trust::remind(&mut run);
    let result = run.command(args);
    finish(result, &mut run.io)
}

/// Prints why a command ended early, if that was not printed yet.
fn finish(result: Result<(), Stop>, io: &mut Io<'_>) -> u8 {
    let Err(stop) = result else { return 0 };
    match &stop {
        Stop::Failed(failure) | Stop::Stopped(failure) => io.note(&told(failure)),
        Stop::Usage(what) => io.note(what),
        Stop::Interrupted => io.note("interrupted; the text received so far is kept"),
        Stop::Said(_) => {}
        Stop::Blocked(blocked) => {
            io.note(&blocked.sentence());
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

/// A failure in sentences: the problem, the data that was kept, and the next step.
fn told(failure: &Failure) -> String {
    let parts = [&failure.what, &failure.kept, &failure.todo].map(|part| sentence(&in_commands(part)));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Makes the file size limit harmless and parses the command line. Prints clap's messages.
///
/// # Errors
/// The exit code, if there is nothing to run.
pub fn parse() -> Result<Args, u8> {
    interrupt::outlive_file_limit();
    read::parse(std::env::args_os()).map_err(|error| {
        if !error.use_stderr() {
            // Help and version contain only trusted text.
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            let Err(failed) = printed.or_else(output::unless_closed) else { return 0 };
            let _ = writeln!(std::io::stderr(), "pleach: {}", Safe::line(&unwritten(&failed)));
            return 1;
        }
        // clap repeats the typed text, which can come from anywhere.
        let _ = write!(std::io::stderr(), "{}", Safe::text(&error.render().to_string()));
        2
    })
}

impl Run<'_, '_> {
    fn without_command(&mut self, plain: bool) -> Result<(), Stop> {
        if plain {
            conversation::plain::plain(self)
        } else {
            Err(Stop::Usage("No command given. --help lists all commands.".into()))
        }
    }

    #[allow(clippy::too_many_lines, reason = "a table: a few lines for each command")]
    fn command(&mut self, args: &Args) -> Result<(), Stop> {
        match &args.command {
            None => self.without_command(args.plain),
            Some(Command::Ask { text, request: None, wait }) => ask::ask(self, text, *wait),
            Some(Command::Ask { text, request: Some(file), wait }) => ask::exactly(self, file, text, *wait),
            Some(Command::Edit { message, text, wait }) => ask::edit(self, message, text, *wait),
            Some(Command::Regenerate { message, wait }) => ask::regenerate(self, message.as_deref(), *wait),
            Some(Command::Retrieve { query, batch, code: true, dir, .. }) => {
                code::find(self, query, batch.as_deref(), dir.as_deref())
            }
            Some(Command::Retrieve { query, batch, anyway, .. }) => {
                retrieve::retrieve(self, query, batch.as_deref(), *anyway)
            }
            Some(Command::Index { dir, map }) => (if *map { code::map } else { code::index })(self, dir.as_deref()),
            Some(Command::Plan { text, edit, regenerate, what_if: true, arm, .. }) => {
                what_if::what_if(self, text, (edit.as_deref(), regenerate.as_deref()), arm)
            }
            Some(Command::Plan { text, request, edit, regenerate, .. }) => {
                plan::plan(self, text, *request, edit.as_deref(), regenerate.as_deref())
            }
            Some(Command::Plans(command)) => plan::plans(self, command),
            Some(Command::Replay(wish)) if wish.dry_run => plan::replay(self, &wish.run, wish.request),
            Some(Command::Replay(wish)) => race::replay(self, &wish.run, wish.without.as_deref()),
            Some(Command::Race { text, arm, limits }) => race::race(self, text, arm, (*limits).into()),
            Some(Command::Aside { text, keep }) => aside::aside(self, text, *keep),
            Some(Command::Build { text }) => plan::build(self, text),
            Some(Command::Context(command)) => plan::context(self, command),
            Some(Command::Message(command)) => messages::message(self, command),
            Some(Command::Memory(command)) => memory::memory(self, command),
            Some(Command::Add { role, text, priority }) => messages::add(self, (*role, text), *priority),
            Some(Command::Mark(command)) => messages::mark(self, command),
            Some(Command::Set(command)) => settings::setting(self, command),
            Some(Command::Pins { history }) => pins::pins(self, *history),
            Some(Command::Task(command)) => pins::task(self, command),
            Some(Command::Mcp { command }) => mcp::mcp(self, command.as_ref()),
            Some(Command::Trust { off, yes, config: true }) => trust::settings(self, *off, *yes),
            Some(Command::Trust { off, yes, config: false }) => trust::trust(self, *off, *yes),
            Some(Command::Rules { command }) => consent::rules(self, command.as_ref()),
            Some(Command::Project { command }) => project::project(self, command.as_ref()),
            Some(Command::Capsule { path, by_model, undo, redo }) => {
                let by = if *by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
                project::capsule(self, path.as_deref(), by, (*undo, *redo))
            }
            Some(Command::Compress(wish)) => summaries::compress(self, wish),
            Some(Command::Capsules(command)) => summaries::capsules(self, command),
            Some(Command::Stats { whole_session }) => stats::stats(self, *whole_session),
            Some(Command::Traces(wish)) => traces::traces(self, wish),
            Some(Command::Undo) => messages::again(self, Request::Session(SessionRequest::Undo), "Undone."),
            Some(Command::Redo) => messages::again(self, Request::Session(SessionRequest::Redo), "Redone."),
            Some(Command::Theme { name }) => program::choose_theme(self, name.as_deref()),
            Some(Command::Skill { name }) => project::skill(self, name.as_deref()),
            Some(Command::State(command)) => sessions::state(self, command),
            Some(Command::Branch(command)) => sessions::branch(self, command),
            Some(Command::Session(command)) => sessions::session(self, command),
            Some(Command::Import { file }) => files::import(self, file),
            Some(Command::Export { format, all, mask, output }) => {
                files::export(self, *format, *all, *mask, output.as_deref())
            }
            Some(Command::Models) => program::models(self),
            Some(Command::Doctor { forget, .. }) => program::doctor(self, *forget),
            Some(Command::Backups { rewrite, delete, yes }) => backups::backups(self, *rewrite, *delete, *yes),
            Some(Command::Config(_) | Command::Completions { .. } | Command::Man) => {
                program::local(args, &Ok(self.config.clone()), &mut self.io)
            }
        }
    }

    /// Opens the session and branch that the flags name.
    fn open(&mut self, create: bool) -> Result<Arc<SessionView>, Stop> {
        self.client.open(&self.global.session, &self.global.branch, create, &mut self.io)
    }

    /// Makes a change and prints the engine's message, or `said` if the engine has no message.
    fn done(&mut self, request: Request, said: &str) -> Result<(), Stop> {
        let answer = self.client.call(request, &mut self.io)?;
        self.did(answer, said)
    }

    /// Prints the result of a change.
    fn did(&mut self, answer: Answer, said: &str) -> Result<(), Stop> {
        let words = match answer {
            Answer::Done(words) if words.is_empty() => said.to_owned(),
            Answer::Done(words) => sentence(&in_commands(&words)),
            Answer::Branch(_) | Answer::Text(_) => said.to_owned(),
            other => return Err(unexpected(&other)),
        };
        self.io.either(&json!({ "done": true, "message": words }), &words)
    }
}

mod context;
mod conversation;
pub mod system;
#[cfg(test)]
mod tests;
