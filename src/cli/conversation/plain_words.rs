//! The texts of plain mode: the status, the next request with reasons, and messages with their roles.
//! Not for: the loop (`plain`).

use crate::cli::output::number;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::table;
use crate::domain::conversation::message::{Node, Role};
use crate::domain::conversation::state;
use crate::domain::planning::plan::{ContextPlan, Row, RowKind, Verdict};
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
/context  show the next request: items included and left out, with names and reasons
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
            let percent = u64::from(plan.est_total) * 100 / u64::from(plan.budget.prompt.max(1));
            let _ = write!(
                text,
                "Mode {}. Model {}. Context {} of {} tokens ({}), {percent} percent.",
                plan.mode.title(),
                plan.model,
                number(plan.est_total),
                number(plan.budget.prompt),
                plan.certainty.label()
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

/// Returns the rows of a plan in display order: included items by section, suggested pins, left-out items.
fn rows(plan: &ContextPlan) -> impl Iterator<Item = &Row> {
    let sections: Vec<_> = plan.sections().into_iter().map(|(section, _)| section).collect();
    let included_rows =
        sections.into_iter().flat_map(|section| plan.included().filter(move |row| row.section() == Some(section)));
    included_rows.chain(plan.suggested()).chain(plan.excluded())
}

/// Describes the next request: the items included and left out, each with its name, tokens, and reason.
pub(crate) fn context(plan: &ContextPlan) -> String {
    let label = plan.certainty.label();
    let mut text = format!(
        "Next request: {} of {} tokens ({label}), policy {}, mode {}, model {}.\n",
        number(plan.est_total),
        number(plan.budget.prompt),
        plan.policy,
        plan.mode.title(),
        plan.model
    );
    let mut heading = String::new();
    for row in rows(plan) {
        let section_title = match (&row.verdict, row.section()) {
            (Verdict::Suggested, _) => "Suggested pins:".to_owned(),
            (_, Some(section)) => format!("Included, {}:", section.title()),
            (_, None) => "Left out:".to_owned(),
        };
        if section_title != heading {
            let _ = writeln!(text, "{section_title}");
            heading = section_title;
        }
        let (name, tokens) = (row.item_name(), number(row.tokens));
        let turn = if row.kind == RowKind::Turn { "turn " } else { "" };
        let _ = writeln!(text, "{turn}{name}: {} ({tokens} tokens). {}", row.title, row.reason_sentence());
        if let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict
            && let Some(command) = remedy.command(&name)
        {
            let _ = writeln!(text, "   {}", remedy.sentence(&format!("/{command}")));
        }
    }
    for warning in &plan.warnings {
        let _ = writeln!(text, "Warning: {}", warning.sentence());
    }
    text.trim_end().to_owned()
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
