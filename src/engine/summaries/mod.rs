//! Summaries: when one is due, who writes it, drafts, accepting, levels; and summaries of modules.
//! Not for: putting an accepted one into a plan (`plans::sources`).

pub(super) mod accepted;
pub(super) mod automatic;
pub(super) mod candidates;
pub(super) mod draft_text;
pub(super) mod drafts;
pub(super) mod module_cards;
pub(super) mod module_model;
pub(super) mod modules;
pub(super) mod state;
pub(super) mod writer;
