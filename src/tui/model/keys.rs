//! Names of actions and keys, from the table of keys.
//! Not for: which key means which action (`config::keys`).

pub use crate::config::keys::keymap::{Action, Chord, Key, Keymap, Step, When};
