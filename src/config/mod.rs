//! Settings, policies, the model table, themes, key bindings, commands, and prompts: everything that users can
//! configure, and the files that contain it.
//! Not for: acting on the configuration.

pub mod choices;
pub mod commands;
pub mod editor;
pub mod error;
pub mod folder;
pub mod keys;
pub mod layer;
pub mod load;
pub mod mcp;
pub mod models;
pub mod panels;
pub mod paths;
pub mod policies;
pub mod policy_files;
pub mod prompts;
pub mod renamed;
pub mod save;
pub mod servers;
pub mod settings;
pub mod start;
pub mod themes;

/// The built-in settings, each with its comment.
pub const DEFAULT: &str = include_str!("../../config/default.toml");
