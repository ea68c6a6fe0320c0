//! Finds the older messages of a conversation that a question is about, and turns them into cards. A pure library: no
//! clock, no files; the same input gives the same cards on every machine.
//!
//! From a question to cards: [`gate`] decides whether to search, [`scope`] defines which messages of the branch's path
//! may be found, [`search`] scores their passages over the postings of [`mod@index`], [`floor`] excludes passages that
//! are not about the question, and [`compose`] makes cards of the best passages.
//!
//! Not for: making vectors (`llm`), storing postings (`store`), or which cards are sent (`context`).

pub mod cards;
pub mod cluster;
pub mod compose;
pub mod floor;
pub mod gate;
pub mod hints;
pub mod offer;
pub mod query;
pub mod record;
pub mod scope;
pub mod search;
pub mod smooth;
pub mod tuning;

pub mod index;
#[cfg(test)]
mod tests;
pub mod vectors;

/// Errors of this module.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RetrievalError {
    /// Stored postings or a stored header cannot be read.
    #[error("the stored index is damaged ({0}); it can be rebuilt from the messages")]
    Damaged(&'static str),
    /// Stored postings could not be fetched.
    #[error("postings could not be read: {0}")]
    Source(String),
}
