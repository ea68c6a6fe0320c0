//! What is asked about what a project says of itself: its rules and skills.
//! Not for: what comes back (`domain::project`) or files that go with a message (`acts`).

use crate::domain::hash::Hash;
use crate::domain::ids::BranchId;

/// What is asked about rules and skills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProjectAct {
    /// All of them, as they stand to a branch's next call; answered by [`Answer::Project`](super::Answer::Project).
    List {
        /// Which branch.
        branch: BranchId,
    },
    /// Takes a file with rules (or `skills`, the list of them) out of a branch's calls, or back in (undoable).
    Set {
        /// Which branch.
        branch: BranchId,
        /// Its path, as it is listed.
        path: String,
        /// Back in; without it the other way than now.
        on: Option<bool>,
        /// Of the next call only.
        once: bool,
    },
    /// Writes a file with rules (undoable). Refused when the file is no longer what was read.
    Save {
        /// On which branch's session undo will know of it.
        branch: BranchId,
        /// Its path, as it is listed.
        path: String,
        /// Its new text.
        text: String,
        /// The hash of the text that was read; none for a new file.
        expected: Option<Hash>,
    },
}
