//! Two branches side by side.
//! Not for: answers to one prompt (`race`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
