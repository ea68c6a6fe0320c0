//! The whole tree of a session.
//! Not for: the branches panel beside the chat.

pub mod model;
pub mod model_rows;
pub(crate) mod update;
pub(crate) mod view;
