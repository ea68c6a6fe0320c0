//! The texts of plain mode: the help, the status, and messages with their roles.
//! Not for: the loop (`plain`).

use crate::cli::output::number;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::table;
use crate::domain::call::tokens;
use crate::domain::conversation::state;
use crate::domain::conversation::{Node, Role};
use crate::engine::api::{Planned, SessionView};
use std::fmt::Write as _;

/// The greeting, printed once at the start.
pub(crate) const GREETING: &str = "pleach, plain mode. Write a message and press Enter. /help lists the commands.";

/// Returns the help: all commands with their arguments and descriptions.
pub(crate) fn help() -> String {
    let mut text = String::new();
    for row in table::rows() {
        let _ = writeln!(text, "{}  {}", row.usage(), row.sentence);
    }
    for alias in table::ALIASES {
        let _ = writeln!(text, "/{}  same as /{}", alias.name, alias.means);
    }
    text.push_str(
        "\
/context  show the plan of the next request: items included and left out, with reasons; same as /plan
/reload  reload the settings
/quit  quit; the end of the input (Ctrl+D) also quits
Write a message and press Enter; a backslash at the end of a line continues the message. Ctrl+C stops an answer.
To send text that starts with /, type //. /COMMAND --help explains a command.",
    );
    text
}

/// Describes the session, branch, mode, model, and token count in sentences.
pub(crate) fn status(view: &SessionView, plan: Result<Planned, Stop>) -> String {
    let branch = pick::branch(view, None).map_or("?", |branch| &branch.name);
    let mut text = format!("\nSession {}. Branch {branch}. ", view.card.title);
    match plan {
        Ok(Planned::Plan { plan, .. }) => {
            let share = share(plan.est_total, plan.budget.prompt);
            let _ = write!(
                text,
                "Mode {}. Model {}. Context: {} of {} tokens, {share}.",
                plan.mode.title(),
                plan.model,
                number(plan.est_total),
                number(plan.budget.prompt)
            );
        }
        Ok(Planned::Blocked(blocked)) | Err(Stop::Blocked(blocked)) => {
            text.push_str(&blocked.sentence());
        }
        Err(Stop::Failed(failure)) => {
            let _ = write!(text, "{failure}");
        }
        Err(_) => {}
    }
    text
}

/// Returns a share of the budget in words: `19 percent`, `less than 1 percent`.
fn share(part: u32, whole: u32) -> String {
    tokens::percent(part, whole).replace('<', "less than ").replace('%', " percent")
}

/// Formats a message with its role.
pub(crate) fn message(node: &Node) -> String {
    let who = match node.head.role {
        Role::User => "you".to_owned(),
        Role::Assistant => node.head.model.clone().unwrap_or_else(|| "answer".to_owned()),
        role => role.name().to_owned(),
    };
    let text = node.content.plain_text();
    let text = if node.head.role == Role::Assistant { state::strip(&text, true) } else { text };
    let calls: Vec<String> = node.content.calls().map(|call| format!("[calls {}]", call.1)).collect();
    format!(
        "{who}: {}{}",
        text.trim_end(),
        if calls.is_empty() { String::new() } else { format!(" {}", calls.join(" ")) }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_down_as_on_the_screen() {
        assert_eq!(
            [share(0, 100), share(1, 1_000), share(11, 1_000), share(99, 100)],
            ["0 percent", "less than 1 percent", "1 percent", "99 percent"]
        );
    }
}
