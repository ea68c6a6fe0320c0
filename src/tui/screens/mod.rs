//! The screens that open over the chat. Each folder has a `model`, an `update`, and a `view`, and its `mod.rs`
//! implements [`screen::Screen`]. The workbench keeps the open screens in a [`stack::Stack`].
//! Not for: the chat itself (`chat`).
//!
//! Enums are matched exhaustively, so a new variant does not compile until each screen handles it.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod approval;
pub mod aside;
pub mod calls;
pub mod compare;
pub mod conversation_search;
pub mod editor;
pub mod help;
pub mod memories;
pub mod picker;
pub mod prompt;
pub mod question;
pub mod race;
pub mod raw_request;
pub mod reader;
pub mod request;
pub mod screen;
pub mod search;
pub mod stack;
pub mod summaries;
pub mod text_editor;
pub mod tools;
pub mod tour;
pub mod traces;
pub mod tree;
pub mod usage;
pub mod what_if;
