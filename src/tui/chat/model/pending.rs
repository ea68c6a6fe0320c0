//! The purposes of the chat's requests to the engine.
//! Not for: requests of screens (each screen's `model`).

use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::domain::planning::Draft;

/// How long a call waits for its plan before a notice says so, in milliseconds.
pub const NOTIFY_AFTER_MS: u64 = 300;

/// The purpose of a request about the next turn.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnPending {
    /// To send a message.
    Ask {
        branch: BranchId,
        draft: Draft,
        /// When it was submitted, in milliseconds since the program began.
        since: u64,
        /// Whether a notice already said that it waits.
        notified: bool,
    },
    /// To take over asking on a branch from another program.
    Claim(BranchId),
    /// To plan the draft.
    Plan,
}

impl TurnPending {
    /// When to show the notice that the call waits for its plan, in milliseconds since the program began; None if no
    /// notice is needed.
    pub fn notify_at(&self) -> Option<u64> {
        match self {
            Self::Ask { since, notified: false, .. } => Some(since + NOTIFY_AFTER_MS),
            Self::Ask { notified: true, .. } | Self::Claim(_) | Self::Plan => None,
        }
    }

    /// Whether this is a call on the branch.
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
    /// To add a skill with this name after its `@` to the message.
    Skill(String),
    /// To check whether the text after an `@` is an existing name.
    Check(String),
    /// To list names that begin with the typed text.
    Complete,
    /// To save the draft, or another change whose outcome is not shown.
    Save,
    /// To load the earlier messages of a session.
    History(SessionId),
}

/// The purpose of a request about messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessagePending {
    /// To load contents.
    Contents,
    /// To switch to a sibling of the message at this index of the path.
    Sibling(usize),
    /// To edit the text of a message.
    Edit(NodeId),
    /// To copy the text of a message.
    Copy(NodeId),
    /// To list the parts of a message that can be copied.
    CopyMenu(NodeId),
    /// To copy the messages of a turn, in this order.
    CopyTurn(Vec<NodeId>),
    /// To copy the whole branch as one text.
    CopyBranch,
}
