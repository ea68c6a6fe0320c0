//! Requests of the request overlay to the engine.
//! Not for: the effect of the answers (`update`).

use crate::domain::conversation::mark::Atom;

/// The purpose of a request of this screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPending {
    /// To preview what the action on the selected items would change.
    Preview,
    /// To show the text of a row, or of a message in a row.
    Text(Atom),
    /// To show what happened to an item.
    Steps(Atom),
    /// To show an item over the newest calls.
    History(Atom),
    /// To show which rows no answer used.
    Unused,
}
