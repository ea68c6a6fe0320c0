//! Runs slash commands: each becomes the request or screen that corresponds to the command line's command. A command
//! that only prints runs in the command line's own code, and its output is shown as text.
//! Not for: the grammar (`config::commands`), completing a line (`chat::model::slash`), or keys (`update::actions`).

use super::{acts, ask, branches, focus, printed, questions, queueing, state, tags};
use crate::config::commands::args::Args;
use crate::config::commands::calls::{Compress, ContextCommand, DraftCommand, Plans, Replay, SummariesCommand};
use crate::config::commands::command::Command;
use crate::config::commands::conversation::{
    BranchCommand, MemoryCommand, MessageCommand, SessionCommand, StateCommand, TaskCommand, Within,
};
use crate::config::commands::mark::MarkCommand;
use crate::config::commands::read::{self, Typed};
use crate::config::commands::setting::{LaneCommand, Setting, SettingCommand};
use crate::config::commands::system::{Traces, TracesCommand};
use crate::domain::base::{Failure, NodeId};
use crate::domain::call::Limits;
use crate::domain::conversation::resolve;
use crate::domain::conversation::{Overrides, Role, Slot, Tree};
use crate::domain::planning::variant;
use crate::domain::summary::{AutoSummaryOverride, SummaryAuthor, SummaryKind};
use crate::engine::api::{
    BranchRequest, CallRequest, Draft, DraftKind, ItemName, Request, SessionRequest, TaskAct, marks, memory_scope,
};
use crate::tui::chat::model::slash::SlashLine;
use crate::tui::model::panels::Shape;
use crate::tui::model::pending::SessionPending;
use crate::tui::screens::race::model::{RacePending, RaceQuestion};
use crate::tui::screens::reader::model::Reader;
use crate::tui::screens::{self, race};
use crate::tui::update::prelude::*;
use crate::tui::update::{actions, panels, settings};

/// A function that resolves a name to a message.
type Find = fn(&Tree, &[Slot], &str) -> Result<Slot, Failure>;

/// How a command is run.
enum Execution {
    /// It is done, or was sent to the engine.
    Done,
    /// An action carries it out.
    Run(Action),
    /// The command line's own code carries it out and prints a text.
    Print,
    /// It runs after the person has confirmed this question.
    Confirm(String),
    /// It deletes the session with this name, if there is one, after the person has confirmed it.
    DeleteSession(String),
    /// A race of these settings.
    Race(Vec<Overrides>, RaceQuestion),
    /// It is refused for this reason.
    Refused(String),
}

fn refused(text: &str) -> Execution {
    Execution::Refused(text.to_owned())
}

/// Runs a line that a screen built.
pub(crate) fn typed(model: &mut Model, line: &str, out: &mut Vec<Cmd>) {
    run(model, &SlashLine::new(line), out);
}

/// Runs a slash command, or says why it is refused.
pub(crate) fn run(model: &mut Model, line: &SlashLine, out: &mut Vec<Cmd>) {
    model.input.recent_commands.remember(&line.shown);
    for notice in read::earlier_names(&line.words) {
        model.status.report("earlier name", notice, model.now);
    }
    match read::read_words(&line.words) {
        Ok(Typed::Action(action)) => actions::run(model, action, None, out),
        Ok(Typed::Help(text)) => model.layers.push(Reader::new(&line.shown, text, true)),
        Ok(Typed::Command(args)) => command(model, line, &args, out),
        Err(text) => printed::refuse(model, &text),
    }
}

fn command(model: &mut Model, line: &SlashLine, args: &Args, out: &mut Vec<Cmd>) {
    let Some(command) = &args.command else { return };
    if let Command::Race { text, arm, limits } = command
        && arm.is_empty()
        && !text.is_empty()
    {
        model.composer.set(&line.full, DraftKind::Message);
        let question = RaceQuestion { text: text.join(" ").into(), limits: (*limits).into() };
        return race::update_models::open(model, question, out);
    }
    match execution(model, command, args, out) {
        Execution::Done => {}
        Execution::Race(variants, question) => {
            race::update::race(model, variants, question, line.full.as_str().into(), out);
        }
        Execution::Run(action) => actions::run(model, action, None, out),
        Execution::Print if line.words.iter().any(|word| word == "-") => {
            printed::refuse(model, "A single - means standard input, which only the command line has.");
        }
        Execution::Print => printed::print(model, &line.shown, args.clone(), out),
        Execution::Refused(text) => printed::refuse(model, &text),
        Execution::Confirm(title) => questions::deletion(model, &title, &line.shown),
        Execution::DeleteSession(name) => {
            let pending = SessionPending::Delete { name, line: line.shown.clone() };
            send(model, SessionRequest::List, pending, out);
        }
    }
}

#[allow(clippy::too_many_lines, reason = "a table: one line or a few for each command")]
fn execution(model: &mut Model, command: &Command, args: &Args, out: &mut Vec<Cmd>) -> Execution {
    match command {
        Command::Ask { request: Some(_), .. } => {
            refused("--request works only on the command line; /edit-request edits the request here.")
        }
        Command::Ask { text, request: None, wait: _ } => asked(model, text, DraftKind::Message, out),
        Command::Edit { message, text, wait: _ } => edited(model, message, text, out),
        Command::Regenerate { message, wait: _ } => {
            regenerated(model, message.as_deref().unwrap_or(resolve::LAST), out)
        }
        Command::Aside { keep: true, .. } => {
            refused("--keep works only on the command line; /keep-aside keeps the answer here.")
        }
        Command::Aside { text, keep: false } => {
            screens::aside::update::ask(model, &text.join(" "), out);
            Execution::Done
        }
        Command::Race { text, arm, limits } => race_of(text, arm, (*limits).into()),
        Command::Replay(
            Replay { dry_run: true, .. } | Replay { request: true, .. } | Replay { bundle: Some(_), .. },
        ) => Execution::Print,
        Command::Replay(Replay { run, without, .. }) => {
            let call = (args.global.profile.clone(), args.global.model.clone());
            replay(model, run, without.clone(), call, out)
        }
        Command::Plan { text, what_if: true, arm, edit: None, regenerate: None, .. }
            if text.is_empty() && arm.is_empty() =>
        {
            Execution::Run(Action::WhatIf)
        }
        Command::Plan { .. } if printed::has_screen(command, args) => Execution::Run(Action::NextRequest),
        Command::Mark(command) => mark(model, command, out),
        Command::Set(command) => setting(model, command, out),
        Command::Context(command) => context(model, command, out),
        Command::Message(command) => message(model, command, out),
        Command::Memory(command) => memory(model, command, out),
        Command::Task(command) => task(model, command, out),
        Command::State(command) => state(model, command),
        Command::Branch(command) => branch(model, command, out),
        Command::Session(command) => session(model, command, out),
        Command::Compress(wanted) => compress(model, wanted, out),
        Command::Summary(SummariesCommand::List) => Execution::Run(Action::SummaryList),
        Command::Summary(SummariesCommand::Draft(DraftCommand::Draft))
            if screens::summaries::update::has_draft(model) =>
        {
            Execution::Run(Action::Draft)
        }
        Command::Plans(Plans::List) => Execution::Run(Action::Calls),
        Command::Traces(Traces { command: Some(TracesCommand::Again { .. }), .. }) => {
            refused("Run a call again from the list of tool calls, which /traces opens.")
        }
        Command::Traces(Traces {
            command: None,
            failed: false,
            tool: None,
            filter: None,
            grouped: false,
            whole_session: false,
        }) => Execution::Run(Action::Traces),
        Command::Stats { whole_session: false } => Execution::Run(Action::Stats),
        Command::Undo => Execution::Run(Action::Undo),
        Command::Redo => Execution::Run(Action::Redo),
        Command::Models if args.global.profile.is_none() => Execution::Run(Action::Models),
        Command::Theme { name } => {
            settings::choose_theme(model, name.as_deref(), out);
            Execution::Done
        }
        Command::ModuleSummary { path: None, .. } => Execution::Run(Action::Modules),
        Command::ModuleSummary { path: Some(path), by_model, undo: false, redo: false } => {
            let by = if *by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
            screens::summaries::update_modules::make(model, path, by, out);
            Execution::Done
        }
        Command::Mcp { command: None } => Execution::Run(Action::Mcp),
        Command::Rules { command: None } => Execution::Run(Action::Rules),
        Command::Project { command: None } => Execution::Run(Action::Project),
        Command::Trust { off: false, yes: false, config: false } => Execution::Run(Action::Trust),
        Command::Trust { off: false, yes: false, config: true } => Execution::Run(Action::FolderSettings),
        Command::Skill { name: None } => Execution::Run(Action::Skills),
        Command::Skill { name: Some(name) } => {
            screens::editor::update::use_skill(model, name, out);
            Execution::Done
        }
        Command::Plan { .. }
        | Command::Plans(_)
        | Command::Retrieve { .. }
        | Command::Index { .. }
        | Command::Add { .. }
        | Command::Build { .. }
        | Command::Pins { .. }
        | Command::Mcp { .. }
        | Command::Trust { .. }
        | Command::Rules { .. }
        | Command::Project { .. }
        | Command::ModuleSummary { .. }
        | Command::Summary(_)
        | Command::Stats { .. }
        | Command::Traces(_)
        | Command::Import { .. }
        | Command::Export { .. }
        | Command::Verify { .. }
        | Command::Models
        | Command::Doctor { .. }
        | Command::Backups { .. }
        | Command::Program(_) => Execution::Print,
    }
}

/// Sends a draft with this text.
fn asked(model: &mut Model, text: &[String], kind: DraftKind, out: &mut Vec<Cmd>) -> Execution {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return Execution::Done };
    let text = text.join(" ");
    if text.trim().is_empty() {
        return refused("The message is empty; nothing was sent. Give its text after the command.");
    }
    let draft = Draft { text: text.into(), kind, ..Draft::default() };
    if !queueing::put(model, branch, &draft) {
        model.conversation.follow();
        ask::ask(model, branch, draft, None, out);
    }
    Execution::Done
}

/// Resolves a name to a message, preferring the path of the current branch.
fn named(model: &Model, text: &str, find: Find) -> Result<NodeId, Execution> {
    let Some(session) = &model.session else { return Err(Execution::Done) };
    let found = find(&session.tree, &model.conversation.path, text);
    let found = found.map_err(|failure| Execution::Refused(failure.to_string()))?;
    Ok(session.tree.head(found).id)
}

fn replay(
    model: &mut Model,
    run: &str,
    without: Option<String>,
    (profile, name): (Option<String>, Option<String>),
    out: &mut Vec<Cmd>,
) -> Execution {
    let Some(session) = &model.session else { return Execution::Done };
    let run = match resolve::call(&session.tree, &model.conversation.path, session.calls().into_iter(), run) {
        Ok(found) => found.map_or_else(|| run.to_owned(), |id| id.to_string()),
        Err(failure) => return Execution::Refused(failure.to_string()),
    };
    let without = without.map(|text| ItemName::Named { text, message: false });
    send(model, CallRequest::Replay { run, profile, model: name, without }, RacePending::Replay, out);
    Execution::Done
}

fn edited(model: &mut Model, message: &str, text: &[String], out: &mut Vec<Cmd>) -> Execution {
    match named(model, message, resolve::message) {
        Ok(node) => asked(model, text, DraftKind::Edit(node), out),
        Err(refused) => refused,
    }
}

fn regenerated(model: &mut Model, message: &str, out: &mut Vec<Cmd>) -> Execution {
    let node = match named(model, message, resolve::message) {
        Ok(node) => node,
        Err(refused) => return refused,
    };
    let Some(session) = &model.session else { return Execution::Done };
    let mut above = std::iter::successors(session.tree.slot(node), |slot| session.tree.parent(*slot));
    match above.find(|slot| session.tree.head(*slot).role == Role::User).map(|slot| session.tree.head(slot).id) {
        Some(question) => {
            acts::regenerate_question(model, question, out);
            Execution::Done
        }
        None => refused("There is no answer to regenerate: none of your messages is at or above this one."),
    }
}

fn race_of(text: &[String], variants: &[String], limits: Limits) -> Execution {
    let variants: Vec<Overrides> = match variants.iter().map(|words| variant::read(words)).collect() {
        Ok(variants) => variants,
        Err(error) => return Execution::Refused(format!("{error}.")),
    };
    if variants.len() < 2 || text.is_empty() {
        return refused(
            "/race needs two or more settings and then a message: /race mode:off mode:heavy Why does it fail?",
        );
    }
    Execution::Race(variants, RaceQuestion { text: text.join(" ").into(), limits })
}

fn mark(model: &mut Model, command: &MarkCommand, out: &mut Vec<Cmd>) -> Execution {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return Execution::Done };
    let (items, act) = marks(command);
    send(model, BranchRequest::Mark { branch, items, act }, Pending::Act, out);
    Execution::Done
}

fn setting(model: &mut Model, command: &SettingCommand, out: &mut Vec<Cmd>) -> Execution {
    if let SettingCommand::Layout { name: Some(name) } = command
        && let Some(shape) = Shape::from_name(name)
    {
        panels::shape(model, shape, out);
        return Execution::Done;
    }
    if matches!(command, SettingCommand::Lane { command: Some(LaneCommand::List), .. }) {
        screens::picker::update_lanes::open(model, out);
        return Execution::Done;
    }
    match command.change() {
        Err(text) => return Execution::Refused(text),
        Ok(Some(setting)) => return set(model, &setting, out),
        Ok(None) => {}
    }
    match command {
        SettingCommand::Model { .. } => screens::picker::update::models(model, out),
        SettingCommand::Policy { .. } => return Execution::Run(Action::Policies),
        SettingCommand::Focus { .. } => focus::show(model),
        SettingCommand::Lane { .. } => screens::picker::update_lanes::open(model, out),
        SettingCommand::Summaries { .. } => {
            let own = model.branch().and_then(|branch| branch.overrides.auto_summaries);
            let how = match own {
                None => "follow the settings and the policy",
                Some(AutoSummaryOverride::Off) => "are off",
                Some(AutoSummaryOverride::Draft) => "wait as drafts until you accept them",
                Some(AutoSummaryOverride::Auto) => "are used at once",
            };
            model.status.say(Severity::Notice, format!("Automatic summaries on this branch {how}."), model.now);
            return Execution::Run(Action::SummaryList);
        }
        SettingCommand::Mode { .. }
        | SettingCommand::Profile { .. }
        | SettingCommand::Budget { .. }
        | SettingCommand::Layout { .. }
        | SettingCommand::Personality { .. } => return Execution::Print,
    }
    Execution::Done
}

/// Changes a setting of the current branch.
fn set(model: &mut Model, setting: &Setting, out: &mut Vec<Cmd>) -> Execution {
    let policies: Vec<&str> = model.facts.policies.iter().map(String::as_str).collect();
    if let Some(text) = setting.unknown_policy(&policies).filter(|_| !policies.is_empty()) {
        return Execution::Refused(text);
    }
    let known = model.session.iter().flat_map(|session| session.tree.heads()).map(|head| head.lane.as_str());
    let setting = setting.clone().among(known);
    branches::choose(model, |overrides| setting.apply(overrides), out);
    settings::check_typed_model(model, &setting, out);
    Execution::Done
}

fn context(model: &mut Model, command: &ContextCommand, out: &mut Vec<Cmd>) -> Execution {
    match command {
        ContextCommand::Window { turns } => set(model, &Setting::Window(*turns), out),
        ContextCommand::Show { .. } => Execution::Print,
        ContextCommand::Rebuild { by_model: false } => Execution::Run(Action::RebuildState),
        ContextCommand::Rebuild { by_model: true } => {
            state::rebuild(model, SummaryAuthor::Model, out);
            Execution::Done
        }
    }
}

fn message(model: &mut Model, command: &MessageCommand, out: &mut Vec<Cmd>) -> Execution {
    match command {
        MessageCommand::Label { message, label } if message == resolve::LAST => {
            tags::label(model, &label.join(" "), out);
            Execution::Done
        }
        MessageCommand::Labels { words, favorites: false } if words.is_empty() => Execution::Run(Action::Labels),
        MessageCommand::Remove { item, yes: false, .. } => match named(model, item, resolve::message) {
            Ok(_) => Execution::Confirm(format!("Permanently delete {}?", resolve::turn_words(item))),
            Err(refused) => refused,
        },
        MessageCommand::List { .. }
        | MessageCommand::Show { .. }
        | MessageCommand::Read { .. }
        | MessageCommand::Label { .. }
        | MessageCommand::Favorite { .. }
        | MessageCommand::Labels { .. }
        | MessageCommand::Remove { .. } => Execution::Print,
    }
}

fn memory(model: &mut Model, command: &MemoryCommand, out: &mut Vec<Cmd>) -> Execution {
    match command {
        MemoryCommand::List { within: Within { all: false, here: false } } => Execution::Run(Action::Memories),
        MemoryCommand::Add { kind, text, within } => {
            screens::memories::update::add(model, *kind, text.join(" "), memory_scope(*within), out);
            Execution::Done
        }
        MemoryCommand::List { .. }
        | MemoryCommand::Edit { .. }
        | MemoryCommand::Confirm { .. }
        | MemoryCommand::Dismiss { .. }
        | MemoryCommand::Delete { .. }
        | MemoryCommand::Search { .. } => Execution::Print,
    }
}

fn task(model: &mut Model, command: &TaskCommand, out: &mut Vec<Cmd>) -> Execution {
    let act = match command {
        TaskCommand::List => return Execution::Print,
        TaskCommand::Start { name } => TaskAct::Start(name.join(" ")),
        TaskCommand::Done { outcome } => TaskAct::Done(Some(outcome.join(" ")).filter(|words| !words.is_empty())),
    };
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, BranchRequest::Task { branch, act }, Pending::Act, out);
    }
    Execution::Done
}

fn state(model: &mut Model, command: &StateCommand) -> Execution {
    match command {
        StateCommand::Adopt => return Execution::Run(Action::AdoptState),
        StateCommand::Edit { text } if !text.is_empty() => return Execution::Print,
        StateCommand::Show | StateCommand::Edit { .. } => state::edit(model),
    }
    Execution::Done
}

fn branch(model: &mut Model, command: &BranchCommand, out: &mut Vec<Cmd>) -> Execution {
    match command {
        BranchCommand::List => Execution::Run(Action::Branches),
        BranchCommand::Fork { name, at, stay: false } => fork(model, name.clone(), at.as_deref(), out),
        BranchCommand::Switch { branch } => switch(model, branch, out),
        BranchCommand::Compare { a, b: None } => {
            screens::compare::update::named(model, a, out);
            Execution::Done
        }
        BranchCommand::Fork { .. }
        | BranchCommand::Rename { .. }
        | BranchCommand::Compare { .. }
        | BranchCommand::Pick { .. }
        | BranchCommand::Return { .. }
        | BranchCommand::Keep { .. }
        | BranchCommand::Archive { .. } => Execution::Print,
    }
}

fn fork(model: &mut Model, name: Option<String>, at: Option<&str>, out: &mut Vec<Cmd>) -> Execution {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return Execution::Done };
    let at = match at.map(|text| named(model, text, resolve::end)).transpose() {
        Ok(at) => at,
        Err(refused) => return refused,
    };
    if acts::nothing_to_fork(model, branch) {
        return Execution::Done;
    }
    let request = BranchRequest::Fork { branch, at, name, switch: true };
    send(model, Request::Branch(request), SessionPending::Fork(None), out);
    Execution::Done
}

fn switch(model: &mut Model, text: &str, out: &mut Vec<Cmd>) -> Execution {
    let Some(session) = &model.session else { return Execution::Done };
    match resolve::branch(&session.branches, text).map(|branch| branch.id) {
        Ok(id) => {
            branches::switch(model, id, out);
            Execution::Done
        }
        Err(failure) => Execution::Refused(failure.to_string()),
    }
}

fn session(model: &mut Model, command: &SessionCommand, out: &mut Vec<Cmd>) -> Execution {
    let request = match command {
        SessionCommand::List => return Execution::Run(Action::Sessions),
        SessionCommand::New { title } => SessionRequest::New { title: title.join(" ") },
        SessionCommand::Switch { session } => {
            SessionRequest::Open { session: Some(session.clone()), branch: None, create: false }
        }
        SessionCommand::Search { words, limit: _ } => {
            screens::search::update::open(model, words.join(" "), out);
            return Execution::Done;
        }
        SessionCommand::Delete { session, yes: false, .. } => {
            return Execution::DeleteSession(session.clone());
        }
        SessionCommand::Delete { .. } | SessionCommand::Rename { .. } | SessionCommand::Retitle { .. } => {
            return Execution::Print;
        }
    };
    let pending =
        if matches!(request, SessionRequest::New { .. }) { SessionPending::New } else { SessionPending::Open };
    send(model, Request::Session(request), pending, out);
    Execution::Done
}

fn compress(model: &mut Model, wanted: &Compress, out: &mut Vec<Cmd>) -> Execution {
    if wanted.accept || wanted.dry_run || !wanted.keep.is_empty() {
        return Execution::Print;
    }
    let kind = if wanted.whole_session { SummaryKind::Session } else { SummaryKind::Lane };
    let by = if wanted.by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
    screens::summaries::update::compress(model, kind, wanted.up_to, by, out);
    Execution::Done
}
