//! Why marks have no effect on a row of a plan, and what changes the row instead.
//! Not for: the remedies of rows that are left out (`remedy`).

use super::plan::{Reason, Row, RowKind};
use super::policy::Section;
use super::state_request::STATE_BLOCK_SETTING;

/// Why marks have no effect on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmarkable {
    /// What the row is, as a sentence that says that marks have no effect.
    pub why: &'static str,
    /// What changes the row, as one or more sentences; empty if nothing does.
    pub change: &'static str,
}

/// The text of a row that only the settings control.
const SETTINGS: Unmarkable = Unmarkable {
    why: "This row is a text of the settings; marks have no effect on it.",
    change: "`pleach config path` names the files of the settings.",
};

impl Row {
    /// Returns why the row cannot be marked and what changes it instead; `None` for a row that can be marked.
    #[deny(clippy::wildcard_enum_match_arm)]
    pub fn unmarkable(&self) -> Option<Unmarkable> {
        let (why, change) = match self.kind {
            _ if self.pin.is_some() => return None,
            _ if self.section() == Some(Section::UserMessage) => {
                ("Your message can't be left out.", "Edit or clear it in the composer.")
            }
            RowKind::Text if matches!(self.reason, Reason::StateRequested { .. }) => {
                ("This row is the request for a state block; marks have no effect on it.", STATE_BLOCK_SETTING)
            }
            RowKind::Text if self.section() == Some(Section::Personality) => {
                ("This row is the personality; marks have no effect on it.", "`pleach personality TEXT` changes it.")
            }
            RowKind::Text => return Some(SETTINGS),
            RowKind::State => {
                ("This row is the state block; marks have no effect on it.", "`pleach state edit TEXT` changes it.")
            }
            RowKind::Search => (
                "This row is the search of older messages; marks have no effect on it.",
                "Mark the messages that it found; `pleach mode off` turns it off.",
            ),
            RowKind::Summary => {
                ("This row is a summary; marks have no effect on it.", "`pleach summary undo` sends its turns instead.")
            }
            RowKind::Range => ("This row represents many turns.", "Open it and select a turn."),
            RowKind::Quote => (
                "This row is the message that your message replies to; marks have no effect on it.",
                "The next request without a reply leaves it out.",
            ),
            RowKind::Part => ("This row is a part of a message; marks have no effect on it.", "Mark the message."),
            RowKind::Request => (
                "This row is a message of the request that you edited; marks have no effect on it.",
                "Edit the exact request again.",
            ),
            RowKind::Note
            | RowKind::Preamble
            | RowKind::Turn
            | RowKind::Card
            | RowKind::Message
            | RowKind::Memory
            | RowKind::Rules
            | RowKind::Skills
            | RowKind::Module
            | RowKind::Code => return None,
        };
        Some(Unmarkable { why, change })
    }
}
