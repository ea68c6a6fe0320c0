//! The index of a session's messages: passages, terms, postings in segments.
//! Not for: scoring (`search`).

pub mod codec;
pub mod passages;
pub mod segment;
pub mod session;
pub mod stops;
pub mod words;
