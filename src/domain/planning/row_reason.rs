//! The name and the reason of a row as people read them, with the messages of the row that a person left out, and why marks
//! have no effect on a row.
//! Not for: a reason's sentence (`reason`) or its label (`reason_facts`).

use super::plan::{Form, Row, RowKind};
use super::policy::Section;
use super::reason::Reason;
use super::state_request::STATE_BLOCK_SETTING;
use crate::domain::conversation::message::Role;

/// Characters of an id in the name of a row.
const ID_CHARS: usize = 8;

/// Returns the name of a message within its turn.
pub fn part_name(role: Role) -> &'static str {
    match role {
        Role::User => "message",
        Role::Assistant => "answer",
        Role::Tool => "tool result",
        Role::System => "instructions",
    }
}

impl Row {
    /// Returns the row's name on the command line: its turn number, or else a prefix of its id.
    pub fn item_name(&self) -> String {
        match (self.kind, self.source.turn) {
            (RowKind::Turn, Some(turn)) => turn.to_string(),
            _ => self.atom.key().to_string().chars().take(ID_CHARS).collect(),
        }
    }

    /// Returns the names of the row's messages that a person left out, each of which is sent as one line in its place.
    pub fn left_out_parts(&self) -> Vec<&'static str> {
        let out = self.items.iter().filter(|item| item.form == Form::Placeholder);
        out.map(|item| part_name(item.role)).collect()
    }

    /// Returns the messages that a person left out in a few words, `answer left out`; `None` if there are none.
    pub fn left_out_label(&self) -> Option<String> {
        match self.left_out_parts().as_slice() {
            [] => None,
            [part] => Some(format!("{part} left out")),
            parts => Some(format!("{} messages left out", parts.len())),
        }
    }

    /// Returns the reason in a few words: `recent, answer left out`.
    pub fn reason_label(&self) -> String {
        let label = self.reason.label();
        self.left_out_label().map_or_else(|| label.clone(), |parts| format!("{label}, {parts}"))
    }

    /// Returns the reason as sentences.
    pub fn reason_sentence(&self) -> String {
        let sentence = self.reason.sentence();
        match self.left_out_parts().as_slice() {
            [] => sentence,
            [part] => format!("{sentence} You left out the {part} of this turn."),
            parts => format!("{sentence} You left out {} messages of this turn.", parts.len()),
        }
    }
}

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
                ("Your message is always included.", "Change its text instead.")
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
