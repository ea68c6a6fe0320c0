//! `message`, `add`, and commands on items: pin, unpin, exclude, include, undo, redo.
//! Not for: calling a model (`ask`).

use super::{plain_words, tags};
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, time};
use crate::cli::stop::Stop;
use crate::cli::{pick, shape};
use crate::config::commands::conversation::MessageCommand;
use crate::config::commands::mark::MarkCommand;
use crate::config::commands::system::WithBackups;
use crate::domain::base::NodeId;
use crate::domain::conversation::resolve;
use crate::domain::conversation::{Node, NodeHead, Role, Slot, Tree};
use crate::engine::api::{BranchAnswer, BranchRequest, ItemName, SessionAnswer, SessionRequest, marks};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The number of messages whose content is requested at once.
const BATCH_SIZE: usize = 500;

pub(crate) fn message(run: &mut Run<'_, '_>, command: &MessageCommand) -> Result<(), Stop> {
    match command {
        MessageCommand::List { all } => list(run, *all),
        MessageCommand::Show { message } => show(run, message),
        MessageCommand::Read { count } => read(run, *count),
        MessageCommand::Label { message, label } => tags::label(run, message, label),
        MessageCommand::Favorite { message, off } => tags::favorite(run, message, *off),
        MessageCommand::Labels { words, favorites } => tags::list(run, words, *favorites),
        MessageCommand::Remove { item, yes, backups } => remove(run, item, *yes, *backups),
    }
}

fn list(run: &mut Run<'_, '_>, all: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let slots: Vec<Slot> = if all {
        tree.heads().filter_map(|head| tree.slot(head.id)).collect()
    } else {
        pick::path(&tree, pick::branch(&view, None)?)
    };
    let turns = turns(&tree);
    if !run.io.json {
        let enough = pick::id_length(&view);
        for slot in &slots {
            let text = line(tree.head(*slot), turns[*slot as usize], enough);
            run.io.say(&text);
        }
        return Ok(());
    }
    let mut shapes = Vec::with_capacity(slots.len());
    for portion in slots.chunks(BATCH_SIZE) {
        let bodies = bodies(run, portion.iter().map(|slot| tree.head(*slot).id).collect())?;
        shapes.extend(portion.iter().map(|slot| {
            let head = tree.head(*slot);
            shape::message(head, bodies.get(&head.id).map(AsRef::as_ref), turns[*slot as usize])
        }));
    }
    run.io.value(&shapes)
}

/// Returns for each slot the number of user messages on the path from the root, including the message itself.
fn turns(tree: &Tree) -> Vec<u32> {
    let mut turns: Vec<u32> = Vec::with_capacity(tree.len());
    for head in tree.heads() {
        let above = tree.slot(head.id).and_then(|slot| tree.parent(slot)).map_or(0, |parent| turns[parent as usize]);
        turns.push(above + u32::from(head.role == Role::User));
    }
    turns
}

fn line(head: &NodeHead, turn: u32, enough: usize) -> String {
    let id = pick::short(head.id, enough);
    let (role, end) = (column(head.role.name(), 9), column(head.end.name(), 11));
    format!("{id}  {turn:>4}  {role}  {end}  {}", column(&head.preview, 70).trim_end())
}

fn bodies(run: &mut Run<'_, '_>, nodes: Vec<NodeId>) -> Result<HashMap<NodeId, Arc<Node>>, Stop> {
    let nodes = expect_answer!(run, Session(SessionAnswer::Bodies), SessionRequest::Bodies { nodes });
    Ok(nodes.into_iter().map(|node| (node.head.id, node)).collect())
}

fn show(run: &mut Run<'_, '_>, text: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let head = pick::message(&view, text)?;
    let bodies = bodies(run, vec![head.id])?;
    let node = bodies.get(&head.id);
    if run.io.json {
        let tree = pick::tree(&view);
        let turn = tree.slot(head.id).map_or(0, |slot| turns(&tree)[slot as usize]);
        return run.io.value(&shape::message(head, node.map(AsRef::as_ref), turn));
    }
    let mut about = format!("{} · {} · {} · {}", head.id, head.role, head.end.name(), time(head.at));
    if let Some(model) = &head.model {
        let _ = write!(about, " · {model}");
    }
    run.io.say(&about);
    let Some(node) = node else { return Ok(()) };
    let words = node.content.plain_text();
    run.io.words(&words);
    run.io.end_line(&words);
    for (id, name, args) in node.content.calls() {
        run.io.say(&format!("→ {name}({args}) {id}"));
    }
    Ok(())
}

/// Prints the last messages of the branch, each with its role.
fn read(run: &mut Run<'_, '_>, count: usize) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let path = pick::path(&tree, pick::branch(&view, None)?);
    let last = &path[path.len().saturating_sub(count)..];
    let found = bodies(run, last.iter().map(|slot| tree.head(*slot).id).collect())?;
    let nodes: Vec<&Node> = last.iter().filter_map(|slot| found.get(&tree.head(*slot).id)).map(AsRef::as_ref).collect();
    if run.io.json {
        let turns = turns(&tree);
        let turn = |node: &Node| tree.slot(node.head.id).map_or(0, |slot| turns[slot as usize]);
        return run
            .io
            .value(&nodes.iter().map(|node| shape::message(&node.head, Some(node), turn(node))).collect::<Vec<_>>());
    }
    run.io.say(&format!("{} of {} messages.", nodes.len(), path.len()));
    for node in nodes {
        run.io.quote(&plain_words::message(node));
    }
    Ok(())
}

fn remove(run: &mut Run<'_, '_>, item: &str, yes: bool, backups: Option<WithBackups>) -> Result<(), Stop> {
    let view = run.open(false)?;
    pick::message(&view, item)?;
    let question = format!("Permanently delete {} in {:?}?", resolve::turn_words(item), view.card.title);
    run.io.require_yes(&question, yes, "nothing was deleted")?;
    let item = ItemName::Named { text: item.to_owned(), message: false };
    let request = BranchRequest::RemoveMessage { branch: view.current, item };
    crate::cli::system::backups::after_removal(run, request, "Deleted.", backups)
}

/// `add ROLE CONTENT`.
pub(crate) fn add(run: &mut Run<'_, '_>, (role, words): (Role, &[String]), priority: Option<u8>) -> Result<(), Stop> {
    let text = run.io.message(words)?.filter(|text| !(words.is_empty() && text.trim().is_empty()));
    let text = text.ok_or_else(|| Stop::Usage("No content. Give text, or use standard input.".into()))?;
    let view = run.open(true)?;
    let head = expect_answer!(
        run,
        Branch(BranchAnswer::Added),
        BranchRequest::AddMessage { branch: view.current, role, text, priority }
    );
    let value = json!({
        "id": head.id,
        "parent": head.parent,
        "role": head.role,
        "status": head.end.name(),
        "session": view.card.id,
        "branch": view.current,
    });
    run.io.either(&value, &head.id.to_string())
}

/// `pin`, `lease`, `unpin`, `exclude`, and `include`.
pub(crate) fn mark(run: &mut Run<'_, '_>, command: &MarkCommand) -> Result<(), Stop> {
    let (mut items, act) = marks(command);
    for item in &mut items {
        if let ItemName::Note(text) = item {
            *text = run.io.text(std::slice::from_ref(text))?.unwrap_or_default();
        }
    }
    let done_text = match command {
        MarkCommand::Pin { .. } => "Pinned.",
        MarkCommand::Lease { .. } => "Leased.",
        MarkCommand::Unpin(_) => "Marks removed.",
        MarkCommand::Exclude { .. } => "Excluded.",
        MarkCommand::Include(_) => "Included in the next request.",
    };
    let view = run.open(false)?;
    for item in &items {
        run.plan_row_named(&view, item);
    }
    run.change(BranchRequest::Mark { branch: view.current, items, act }, done_text)
}

pub(crate) fn undo_or_redo(run: &mut Run<'_, '_>, request: SessionRequest, done_text: &str) -> Result<(), Stop> {
    run.open(false)?;
    run.change(request, done_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, answer, done, execute, id, view};
    use crate::domain::base::ids::BranchId;
    use crate::domain::conversation::mark::{LeaseTurns, MarkKind};
    use crate::domain::conversation::message::Content;
    use crate::engine::api::{Act, Event, Request, Ticket};

    fn contents(ticket: Ticket, request: &Request) -> Vec<Event> {
        let Request::Session(SessionRequest::Bodies { nodes }) = request else { panic!("{request:?}") };
        let node = |id: &NodeId| {
            let head = view().nodes.into_iter().find(|head| head.id == *id).unwrap();
            Arc::new(Node { content: Content::text(format!("body\u{9b} of {}", head.role)), head })
        };
        vec![answer(ticket, SessionAnswer::Bodies(nodes.iter().map(node).collect()))]
    }

    #[test]
    fn messages_of_the_branch_and_of_the_tree() {
        let printed = execute(&["message", "list", "--json"], contents);
        let json = printed.json();
        assert_eq!(json.as_array().unwrap().len(), 4);
        assert!(!printed.out.contains('\u{9b}'));
        let keys: Vec<&String> = json[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "external_id", "parent", "role", "content", "status", "turn", "lane"]);
        assert_eq!((json[0]["external_id"].as_str(), json[0]["turn"].as_u64()), (Some("ext-1"), Some(1)));
        assert_eq!((json[3]["status"].as_str(), json[3]["turn"].as_u64()), (Some("interrupted"), Some(2)));
        assert_eq!(json[1]["content"], "body\u{9b} of assistant");
        assert_eq!(execute(&["message", "list", "--all", "--json"], contents).json().as_array().unwrap().len(), 5);
        let printed = execute(&["message", "list"], contents);
        assert_eq!(printed.out.lines().count(), 4);
        assert!(!printed.out.contains('\u{1b}'));
        let prefix = id(3).to_string()[..8].to_owned();
        assert_eq!(execute(&["message", "show", &prefix, "--json"], contents).json()["turn"], 2);
        assert_eq!(execute(&["message", "show", "019"], contents).code, 1);
        assert_eq!(execute(&["message", "show", "zz"], contents).code, 1);
    }

    #[test]
    fn mark_commands_become_requests() {
        let branch = BranchId(id(91));
        let named = |message| vec![ItemName::Named { text: "ext-1".into(), message }];
        let span = || vec![ItemName::Span { first: "2".into(), last: "4".into() }];
        let set = |kind| Act::Set { kind, toggle: false };
        for (line, items, act) in [
            (&["pin", "ext-1"][..], named(false), set(MarkKind::Sticky)),
            (&["pin", "ext-1", "--turns", "3"], named(false), set(MarkKind::leased(3))),
            (&["lease", "ext-1", "--until-task"], named(false), set(MarkKind::Leased { turns: LeaseTurns::TASK })),
            (&["pin", "--note", "n"], vec![ItemName::Note("n".into())], set(MarkKind::Sticky)),
            (&["unpin", "ext-1"], named(false), Act::Clear),
            (&["exclude", "ext-1", "--message"], named(true), set(MarkKind::Exclude)),
            (&["exclude", "ext-1", "--once"], named(false), set(MarkKind::ExcludeOnce)),
            (&["include", "ext-1"], named(false), set(MarkKind::IncludeOnce)),
            (&["exclude", "2..4"], span(), set(MarkKind::Exclude)),
            (&["pin", "2..4"], span(), set(MarkKind::Sticky)),
        ] {
            let printed = execute(line, done);
            assert_eq!(
                printed.seen.last(),
                Some(&Request::Branch(BranchRequest::Mark { branch, items, act })),
                "{line:?}"
            );
        }
        let harness = Harness { input: "piped\n", ..Harness::default() };
        let printed = harness.execute(&["pin", "--note", "words"], done);
        let noted = vec![ItemName::Note("words\n\npiped".into())];
        let act = set(MarkKind::Sticky);
        assert_eq!(printed.seen.last(), Some(&Request::Branch(BranchRequest::Mark { branch, items: noted, act })));
        let printed = execute(&["undo", "--json"], done);
        assert_eq!(
            (printed.seen.last(), printed.json()["message"].as_str()),
            (Some(&Request::Session(SessionRequest::Undo)), Some("Undone."))
        );
    }
}
