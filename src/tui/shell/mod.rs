//! The terminal under the workbench: its modes, input, signals, clipboard, themes, and highlighting.
//! Not for: the state of the screen (`model`) or its drawing (`view`).

pub(super) mod background;
pub(super) mod clipboard;
pub mod commands;
pub(super) mod configuration;
pub(super) mod editor;
pub mod highlight;
pub(super) mod input;
pub(super) mod links;
pub(super) mod start;
pub(super) mod style;
pub(super) mod system;
pub(super) mod terminal;
pub(super) mod tour;
pub(super) mod watch;
