//! Tasks of a branch: start and end, and their effect on leases. Each is one operation, so that one
//! undo reverts all of it.
//! Not for: the weight of a task's turns (`context::policy::levels`), or how tasks are shown.

use super::memory::checked_text;
use crate::domain::base::{BranchId, Failure};
use crate::domain::conversation::{
    Actor, Branch, Change, ItemState, LeaseTurns, Mark, MarkKind, MemoryKind, Overrides, Scope, TaskSpan, memory, task,
};
use crate::engine::api::{Answer, TaskAct};
use crate::engine::branches::mark_state::{MarkUpdate, state_of_mark};
use crate::engine::branches::marks::overrides_change;
use crate::engine::core::Core;
use crate::engine::sessions::memory::{item_transition, persons_memory};
use crate::engine::turns::state_suggestions::first_transition;
use crate::store::types::Write;

impl Core {
    /// Starts or ends a task.
    pub(crate) fn task(&mut self, id: BranchId, act: &TaskAct) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let here = session.head(&branch).map(|slot| session.tree.head(slot).key);
        let mut tasks = branch.overrides.tasks.clone();
        let ended = task::running(&tasks).map(|task| task.name.clone());
        let running = ended.clone();
        if let Some(last) = tasks.last_mut().filter(|_| ended.is_some()) {
            (last.done, last.to) = (true, here);
        }
        let (what, outcome) = match act {
            TaskAct::Start(name) => {
                let name = named(name)?;
                if ended.as_ref() == Some(&name) {
                    return Err(Failure::user(format!("Task {name:?} is already running.")));
                }
                tasks.push(TaskSpan { name: name.clone(), from: here, done: false, to: None, outcome: None });
                let before = ended.map_or_else(String::new, |ended| format!("ended task {ended} and "));
                (format!("{before}started task {name}"), None)
            }
            TaskAct::Done(words) => {
                let Some(name) = ended else {
                    return Err(
                        Failure::user("No task is running here.").todo("`pleach task start NAME` starts a task.")
                    );
                };
                let outcome = words.as_deref().map(|words| checked_text(&format!("{name}: {words}"))).transpose()?;
                if let Some(last) = tasks.last_mut() {
                    last.outcome = outcome.as_ref().and(words.clone());
                }
                (format!("ended task {name}"), outcome)
            }
        };
        let mut overrides = branch.overrides.clone();
        overrides.tasks = tasks;
        self.change_task(&branch, &what, overrides, outcome, running.is_some())?;
        let summary = running.map_or_else(String::new, |name| self.summarize_task(id, &name));
        Ok(Answer::Done(format!("{}. u undoes it.{summary}", super::session::capital(&what))))
    }

    /// Writes a task's change. If a task `ended`, the program's own pins and the leases that last until then end with
    /// it, and its outcome becomes a memory.
    fn change_task(
        &mut self,
        branch: &Branch,
        what: &str,
        overrides: Overrides,
        outcome: Option<String>,
        ended: bool,
    ) -> Result<Answer, Failure> {
        let (write, change) = overrides_change(branch, overrides);
        let (mut writes, mut changes) = (vec![write], vec![change]);
        let for_task = MarkKind::Leased { turns: LeaseTurns::TASK };
        let ends = |mark: &&Mark| ended && (mark.by == Actor::Engine || mark.kind == for_task);
        for mark in branch.marks.iter().filter(ends) {
            let update = MarkUpdate { target: mark.target, before: Some(mark.clone()), after: None };
            writes.push(update.write(branch.id));
            let step = (state_of_mark(Some(mark)), ItemState::None);
            writes.push(item_transition(
                &self.sessions,
                &self.setup,
                branch,
                mark.target,
                step,
                "its task ended",
                Actor::Engine,
            ));
            changes.push(update.change(branch.id));
        }
        if let Some(text) = outcome {
            let memory = persons_memory(
                &self.sessions,
                &self.setup,
                branch,
                MemoryKind::Outcome,
                text,
                Scope::Session(branch.session),
            );
            writes.push(first_transition(branch.session, &memory, "the outcome of a task"));
            writes.push(Write::PutMemory { memory: Box::new(memory.clone()), expect: None });
            changes.push(Change::Memory { before: None, after: Some(Box::new(memory)) });
        }
        self.record(branch.session, what, writes, &changes)
    }
}

fn named(name: &str) -> Result<String, Failure> {
    let name = memory::one_line(name);
    match name.chars().count() {
        0 => Err(Failure::user("A task needs a name.")),
        n if n > task::LONGEST => {
            let most = task::LONGEST;
            Err(Failure::user(format!("A task's name can have at most {most} characters; this name has {n}.")))
        }
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_a_bounded_length() {
        assert_eq!(named("  port the\nparser ").ok().as_deref(), Some("port the parser"));
        for (length, goes) in [(0, false), (1, true), (task::LONGEST, true), (task::LONGEST + 1, false)] {
            assert_eq!(named(&"é".repeat(length)).is_ok(), goes, "{length} characters");
        }
    }
}
