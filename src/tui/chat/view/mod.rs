//! Draws the chat: messages, composer, panels, and meter.
//! Not for: updates (`update`).

mod below;
pub(crate) mod block;
pub(crate) mod branches;
pub(crate) mod composer;
pub(crate) mod conversation;
pub(crate) mod empty;
pub(crate) mod header;
pub(crate) mod message;
pub(crate) mod meter;
pub(crate) mod next_request;
pub(crate) mod notice;
pub(crate) mod tools;
