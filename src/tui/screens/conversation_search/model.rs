//! The search text while it is typed.
//! Not for: its matches (`chat::model::search`).

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ConversationSearchScreen {
    /// What was typed.
    pub text: String,
}
