//! Summaries of turns and modules, their drafts, and versions of editable texts.
//! Not for: writing summaries (`context`, `engine`).

pub mod accepted;
pub mod draft;
pub mod module;
pub mod versions;
