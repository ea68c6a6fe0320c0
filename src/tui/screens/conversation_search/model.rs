//! The search text while it is typed.
//! Not for: its matches (`chat::model::search`).

use crate::tui::model::typed_line::TypedLine;

/// The search line.
#[derive(Clone, Debug, Default)]
pub struct ConversationSearchScreen {
    pub text: TypedLine,
}
