//! Keys: the table of actions, the key table, and the places of bindings.
//! Not for: running an action (`tui`).

pub(super) mod actions;
pub mod groups;
pub mod keymap;
pub(super) mod places;
pub(super) mod strokes;
