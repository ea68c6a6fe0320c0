//! Sessions, branches, turns, and summaries, through the engine.
//! Not for: what the screen shows of them (`screens`).

pub(crate) mod activation;
mod automatic_summaries;
mod branching;
mod edited_requests;
mod histories;
mod instructions;
mod item_use;
mod lanes;
mod memory;
mod plan_diffs;
mod project;
mod reloading;
mod replanning;
mod sent_requests;
mod summary_drafts;
mod titles;
mod traces;
mod turn_rounds;
mod turns;
mod versions;
mod what_if;
