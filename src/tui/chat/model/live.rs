//! An open turn of a branch: the sent message, the streamed text, and the tokens and cost so far.
//! Not for: committed messages (nodes of the session's tree).

use crate::domain::base::{NodeId, RunId};
use crate::domain::call::Certainty;
use crate::domain::conversation::{Role, Slot};
use crate::domain::tool::PendingApproval;
use crate::tui::model::session::Session;
use std::sync::Arc;

/// A pause before another attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Number of the next attempt.
    pub attempt: u32,
    /// When it begins, in milliseconds of the model's clock.
    pub until: u64,
    /// The reason.
    pub why: String,
}

/// A running turn.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The user message until it is a node; empty afterward.
    pub user: Arc<str>,
    /// The node that the user message follows.
    pub after: Option<NodeId>,
    /// The run whose text arrives.
    pub run: Option<RunId>,
    /// The branch's head when the turn began.
    pub head: Option<NodeId>,
    /// The text so far, including the state block.
    pub text: String,
    /// The reasoning so far.
    pub reasoning: String,
    /// Tokens of the answer so far.
    pub tokens: u32,
    /// How the tokens were counted.
    pub certainty: Option<Certainty>,
    /// Cost so far, in millionths of a dollar.
    pub cost: Option<u64>,
    /// When the turn began, in milliseconds of the model's clock.
    pub began: u64,
    /// The pause before the next attempt, if any.
    pub retry: Option<Retry>,
    /// Whether a person asked to stop it.
    pub stopping: bool,
    /// The tool call that needs approval.
    pub asks: Option<Arc<PendingApproval>>,
    /// The message that looked like an answer to that call when a person pressed Enter.
    pub likely_answer: Option<Arc<str>>,
    /// The latest output of the running tool.
    pub tool_output: String,
}

impl Live {
    /// Creates a turn that begins now.
    pub fn open(user: Arc<str>, after: Option<NodeId>, now: u64) -> Self {
        Self { user, after, began: now, ..Self::default() }
    }

    /// Appends streamed text; the text of a new run replaces the old one.
    pub fn stream(&mut self, run: RunId, text: &str, reasoning: &str) {
        if self.run != Some(run) {
            self.run = Some(run);
            self.text.clear();
            self.reasoning.clear();
            self.tool_output.clear();
        }
        self.retry = None;
        self.text.push_str(text);
        self.reasoning.push_str(reasoning);
    }

    /// Removes the parts of the turn that are on the path now, so that they are not shown twice.
    pub fn settle(&mut self, session: &Session, path: &[Slot], new_from: usize) {
        let grown = path.get(new_from..).unwrap_or_default();
        if grown.iter().any(|slot| session.tree.head(*slot).role == Role::Assistant) {
            self.text.clear();
            self.reasoning.clear();
            self.tool_output.clear();
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

    /// Whole seconds since the turn began.
    pub fn seconds(&self, now: u64) -> u64 {
        now.saturating_sub(self.began) / 1000
    }

    /// When the displayed seconds change next.
    pub fn next_second(&self, now: u64) -> u64 {
        self.began + (self.seconds(now) + 1) * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_output_is_cleared_by_the_next_call() {
        let mut live = Live::open(Arc::from("go"), None, 0);
        let run = |n| RunId(uuid::Uuid::from_u128(n));
        live.stream(run(1), "calling", "");
        live.tool_output.push_str("line 60000");
        live.stream(run(1), "", "");
        assert_eq!(live.tool_output, "line 60000", "the same call goes on");
        live.stream(run(2), "The tool gave", "");
        assert_eq!((live.text.as_str(), live.tool_output.as_str()), ("The tool gave", ""));
    }
}
