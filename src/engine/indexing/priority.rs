//! How long retrieval may wait for an embedder.
//! Not for: embedding (`vectors`).

/// How a search may use an embedder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Priority {
    /// While a person types: no remote server is called.
    Typing,
    /// For an explicit request.
    Asked,
}
