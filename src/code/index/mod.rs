//! The index of a workspace: records of files, the cache between starts, and the graph of uses.
//! Not for: reading source text (`parse`).

pub mod arrived;
pub mod build;
pub mod cache;
pub(super) mod codec;
pub(super) mod common_names;
pub mod graph;
mod name_use;
pub mod paths;
pub(super) mod postings;
pub mod record;
pub mod records;
mod resolve;
