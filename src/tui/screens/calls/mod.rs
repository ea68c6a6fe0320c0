//! The history of calls, and what differs between two of them.
//! Not for: charts (`usage`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod view_diff;
