//! A text to edit, and its purpose.
//! Not for: texts with versions (`editor`), or the message being written (`chat`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::planning::draft::Draft;
use std::fmt;
use std::sync::Arc;
use tui_textarea::TextArea;

/// What an edited text is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The state block of a branch.
    State(BranchId),
    /// The draft of a summary.
    Draft {
        /// On which branch.
        branch: BranchId,
        /// Which.
        number: u64,
    },
    /// A memory, by its id.
    Memory(String),
    /// A summary in use.
    Summary {
        /// On which branch.
        branch: BranchId,
        /// Which.
        summary: Hash,
    },
    /// A policy.
    Policy {
        /// Its name.
        name: String,
        /// For one that does not exist yet: what it is a copy of.
        preset: Option<String>,
    },
    /// A summary of a part of the program, by its path.
    Module(String),
    /// A file with rules.
    Rules {
        /// On which branch undo will know of it.
        branch: BranchId,
        /// Its path.
        path: String,
        /// The hash of the text that it had.
        expected: Option<Hash>,
    },
    /// A request, edited by hand for one call.
    Request {
        /// On which branch.
        branch: BranchId,
        /// What it answers.
        draft: Draft,
        /// The body as it was planned.
        base: Arc<str>,
        /// The body whose texts these are.
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
    /// What it is the text of.
    pub what: Edited,
    /// Why it was not saved.
    pub fault: Option<String>,
    /// It is being saved, with this ticket.
    pub saving: Option<u64>,
    /// The text that it had, where a changed one is not to be dropped unasked.
    pub before: Option<String>,
}

impl Editor {
    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether what was typed would be lost.
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
