//! State of the search over all messages.
//! Not for: searching (the engine) or the keys (`update`).

use crate::domain::base::NodeId;
use crate::domain::conversation::{FoundMessage, FoundMessages};
use crate::tui::model::jumps::ReturnPoint;
use crate::tui::model::typed_line::TypedLine;

/// The search over all messages.
#[derive(Clone, Debug, Default)]
pub struct SearchScreen {
    /// The typed query.
    pub line: TypedLine,
    pub found: FoundMessages,
    /// Index of the message under the cursor.
    pub cursor: usize,
    /// Whether an answer is pending.
    pub loading: bool,
    /// Ticket of the newest request.
    pub ticket: u64,
    /// How many messages fit, as last drawn.
    pub page: usize,
}

impl SearchScreen {
    /// Stores the messages found. The cursor stays on its message unless it is at the top.
    pub fn fill(&mut self, found: FoundMessages) {
        self.loading = false;
        let before = self.selected().map(|message| message.node);
        self.found = found;
        let again = before.and_then(|node| self.found.messages.iter().position(|message| message.node == node));
        self.cursor = if self.cursor == 0 { 0 } else { again.unwrap_or(0) };
    }

    /// The message under the cursor.
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
    /// To open a session and return to a place.
    Return(ReturnPoint),
}
