//! Parts of requests: call selectors, and acts on items, memories, tasks, summaries, and files.
//! Not for: the requests themselves (`request`), or tickets and item names (`draft`).

use crate::domain::base::{BranchId, Hash};
use crate::domain::code::NamedSymbol;
use crate::domain::conversation::{MarkKind, MemoryKind};
use crate::domain::planning::Draft;
use crate::domain::summary::{EditableKind, SummaryAuthor, SummaryKind};
use crate::domain::tool::{Rule, RuleScope};
use std::sync::Arc;

/// An act on an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Set this mark and replace any other. With `toggle`, setting the same mark again removes it.
    Set {
        kind: MarkKind,
        /// Remove the mark if it is already set.
        toggle: bool,
    },
    /// Lease the item for the policy's number of turns.
    Lease {
        /// Remove the mark if it is already set.
        toggle: bool,
    },
    /// Remove any mark.
    Clear,
    /// Reply to this message with the next question, or stop replying to it.
    Reply,
}

/// The scope of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryScope {
    /// In the open session.
    Session,
    /// In all sessions.
    All,
}

impl MemoryScope {
    /// Returns the scope of a memory for which a person names none.
    pub fn usual(kind: MemoryKind) -> Self {
        if kind == MemoryKind::Preference { Self::All } else { Self::Session }
    }
}

/// An act on a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryAct {
    /// Confirm the memory for this scope, or for the suggested scope if `None`.
    Confirm(Option<MemoryScope>),
    /// Change the text, the scope, or both; `None` keeps the value.
    Edit(Option<String>, Option<MemoryScope>),
    /// Dismiss the memory; it is not suggested again.
    Dismiss,
    Delete,
}

/// A request about the folder's own settings file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderAct {
    /// Show its state. Answered by [`ToolAnswer::FolderSettings`](super::ToolAnswer::FolderSettings).
    Show,
    /// Accept or reject the settings.
    Say {
        /// The digest of the settings that were shown.
        digest: Hash,
        /// Whether the settings may be used.
        yes: bool,
    },
}

/// A request about rules for tool calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleAct {
    /// List the rules of the session and the folder.
    List,
    /// Add or remove a rule.
    Set {
        /// The scope: session or folder.
        scope: RuleScope,
        rule: Rule,
        /// Whether to add it.
        on: bool,
    },
}

/// Changes a message's label, or whether it is a favorite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TagAct {
    /// Set this label; an empty one removes it.
    Label(String),
    /// Add to the favorites or remove from them; `None` toggles.
    Favorite(Option<bool>),
}

/// An act on a branch's tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskAct {
    /// Start a task with this name; a running task ends.
    Start(String),
    /// End the running task, with an optional outcome.
    Done(Option<String>),
}

/// Selects a call to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallSelector {
    /// The call with this unique prefix of a run's or plan's id.
    Named(String),
    /// The last call of a branch or of its ancestors.
    Last(BranchId),
    /// The next call of a branch: the last plan drawn for it.
    Next(BranchId),
}

/// A request about the exact bytes of the next call.
#[derive(Clone, PartialEq, Debug)]
pub enum Exact {
    /// Show the body of the last plan drawn, with its parts.
    Show,
    /// Count the tokens of an edited body and check whether it may be sent. Sends nothing.
    Weigh {
        /// The message that the body answers.
        draft: Draft,
        body: Arc<str>,
    },
    /// Send a body byte for byte, as one call that answers the draft or, if the draft is empty, the body's last user
    /// message. Refused if the body is not a chat request, names another model, or exceeds the budget.
    Send {
        /// The message that the body answers. It is stored as the person's message unless the body contains different
        /// text.
        draft: Draft,
        body: Arc<str>,
    },
}

/// An act on summaries of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SummaryAct {
    /// Write a draft in the background. Answered when it is written.
    Draft {
        /// The kind: lane or session.
        kind: SummaryKind,
        /// The last turn to summarize; by default all but the newest messages.
        up_to: Option<u32>,
        /// The author: extractive or the model.
        by: SummaryAuthor,
    },
    /// Show the waiting draft.
    Show,
    /// Add dropped items to the draft verbatim, by their positions in its list.
    Keep {
        /// The draft's number.
        draft: u64,
        /// The positions of the items to add.
        items: Vec<usize>,
    },
    /// Keep the most important dropped items that leave the summary well below the size of its sources.
    KeepAll {
        /// The draft's number.
        draft: u64,
    },
    /// Remove a kept item, by its position among the kept ones.
    Unkeep {
        /// The draft's number.
        draft: u64,
        /// The position of the item to remove.
        item: usize,
    },
    /// Replace the draft's text and check again which facts it drops.
    Edit {
        /// The draft's number.
        draft: u64,
        /// The new text, without the kept items.
        text: String,
    },
    /// Accept the draft: from now on it is sent in place of its turns (undoable).
    Accept {
        /// The draft's number.
        draft: u64,
    },
    /// Reject the draft, or stop writing it. Its turns are not summarized automatically again.
    Reject,
    /// Stop writing a draft. A waiting draft stays.
    Stop,
    /// Undo the newest summary of a kind, so that its earlier version, or the turns themselves, are sent again (undoable).
    UndoNewest { kind: SummaryKind },
    /// Undo a summary and its later versions, so that its earlier version, or the turns themselves, are sent again
    /// (undoable).
    TakeBack { summary: Hash },
    /// Rewrite a summary in use: a new version of it for the same turns (undoable).
    Rewrite {
        summary: Hash,
        /// The new text, including kept items.
        text: String,
    },
    /// List the branch's summaries, newest first.
    List,
    /// Statistics about the session and the next call's context.
    Stats,
}

/// A request about files of the workspace. Both require that the folder is trusted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAct {
    /// Complete a file name, best match first. Answered by [`ToolAnswer::Files`](super::ToolAnswer::Files), with the reason if
    /// there are none.
    Find {
        /// The text that was typed.
        query: String,
        /// The maximum number.
        limit: usize,
    },
    /// Read a file as an attachment, with secrets masked. Answered by [`ToolAnswer::Attached`](super::ToolAnswer::Attached).
    Read {
        /// The path, relative to the workspace.
        path: String,
    },
}

/// A request about a workspace's code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeAct {
    /// Index the code, or update the index for files that changed. Answered when the index is complete.
    Index,
    /// Find the code that a question, a task, or a commit message is about.
    Find {
        /// The question.
        query: String,
        /// The token budget of the result.
        budget: u32,
    },
    /// Map the folders and list central symbols.
    Map {
        /// The token budget of the map.
        budget: u32,
        /// The number of symbols.
        anchors: usize,
    },
    /// Complete a symbol's name in the program's own workspace, best match first. Requires that the folder is trusted.
    Names {
        typed: String,
        /// The maximum number.
        most: usize,
    },
    /// Read the source of a symbol of the program's own workspace as an attachment. Requires that the folder is
    /// trusted.
    Source(Box<NamedSymbol>),
}

impl CodeAct {
    /// Whether the act completes a symbol's name.
    pub(in crate::engine) fn is_names(&self) -> bool {
        matches!(self, Self::Names { .. })
    }

    /// Whether the act is limited to the program's own workspace, which must be trusted.
    pub(in crate::engine) fn is_own(&self) -> bool {
        matches!(self, Self::Names { .. } | Self::Source(_))
    }
}

/// A request about versioned texts: states, summaries, memories, policies.
#[derive(Clone, PartialEq, Debug)]
pub enum EditableAct {
    /// Compare the next call under another policy with the next call as it is. Changes nothing.
    TryPolicy {
        branch: BranchId,
        /// The draft to plan.
        draft: Draft,
        /// The name of the policy to try.
        policy: String,
    },
    /// List editable texts with their versions.
    List {
        /// The branch whose texts are listed.
        branch: BranchId,
        kind: EditableKind,
    },
    /// Save a person's own policy. Invalid text is refused with the position of the error.
    SavePolicy {
        /// The policy's name.
        name: String,
        /// The policy's text.
        text: String,
        /// The policy that a new policy was copied from.
        preset: Option<String>,
    },
    /// Go back to the version that the current one is based on, or forward to the newest version based on it.
    StepPolicy {
        /// The policy's name.
        name: String,
        /// Whether to go forward instead of back.
        forward: bool,
    },
}
