//! The chat: reading, writing, sending, keys, commands, panels, and the start page.
//! Not for: the screens that open over it, whose tests are in files with their names.

mod branches;
mod commands;
mod composing;
mod display;
pub(crate) mod keys;
mod next_request;
pub(crate) mod panels;
mod pictures;
mod reading;
pub(crate) mod sending;
mod start_page;
pub(crate) mod writing;
