//! The ground floor: nouns and pure rules about them. Nothing here touches the world: no files, no network, no clock,
//! no randomness, no terminal.
//! Not for: anything that reads or writes (the other rooms). The glossary of the crate's documentation defines the words.

pub mod base;
pub mod call;
pub mod code;
pub mod conversation;
pub mod planning;
pub mod summary;
pub mod tool;
