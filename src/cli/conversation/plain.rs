//! `--plain`: a line-by-line conversation for screen readers, pipes, and simple terminals, without an alternate screen,
//! cursor movement, or color. Every command works after a slash.
//! Not for: the text of plans and messages (`plain_words`), or running commands (their own modules).

use super::ask;
use super::plain_words::{self as words, Status};
use crate::cli::output::Io;
use crate::cli::stop::Stop;
use crate::cli::{Run, finish, pick};
use crate::config::commands::args::Global;
use crate::config::commands::read::{self, Typed};
use crate::config::commands::table::ACTIONS_AS_COMMANDS;
use crate::config::keys::keymap::Action;
use crate::engine::api::{Draft, ProgramRequest, SessionView};

/// The session and the branch of the conversation.
#[derive(Clone)]
struct PlainSession {
    session: String,
    branch: String,
}

impl PlainSession {
    fn at(view: &SessionView) -> Self {
        Self { session: view.card.id.to_string(), branch: view.current.to_string() }
    }
}

/// Whether the loop continues after a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    Quit,
}

/// Runs the prompt loop until the end of the input or `/quit`.
pub(crate) fn plain(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    // From here on, Ctrl+C stops an answer instead of the program.
    let mut pressed = (run.io.interrupts)();
    let mut current = PlainSession::at(&*run.open(true)?);
    run.io.say(words::GREETING);
    let mut printed = Status::default();
    loop {
        run.io.say("");
        match run_within(run, &current, status) {
            Ok(status) => {
                let changes = status.changes(&printed);
                if !changes.is_empty() {
                    run.io.say(&changes);
                }
                printed = status;
            }
            Err(stop) => report(stop, &mut run.io),
        }
        let Some(line) = line(run) else { return Ok(()) };
        let now = (run.io.interrupts)();
        if now != pressed {
            run.io.say("Ctrl+C stops a streaming answer. To quit, type /quit or end the input (Ctrl+D).");
        }
        let result = run_within(run, &current.clone(), |inner| run_line(inner, &mut current, &line));
        pressed = (run.io.interrupts)();
        match result {
            Ok(Next::Continue) => {}
            Ok(Next::Quit) => return Ok(()),
            Err(Stop::Interrupted) => run.io.say("Stopped. The text received so far is kept."),
            Err(stop) => report(stop, &mut run.io),
        }
    }
}

/// Prints why a line failed, with commands named as they are typed here.
fn report(stop: Stop, io: &mut Io<'_>) {
    finish(Err(stop), &mut Io { joins: false, ..io.reborrow() });
}

/// Runs `work` as a separate command on this session and branch. Its count of Ctrl+C presses starts at 0.
fn run_within<T>(
    run: &mut Run<'_, '_>,
    current: &PlainSession,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let global = Global {
        session: Some(current.session.clone()),
        branch: Some(current.branch.clone()),
        json: false,
        ..run.global.clone()
    };
    let counted = run.io.interrupts;
    let before = counted();
    run_with(run, &global, &|| counted() - before, work)
}

/// Runs `work` as a separate command with these flags.
fn run_with<T>(
    run: &mut Run<'_, '_>,
    global: &Global,
    interrupts: &dyn Fn() -> usize,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let mut inner = Run {
        global,
        config: run.config,
        client: run.client.nested(),
        io: Io { joins: false, json: global.json, interrupts, ..run.io.reborrow() },
        formats: run.formats,
    };
    let result = work(&mut inner);
    let reached = inner.client.next_ticket();
    run.client.continue_from(reached);
    result
}

/// Returns the status; what changed in it is printed before each prompt.
fn status(run: &mut Run<'_, '_>) -> Result<Status, Stop> {
    let view = run.open(false)?;
    let plan = run.client.plan(&view, Draft::default(), &mut run.io);
    Ok(Status::new(&view, plan))
}

/// Reads a line, or several lines that are joined by backslashes at their ends. None at the end of the input.
fn line(run: &mut Run<'_, '_>) -> Option<String> {
    let mut text = String::new();
    loop {
        run.io.prompt(if text.is_empty() { "you: " } else { "more: " });
        let mut line = String::new();
        // A closed terminal counts as the end of the input.
        let bytes = run.io.input.read_line(&mut line).unwrap_or(0);
        if bytes == 0 && text.is_empty() {
            run.io.say("");
            return None;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        if !run.io.in_tty {
            // Echo piped input.
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

/// Runs a line, which is a command or a message.
fn run_line(run: &mut Run<'_, '_>, current: &mut PlainSession, line: &str) -> Result<Next, Stop> {
    let text = line.trim();
    if text.is_empty() {
        return Ok(Next::Continue);
    }
    match text.strip_prefix('/') {
        Some(slashed) if slashed.starts_with('/') => send_message(run, slashed)?,
        Some(_) => return slash(run, current, text),
        None => send_message(run, line.trim_end())?,
    }
    Ok(Next::Continue)
}

/// Sends a message and prints the answer while it streams.
fn send_message(run: &mut Run<'_, '_>, text: &str) -> Result<(), Stop> {
    let view = run.open(true)?;
    ask::turn(run, &view, Draft { text: text.into(), ..Draft::default() })
}

/// Runs a command, with the grammar of the command line.
fn slash(run: &mut Run<'_, '_>, current: &mut PlainSession, line: &str) -> Result<Next, Stop> {
    for notice in read::earlier_names(&read::split(line.trim_start_matches('/'))) {
        run.io.note(&notice);
    }
    match read::read(line).map_err(Stop::Usage)? {
        Typed::Action(action) => run_action(run, current, action, line),
        Typed::Help(text) => {
            run.io.say(text.trim_end());
            Ok(Next::Continue)
        }
        Typed::Command(args) => {
            // The command uses the session and the branch of the conversation.
            let global = Global {
                session: run.global.session.clone(),
                branch: run.global.branch.clone(),
                ..args.global.clone()
            };
            let interrupts = run.io.interrupts;
            // Another program may have opened another session since; where the command leads is then last used.
            drop(run.open(false));
            let result = run_with(run, &global, interrupts, |inner| inner.command(&args));
            let followed = follow(run, current);
            match (result, followed) {
                (Err(stop), Err(unread)) => {
                    report(stop, &mut run.io);
                    Err(unread)
                }
                (result, followed) => result.and(followed).map(|()| Next::Continue),
            }
        }
    }
}

/// Runs an action of the full-screen program that works in plain mode.
#[deny(clippy::wildcard_enum_match_arm)]
fn run_action(run: &mut Run<'_, '_>, current: &mut PlainSession, action: Action, line: &str) -> Result<Next, Stop> {
    use crate::config::keys::keymap::SessionAction::{
        Doctor, EditText, Editors, Find, FolderSettings, Models, Modules, New, NewSession, NewerVersion, OlderVersion,
        Project, RenameSession, RewriteModule, Save, Sessions, Skills, Suspend, ToggleRules, UseOffline,
    };
    if let Some((_, means)) = ACTIONS_AS_COMMANDS.iter().find(|(name, _)| *name == action.name()) {
        return slash(run, current, &format!("/{means}"));
    }
    match action {
        Action::Quit | Action::QuitIfEmpty => return Ok(Next::Quit),
        Action::Help => run.io.say(&words::help()),
        Action::Trust => return slash(run, current, "/trust"),
        Action::Reload => run.change(ProgramRequest::Reload, "Settings reloaded; nothing changed.")?,
        Action::Message(_)
        | Action::Context(_)
        | Action::Branch(_)
        | Action::View(_)
        | Action::Call(_)
        | Action::Tool(_)
        | Action::Session(
            Doctor | EditText | Editors | Find | FolderSettings | Models | Modules | New | NewSession | NewerVersion
            | OlderVersion | Project | RenameSession | RewriteModule | Save | Sessions | Skills | Suspend | ToggleRules
            | UseOffline,
        ) => {
            // The action may have another name than the word that was typed.
            let name = line.trim_start_matches('/');
            return Err(Stop::Usage(
                read::missing_arguments(name)
                    .unwrap_or_else(|| format!("/{name} works only in the workbench. /help lists all commands.")),
            ));
        }
    }
    Ok(Next::Continue)
}

/// Continues where a command led: on the session and the branch that are current now. Says so if the branch before was
/// archived; every other command that leads elsewhere says it.
fn follow(run: &mut Run<'_, '_>, current: &mut PlainSession) -> Result<(), Stop> {
    let view = run.client.open(&None, &None, true, &mut run.io)?;
    let before = std::mem::replace(current, PlainSession::at(&view));
    let was_archived = view.branches.iter().any(|branch| branch.archived && branch.id.to_string() == before.branch);
    if was_archived && before.branch != current.branch {
        run.io.say(&format!("You are now on {}.", pick::branch(&view, None)?.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::cli::tests::Harness;
    use crate::domain::base::Failure;
    use crate::engine::api::{BranchRequest, Event, Request, Ticket};

    /// Refuses the mark, and every plan.
    fn refused(ticket: Ticket, request: &Request) -> Vec<Event> {
        let is_mark = matches!(request, Request::Branch(BranchRequest::Mark { .. }));
        let what = if is_mark { "The mark is refused." } else { "There is no plan." };
        vec![Event::Answer { ticket, result: Err(Failure::user(what)) }]
    }

    #[test]
    fn a_failed_command_is_reported_even_if_the_session_cannot_be_opened_afterwards() {
        // It is opened at the start, for the status, before the command, and by the command.
        let plain = Harness { input: "/pin 1\n", opens: Some(4), ..Harness::default() };
        let err = plain.execute(&["--plain"], refused).err;
        assert!(err.find("The mark is refused.").is_some_and(|at| err[at..].contains("no longer opens")), "{err}");
    }
}
