//! The purposes of the chat's pending requests.
//! Not for: requests of screens (each screen's `model`).

use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::planning::draft::Draft;

/// Milliseconds after which the user is told that a call waits for its plan.
pub const PATIENCE: u64 = 300;

/// The purpose of a request about the next turn.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnPending {
    /// To send a message.
    Ask {
        /// The branch.
        branch: BranchId,
        /// The message.
        draft: Draft,
        /// When it was sent, in milliseconds since the program started.
        since: u64,
        /// The user was told that it waits.
        told: bool,
    },
    /// To get the claim on a branch on which another process is sending.
    Claim(BranchId),
    /// To plan the draft.
    Plan,
}

impl TurnPending {
    /// When to tell the user that a call waits for its plan, in milliseconds since the program started.
    #[must_use]
    pub fn tell_at(&self) -> Option<u64> {
        match self {
            Self::Ask { since, told: false, .. } => Some(since + PATIENCE),
            Self::Ask { told: true, .. } | Self::Claim(_) | Self::Plan => None,
        }
    }

    /// Whether this is a call on the branch.
    #[must_use]
    pub fn asks_on(&self, on: BranchId) -> bool {
        match self {
            Self::Ask { branch, .. } => *branch == on,
            Self::Claim(_) | Self::Plan => false,
        }
    }
}

/// The purpose of a request of the composer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ComposerPending {
    /// To attach the text of a file or symbol to the message.
    Attach {
        /// The name after its `@`.
        name: String,
        /// The path or symbol.
        place: String,
    },
    /// To check whether this text after an `@` is a whole name.
    Check(String),
    /// To list names that complete the typed one.
    Complete,
    /// To save the draft, or a change whose answer is not needed.
    Save,
    /// To read earlier messages of a session.
    History(SessionId),
}

/// The purpose of a request about messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessagePending {
    /// To show contents.
    Contents,
    /// To go to another version of the message at this place of the path.
    Sibling(usize),
    /// To edit the text of a message.
    Edit(NodeId),
    /// To copy the text of a message.
    Copy(NodeId),
    /// To choose which part of a message to copy.
    CopyMenu(NodeId),
    /// To copy the messages of a turn, in this order.
    CopyTurn(Vec<NodeId>),
    /// To copy the whole branch as one text.
    CopyBranch,
}
