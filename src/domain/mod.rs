//! Nouns and pure rules. Nothing here has side effects: no files, no network, no clock, no randomness, no terminal.
//! Not for: anything that reads or writes (other modules). The glossary in the crate's documentation defines the words.

pub mod base;
pub mod call;
pub mod code;
pub mod conversation;
pub mod planning;
pub mod summary;
pub mod tool;
