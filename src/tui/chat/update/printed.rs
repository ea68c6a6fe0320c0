//! Commands that run in the command line's own code: starting one, and showing its output; and why a line was refused.
//! Not for: choosing these commands (`commands`).

use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::config::commands::command::{Command, Format};
use crate::config::commands::read::{self, Typed};
use crate::tui::screens::reader::model::Reader;
use crate::tui::update::effects::show_done;
use crate::tui::update::prelude::*;

/// How many characters of output still fit into a notice.
const NOTICE: usize = 200;

/// Reports why a line was refused, and the key that brings the line back.
pub(crate) fn refuse(model: &mut Model, text: &str) {
    let back = model.keys.key_of(Action::HistoryUp).unwrap_or_default();
    let stop = if text.ends_with(['.', '?']) { "" } else { "." };
    model.status.say(Severity::Warning, format!("{text}{stop} {back} restores the line."), model.now);
}

/// Runs a command with the command line's own code, on the current session and branch.
pub(crate) fn print(model: &mut Model, line: &str, mut args: Args, out: &mut Vec<Cmd>) {
    if let Some(session) = &model.session {
        args.global.session = Some(session.card.id.to_string());
        args.global.branch = Some(session.current.to_string());
    }
    if let Some(Command::Export { file: None, output: None, format, .. }) = &mut args.command {
        format.get_or_insert(Format::Markdown);
    }
    out.push(Cmd::Run(line.to_owned(), Box::new(args)));
}

/// Runs a line that a screen built.
pub(crate) fn line(model: &mut Model, line: &str, out: &mut Vec<Cmd>) {
    if let Ok(Typed::Command(args)) = read::read(line) {
        print(model, line, *args, out);
    }
}

/// Whether a command prints what the screen of the next request shows: the request for the text in the composer.
pub(super) fn has_screen(command: &Command, args: &Args) -> bool {
    let Command::Plan { text, request: false, edit: None, regenerate: None, what_if: false, .. } = command else {
        return false;
    };
    text.is_empty() && !args.global.json
}

/// The line above an exported conversation that is only shown.
const HOW_TO_EXPORT: &str = "To write this to a file, name the file: /export talk.md (or .jsonl, which /import reads).";

/// Whether a line exports a conversation without a file.
fn shows_export(line: &str) -> bool {
    let Ok(Typed::Command(args)) = read::read(line) else { return false };
    matches!(args.command, Some(Command::Export { file: None, output: None, .. }))
}

/// Returns the beginning of an id.
fn shortened(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// Shows the output of a command: a short text as a notice, a longer text in a reader.
pub(crate) fn arrived(model: &mut Model, line: &str, printed: Printed) {
    let Printed { code, out, err } = printed;
    let (out, err) = (out.trim_end().to_owned(), err.trim_end().to_owned());
    if code == 0 {
        let whole = format!("{err}\n{out}").trim().to_owned();
        if whole.lines().count() > 1 || whole.chars().count() > NOTICE {
            let title = line.strip_prefix("/plans show ").map(|call| format!("What call {} sent", shortened(call)));
            let whole = if shows_export(line) { format!("{HOW_TO_EXPORT}\n\n{whole}") } else { whole };
            model.layers.push(Reader::new(title.as_deref().unwrap_or(line), whole, true));
        } else {
            let text = if whole.is_empty() { "Done.".to_owned() } else { whole };
            show_done(model, &text);
        }
    } else {
        let text = if err.is_empty() { out } else { err };
        model.status.say(Severity::Warning, text.lines().collect::<Vec<_>>().join(" "), model.now);
    }
}
