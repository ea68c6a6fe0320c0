//! `trust`: whether the model may use tools in this folder, and whether the folder's own settings are used, said on the
//! command line.
//! Not for: rules about single calls (`consent`) or servers of the folder's own file (`mcp`).

use crate::cli::Run;
use crate::cli::client::unexpected;
use crate::cli::stop::Stop;
use crate::domain::base::failure::Failure;
use crate::domain::tool::folder_settings::{Changed, FileStanding, FolderSettings};
use crate::engine::api::{Answer, FolderAct, Request, ToolRequest};
use serde_json::json;

/// What trusting a folder means, as the question says it.
const MEANS: &str = "The model may then read, list and search the files in it, and a map and symbols of its code and its rules \
                     (AGENTS.md) go with calls: what is read is sent to the model's server. Servers of tools that your \
                     settings name are started. Each change of a file and each command asks first, unless a rule of yours \
                     allows it.";

/// `trust`.
pub(crate) fn trust(run: &mut Run<'_, '_>, off: bool, yes: bool) -> Result<(), Stop> {
    let folder = run.config.workspace.display().to_string();
    let trusted = run.config.is_trusted(&run.config.workspace);
    if trusted != off {
        let words = if off { "is not trusted" } else { "is trusted already" };
        run.io.say(&format!("{folder} {words}."));
        return Ok(());
    }
    if !off && !yes {
        run.io.note(&folder);
        run.io.note(MEANS);
        if !run.io.in_tty {
            return Err(Failure::user("Nobody could be asked.").todo("Say `pleach trust --yes`.").into());
        }
        run.io.note("Enter y to trust it:");
        if !matches!(run.io.line().unwrap_or_default().trim(), "y" | "yes") {
            run.io.note("nothing was changed");
            return Ok(());
        }
    }
    run.done(Request::Tool(ToolRequest::Trust { trusted: !off }), "Done.")
}

/// Shows what the folder's own settings change, and asks whether they are used.
pub(crate) fn settings(run: &mut Run<'_, '_>, off: bool, yes: bool) -> Result<(), Stop> {
    let card = match run.client.call(Request::Tool(ToolRequest::FolderSettings(FolderAct::Show)), &mut run.io)? {
        Answer::FolderSettings(card) => card,
        other => return Err(unexpected(&other)),
    };
    let Some(card) = card else {
        return Err(Failure::user("This folder has no .pleach.toml.").into());
    };
    let digest = match (card.standing, card.digest) {
        (FileStanding::Untrusted, _) => {
            return Err(Failure::user(format!("{} is not read: the folder is not trusted.", card.path))
                .todo("`pleach trust` trusts it.")
                .into());
        }
        (FileStanding::Faulty, _) => return Err(Failure::user(card.notice().unwrap_or_default()).into()),
        (FileStanding::Used, Some(digest)) if off => digest,
        (_, Some(digest)) if card.standing != FileStanding::Used => digest,
        _ => {
            let words = if off { "asks for nothing that could be refused" } else { "is used already" };
            return run.io.either(&json!({ "done": true, "folder": card }), &format!("{} {words}.", card.path));
        }
    };
    let said = !off && (yes || asked(run, &card)?);
    run.done(Request::Tool(ToolRequest::FolderSettings(FolderAct::Say { digest, yes: said })), "Done.")
}

/// Shows every change whole and waits for a yes.
fn asked(run: &mut Run<'_, '_>, card: &FolderSettings) -> Result<bool, Stop> {
    let since = if card.approved_before { " since you said yes to it" } else { "" };
    run.io.note(&format!("{} changes{since}:", card.path));
    for line in card.changes.iter().flat_map(Changed::lines) {
        run.io.note(&format!("  {line}"));
    }
    if !run.io.in_tty {
        let failure = Failure::user("Nobody could be asked.").kept("Nothing of it is used.");
        return Err(failure.todo("Read it, then say `pleach trust --config --yes`.").into());
    }
    run.io.forget_typed();
    run.io.note("Enter y to use it until it changes:");
    let pressed = (run.io.interrupts)();
    let line = run.io.line_unless(pressed).unwrap_or_default();
    if (run.io.interrupts)() > pressed {
        return Err(Stop::Interrupted);
    }
    Ok(matches!(line.trim(), "y" | "yes"))
}

/// Says that what --allow lets tools do is for nothing where no tool is offered.
pub(crate) fn remind(run: &mut Run<'_, '_>) {
    if !run.global.allow.is_empty() && !run.config.is_trusted(&run.config.workspace) {
        run.io.note(
            "this folder is not trusted, so no tools are offered and --allow does nothing; `pleach trust` changes that",
        );
    }
}
