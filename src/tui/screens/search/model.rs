//! The search over all messages: the typed text, the results, the selected result; and the places to return to.
//! Not for: querying the store, or the keys (`update`).

use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::conversation::search::{FoundMessage, FoundMessages};
use crate::tui::chat::model::conversation::ScrollAnchor;

/// Places that are remembered.
const PLACES: usize = 50;

/// Where a person was before a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnPoint {
    /// In which session.
    pub session: SessionId,
    /// On which branch.
    pub branch: BranchId,
    /// At which message; none is the composer.
    pub node: Option<NodeId>,
    /// Where the view stood.
    pub place: ScrollAnchor,
}

/// Remembers a place, unless it is the last one remembered.
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
    /// What was typed.
    pub line: String,
    /// What was found.
    pub found: FoundMessages,
    /// The selected message.
    pub cursor: usize,
    /// An answer is awaited.
    pub loading: bool,
    /// The newest request.
    pub ticket: u64,
    /// Messages that there was room for, when last drawn.
    pub page: usize,
}

impl SearchScreen {
    /// Takes in what was found.
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

/// What a request of the search was made for.
#[derive(Clone, PartialEq, Debug)]
pub enum SearchPending {
    /// To find messages.
    Find,
    /// To open a session and go to this message.
    GoTo(NodeId),
    /// To open a session and return to where the person was.
    Return(ReturnPoint),
}
