//! A side question and its answer.
//! Not for: messages of the conversation.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
