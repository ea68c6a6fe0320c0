//! The search text while it is typed.
//! Not for: its matches (`chat::model::search`).

/// The search line.
#[derive(Clone, Debug, Default)]
pub struct ConversationSearchScreen {
    /// The typed text.
    pub text: String,
}
