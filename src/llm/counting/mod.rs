//! Counts tokens.
//! Not for: calls.

pub(super) mod pieces;
pub mod tokenizer_file;
pub mod tokens;
mod vocabulary;
