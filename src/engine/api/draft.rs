//! Tickets of requests, and how items and sessions are named.
//! Not for: requests themselves (`request`).

use crate::domain::base::ids::NodeId;
use crate::domain::conversation::mark::Atom;

/// Ties an answer to its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The first ticket of commands that are carried out beside the screen; the screen's own stay below.
    pub const COMMANDS: Self = Self(1 << 48);
}

/// How to name an item on which a person acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemName {
    /// An atom, as a plan's row or a mark names it.
    Atom(Atom),
    /// The turn that holds this node.
    TurnOf(NodeId),
    /// Just this message.
    Message(NodeId),
    /// All turns from one to another, both included, named as [`ItemName::Named`] does.
    Span {
        /// The first.
        first: String,
        /// The last.
        last: String,
    },
    /// A free note of the person's own, to be pinned.
    Note(String),
    /// An id, a unique prefix of one, or an external id, as typed on a command line; means the turn that holds it,
    /// unless `message` is set.
    Named {
        /// What was typed.
        text: String,
        /// Just the message.
        message: bool,
    },
}

/// How to name a session or a branch on a command line: an id, a unique prefix of one, or a name. `None` is the last used.
pub type NameOrId = Option<String>;
