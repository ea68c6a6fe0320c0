//! Tool calls of a branch or session.
//! Not for: approving one (`approval`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
