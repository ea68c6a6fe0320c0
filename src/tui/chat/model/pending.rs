//! The purposes of the chat's pending requests.
//! Not for: requests of screens (each screen's `model`).

use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::planning::draft::Draft;

/// Milliseconds after which the person is told that a call waits for its plan.
pub const PATIENCE: u64 = 300;

/// What a request about the next turn was made for.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnPending {
    /// To send a message.
    Ask {
        /// The branch.
        branch: BranchId,
        /// The message.
        draft: Draft,
        /// When it was handed in, in milliseconds since the program began.
        since: u64,
        /// The person was told that it waits.
        told: bool,
    },
    /// To get the right to ask on a branch on which another program asks.
    Claim(BranchId),
    /// To plan the draft.
    Plan,
}

impl TurnPending {
    /// When the person is to be told that a call waits for its plan, in milliseconds since the program began.
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

/// What a request of the composer was made for.
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
    /// To save the draft, or to end something that nobody waits for.
    Save,
    /// To read earlier messages of a session.
    History(SessionId),
}

/// What a request about messages was made for.
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
