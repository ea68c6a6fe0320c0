//! What the requests under way were made for.
//! Not for: what their answers change (`update::answers`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::engine::api::Draft;
use crate::tui::chat::model::complete::CompletionSource;
use crate::tui::screens::search::model::ReturnPoint;

/// Milliseconds after which it is said that a call waits for its plan.
pub const PATIENCE: u64 = 300;

/// What a request that is under way was for.
#[derive(Clone, PartialEq, Debug)]
pub enum Pending {
    /// Opening or making a session.
    Open,
    /// The turn to ask on a branch on which another program asks.
    Turn(BranchId),
    /// Contents.
    Bodies(Vec<NodeId>),
    /// A call.
    Ask {
        /// On which branch.
        branch: BranchId,
        /// What was asked.
        draft: Draft,
        /// When, in milliseconds.
        since: u64,
        /// It was said that it waits.
        told: bool,
    },
    /// A plan.
    Replan,
    /// Calls beside one another.
    Trial(ComparisonPurpose),
    /// The text of a plan's row, or of a message inside a row.
    RowText(Atom),
    /// The steps of an item.
    Steps(Atom),
    /// The exact request: to be read, or edited (as JSON or as texts).
    Raw {
        /// Of which branch.
        branch: BranchId,
        /// For which draft.
        draft: Draft,
        /// To be edited: as JSON or not.
        edit: Option<bool>,
    },
    /// What an edited request counts, by its digest.
    Weigh(Hash),
    /// Sending an edited request.
    SendEdited {
        /// On which branch.
        branch: BranchId,
        /// What it answers.
        draft: Draft,
        /// Its digest.
        digest: Hash,
    },
    /// What the act at hand would do.
    Ahead,
    /// Messages of all sessions.
    Find,
    /// Opening a session to go to a message, or to the end.
    OpenAt(Option<NodeId>),
    /// Opening a session to go back to where the person was.
    Back(ReturnPoint),
    /// Another version of the message at this place of the path.
    Sibling(usize),
    /// A side question.
    Aside,
    /// The list of sessions.
    Sessions,
    /// The list of models.
    Models,
    /// The list of memories.
    Memories,
    /// A change of a memory, after which the list is read again.
    MemoryAct,
    /// What servers there are.
    Doctor,
    /// A fork; afterwards this draft is sent on it.
    Fork(Option<Draft>),
    /// Standing on another branch.
    Switch,
    /// Opens the text of a message for editing.
    EditText(NodeId),
    /// Copies the text of a message.
    CopyText(NodeId),
    /// The text of a message, to choose what of it to copy.
    CopyMenu(NodeId),
    /// The messages of a turn, to be copied in this order.
    CopyTurn(Vec<NodeId>),
    /// A text that is copied as it is.
    CopyAll,
    /// The draft of a summary.
    Draft(BranchId),
    /// A draft's edited text.
    EditDraft {
        /// On which branch.
        branch: BranchId,
        /// Of which draft.
        number: u64,
        /// The text.
        text: String,
    },
    /// The list of capsules.
    Summaries,
    /// The list of calls.
    Calls,
    /// What the calls came to.
    Ledger,
    /// Which rows no answer used, for the overlay.
    Unused,
    /// Things with their versions.
    Editables,
    /// A change of one of them, after which they are read again.
    EditableAct,
    /// Stopping a summary of a part of the program; what asked for it says what came of it.
    Stopped,
    /// The next call under a policy.
    TryPolicy,
    /// What differs between two calls.
    Diff,
    /// Two branches side by side.
    Compare,
    /// An item over all calls, to be read.
    History,
    /// An item over the newest calls, for the detail pane.
    Lately(Atom),
    /// A change of what is in use, after which the list is read again.
    SummaryAct,
    /// Reading the configuration again; whether a person asked for it.
    Reload(bool),
    /// Names for the one that is being typed.
    Complete(CompletionSource),
    /// Whether what was typed behind an `@`, to its end, is a name.
    Typed(String),
    /// The text of a file or symbol that goes with the message.
    Attach {
        /// What stands behind its `@`.
        name: String,
        /// Where it comes from.
        place: String,
    },
    /// Keeping a draft.
    Kept,
    /// Earlier messages of a session, for the composer.
    Earlier(SessionId),
    /// Rules about calls to tools.
    Rules,
    /// The folder's own settings file.
    FolderSettings,
    /// Tools and their servers.
    Toolbox,
    /// A change of theirs, after which they are looked at again.
    ToolAct,
    /// A call to a tool, whole, by its id; whether its result is to be copied.
    Trace(String, bool),
    /// Anything whose answer is a sentence.
    Act,
}

/// What a request about calls beside one another was for.
#[derive(Clone, PartialEq, Debug)]
pub enum ComparisonPurpose {
    /// The next call under other settings.
    WhatIf(BranchId),
    /// The items of a stored call.
    Items(RunId),
    /// A stored call, made again.
    Replay,
    /// The branches of a race, by their settings; then this is asked on each.
    Race(Vec<Overrides>, String),
    /// The call of one of them.
    RaceEntry(BranchId),
}
