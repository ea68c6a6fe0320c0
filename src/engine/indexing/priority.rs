//! How long a search may wait for an embedder.
//! Not for: embedding (`vectors`).

/// How a search may use an embedder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Priority {
    /// While a person types: no remote server is asked, and the wait is short.
    Typing,
    /// On a person's request.
    Asked,
}
