//! The command line: sends requests to the engine, prints answers as text or JSON, and sets the exit code.
//! Not for: the work itself (the engine).

mod client;
mod consent;
mod editor;
mod embedded;
mod execution;
mod input;
mod interrupt;
pub mod output;
mod pick;
pub mod shape;
mod shape_code;
mod shape_rows;
pub mod stop;

use crate::config::commands::args::Args;
use crate::config::commands::command::Command;
use crate::config::commands::{read, usage_error};
use crate::config::error::{ConfigError, unknown_tool};
use crate::config::load::Config;
use crate::domain::base::{Failure, Safe};
use crate::domain::summary::SummaryAuthor;
use crate::domain::tool::Rule;
use crate::engine::api::{Events, RequestSender, SessionRequest};
use client::Client;
use context::{code, memory, pins, plan, retrieve, stats, summaries, what_if};
use conversation::{aside, ask, bundles, files, messages, race, sessions, settings};
pub use embedded::{CommandRunner, command_runner};
pub use execution::{BundleFormat, Formats, Run};
use execution::{finish, on_process, write_failure};
use output::Io;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use stop::Stop;
use system::{backups, mcp, program, project, traces, trust};

/// Runs a command on the process's streams and returns its exit code.
pub fn run(args: &Args, config: &Config, sender: &dyn RequestSender, events: &Events, formats: &Formats) -> u8 {
    // Presses are counted once a turn first checks for Ctrl+C. Before that, and for all other commands, Ctrl+C ends the
    // program.
    let pressed = std::cell::OnceCell::new();
    let count = || pressed.get_or_init(interrupt::count).load(Ordering::SeqCst);
    on_process(args, &count, |io| run_on(args, config, sender, events, formats, io))
}

/// Runs a command without the engine (see [`Args::local`]) and returns its exit code.
pub fn run_local(args: &Args, loaded: &Result<Config, ConfigError>, formats: &Formats) -> u8 {
    on_process(args, &|| 0, |mut io| {
        let result =
            bundles::command(args, formats, &mut io).unwrap_or_else(|| system::program::local(args, loaded, &mut io));
        finish(result, &mut io)
    })
}

/// Reports a failure before any command could run, and returns its exit code.
pub fn fail(args: &Args, failure: &Failure) -> u8 {
    on_process(args, &|| 0, |mut io| finish(Err(Stop::Failed(failure.clone())), &mut io))
}

/// Runs a command on the given streams and returns its exit code.
pub fn run_on(
    args: &Args,
    config: &Config,
    sender: &dyn RequestSender,
    events: &Events,
    formats: &Formats,
    mut io: Io<'_>,
) -> u8 {
    let rules: Vec<Rule> = args.global.allow.iter().map(|text| consent::parse_allow(text)).collect();
    for what in rules.iter().filter_map(|rule| unknown_tool(&rule.tool)) {
        io.note(&format!("--allow: {what}"));
    }
    let client = Client::new(sender, events, rules);
    let mut run = Run { global: &args.global, config, client, io, formats };
    system::trust::warn_untrusted(&mut run);
    let result = run.command(args);
    finish(result, &mut run.io)
}

/// Makes the file size limit harmless and parses the command line. Prints requested help, usage errors, and the current
/// name of a flag or command that was given by its earlier name.
///
/// # Errors
/// Returns the exit code if there is no command to run.
pub fn parse() -> Result<Args, u8> {
    interrupt::ignore_file_limit();
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    for notice in read::earlier_names(words.get(1..).unwrap_or_default()) {
        let _ = writeln!(std::io::stderr(), "pleach: {notice}");
    }
    read::parse(words.clone()).map_err(|error| {
        if !error.use_stderr() {
            // Help and version contain only trusted text.
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            let Err(failed) = printed.or_else(output::unless_closed) else { return 0 };
            let _ = writeln!(std::io::stderr(), "pleach: {}", Safe::line(&write_failure(&failed)));
            return 1;
        }
        // The error repeats the typed words, which can contain anything.
        let what = usage_error::usage_on_command_line(words, &error);
        let _ = writeln!(std::io::stderr(), "pleach: {}", Safe::line(&what));
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

    #[deny(clippy::wildcard_enum_match_arm)]
    #[allow(clippy::too_many_lines, reason = "a table: a few lines for each command")]
    fn command(&mut self, args: &Args) -> Result<(), Stop> {
        if let Some(result) = bundles::command(args, self.formats, &mut self.io) {
            return result;
        }
        match &args.command {
            None => self.without_command(args.plain),
            Some(Command::Ask { text, request: None, wait }) => ask::ask(self, text, *wait),
            Some(Command::Ask { text, request: Some(file), wait }) => ask::ask_with_body(self, file, text, *wait),
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
                plan::plan(self, text, *request, (edit.as_deref(), regenerate.as_deref()))
            }
            Some(Command::Plans(command)) => plan::plans(self, command),
            Some(Command::Replay(args)) if args.dry_run || args.request => plan::replay(self, args),
            Some(Command::Replay(args)) => race::replay(self, &args.run, args.without.as_deref()),
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
            Some(Command::ModuleSummary { path, by_model, undo, redo }) => {
                let by = if *by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
                project::summary(self, path.as_deref(), by, (*undo, *redo))
            }
            Some(Command::Compress(args)) => summaries::compress(self, args),
            Some(Command::Summary(command)) => summaries::summaries(self, command),
            Some(Command::Stats { whole_session }) => stats::stats(self, *whole_session),
            Some(Command::Traces(args)) => traces::traces(self, args),
            Some(Command::Undo) => messages::undo_or_redo(self, SessionRequest::Undo, "Undone."),
            Some(Command::Redo) => messages::undo_or_redo(self, SessionRequest::Redo, "Redone."),
            Some(Command::Theme { name }) => program::choose_theme(self, name.as_deref()),
            Some(Command::Skill { name }) => project::skill(self, name.as_deref()),
            Some(Command::State(command)) => sessions::state(self, command),
            Some(Command::Branch(command)) => sessions::branch(self, command),
            Some(Command::Session(command)) => sessions::session(self, command),
            Some(Command::Import { file, keep_instructions }) => files::import(self, file, *keep_instructions),
            Some(Command::Export { file, format, all, mask, output }) => {
                let to = (file.as_deref(), output.as_deref());
                files::export(self, *format, *all, *mask, to)
            }
            Some(Command::Models) => program::models(self),
            Some(Command::Doctor { forget, .. }) => program::doctor(self, *forget),
            Some(Command::Backups { rewrite, delete, yes }) => backups::backups(self, *rewrite, *delete, *yes),
            Some(Command::Verify { .. } | Command::Program(_)) => {
                program::local(args, &Ok(self.config.clone()), &mut self.io)
            }
        }
    }
}

mod context;
mod conversation;
pub mod system;
#[cfg(test)]
mod tests;
