//! The requests that the request overlay sends to the engine.
//! Not for: handling the answers (`update`).

use crate::domain::conversation::mark::Atom;

/// The purpose of a request of this screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPending {
    /// To preview what the action on the selected items would change.
    Preview,
    /// To show the text of a row or of a message in it.
    Text(Atom),
    /// To show the state changes of an item.
    Steps(Atom),
    /// To show how the newest calls sent an item.
    History(Atom),
    /// To show which rows no answer used.
    Unused,
}
