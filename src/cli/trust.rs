//! `trust`: whether the model may use tools in this folder, said on the command line.
//! Not for: rules about single calls (`consent`) or servers of the folder's own file (`mcp`).

use super::Run;
use super::args::Command;
use super::stop::Stop;
use crate::domain::failure::Failure;
use crate::engine::api::Request;

/// What trusting a folder means, as the question says it.
const MEANS: &str = "The model may then read, list and search the files in it, and a map and symbols of its code and its rules \
                     (AGENTS.md) go with calls: what is read is sent to the model's server. Servers of tools that your \
                     settings name are started. Each change of a file and each command asks first, unless a rule of yours \
                     allows it.";

/// `trust` and `rules`.
pub(super) fn command(run: &mut Run<'_, '_>, command: &Command) -> Result<(), Stop> {
    match command {
        Command::Trust { off, yes } => trust(run, *off, *yes),
        Command::Rules { command } => super::consent::rules(run, command.as_ref()),
        _ => Ok(()),
    }
}

fn trust(run: &mut Run<'_, '_>, off: bool, yes: bool) -> Result<(), Stop> {
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
    run.done(Request::Trust { trusted: !off }, "Done.")
}

/// Says that what --allow lets tools do is for nothing where no tool is offered.
pub(super) fn remind(run: &mut Run<'_, '_>) {
    if !run.global.allow.is_empty() && !run.config.is_trusted(&run.config.workspace) {
        run.io.note(
            "this folder is not trusted, so no tools are offered and --allow does nothing; `pleach trust` changes that",
        );
    }
}
