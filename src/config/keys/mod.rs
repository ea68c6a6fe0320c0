//! Keys: the table of actions, the key table, and where a binding counts.
//! Not for: what an action does (the room `tui`).

pub(super) mod actions;
pub mod keymap;
pub(super) mod places;
pub(super) mod strokes;
