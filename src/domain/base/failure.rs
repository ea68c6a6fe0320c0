//! Failures as shown to a person: the problem, the data that was kept, and the next step.
//! Not for: the error types of other modules, which the engine's API converts into failures.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The next step of a failure that concerns a branch without messages or calls.
const SEND_FIRST: &str = "Send a message first.";

/// The origin of a failure, which determines the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request is invalid; for example, it names something that does not exist.
    User,
    /// The call does not fit its budget.
    Blocked,
    /// The displayed plan is out of date.
    Stale,
    /// Another run is open on the branch.
    Busy,
    /// A model server failed.
    Provider,
    /// The store failed.
    Store,
    /// The configuration is invalid.
    Config,
    /// A bug in the program.
    Internal,
}

impl FailureKind {
    /// Returns the exit code on the command line.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::User | Self::Stale | Self::Internal => 1,
            Self::Config => 2,
            Self::Blocked => 3,
            Self::Provider => 4,
            Self::Store => 5,
            Self::Busy => 6,
        }
    }
}

/// A failure with its three sentences, unsanitized.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The origin.
    pub kind: FailureKind,
    /// What happened.
    pub what: String,
    /// The data that was kept (may be empty).
    pub kept: String,
    /// The next step (may be empty).
    pub todo: String,
}

impl Failure {
    /// Creates a failure that says only what happened.
    pub fn new(kind: FailureKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), kept: String::new(), todo: String::new() }
    }

    /// Creates the failure of an invalid request.
    pub fn user(what: impl Into<String>) -> Self {
        Self::new(FailureKind::User, what)
    }

    /// Creates the failure of a request that names a deleted message.
    pub fn message_gone() -> Self {
        Self::user("That message no longer exists.").todo("`pleach message list` lists the messages.")
    }

    /// Creates the failure of a request that names a deleted branch.
    pub fn branch_gone() -> Self {
        Self::user("That branch no longer exists.").todo("`pleach branch list` lists the branches.")
    }

    /// Creates the failure of a request that names a deleted session.
    pub fn session_gone() -> Self {
        Self::user("That session no longer exists.").todo("`pleach session list` lists the sessions.")
    }

    /// Creates the failure of a request that needs a session in a store that has none.
    pub fn no_session() -> Self {
        Self::user("There is no session yet.").todo("`pleach session new` creates one.")
    }

    /// Creates the failure of a request that needs an open session.
    pub fn no_open_session() -> Self {
        Self::user("No session is open.").todo("Open a session with `pleach session switch NAME`.")
    }

    /// Creates the failure of a request about the calls of a branch that has none.
    pub fn no_calls() -> Self {
        Self::user("There are no calls on this branch yet.").todo(SEND_FIRST)
    }

    /// Creates the failure of an edit of the state block on a branch without messages.
    pub fn no_message_for_state() -> Self {
        let what = "A state block belongs to a message, and this branch has no messages yet.";
        Self::user(what).todo(SEND_FIRST)
    }

    /// Creates the failure of a request about a call whose record was deleted.
    pub fn call_gone() -> Self {
        Self::user("That call is no longer stored.").todo("`pleach plans list` lists the calls.")
    }

    /// Creates the failure of a request that came before its branch was planned.
    pub fn not_planned_yet() -> Self {
        Self::user("The next request is not planned yet.").todo("Wait a moment and try again.")
    }

    /// Sets the sentence about the data that was kept.
    #[must_use]
    pub fn kept(mut self, kept: impl Into<String>) -> Self {
        self.kept = kept.into();
        self
    }

    /// Sets what to do.
    #[must_use]
    pub fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = todo.into();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.what, &self.kept, &self.todo];
        let sentences: Vec<&str> = parts.into_iter().map(|s| s.trim()).filter(|s| !s.is_empty()).collect();
        f.write_str(&sentences.join(" "))
    }
}

impl std::error::Error for Failure {}

/// Formats an error with its causes, without repetitions.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = inner.source();
    }
    message
}
