//! `trust`: sets whether the model can use tools in this folder, and whether the folder's own settings are used.
//! Not for: rules about single tool calls (`consent`), or servers in the folder's own file (`mcp`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::stop::Stop;
use crate::domain::base::Failure;
use crate::domain::tool::{FolderSettings, SettingChange, SettingsFileStatus};
use crate::engine::api::{FolderAct, ToolAnswer, ToolRequest};
use serde_json::json;

/// The explanation of trust that precedes the question.
const EXPLANATION: &str = "In a trusted folder, the model can read, list, and search files, and requests can \
    contain a map and symbols of the code and the project rules (AGENTS.md). All of this text is sent to the model's \
    server. MCP servers in your settings will start. Each file change and each command needs your approval, unless one \
    of your rules allows it.";

pub(crate) fn trust(run: &mut Run<'_, '_>, off: bool, yes: bool) -> Result<(), Stop> {
    let folder = run.config.workspace.display().to_string();
    let trusted = run.config.is_trusted(&run.config.workspace);
    if trusted != off {
        let words = if off { "is not trusted" } else { "is already trusted" };
        run.io.say(&format!("{folder} {words}."));
        return Ok(());
    }
    if !off && !yes {
        run.io.note(&folder);
        run.io.note(EXPLANATION);
        if !run.io.in_tty {
            return Err(Failure::user("No terminal to ask on.").todo("Run `pleach trust --yes`.").into());
        }
        if !run.io.agrees("Enter y to trust this folder:")? {
            run.io.note("nothing changed");
            return Ok(());
        }
    }
    run.change(ToolRequest::Trust { trusted: !off }, "Done.")
}

/// Shows the changes that the folder's own settings make, and asks for approval.
pub(crate) fn settings(run: &mut Run<'_, '_>, off: bool, yes: bool) -> Result<(), Stop> {
    let card = expect_answer!(run, Tool(ToolAnswer::FolderSettings), ToolRequest::FolderSettings(FolderAct::Show));
    let Some(card) = card else {
        return Err(Failure::user("This folder has no .pleach.toml.").into());
    };
    let digest = match (card.status, card.digest) {
        (SettingsFileStatus::Untrusted, _) => {
            return Err(Failure::user(format!("{} is ignored, because the folder is not trusted.", card.path))
                .todo("Run `pleach trust` to trust the folder.")
                .into());
        }
        (SettingsFileStatus::Faulty, _) => return Err(Failure::user(card.notice().unwrap_or_default()).into()),
        (SettingsFileStatus::Used, Some(digest)) if off => digest,
        (_, Some(digest)) if card.status != SettingsFileStatus::Used => digest,
        _ => {
            let words = if off { "contains no settings that need approval" } else { "is already in use" };
            return run.io.either(&json!({ "done": true, "folder": card }), &format!("{} {words}.", card.path));
        }
    };
    let approved = !off && (yes || ask_approval(run, &card)?);
    run.change(ToolRequest::FolderSettings(FolderAct::Say { digest, yes: approved }), "Done.")
}

/// Shows every change in full and waits for approval.
fn ask_approval(run: &mut Run<'_, '_>, card: &FolderSettings) -> Result<bool, Stop> {
    let since = if card.approved_before { " since your last approval" } else { "" };
    run.io.note(&format!("{} changes{since}:", card.path));
    for line in card.changes.iter().flat_map(SettingChange::lines) {
        run.io.note(&format!("  {line}"));
    }
    if !run.io.in_tty {
        let failure = Failure::user("No terminal to ask on.").kept("Its settings are not used.");
        return Err(failure.todo("Read the file, then run `pleach trust --config --yes`.").into());
    }
    run.io.agrees("Enter y to approve the file until it changes:")
}

/// Warns that `--allow` has no effect while no tools are offered.
pub(crate) fn warn_untrusted(run: &mut Run<'_, '_>) {
    if !run.global.allow.is_empty() && !run.config.is_trusted(&run.config.workspace) {
        run.io.note(
            "this folder is not trusted, so no tools are offered and --allow has no effect; `pleach trust` trusts the \
            folder",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, Output, done, execute};
    use crate::engine::api::Request;

    #[test]
    fn trusting_a_folder_needs_an_explicit_yes() {
        let trusts = |printed: &Output| {
            printed.seen.iter().any(|seen| matches!(seen, Request::Tool(ToolRequest::Trust { trusted: true })))
        };
        let printed = execute(&["trust"], done);
        assert!(printed.code == 1 && printed.err.contains("trust --yes") && !trusts(&printed), "{}", printed.err);
        let asked = |input| Harness { input, tty: true, ..Harness::default() }.execute(&["trust"], done);
        assert!(asked("y\n").err.contains("sent to the model's server") && trusts(&asked("y\n")));
        assert!(!trusts(&asked("n\n")) && !trusts(&asked("")));
        assert!(trusts(&execute(&["trust", "--yes"], done)));
        let printed = execute(&["trust", "--off"], done);
        assert!(printed.out.contains("is not trusted") && printed.seen.is_empty(), "{}", printed.out);
        let printed = execute(&["--allow", "run", "undo"], done);
        assert!(printed.err.contains("--allow has no effect"), "{}", printed.err);
    }
}
