//! The chat's state: messages, composer, queue, panels.
//! Not for: changing the state (`update`).

pub mod branches;
pub mod complete;
pub mod composer;
pub mod conversation;
pub mod excerpts;
pub mod history;
pub mod live;
pub mod pending;
pub mod plan;
pub mod queue;
pub mod search;
pub mod slash;
