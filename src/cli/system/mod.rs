//! Commands about the program and the folder: models, doctor, settings, tools, and trust.
//! Not for: conversations.

pub(super) mod backups;
pub mod mcp;
pub(super) mod program;
pub(super) mod project;
pub mod repair;
pub(super) mod traces;
pub(super) mod trust;
