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
    for row in table::rows().iter().filter(|row| !table::SHELL_ONLY.contains(&row.name.as_str())) {
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

/// Where the conversation is, and how large its next request is.
#[derive(Default)]
pub(crate) struct Status {
    place: String,
    request: String,
}

impl Status {
    pub(crate) fn new(view: &SessionView, plan: Result<Planned, Stop>) -> Self {
        let branch = pick::branch(view, None).map_or("?", |branch| &branch.name);
        let mut place = format!("Session {}. Branch {branch}.", view.card.title);
        let request = match plan {
            Ok(Planned::Plan { plan, .. }) => {
                let _ = write!(place, " Mode {}. Model {}.", plan.mode.title(), plan.model);
                let (est, budget) = (plan.est_total, plan.budget.total());
                format!("Next request: {} of {} tokens, {}.", number(est), number(budget), share(est, budget))
            }
            Ok(Planned::Blocked(blocked)) | Err(Stop::Blocked(blocked)) => blocked.sentence(),
            Err(Stop::Failed(failure)) => failure.to_string(),
            Err(_) => String::new(),
        };
        Self { place, request }
    }

    /// Returns the sentences that differ from an earlier status, so that a screen reader repeats nothing.
    pub(crate) fn changes(&self, before: &Self) -> String {
        let parts = [(&self.place, &before.place), (&self.request, &before.request)];
        let changed = parts.into_iter().filter(|(now, before)| now != before && !now.is_empty());
        changed.map(|(now, _)| now.as_str()).collect::<Vec<_>>().join(" ")
    }
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
    fn a_status_repeats_nothing() {
        let status = |place: &str, request: &str| Status { place: place.into(), request: request.into() };
        let (first, same) = (status("Branch main.", "1 token."), status("Branch main.", "1 token."));
        assert_eq!(first.changes(&Status::default()), "Branch main. 1 token.");
        assert_eq!(same.changes(&first), "");
        assert_eq!(status("Branch main.", "2 tokens.").changes(&first), "2 tokens.");
    }

    #[test]
    fn shares_are_rounded_down_as_on_the_screen() {
        assert_eq!(
            [share(0, 100), share(1, 1_000), share(11, 1_000), share(99, 100)],
            ["0 percent", "less than 1 percent", "1 percent", "99 percent"]
        );
    }
}
