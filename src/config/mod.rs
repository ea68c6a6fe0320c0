//! Settings, key table, policies and model table, read from TOML.

pub mod keymap;
