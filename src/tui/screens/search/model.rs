//! The search over all messages: the typed text, the results, the selected result; and the places to return to.
//! Not for: querying the store, or the keys (`update`).

use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::conversation::search::{FoundMessage, FoundMessages};
use crate::tui::chat::model::conversation::ScrollAnchor;

/// Maximum number of remembered locations.
const PLACES: usize = 50;

/// A location before a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnPoint {
    /// The session.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// The message; `None` is the composer.
    pub node: Option<NodeId>,
    /// The scroll position.
    pub place: ScrollAnchor,
}

/// Remembers a location, unless it equals the last one.
pub fn remember(places: &mut Vec<ReturnPoint>, spot: ReturnPoint) {
    if places.last() != Some(&spot) {
        places.push(spot);
        if places.len() > PLACES {
            places.remove(0);
        }
    }
}

/// The search.
#[derive(Clone, Debug, Default)]
pub struct SearchScreen {
    /// The typed text.
    pub line: String,
    /// The results.
    pub found: FoundMessages,
    /// The selected message.
    pub cursor: usize,
    /// The results are being loaded.
    pub loading: bool,
    /// The newest request.
    pub ticket: u64,
    /// The number of visible messages when last drawn.
    pub page: usize,
}

impl SearchScreen {
    /// Shows results.
    pub fn fill(&mut self, found: FoundMessages) {
        self.loading = false;
        let before = self.selected().map(|message| message.node);
        self.found = found;
        let again = before.and_then(|node| self.found.messages.iter().position(|message| message.node == node));
        self.cursor = if self.cursor == 0 { 0 } else { again.unwrap_or(0) };
    }

    /// The selected message.
    #[must_use]
    pub fn selected(&self) -> Option<&FoundMessage> {
        self.found.messages.get(self.cursor)
    }
}

/// The purpose of a request of the search.
#[derive(Clone, PartialEq, Debug)]
pub enum SearchPending {
    /// To find messages.
    Find,
    /// To open a session and go to this message.
    GoTo(NodeId),
    /// To open a session and return to an earlier location.
    Return(ReturnPoint),
}
