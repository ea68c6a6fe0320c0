//! One file for each group of tables, which writes and reads the group.
//! Not for: the file itself (`file`) or search over messages (`search`).

pub(super) mod branches;
pub(super) mod content;
pub(super) mod counts;
pub(super) mod embeddings;
pub(super) mod journal;
pub mod lookup;
pub(super) mod memory;
pub(super) mod message_index;
pub(super) mod modules;
pub(super) mod nodes;
pub(super) mod packed_plans;
pub(super) mod plans;
pub(super) mod races;
pub(super) mod removal;
pub(super) mod retrieval;
pub(super) mod runs;
pub(super) mod sessions;
pub(super) mod steps;
pub(super) mod summaries;
pub(super) mod tags;
pub(super) mod traces;
