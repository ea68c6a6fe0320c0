//! Tasks: stretches of a branch that a person names, begins, and ends.
//! Not for: the kind of work in a conversation, recognized by its words (`crate::domain::planning::facts::Task`).

use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};

/// Maximum characters of a task's name.
pub const LONGEST: usize = 60;

/// A task on a branch. Its turns are those after `from`, up to `to`. It is inactive while these nodes are not on the
/// path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskSpan {
    /// The name, unsanitized.
    pub name: String,
    /// The key of the path's last node when it began; `None` if the branch was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Hash>,
    /// Whether it has ended.
    #[serde(default)]
    pub done: bool,
    /// The key of the path's last node when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Hash>,
    /// The outcome, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// Returns the running task of a branch: the newest one, unless it has ended.
pub fn running(tasks: &[TaskSpan]) -> Option<&TaskSpan> {
    tasks.last().filter(|task| !task.done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_task_runs_until_it_is_ended() {
        let task = |name: &str, done| TaskSpan { name: name.into(), from: None, done, to: None, outcome: None };
        let name = |tasks: &[TaskSpan]| running(tasks).map(|task| task.name.clone());
        assert_eq!(name(&[]), None);
        assert_eq!(name(&[task("a", true), task("b", false)]).as_deref(), Some("b"));
        assert_eq!(name(&[task("a", false), task("b", true)]), None);
    }
}
