//! A hash that identifies a conversation without an id.
//! Not for: reading its messages.

use crate::domain::base::Fields;
use crate::domain::conversation::{NodeHead, Record, Role};

/// Identifies a conversation without an id by its messages up to the first answer. A longer version of the file has the
/// same beginning; two conversations that share only the question do not.
pub(super) struct Fingerprint {
    fields: Fields,
    asked: bool,
    /// Whether the first answer was added.
    pub(super) over: bool,
    /// The first question, as a preview.
    first: Option<String>,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { fields: Fields::new("beginning"), asked: false, over: false, first: None }
    }
}

impl Fingerprint {
    /// Adds the next message. Returns whether the first answer was added.
    pub(super) fn add(&mut self, record: &Record) -> bool {
        if self.over {
            return true;
        }
        let fields = std::mem::replace(&mut self.fields, Fields::new(""));
        self.fields = fields.text(&record.id).text(record.role.name()).hash(record.content.hash());
        if record.role == Role::User {
            self.asked = true;
            self.first.get_or_insert_with(|| NodeHead::preview_of(&record.content.plain_text()));
        }
        self.over = self.asked && record.role == Role::Assistant;
        self.over
    }

    /// Returns the hash and the first question.
    pub(super) fn finish(self) -> (String, Option<String>) {
        (self.fields.finish().to_string()[..20].to_owned(), self.first)
    }
}
