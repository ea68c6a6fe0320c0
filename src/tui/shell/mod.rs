//! The terminal below the workbench: entering and leaving it, input, signals, clipboard, themes, syntax highlighting.
//! Not for: the content of the screen (`model`), or its appearance (`view`).

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
