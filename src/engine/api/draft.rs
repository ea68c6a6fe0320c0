//! Drafts of messages, tickets of requests, and names of items and sessions.
//! Not for: requests themselves (`request`).

use crate::domain::base::ids::NodeId;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::mode::SearchWish;
use std::sync::Arc;

/// The number that ties an answer to its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The first ticket of commands that run beside the screen. The screen's own tickets are below it.
    pub const COMMANDS: Self = Self(1 << 48);
}

/// What the next call answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum DraftKind {
    /// A new message at the branch's head.
    #[default]
    Message,
    /// Another answer to this user message (a node on the branch's path).
    Regenerate(NodeId),
    /// Continue this cut-off answer (the branch's head).
    Continue(NodeId),
    /// A new version of this user message, as its sibling.
    Edit(NodeId),
}

/// A message that is about to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Draft {
    /// The text (empty for regenerate and continue).
    pub text: Arc<str>,
    /// What the call answers.
    pub kind: DraftKind,
    /// Whether older messages are searched for it.
    pub search: SearchWish,
}

/// Names an item for an act.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemName {
    /// The atom of a plan's row or of a mark.
    Atom(Atom),
    /// The turn that holds this node.
    TurnOf(NodeId),
    /// Just this message.
    Message(NodeId),
    /// All turns from one to another, inclusive, each named as in [`ItemName::Named`].
    Span {
        /// The first.
        first: String,
        /// The last.
        last: String,
    },
    /// The text of a note to pin.
    Note(String),
    /// An id, a unique prefix of one, or an external id, as typed. Names the turn that contains it unless `message` is
    /// set.
    Named {
        /// The text that was typed.
        text: String,
        /// Only the message.
        message: bool,
    },
}

/// Names a session or branch: an id, a unique prefix of one, or a name. `None` means the last used.
pub type NameOrId = Option<String>;
