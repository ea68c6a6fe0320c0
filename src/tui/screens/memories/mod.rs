//! Memories and suggested pins.
//! Not for: the state block.

pub mod model;
pub(crate) mod update;
