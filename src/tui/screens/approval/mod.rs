//! A tool call that needs approval.
//! Not for: calls that ran (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
