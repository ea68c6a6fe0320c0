//! Code of a workspace in plain words: symbols, the map, and the rules that a workspace states.
//! Not for: reading code (the room `code`).

pub mod settings;
pub mod symbols;
pub mod workspace_rules;
