//! Summaries of turns and of modules, drafts of summaries, and the versions of editable texts.
//! Not for: writing summaries (`context`, `engine`).

pub mod accepted;
pub mod draft;
pub mod module;
pub mod stored_draft;
pub mod versions;
