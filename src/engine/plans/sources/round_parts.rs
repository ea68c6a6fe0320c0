//! The offers of a plan's sources, which the next round of its turn is made from.
//! Not for: making the next round (`rounds`).

use crate::domain::planning::{Block, Offer, OmittedItem};

/// The offers of a plan's sources.
#[derive(Clone, Default, Debug)]
pub(crate) struct RoundParts {
    /// The map of the code.
    pub(crate) map: Option<Offer>,
    pub(crate) touchpoints: Option<Offer>,
    /// The blocks of marked symbols.
    pub(crate) marked: Vec<Block>,
    /// The rows of code that was left out.
    pub(crate) near: Vec<OmittedItem>,
    /// Earlier errors with their solutions.
    pub(crate) error_pairs: Vec<Offer>,
    /// Older messages that were found.
    pub(crate) cards: Option<Offer>,
    /// The rows of older messages that were left out.
    pub(crate) near_cards: Vec<OmittedItem>,
}
