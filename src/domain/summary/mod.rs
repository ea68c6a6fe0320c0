//! Summaries of turns and of modules, their drafts, and versions of what a person edits.
//! Not for: writing one (the room `context` and the engine).

pub mod accepted;
pub mod draft;
pub mod module;
pub mod versions;
