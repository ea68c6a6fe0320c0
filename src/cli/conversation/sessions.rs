//! `session`, `branch`, and `state`.
//! Not for: messages (`messages`), branch settings (`settings`), or calls (`ask`, `plan`).

use super::{branches, search};
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, time};
use crate::cli::stop::Stop;
use crate::cli::{editor, pick, shape};
use crate::config::commands::conversation::{BranchCommand, SessionCommand, StateCommand};
use crate::domain::base::secrets;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{SessionCard, StateVersion, resolve};
use crate::engine::api::{BranchAnswer, BranchRequest, CallRequest, NameOrId, SessionAnswer, SessionRequest};
use serde_json::{Value, json};

pub(crate) fn session(run: &mut Run<'_, '_>, command: &SessionCommand) -> Result<(), Stop> {
    match command {
        SessionCommand::List => list_sessions(run),
        SessionCommand::Search { words, limit } => search::search(run, words, usize::from(*limit)),
        SessionCommand::New { title } => {
            let title = run.io.text(title)?.unwrap_or_default();
            let named = title.trim().to_owned();
            let view = expect_answer!(run, Session(SessionAnswer::Opened), SessionRequest::New { title });
            let value = json!({
                "id": view.card.id,
                "title": view.card.title,
                "branch": view.current,
                "created_at": view.card.created_at,
            });
            let words = match named.as_str() {
                _ if run.io.joins => format!("{}  {}", view.card.id, view.card.title),
                "" => "New session.".to_owned(),
                title => format!("New session: {title}"),
            };
            run.io.either(&value, &words)
        }
        SessionCommand::Switch { session } => {
            let view = run.client.open(&Some(session.clone()), &None, false, &mut run.io)?;
            let value = json!({ "id": view.card.id, "title": view.card.title, "branch": view.current });
            let words = if run.io.joins {
                format!("{}  {}", view.card.id, view.card.title)
            } else {
                format!("Switched to session {}.", view.card.title)
            };
            run.io.either(&value, &words)
        }
        SessionCommand::Rename { names } => {
            let (session, title) = target_and_name(run.global.session.clone(), names);
            run.change(SessionRequest::Rename { session, title: Some(title) }, "Renamed.")
        }
        SessionCommand::Retitle { session } => {
            let session = session.clone().or_else(|| run.global.session.clone());
            run.change(SessionRequest::Rename { session, title: None }, "Renamed.")
        }
        SessionCommand::Delete { session, yes, backups } => {
            let cards = expect_answer!(run, Session(SessionAnswer::Sessions), SessionRequest::List);
            let card = resolve::session(&cards, session)?;
            run.io.require_yes(&resolve::deletion_question(card), *yes, "nothing was deleted")?;
            let request = SessionRequest::Delete { session: Some(card.id.to_string()) };
            crate::cli::system::backups::after_removal(run, request, "Deleted.", *backups)
        }
    }
}

fn list_sessions(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let found = expect_answer!(run, Session(SessionAnswer::Sessions), SessionRequest::List);
    if run.io.json {
        return run.io.value(&found);
    }
    for card in &found {
        run.io.say(&card_line(card));
    }
    if found.is_empty() {
        run.io.say("No sessions yet.");
    }
    Ok(())
}

pub(crate) fn card_line(card: &SessionCard) -> String {
    let title = column(&card.title, 48);
    format!(
        "{}  {}  {title}  {:>6} messages  {} {}",
        card.id,
        time(card.updated_at),
        card.messages,
        card.branches,
        if card.branches == 1 { "branch" } else { "branches" }
    )
}

/// Splits the arguments `[WHICH] NAME`.
fn target_and_name(default: NameOrId, names: &[String]) -> (NameOrId, String) {
    match names {
        [which, name] => (Some(which.clone()), name.clone()),
        names => (default, names.concat()),
    }
}

pub(crate) fn branch(run: &mut Run<'_, '_>, command: &BranchCommand) -> Result<(), Stop> {
    match command {
        BranchCommand::List => list(run),
        BranchCommand::Fork { name, at, stay } => fork(run, name.clone(), at.as_deref(), *stay),
        BranchCommand::Switch { branch } => {
            let view = run.open(false)?;
            let branch = pick::branch(&view, Some(branch))?;
            run.change(BranchRequest::Switch { branch: branch.id }, &format!("Switched to branch {}.", branch.name))
        }
        BranchCommand::Rename { names } => {
            let view = run.open(false)?;
            let (which, name) = target_and_name(None, names);
            let branch = pick::branch(&view, which.as_deref())?.id;
            run.change(BranchRequest::Rename { branch, name }, "Renamed.")
        }
        BranchCommand::Compare { a, b } => branches::compare(run, a, b.as_deref()),
        BranchCommand::Pick { items, onto, message, together } => {
            branches::pick(run, items, onto, (*message, *together))
        }
        BranchCommand::Return { branch, onto } => branches::return_result(run, branch.as_deref(), onto.as_deref()),
        BranchCommand::Keep { branch } => {
            let view = run.open(false)?;
            let branch = pick::branch(&view, Some(branch))?.id;
            run.change(CallRequest::KeepOne { branch }, "Branch kept; the other branches of the race are archived.")
        }
        BranchCommand::Archive { branch, back } => {
            let view = run.open(false)?;
            let branch = pick::branch(&view, branch.as_deref())?.id;
            let done_text = if *back { "Branch restored." } else { "Branch archived; its messages are kept." };
            run.change(BranchRequest::Archive { branch, archived: !back }, done_text)
        }
    }
}

fn list(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let mut shapes: Vec<Value> = Vec::new();
    for branch in &view.branches {
        let current = branch.id == view.current;
        let messages = pick::path(&tree, branch).len();
        if run.io.json {
            let mut one = shape::branch(branch, current, messages);
            if let Some(record) = view.races.iter().find(|record| record.branch == branch.id) {
                one["branch_run"] = shape::branch_run(record);
            }
            shapes.push(one);
            continue;
        }
        let (here, away) = (if current { "●" } else { "○" }, if branch.archived { "  archived" } else { "" });
        run.io.say(&format!("{here} {}  {}  {messages:>6} messages{away}", branch.id, column(&branch.name, 32)));
    }
    if run.io.json { run.io.value(&shapes) } else { Ok(()) }
}

fn fork(run: &mut Run<'_, '_>, name: Option<String>, at: Option<&str>, stay: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let at = at.map(|text| pick::end(&view, text).map(|head| head.id)).transpose()?;
    let branch = expect_answer!(
        run,
        Branch(BranchAnswer::Branch),
        BranchRequest::Fork { branch: view.current, at, name, switch: !stay }
    );
    let words = match (run.io.joins, stay) {
        (true, _) => format!("{}  {}", branch.id, branch.name),
        (false, false) => format!("Now on the new branch {}.", branch.name),
        (false, true) => format!("New branch {}; you stay on this branch.", branch.name),
    };
    let tree = pick::tree(&view);
    run.io.either(&shape::branch(&branch, !stay, pick::path(&tree, &branch).len()), &words)
}

/// Prints the state block in use, and an imported state block that is not adopted yet.
fn show_state(run: &mut Run<'_, '_>, state: Option<&StateVersion>, offered: Option<&StateVersion>) -> Result<(), Stop> {
    let masked = state.map_or(0, |state| secrets::count(&state.text));
    if run.io.json {
        let mut value = json!(state);
        if state.is_some() {
            value["masked"] = masked.into();
        }
        if let Some(offered) = offered {
            // The imported state block is printed even if the branch has none of its own.
            if value.is_null() {
                value = json!({ "text": Value::Null });
            }
            value["offered"] = json!(offered);
        }
        return run.io.value(&value);
    }
    match state {
        Some(state) => {
            run.io.words(&state.text);
            run.io.end_line(&state.text);
            if masked > 0 {
                run.io.note(&format!("requests contain this text with {} masked", counted(masked as u64, "secret")));
            }
        }
        None => run.io.say("This branch has no state block yet."),
    }
    if let Some(offered) = offered {
        run.io.note("the import contains a state block; `pleach state adopt` adopts it:");
        offered.text.lines().for_each(|line| run.io.note(&format!("  {line}")));
    }
    Ok(())
}

pub(crate) fn state(run: &mut Run<'_, '_>, command: &StateCommand) -> Result<(), Stop> {
    let words: &[String] = match command {
        StateCommand::Show | StateCommand::Adopt => &[],
        StateCommand::Edit { text } => text,
    };
    let new_text = run.io.text(words)?;
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    let (state, offered) = (branch.state.clone(), branch.offered.clone());
    match command {
        StateCommand::Show => show_state(run, state.as_ref(), offered.as_ref()),
        StateCommand::Adopt => {
            run.change(BranchRequest::AdoptState(view.current), "State block adopted. `pleach undo` undoes it.")
        }
        StateCommand::Edit { .. } => {
            let before = state.map(|state| state.text).unwrap_or_default();
            let text = match new_text {
                Some(text) => text,
                None if run.io.in_tty && run.io.out_tty => editor::edit(&before, &run.config.env)?,
                None => {
                    return Err(Stop::Usage("Give the new state block as text, or on standard input with `-`.".into()));
                }
            };
            if text.trim() == before.trim() {
                return run.io.either(&json!({ "done": true, "message": "" }), "The state block is unchanged.");
            }
            run.change(
                BranchRequest::EditState { branch: view.current, text },
                "State block replaced. `pleach undo` undoes it.",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{done, execute, id};
    use crate::domain::base::ids::BranchId;
    use crate::engine::api::Request;

    #[test]
    fn renames_and_edits_become_requests() {
        let branch = BranchId(id(91));
        let printed = execute(&["branch", "rename", "alt", "new"], done);
        assert_eq!(
            printed.seen.last(),
            Some(&Request::Branch(BranchRequest::Rename { branch: BranchId(id(92)), name: "new".into() }))
        );
        let printed = execute(&["session", "rename", "-s", "work", "t"], done);
        assert_eq!(
            printed.seen.last(),
            Some(&Request::Session(SessionRequest::Rename { session: Some("work".into()), title: Some("t".into()) }))
        );
        let printed = execute(&["state", "edit", "Goal: y"], done);
        assert_eq!(
            printed.seen.last(),
            Some(&Request::Branch(BranchRequest::EditState { branch, text: "Goal: y".into() }))
        );
    }

    #[test]
    fn branches_as_json() {
        let json = execute(&["branch", "list", "--json"], done).json();
        assert_eq!((json[0]["current"].as_bool(), json[1]["messages"].as_u64()), (Some(true), Some(3)));
    }
}
