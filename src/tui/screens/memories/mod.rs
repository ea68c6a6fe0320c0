//! Memories and suggested pins.
//! Not for: the state block.

pub(crate) mod update;
