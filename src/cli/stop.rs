//! Why a command ended early, and the exit code of each way.
//! Not for: telling the person (`run`).

use crate::domain::base::failure::Failure;
use crate::domain::planning::plan::Blocked;
use std::sync::Arc;

/// Why a command ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// It failed.
    Failed(Failure),
    /// What must go does not fit.
    Blocked(Arc<Blocked>),
    /// It was asked wrongly.
    Usage(String),
    /// The person pressed Ctrl+C.
    Interrupted,
    /// The same, and this is what became of it.
    Stopped(Failure),
    /// Everything was said already; only the code is left.
    Said(u8),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Stop {
    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(failure) => failure.kind.exit_code(),
            Self::Blocked(_) => 3,
            Self::Usage(_) => 2,
            Self::Interrupted | Self::Stopped(_) => 130,
            Self::Said(code) => *code,
        }
    }
}
