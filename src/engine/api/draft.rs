//! Request tickets, and names of items and sessions.
//! Not for: the requests themselves (`request`), or drafts (`domain::planning::draft`).

use crate::domain::base::NodeId;
use crate::domain::conversation::Atom;

/// The number that ties an answer to its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The first ticket of commands that run alongside the screen. The screen's own tickets are below it.
    pub const COMMANDS: Self = Self(1 << 48);
}

/// The name of an item for an act on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemName {
    /// The atom of a plan's row or of a mark.
    Atom(Atom),
    /// The turn that contains this node.
    TurnOf(NodeId),
    /// Only this message.
    Message(NodeId),
    /// All turns from one to another, inclusive, each named as in [`ItemName::Named`].
    Span {
        /// The first turn.
        first: String,
        /// The last turn.
        last: String,
    },
    /// The text of a note to pin.
    Note(String),
    /// An id, a unique prefix of one, or an external id, as typed. Means the turn that contains it unless `message` is
    /// set.
    Named {
        text: String,
        /// Whether the name refers only to the message.
        message: bool,
    },
}

/// Names a session or branch by id, by a unique prefix of an id, or by name. `None` means the last used session or
/// branch.
pub type NameOrId = Option<String>;
