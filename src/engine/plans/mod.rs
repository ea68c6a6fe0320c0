//! Turns a branch and a draft into a plan: the snapshot, the input, the worker thread, previews.
//! Not for: solving the plan (the room `context`).

mod basis;
pub(super) mod caches;
pub(super) mod collect;
pub(super) mod draft;
pub(super) mod edited;
pub(super) mod facts;
mod inactive_marks;
pub(super) mod input;
pub(super) mod input_builder;
pub(crate) mod instructions;
pub(super) mod labels;
pub(super) mod preview;
pub(super) mod previous_request;
pub(super) mod queries;
pub(super) mod results;
pub(super) mod snapshot;
pub(crate) mod sources;
pub(crate) mod state;
mod state_request;
pub(super) mod tool_costs;
pub(super) mod what_if;
pub(super) mod worker;
