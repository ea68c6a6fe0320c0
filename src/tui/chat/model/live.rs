//! A running turn on a branch: the sent message, the received text, and the cost so far.
//! Not for: committed messages (those are nodes).

use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{NodeId, RunId};
use crate::domain::call::tokens::Certainty;
use crate::domain::conversation::message::Role;
use crate::domain::conversation::tree::Slot;
use crate::domain::tool::consent::PendingApproval;
use crate::tui::model::session::Session;
use std::sync::Arc;

/// A wait before another attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retry {
    /// The number of the next attempt.
    pub attempt: u32,
    /// Its time, in the model's milliseconds.
    pub until: u64,
    /// The reason.
    pub why: String,
}

/// A running turn.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The user message while it is not a node; empty otherwise.
    pub user: Arc<str>,
    /// The node that precedes it.
    pub after: Option<NodeId>,
    /// The run whose text arrives.
    pub run: Option<RunId>,
    /// The branch's head when the turn started.
    pub head: Option<NodeId>,
    /// The text so far, including the state block.
    pub text: String,
    /// The reasoning text so far.
    pub reasoning: String,
    /// Tokens so far.
    pub tokens: u32,
    /// The certainty of that number.
    pub certainty: Option<Certainty>,
    /// Cost so far.
    pub cost: Option<u64>,
    /// Its start time.
    pub began: u64,
    /// A wait for another attempt.
    pub retry: Option<Retry>,
    /// The user asked it to stop.
    pub stopping: bool,
    /// The tool call that needs approval.
    pub asks: Option<Arc<PendingApproval>>,
    /// The last output of the running tool.
    pub said: String,
}

impl Live {
    /// A turn that starts now.
    #[must_use]
    pub fn open(user: Arc<str>, after: Option<NodeId>, now: u64) -> Self {
        Self { user, after, began: now, ..Self::default() }
    }

    /// Text arrived from a run; a new run's text replaces the old run's text.
    pub fn stream(&mut self, run: RunId, text: &str, reasoning: &str) {
        if self.run != Some(run) {
            self.run = Some(run);
            self.text.clear();
            self.reasoning.clear();
            self.said.clear();
        }
        self.retry = None;
        self.text.push_str(text);
        self.reasoning.push_str(reasoning);
    }

    /// The arriving text is now on the path, so it is not shown twice.
    pub fn settle(&mut self, session: &Session, path: &[Slot], new_from: usize) {
        let grown = path.get(new_from..).unwrap_or_default();
        if grown.iter().any(|slot| session.tree.head(*slot).role == Role::Assistant) {
            self.text.clear();
            self.reasoning.clear();
            self.said.clear();
        }
        if self.user.is_empty() {
            return;
        }
        let after = self.after.and_then(|id| session.tree.slot(id));
        let next = match after {
            Some(after) => path.iter().position(|slot| *slot == after).map(|at| at + 1),
            None => Some(0),
        };
        let next = next.and_then(|at| path.get(at..)).unwrap_or_default();
        if next.iter().any(|slot| session.tree.head(*slot).role == Role::User) {
            self.user = Arc::from("");
        }
    }

    /// Seconds since its start.
    #[must_use]
    pub fn seconds(&self, now: u64) -> u64 {
        now.saturating_sub(self.began) / 1000
    }

    /// The time at which the displayed seconds change.
    #[must_use]
    pub fn next_second(&self, now: u64) -> u64 {
        self.began + (self.seconds(now) + 1) * 1000
    }
}

/// The failure of a branch's last turn, shown below the conversation until something is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// Its three sentences.
    pub failure: Failure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_said_does_not_outlive_its_call() {
        let mut live = Live::open(Arc::from("go"), None, 0);
        let run = |n| RunId(uuid::Uuid::from_u128(n));
        live.stream(run(1), "calling", "");
        live.said.push_str("line 60000");
        live.stream(run(1), "", "");
        assert_eq!(live.said, "line 60000", "the same call goes on");
        live.stream(run(2), "The tool gave", "");
        assert_eq!((live.text.as_str(), live.said.as_str()), ("The tool gave", ""));
    }
}
