//! State of the text editor: the text, and the item that it belongs to.
//! Not for: items with versions (`editor`), or the message that is being written (`chat`).

use crate::domain::base::{BranchId, Hash, Safe};
use crate::domain::planning::Draft;
use crate::tui::chat::model::composer;
use std::fmt;
use std::sync::Arc;
use tui_textarea::{CursorMove, TextArea};

/// The item whose text is edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The state block of a branch.
    State(BranchId),
    /// The draft of a summary.
    Draft {
        branch: BranchId,
        /// Number of the draft.
        number: u64,
    },
    /// A memory, by its id.
    Memory(String),
    /// An accepted summary.
    Summary {
        branch: BranchId,
        /// Id of the summary.
        summary: Hash,
    },
    Policy {
        name: String,
        /// For a new policy, the policy that it copies.
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

impl Edited {
    /// The lines of a text as they are edited. In a request, invisible characters except tabs are shown as marks; other
    /// texts are edited without control characters.
    pub fn lines(&self, text: &str) -> Vec<String> {
        let exact = matches!(self, Self::Request { .. });
        let text = if exact { Safe::exact(text).as_str().replace("⟨U+0009⟩", "\t") } else { editable(text) };
        text.split('\n').map(str::to_owned).collect()
    }
}

/// A text with `\n` as its line ends and without other control characters.
pub fn editable(text: &str) -> String {
    composer::line_ends(text).chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// The text editor.
#[derive(Clone)]
pub struct Editor {
    pub title: String,
    pub area: TextArea<'static>,
    /// The item whose text is edited.
    pub what: Edited,
    /// Why it could not be saved.
    pub fault: Option<String>,
    /// Ticket of the request while it is being saved.
    pub saving: Option<u64>,
    /// The text before editing.
    pub before: String,
}

impl Editor {
    /// Opens a text for editing.
    pub fn new(title: impl Into<String>, text: &str, what: Edited) -> Self {
        let lines = what.lines(text);
        let before = lines.join("\n");
        Self { title: title.into(), area: composer::area(lines), what, fault: None, saving: None, before }
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether discarding the text would lose changes.
    pub fn changed(&self) -> bool {
        self.before != self.text()
    }

    /// Moves the cursor to a line and a column, both counted from 1.
    pub fn go_to(&mut self, line: usize, column: usize) {
        let place = |n: usize| u16::try_from(n.saturating_sub(1)).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(place(line), place(column)));
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").field("title", &self.title).finish_non_exhaustive()
    }
}
