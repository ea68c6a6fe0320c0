//! The places that a person can return to after a jump.
//! Not for: going back (`screens::search::update`).

use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::tui::chat::model::conversation::ScrollAnchor;

/// How many places are kept.
const MAX_PLACES: usize = 50;

/// A place that a person can return to after a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnPoint {
    pub session: SessionId,
    pub branch: BranchId,
    /// The selected message; None if the composer had the focus.
    pub node: Option<NodeId>,
    /// The scroll position of the conversation.
    pub place: ScrollAnchor,
}

/// The places to return to, and the target of the next jump.
#[derive(Debug, Default)]
pub struct Jumps {
    /// The places before each jump, the last jump last.
    pub before: Vec<ReturnPoint>,
    /// The message to select once a branch for it exists.
    pub land_on: Option<NodeId>,
}

impl Jumps {
    /// Adds a place, unless it equals the last place; drops the oldest place if there are too many.
    pub fn remember(&mut self, place: ReturnPoint) {
        if self.before.last() != Some(&place) {
            self.before.push(place);
            if self.before.len() > MAX_PLACES {
                self.before.remove(0);
            }
        }
    }
}
