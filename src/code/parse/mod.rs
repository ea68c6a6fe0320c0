//! Reads source files: the list of files, their languages, symbols, and words.
//! Not for: storing the result (`index`).

mod bindings;
pub(super) mod declarator;
pub(super) mod doc;
pub mod file;
pub mod language;
pub(super) mod lead;
mod outline;
pub(super) mod receivers;
pub(super) mod spec;
pub mod walk;
pub mod words;
