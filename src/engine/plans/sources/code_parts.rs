//! What a plan offered of the code, from which the next round of its turn is made.
//! Not for: making the next round (`code_rounds`).

use crate::domain::planning::input::{Block, Offer, OmittedItem};

/// What a plan offered of the code.
#[derive(Clone, Default, Debug)]
pub(crate) struct CodeParts {
    /// The map.
    pub(crate) map: Option<Offer>,
    /// The touchpoints.
    pub(crate) touchpoints: Option<Offer>,
    /// The blocks of marked symbols.
    pub(crate) marked: Vec<Block>,
    /// The rows of code that was left out.
    pub(crate) near: Vec<OmittedItem>,
}
