//! `--plain`: a conversation line by line, for screen readers, pipes and dumb terminals: no other screen, no cursor movement,
//! no colour. Every command of the command line is at hand after a slash.
//! Not for: the words of plans and messages (`plain_words`), or doing what the commands say (their own files).

use super::ask;
use super::plain_words as words;
use crate::cli::args::{Args, Global};
use crate::cli::client::unexpected;
use crate::cli::output::Io;
use crate::cli::stop::Stop;
use crate::cli::{Run, finish, pick};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::plan::ContextPlan;
use crate::engine::api::{
    Act, Answer, BranchRequest, Draft, DraftKind, Item, Planned, ProgramRequest, Request, SessionRequest, SessionView,
};
use clap::Parser as _;
use std::sync::Arc;

/// Messages that `/read` reads when no number is given.
const READ: usize = 4;

/// Where the conversation stands.
struct Desk {
    session: String,
    branch: String,
    /// The items of the context as they were last numbered, from 1.
    numbered: Vec<Atom>,
}

impl Desk {
    fn at(view: &SessionView) -> Self {
        Self { session: view.card.id.to_string(), branch: view.current.to_string(), numbered: Vec::new() }
    }
}

/// Whether the loop goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Goes,
    Ends,
}

/// The prompt loop; ends with the input, or `/quit`.
pub(crate) fn plain(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    // From here on Ctrl+C stops an answer and not the program.
    let mut pressed = (run.io.interrupts)();
    let mut desk = Desk::at(&*run.open(true)?);
    run.io.say(words::GREETING);
    loop {
        let stands = within(run, &desk, stands);
        match stands {
            Ok(text) => run.io.say(&text),
            Err(stop) => drop(finish(Err(stop), &mut run.io)),
        }
        let Some(line) = line(run) else { return Ok(()) };
        let now = (run.io.interrupts)();
        if now != pressed {
            run.io.say("Ctrl+C stops an answer that is coming. /quit, or the end of the input, leaves.");
        }
        let place = Desk { session: desk.session.clone(), branch: desk.branch.clone(), numbered: Vec::new() };
        let result = within(run, &place, |inner| one(inner, &mut desk, &line));
        pressed = (run.io.interrupts)();
        match result {
            Ok(Next::Goes) => {}
            Ok(Next::Ends) => return Ok(()),
            Err(Stop::Interrupted) => run.io.say("Stopped; what came is kept."),
            Err(stop) => drop(finish(Err(stop), &mut run.io)),
        }
    }
}

/// Works as a command of its own would that names this session and branch. Ctrl+C is counted anew.
fn within<T>(
    run: &mut Run<'_, '_>,
    desk: &Desk,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let global = Global {
        session: Some(desk.session.clone()),
        branch: Some(desk.branch.clone()),
        json: false,
        ..run.global.clone()
    };
    let counted = run.io.interrupts;
    let before = counted();
    let since = || counted() - before;
    let mut inner = Run {
        global: &global,
        config: run.config,
        client: run.client.again(),
        io: Io {
            out: &mut *run.io.out,
            err: &mut *run.io.err,
            input: &mut *run.io.input,
            out_tty: run.io.out_tty,
            err_tty: run.io.err_tty,
            in_tty: run.io.in_tty,
            joins: false,
            json: false,
            escape: run.io.escape,
            interrupts: &since,
        },
        formats: run.formats,
    };
    let result = work(&mut inner);
    let reached = inner.client.reached();
    run.client.go_on_from(reached);
    result
}

/// What is said before each prompt.
fn stands(run: &mut Run<'_, '_>) -> Result<String, Stop> {
    let view = run.open(false)?;
    let plan = run.client.plan(&view, Draft::default(), &mut run.io);
    Ok(words::stands(&view, plan))
}

/// A line, or several where one ends with a backslash. None at the end of the input.
fn line(run: &mut Run<'_, '_>) -> Option<String> {
    let mut text = String::new();
    loop {
        run.io.prompt(if text.is_empty() { "you: " } else { "more: " });
        let mut line = String::new();
        // A reader whose terminal is gone has reached its end.
        let bytes = run.io.input.read_line(&mut line).unwrap_or(0);
        if bytes == 0 && text.is_empty() {
            run.io.say("");
            return None;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        if !run.io.in_tty {
            // Nobody saw it typed.
            run.io.say(line);
        }
        if let Some(more) = line.strip_suffix('\\').filter(|_| bytes > 0) {
            text.push_str(more);
            text.push('\n');
        } else {
            text.push_str(line);
            return Some(text);
        }
    }
}

/// Does what a line says.
fn one(run: &mut Run<'_, '_>, desk: &mut Desk, line: &str) -> Result<Next, Stop> {
    let text = line.trim();
    if text.is_empty() {
        return Ok(Next::Goes);
    }
    match text.strip_prefix('/') {
        Some(slashed) if slashed.starts_with('/') => say(run, slashed, DraftKind::Message)?,
        Some(command) => return slash(run, desk, command),
        None => say(run, line.trim_end(), DraftKind::Message)?,
    }
    Ok(Next::Goes)
}

/// Asks, and says the answer as it comes.
fn say(run: &mut Run<'_, '_>, text: &str, kind: DraftKind) -> Result<(), Stop> {
    let view = run.open(true)?;
    run.io.say("answer:");
    ask::turn(run, &view, Draft { text: text.into(), kind, ..Draft::default() })
}

fn slash(run: &mut Run<'_, '_>, desk: &mut Desk, command: &str) -> Result<Next, Stop> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match name {
        "quit" | "exit" => return Ok(Next::Ends),
        "help" => run.io.say(words::HELP),
        "context" if !matches!(rest.split_whitespace().next(), Some("window" | "show" | "rebuild")) => {
            context(run, desk, rest)?;
        }
        "request" => {
            let view = run.open(false)?;
            solved(run, &view, rest)?;
            let body = run.client.wire(&view, &mut run.io)?;
            run.io.data(&body);
            run.io.end_line(&body);
        }
        "pin" | "lease" | "unpin" | "exclude" | "once" | "include" if words::numbers(rest).is_some() => {
            marks(run, desk, name, &words::numbers(rest).unwrap_or_default())?;
        }
        "read" => read(run, rest)?,
        "retry" => {
            let view = run.open(false)?;
            let kind = ask::regenerated(&view, None)?;
            say(run, "", kind)?;
        }
        "fork" => fork(run, desk, rest)?,
        "branch" if rest.is_empty() => generic(run, "branch list")?,
        "branch" if pick::branch(&*run.open(false)?, Some(rest)).is_ok() => switch(run, desk, rest)?,
        "open" if !rest.is_empty() => {
            let request =
                Request::Session(SessionRequest::Open { session: Some(rest.to_owned()), branch: None, create: false });
            opened(run, desk, request)?;
        }
        "new" => opened(run, desk, Request::Session(SessionRequest::New { title: rest.to_owned() }))?,
        "sessions" => generic(run, "session list")?,
        "model" | "profile" | "policy" | "budget" => setting(run, name, rest)?,
        "reload" => run.done(Request::Program(ProgramRequest::Reload), "Read again; nothing of it changed.")?,
        "note" if !rest.is_empty() => mark(run, vec![Item::Note(rest.to_owned())], set(MarkKind::Sticky))?,
        _ => generic(run, command)?,
    }
    Ok(Next::Goes)
}

/// Any command of the command line.
fn generic(run: &mut Run<'_, '_>, command: &str) -> Result<(), Stop> {
    let parts = words::split(command);
    let args = Args::try_parse_from(std::iter::once("pleach".to_owned()).chain(parts)).map_err(|error| {
        let name = command.split_whitespace().next().unwrap_or_default();
        let known = Args::description().get_subcommands().any(|sub| sub.get_name() == name);
        if known || !error.use_stderr() {
            return Stop::Usage(error.render().to_string().trim_end().to_owned());
        }
        Stop::Usage(format!(
            "There is no command /{name}; /help lists them. A message that begins with a slash is written with two: //{name}."
        ))
    })?;
    if args.command.is_none() {
        return Err(Stop::Usage("Say a command after the slash; /help lists them.".into()));
    }
    run.command(&args)
}

/// The plan of the next call, as the engine solves it.
fn solved(run: &mut Run<'_, '_>, view: &SessionView, text: &str) -> Result<Arc<ContextPlan>, Stop> {
    let draft = Draft { text: text.into(), ..Draft::default() };
    match run.client.plan(view, draft, &mut run.io)? {
        Planned::Plan { plan, .. } => Ok(plan),
        Planned::Blocked(blocked) => Err(Stop::Blocked(blocked)),
    }
}

/// What the next call holds, item by item, each with its number.
fn context(run: &mut Run<'_, '_>, desk: &mut Desk, text: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let plan = solved(run, &view, text)?;
    desk.numbered = words::atoms(&plan);
    run.io.say(&words::context(&plan));
    Ok(())
}

fn set(kind: MarkKind) -> Act {
    Act::Set { kind, toggle: false }
}

fn mark(run: &mut Run<'_, '_>, items: Vec<Item>, act: Act) -> Result<(), Stop> {
    let branch = run.open(false)?.current;
    run.done(Request::Branch(BranchRequest::Mark { branch, items, act }), "Done; /undo takes it back.")
}

/// Marks items by their numbers.
fn marks(run: &mut Run<'_, '_>, desk: &mut Desk, name: &str, numbers: &[usize]) -> Result<(), Stop> {
    if desk.numbered.is_empty() {
        let view = run.open(false)?;
        desk.numbered = words::atoms(&*solved(run, &view, "")?);
    }
    let mut items = Vec::new();
    for number in numbers {
        let atom = number.checked_sub(1).and_then(|at| desk.numbered.get(at));
        let none =
            || Failure::user(format!("There is no item {number}.")).todo("/context lists them with their numbers.");
        items.push(Item::Atom(*atom.ok_or_else(none)?));
    }
    let act = match name {
        "pin" => set(MarkKind::Sticky),
        "lease" => Act::Lease { toggle: false },
        "exclude" => set(MarkKind::Exclude),
        "once" => set(MarkKind::ExcludeOnce),
        "include" => set(MarkKind::IncludeOnce),
        _ => Act::Clear,
    };
    mark(run, items, act)
}

/// The last messages of the branch.
fn read(run: &mut Run<'_, '_>, rest: &str) -> Result<(), Stop> {
    let count = if rest.is_empty() { Some(READ) } else { rest.parse().ok() };
    let Some(count) = count else { return Err(Stop::Usage("/read wants a number of messages, as in /read 6.".into())) };
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let path = pick::path(&tree, pick::branch(&view, None)?);
    let nodes: Vec<NodeId> = path.iter().rev().take(count).rev().map(|slot| tree.head(*slot).id).collect();
    let bodies =
        match run.client.call(Request::Session(SessionRequest::Bodies { nodes: nodes.clone() }), &mut run.io)? {
            Answer::Bodies(bodies) => bodies,
            other => return Err(unexpected(&other)),
        };
    run.io.say(&format!("{} of {} messages.", nodes.len(), path.len()));
    for node in bodies {
        run.io.say(&words::message(&node));
    }
    Ok(())
}

fn fork(run: &mut Run<'_, '_>, desk: &mut Desk, name: &str) -> Result<(), Stop> {
    let branch = run.open(false)?.current;
    let name = (!name.is_empty()).then(|| name.to_owned());
    match run.client.call(Request::Branch(BranchRequest::Fork { branch, at: None, name, switch: true }), &mut run.io)? {
        Answer::Branch(made) => {
            stand(desk, made.id);
            run.io.say(&format!("Forked; you stand on {}.", made.name));
            Ok(())
        }
        other => Err(unexpected(&other)),
    }
}

fn switch(run: &mut Run<'_, '_>, desk: &mut Desk, name: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, Some(name))?.id;
    match run.client.call(Request::Branch(BranchRequest::Switch { branch }), &mut run.io)? {
        Answer::Branch(_) => stand(desk, branch),
        other => return Err(unexpected(&other)),
    }
    Ok(())
}

fn stand(desk: &mut Desk, branch: BranchId) {
    desk.branch = branch.to_string();
    desk.numbered.clear();
}

fn opened(run: &mut Run<'_, '_>, desk: &mut Desk, request: Request) -> Result<(), Stop> {
    match run.client.call(request, &mut run.io)? {
        Answer::Opened(view) => *desk = Desk::at(&view),
        other => return Err(unexpected(&other)),
    }
    Ok(())
}

/// A setting of the branch; without a value it goes back to the configuration's.
fn setting(run: &mut Run<'_, '_>, name: &str, value: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    let mut overrides = branch.overrides.clone();
    let given = (!value.is_empty()).then(|| value.to_owned());
    match name {
        "model" => overrides.model = given,
        "profile" => (overrides.profile, overrides.model) = (given, None),
        "policy" => overrides.policy = given,
        _ => {
            let digits: String = value.chars().filter(char::is_ascii_digit).collect();
            let cap =
                digits.parse::<u32>().map_err(|_| Stop::Usage("/budget wants a number, as in /budget 8000.".into()))?;
            overrides.budget = (cap > 0).then_some(cap);
        }
    }
    run.done(Request::Branch(BranchRequest::Override { branch: branch.id, overrides }), "Done; /undo takes it back.")
}
