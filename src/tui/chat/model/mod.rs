//! The state of the chat: conversation, composer, queue, and panels.
//! Not for: updating it (`update`).

pub mod branches;
pub mod complete;
pub mod composer;
pub mod conversation;
pub mod excerpts;
pub mod history;
pub mod live;
pub mod next_request;
pub mod pending;
pub mod plan;
pub mod queue;
pub mod search;
pub mod slash;
