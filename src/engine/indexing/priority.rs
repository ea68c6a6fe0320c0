//! How long retrieval may wait for an embedder.
//! Not for: embedding (`vectors`).

/// How a look may use an embedder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Priority {
    /// Somebody types: no server elsewhere is asked.
    Typing,
    /// It was asked for.
    Asked,
}
