//! Lists filtered by typing: sessions, models, actions.
//! Not for: lists with more than names.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
