//! A text to edit, and its purpose.
//! Not for: texts with versions (`editor`), or the message being written (`chat`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::planning::draft::Draft;
use std::fmt;
use std::sync::Arc;
use tui_textarea::TextArea;

/// The purpose of an edited text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The state block of a branch.
    State(BranchId),
    /// The draft of a summary.
    Draft {
        /// The branch.
        branch: BranchId,
        /// The draft's number.
        number: u64,
    },
    /// A memory, by its id.
    Memory(String),
    /// A summary in use.
    Summary {
        /// The branch.
        branch: BranchId,
        /// The summary's id.
        summary: Hash,
    },
    /// A policy.
    Policy {
        /// Its name.
        name: String,
        /// For a new policy: the policy that it copies.
        preset: Option<String>,
    },
    /// A module summary, by its path.
    Module(String),
    /// A rules file.
    Rules {
        /// The branch whose undo includes the change.
        branch: BranchId,
        /// Its path.
        path: String,
        /// The hash of the original text.
        expected: Option<Hash>,
    },
    /// A request, edited by hand for one call.
    Request {
        /// The branch.
        branch: BranchId,
        /// The draft that it sends.
        draft: Draft,
        /// The planned body.
        base: Arc<str>,
        /// The body that is edited.
        of: Arc<str>,
        /// It is edited as JSON.
        json: bool,
    },
}

/// A text to edit.
#[derive(Clone)]
pub struct Editor {
    /// Its title.
    pub title: String,
    /// The text.
    pub area: TextArea<'static>,
    /// Its purpose.
    pub what: Edited,
    /// Why it was not saved.
    pub fault: Option<String>,
    /// It is being saved, with this ticket.
    pub saving: Option<u64>,
    /// The original text, if a changed text must not be discarded without a question.
    pub before: Option<String>,
}

impl Editor {
    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether typed text would be lost.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.text())
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").field("title", &self.title).finish_non_exhaustive()
    }
}
