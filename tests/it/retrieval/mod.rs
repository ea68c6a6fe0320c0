//! Older messages in requests: words and vectors.
//! Not for: scores (unit tests of `retrieval`).

mod embeddings;
mod search;
