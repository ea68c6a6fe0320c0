//! Search over the messages of all sessions.
//! Not for: searching inside one screen.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
