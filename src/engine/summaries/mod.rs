//! Summaries: when one is due, writing it, drafts, accepting, earlier versions; and module summaries.
//! Not for: putting an accepted summary into a plan (`plans::sources`).

pub(super) mod accepted;
pub(super) mod automatic;
pub(super) mod candidates;
pub(super) mod draft_text;
pub(super) mod drafts;
pub(super) mod due;
pub(super) mod module_cards;
pub(super) mod module_model;
pub(super) mod modules;
pub(super) mod state;
pub(super) mod stored;
pub(super) mod writer;
