//! The list of memories, and the dismissal of suggested pins.
//! Not for: the state block (`editor`).

pub mod model;
pub(crate) mod update;
