//! Answers about versioned texts that a person can edit.
//! Not for: drafts of summaries (`summary`).

use crate::domain::summary::{Editable, EditableKind, PolicyFault};

/// An answer about editable texts.
#[derive(Clone, PartialEq, Debug)]
pub enum EditableAnswer {
    /// Editable texts of a kind, with their versions.
    Editables(EditableKind, Vec<Editable>),
    /// A policy was changed.
    Policies {
        /// The names of all policies.
        names: Vec<String>,
        /// A sentence about the change.
        notice: String,
    },
    /// A text that was refused as invalid.
    Refused(PolicyFault),
}
