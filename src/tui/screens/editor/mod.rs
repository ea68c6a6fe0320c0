//! Things that a person edits, with their versions: state blocks, summaries, memories, policies.
//! Not for: the message being written.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
