//! Updates of the chat: sending, actions on the selected message, drafts, and the queue.
//! Not for: drawing (`view`).
//!
//! Enums are matched exhaustively, as in `tui::update`.
#![deny(clippy::wildcard_enum_match_arm)]

pub(crate) mod acts;
pub(crate) mod ask;
pub(crate) mod branches;
pub(crate) mod commands;
pub(crate) mod completing;
pub(crate) mod composing;
pub(crate) mod copying;
pub(crate) mod focus;
pub(crate) mod folder;
pub(crate) mod messages;
pub(crate) mod planning;
pub(crate) mod printed;
pub(crate) mod questions;
pub(crate) mod queueing;
pub(crate) mod quit;
pub(crate) mod search;
pub(crate) mod state;
pub(crate) mod tags;
pub(crate) mod typing;
