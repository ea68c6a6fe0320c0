//! Drafts of messages, tickets of requests, and names of items and sessions.
//! Not for: requests themselves (`request`).

use crate::domain::base::ids::NodeId;
use crate::domain::conversation::mark::Atom;

/// The number that ties an answer to its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The first ticket of commands that run beside the screen. The screen's own tickets are below it.
    pub const COMMANDS: Self = Self(1 << 48);
}

/// How to name an item on which a person acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemName {
    /// The atom of a plan's row or of a mark.
    Atom(Atom),
    /// The turn that contains this node.
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
