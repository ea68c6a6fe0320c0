//! The words of the plain mode: where one stands, what the next call holds and why, messages with who says them.
//! Not for: the loop (`plain`).

use crate::cli::output::number;
use crate::cli::stop::Stop;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::{Node, Role};
use crate::domain::conversation::state;
use crate::domain::planning::plan::{ContextPlan, Row, Verdict};
use crate::engine::api::{Planned, SessionView};
use std::fmt::Write as _;

/// Said once at the start.
pub(crate) const GREETING: &str = "pleach, plain mode. Write a message and press Enter. /help lists the commands.";

/// The commands.
pub(crate) const HELP: &str = "\
Write a message and press Enter; a backslash at the end of a line continues it. Ctrl+C stops an answer.
/context [MESSAGE]  what the next call holds, item by item with numbers and reasons, and what it leaves out
/request [MESSAGE]  the exact request, byte for byte
/pin N …  keep items in every call; /lease N … for some turns; /unpin N … takes any mark off
/exclude N …  leave items out until taken back; /once N … out of the next call only; /include N … into the next call
/note TEXT  pin a note of your own
/read [N]  the last messages
/retry  another answer to the last message
/fork [NAME]  a new branch from here; /branch [NAME] lists branches, or goes to one
/sessions  all sessions; /open NAME goes to one; /new [TITLE] makes one
/mode [off|light|heavy]  how much is gathered by itself; /model NAME, /profile NAME, /policy NAME, /budget N
/models  models that can be asked; /undo and /redo; /reload reads the settings again
/quit  leaves, as the end of the input does
Every other command of `pleach --help` works after a slash too: /plans list, /compress, /memory list, /race, /export …
A message that begins with a slash is written with two.";

/// Session, branch, mode, model and meter, in sentences.
pub(crate) fn stands(view: &SessionView, plan: Result<Planned, Stop>) -> String {
    let branch = view.branches.iter().find(|branch| branch.id == view.current).map_or("?", |branch| &branch.name);
    let mut text = format!("\nSession {}. Branch {branch}. ", view.card.title);
    match plan {
        Ok(Planned::Plan { plan, .. }) => {
            let percent = u64::from(plan.est_total) * 100 / u64::from(plan.budget.prompt.max(1));
            let _ = write!(
                text,
                "Mode {}. Model {}. Context {} of {} tokens {}, {percent} percent.",
                plan.mode.title(),
                plan.model,
                number(plan.est_total),
                number(plan.budget.prompt),
                plan.certainty.label()
            );
        }
        Ok(Planned::Blocked(blocked)) | Err(Stop::Blocked(blocked)) => {
            let _ = write!(text, "The next call does not fit: {}", blocked.sentence());
        }
        Err(Stop::Failed(failure)) => {
            let _ = write!(text, "{failure}");
        }
        Err(_) => {}
    }
    text
}

/// The rows of a plan in the order in which they are told: what goes by section, what is suggested, what is left out.
fn rows(plan: &ContextPlan) -> impl Iterator<Item = &Row> {
    let sections: Vec<_> = plan.sections().into_iter().map(|(section, _)| section).collect();
    let goes =
        sections.into_iter().flat_map(|section| plan.included().filter(move |row| row.section() == Some(section)));
    goes.chain(plan.suggested()).chain(plan.excluded())
}

/// The items of a plan, by their numbers from 1.
pub(crate) fn atoms(plan: &ContextPlan) -> Vec<Atom> {
    rows(plan).map(|row| row.atom).collect()
}

/// What the next call holds, and what it leaves out, each item with its number, tokens and reason.
pub(crate) fn context(plan: &ContextPlan) -> String {
    let label = plan.certainty.label();
    let mut text = format!(
        "Context: {} of {} tokens {label}, policy {}, mode {}, model {}.\n",
        number(plan.est_total),
        number(plan.budget.prompt),
        plan.policy,
        plan.mode.title(),
        plan.model
    );
    let mut heading = String::new();
    for (at, row) in rows(plan).enumerate() {
        let over = match (&row.verdict, row.section()) {
            (Verdict::Suggested, _) => "Suggested pins:".to_owned(),
            (_, Some(section)) => format!("Goes, {}:", section.title()),
            (_, None) => "Left out:".to_owned(),
        };
        if over != heading {
            let _ = writeln!(text, "{over}");
            heading = over;
        }
        let turn = row.source.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let tokens = number(row.tokens);
        let _ = writeln!(text, "{}. {turn}{} ({tokens} tokens). {}", at + 1, row.title, row.reason.sentence());
        if let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict {
            let _ = writeln!(text, "   /{} {}: {}", command(&remedy.action), at + 1, remedy.sentence(&remedy.action));
        }
    }
    for warning in &plan.warnings {
        let _ = writeln!(text, "Warning: {}", warning.sentence());
    }
    text.trim_end().to_owned()
}

/// The command of a remedy's action.
fn command(action: &str) -> &str {
    match action {
        "include-once" => "include",
        other => other,
    }
}

/// A message with who says it.
pub(crate) fn message(node: &Node) -> String {
    let who = match node.head.role {
        Role::User => "you".to_owned(),
        Role::Assistant => node.head.model.clone().unwrap_or_else(|| "answer".to_owned()),
        role => role.name().to_owned(),
    };
    let text = node.content.words();
    let text = if node.head.role == Role::Assistant { state::strip(&text, true) } else { text };
    let calls: Vec<String> = node.content.calls().map(|call| format!("[calls {}]", call.1)).collect();
    format!(
        "{who}: {}{}",
        text.trim_end(),
        if calls.is_empty() { String::new() } else { format!(" {}", calls.join(" ")) }
    )
}

/// Numbers, and nothing else.
pub(crate) fn numbers(text: &str) -> Option<Vec<usize>> {
    let all: Result<Vec<usize>, _> = text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::parse).collect();
    all.ok().filter(|all| !all.is_empty())
}

/// The words of a command; quotes hold some together.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut word, mut begun, mut quote) = (String::new(), false, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun {
                    found.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_in_a_shell() {
        assert_eq!(split("branch rename \"a b\" c"), ["branch", "rename", "a b", "c"]);
        assert_eq!(split("  add user 'it is' \"\" "), ["add", "user", "it is", ""]);
        assert_eq!(split(""), Vec::<String>::new());
    }

    #[test]
    fn numbers_are_numbers_alone() {
        assert_eq!(numbers("1 2,3"), Some(vec![1, 2, 3]));
        assert_eq!((numbers(""), numbers("1 x"), numbers("019a")), (None, None, None));
    }
}
