//! The places that a person can return to after a jump.
//! Not for: going back (`screens::search::update`).

use super::Model;
use super::focus::Focus;
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

impl Model {
    /// Stores the current place, so that the person can return to it, unless it equals the last place.
    pub fn remember_place(&mut self) {
        let Some(session) = &self.session else { return };
        let selected = self.conversation.selected().filter(|_| self.focus == Focus::Conversation);
        let node = selected.map(|slot| session.tree.head(slot).id);
        let place = self.conversation.place;
        let spot = ReturnPoint { session: session.card.id, branch: session.current, node, place };
        let places = &mut self.jumps.before;
        if places.last() != Some(&spot) {
            places.push(spot);
            if places.len() > MAX_PLACES {
                places.remove(0);
            }
        }
    }
}
