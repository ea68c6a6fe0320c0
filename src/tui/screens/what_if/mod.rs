//! The next request under other settings, side by side.
//! Not for: sending it.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
