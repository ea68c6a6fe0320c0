//! Failures as shown to a person: the problem, the data that was kept, and the next step.
//! Not for: the error types of other modules, which the engine's API converts into failures.

use serde::{Deserialize, Serialize};
use std::fmt;

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
    #[must_use]
    pub fn new(kind: FailureKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), kept: String::new(), todo: String::new() }
    }

    /// Creates the failure of an invalid request.
    #[must_use]
    pub fn user(what: impl Into<String>) -> Self {
        Self::new(FailureKind::User, what)
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
