//! `pins` and `task`: the marks on a branch, their history, and the branch's tasks.
//! Not for: making marks (`messages`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, time};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::conversation::TaskCommand;
use crate::domain::conversation::task;
use crate::domain::conversation::{
    Actor, Atom, ItemState, LeaseTurns, Mark, MarkKind, NodeHead, Slot, Subject, TaskSpan, Tree, tree,
};
use crate::domain::planning::row_reason::part_name;
use crate::engine::api::{BranchAnswer, BranchRequest, SessionView, TaskAct, TransitionReport};
use serde_json::{Value, json};

/// `pins [--history]`.
pub(crate) fn pins(run: &mut Run<'_, '_>, history: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    if history {
        let steps =
            expect_answer!(run, Branch(BranchAnswer::Steps), BranchRequest::Steps { branch: branch.id, atom: None });
        if run.io.json {
            return run.io.value(&steps.iter().map(step).collect::<Vec<_>>());
        }
        for report in &steps {
            run.io.say(&step_line(report));
        }
        if steps.is_empty() {
            run.io.say("No items have been pinned, leased, or suggested on this branch yet.");
        }
        return Ok(());
    }
    let tree = pick::tree(&view);
    let path = pick::path(&tree, branch);
    let turns = tree::turns(&tree, &path);
    let number = |mark: &Mark| {
        let slot = marked_slot(&tree, mark)?;
        let at = path.iter().position(|other| *other == slot)?;
        Some(turns.iter().filter(|turn| turn.asked && turn.nodes.start <= at).count())
    };
    let mut marks: Vec<(Option<usize>, &Mark)> = branch.marks.iter().map(|mark| (number(mark), mark)).collect();
    marks.sort_by_key(|(turn, mark)| (*turn, mark.target));
    if run.io.json {
        let shapes = marks.iter().map(|(turn, mark)| {
            let mut value = shape(&tree, *turn, mark);
            if let Some(origin) = &mark.origin {
                value["origin"] = json!(origin);
                value["stale"] = stale(&view, &tree, mark).into();
            }
            value
        });
        return run.io.value(&shapes.collect::<Vec<_>>());
    }
    for (turn, mark) in &marks {
        let place = place(&tree, *turn, mark);
        let old = if stale(&view, &tree, mark) { "stale, because the source branch has new messages: " } else { "" };
        let title = format!("{old}{}", title(&tree, mark));
        run.io.say(&format!("{}  {}  {title}", column(&place, 20), column(&kind_text(mark), 28)));
    }
    if marks.is_empty() {
        run.io.say("No items are marked on this branch.");
    }
    Ok(())
}

/// Returns the first message of a marked turn, or the marked message; `None` for other items.
fn marked_slot(tree: &Tree, mark: &Mark) -> Option<Slot> {
    match mark.target {
        Atom::Turn { user: key, .. } | Atom::Message { node: key } | Atom::Episode { call: key, .. } => {
            tree.by_key(key)
        }
        Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
    }
}

/// Returns where a marked item is: `turn 2`, `answer of turn 2`, `other branch`, or `-` for an item without a place.
fn place(tree: &Tree, turn: Option<usize>, mark: &Mark) -> String {
    let Some(slot) = marked_slot(tree, mark) else { return "-".to_owned() };
    let Some(turn) = turn else { return "other branch".to_owned() };
    let is_message = matches!(mark.target, Atom::Message { .. } | Atom::Episode { .. });
    let part = if is_message { format!("{} of ", part_name(tree.head(slot).role)) } else { String::new() };
    format!("{part}turn {turn}")
}

fn kind_text(mark: &Mark) -> String {
    let by = if mark.by == Actor::Engine { " (program)" } else { "" };
    match mark.kind {
        MarkKind::Leased { turns } => format!("leased, {}{by}", turns.label()),
        kind => format!("{}{by}", kind.name()),
    }
}

fn title(tree: &Tree, mark: &Mark) -> String {
    let key = match mark.target {
        Atom::Turn { user: key, .. }
        | Atom::Preamble { first: key }
        | Atom::Message { node: key }
        | Atom::Episode { call: key, .. }
        | Atom::Section { text: key }
        | Atom::Range { first: key, .. } => key,
    };
    let head = || tree.by_key(key).map(|slot| tree.head(slot).preview.clone());
    let code = || mark.code.as_ref().map(|code| code.title());
    let text = mark.note.clone().or_else(code).or_else(head).unwrap_or_else(|| {
        let map = mark.target == Atom::code_map();
        if map { "code map".to_owned() } else { "a memory, a rule, or a deleted item".to_owned() }
    });
    match &mark.origin {
        Some(origin) => format!("{}: {}", origin.to_text(), NodeHead::preview_of(&text)),
        None => text,
    }
}

/// Whether the mark is a result of a branch that has grown since.
fn stale(view: &SessionView, tree: &Tree, mark: &Mark) -> bool {
    let Some(origin) = &mark.origin else { return false };
    let branch = view.branches.iter().find(|branch| branch.id == origin.branch);
    let head = branch.and_then(|branch| branch.head).and_then(|id| tree.get(id));
    origin.stale(head.map(|head| head.key))
}

fn shape(tree: &Tree, turn: Option<usize>, mark: &Mark) -> Value {
    let left = match mark.kind {
        MarkKind::Leased { turns } => Some(u32::from(turns)).filter(|_| turns != LeaseTurns::TASK),
        _ => None,
    };
    json!({
        "id": mark.target.key(),
        "turn": turn,
        "place": place(tree, turn, mark),
        "pin": crate::cli::shape::pin(mark.kind),
        "turns_left": left,
        "by": mark.by,
        "renewals": mark.renewals,
        "inherited_from": mark.inherited_from,
        "title": title(tree, mark),
    })
}

fn step(report: &TransitionReport) -> Value {
    let step = &report.step;
    let kind = if matches!(step.item, Subject::Memory(_)) { "memory" } else { "item" };
    json!({
        "id": step.item.key(),
        "kind": kind,
        "turn": report.turn,
        "title": report.title,
        "from": step.from.name(),
        "to": step.to.name(),
        "reason": step.reason,
        "by": step.by,
        "at_turn": report.at_turn,
        "branch": step.branch,
        "at": step.at,
    })
}

fn step_line(report: &TransitionReport) -> String {
    let place = report.turn.map_or_else(|| "-".to_owned(), |turn| format!("turn {turn}"));
    let name = |state: ItemState| match state {
        ItemState::Sticky => "pinned",
        ItemState::Ephemeral => "once",
        state => state.name(),
    };
    let way = format!("{} → {}", name(report.step.from), name(report.step.to));
    format!(
        "{}  {}  {}  {}  {}",
        time(report.step.at),
        column(&place, 10),
        column(&way, 24),
        column(&report.title, 30),
        report.sentence()
    )
}

pub(crate) fn task(run: &mut Run<'_, '_>, command: &TaskCommand) -> Result<(), Stop> {
    let act = match command {
        TaskCommand::List => return list(run),
        TaskCommand::Start { name } => TaskAct::Start(run.io.text(name)?.unwrap_or_default()),
        TaskCommand::Done { outcome } => TaskAct::Done(run.io.message(outcome)?.filter(|words| !words.is_empty())),
    };
    let view = run.open(matches!(act, TaskAct::Start(_)))?;
    run.change(BranchRequest::Task { branch: view.current, act }, "Done.")
}

fn list(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tasks = &pick::branch(&view, None)?.overrides.tasks;
    if run.io.json {
        return run.io.value(&tasks.iter().map(task_shape).collect::<Vec<_>>());
    }
    for task in tasks {
        let status = if task.done { "done" } else { "running" };
        let outcome = task.outcome.as_deref().unwrap_or_default();
        run.io.say(format!("{}  {}  {outcome}", column(status, 8), column(&task.name, 30)).trim_end());
    }
    if task::running(tasks).is_none() {
        run.io.note("No task is running here. `pleach task start NAME` starts a task.");
    }
    Ok(())
}

fn task_shape(task: &TaskSpan) -> Value {
    json!({ "name": task.name, "done": task.done, "outcome": task.outcome, "from": task.from, "to": task.to })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, done};
    use crate::engine::api::{MemoryRequest, PlanRequest, Request};

    /// Returns the last request of a command with this text on standard input.
    fn last_request(line: &[&str]) -> Request {
        let harness = Harness { input: "piped\n", ..Harness::default() };
        harness.execute(line, done).seen.pop().unwrap()
    }

    #[test]
    fn piped_text_follows_the_words() {
        let task = |line: &[&str]| match last_request(line) {
            Request::Branch(BranchRequest::Task { act, .. }) => act,
            other => panic!("{other:?}"),
        };
        assert_eq!(task(&["task", "start", "the", "login"]), TaskAct::Start("the login\n\npiped".into()));
        assert_eq!(task(&["task", "start", "-"]), TaskAct::Start("piped".into()));
        assert_eq!(task(&["task", "done", "works"]), TaskAct::Done(Some("works\n\npiped".into())));
        assert_eq!(task(&["task", "done"]), TaskAct::Done(Some("piped".into())));
        match last_request(&["retrieve", "words"]) {
            Request::Plan(PlanRequest::Retrieve { query, .. }) => assert_eq!(query, "words\n\npiped"),
            other => panic!("{other:?}"),
        }
        match last_request(&["memory", "search", "words"]) {
            Request::Memory(MemoryRequest::List { words, .. }) => assert_eq!(words.unwrap(), "words\n\npiped"),
            other => panic!("{other:?}"),
        }
    }
}
