//! The name and the reason of a row as people read them, with the messages of the row that a person left out.
//! Not for: a reason's sentence (`reason`) or its label (`reason_facts`).

use super::plan::{Form, Row, RowKind};
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
