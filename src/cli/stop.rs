//! Reasons why a command ends early, and their exit codes.
//! Not for: printing them (`execution`).

use crate::domain::base::Failure;
use crate::domain::planning::Blocked;
use std::sync::Arc;

/// Why a command ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// The command failed.
    Failed(Failure),
    /// Required items of a planned request do not fit the budget.
    Blocked(Arc<Blocked>),
    /// A request was not sent, because its required items do not fit the budget.
    Unsent(Arc<Blocked>),
    /// The arguments are wrong.
    Usage(String),
    /// Ctrl+C was pressed.
    Interrupted,
    /// Ctrl+C was pressed; the failure has details about the result.
    Stopped(Failure),
    /// All messages were printed already; only the exit code is left.
    Printed(u8),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Stop {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(failure) => failure.kind.exit_code(),
            Self::Blocked(_) | Self::Unsent(_) => 3,
            Self::Usage(_) => 2,
            Self::Interrupted | Self::Stopped(_) => 130,
            Self::Printed(code) => *code,
        }
    }
}
