//! State of the text editor: the text, and what it belongs to.
//! Not for: items with versions (`editor`), or the message that is being written (`chat`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::planning::draft::Draft;
use std::fmt;
use std::sync::Arc;
use tui_textarea::TextArea;

/// What an edited text belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The state block of a branch.
    State(BranchId),
    /// The draft of a summary.
    Draft {
        /// The branch.
        branch: BranchId,
        /// Number of the draft.
        number: u64,
    },
    /// A memory, by its id.
    Memory(String),
    /// An accepted summary.
    Summary {
        /// The branch.
        branch: BranchId,
        /// Id of the summary.
        summary: Hash,
    },
    /// A policy.
    Policy {
        /// Name of the policy.
        name: String,
        /// For a new policy, the one that it is a copy of.
        preset: Option<String>,
    },
    /// A module summary, by its path.
    Module(String),
    /// A rules file.
    Rules {
        /// The branch whose undo covers the change.
        branch: BranchId,
        /// Path of the file.
        path: String,
        /// Hash of the text before editing; None for a new file.
        expected: Option<Hash>,
    },
    /// A request, edited by hand for one call.
    Request {
        /// The branch.
        branch: BranchId,
        /// The draft that the request sends.
        draft: Draft,
        /// The planned body.
        base: Arc<str>,
        /// The body that is being edited.
        of: Arc<str>,
        /// Whether it is edited as JSON.
        json: bool,
    },
}

/// The text editor.
#[derive(Clone)]
pub struct Editor {
    /// Title of the editor.
    pub title: String,
    /// The text area.
    pub area: TextArea<'static>,
    /// What the text belongs to.
    pub what: Edited,
    /// Why it could not be saved.
    pub fault: Option<String>,
    /// Ticket of the request while it is being saved.
    pub saving: Option<u64>,
    /// The text before editing, if a changed text must not be discarded without asking.
    pub before: Option<String>,
}

impl Editor {
    /// Returns the text.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether discarding the text would lose changes.
    pub fn changed(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.text())
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").field("title", &self.title).finish_non_exhaustive()
    }
}
