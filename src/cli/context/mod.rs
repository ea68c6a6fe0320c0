//! Commands about the content of requests: plans, retrieval, pins, summaries, memories, and usage.
//! Not for: the conversation itself (`conversation`).

pub(super) mod code;
pub(super) mod diffs;
pub(super) mod drafts;
mod item_use;
pub(super) mod memory;
pub(super) mod pins;
pub(super) mod plan;
pub(super) mod retrieve;
pub(super) mod stats;
pub(super) mod summaries;
pub(super) mod what_if;
