//! The terminal under the workbench: entering and leaving it, input, signals, clipboard, themes, colors of code.
//! Not for: what the screen holds (`model`) or how it looks (`view`).

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
