//! The code of a workspace as data: symbols, the map, and the workspace's rules.
//! Not for: reading code (`code`).

pub mod settings;
pub mod symbols;
pub mod workspace_rules;
