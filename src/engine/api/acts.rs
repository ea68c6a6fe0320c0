//! Small parts of requests: how to name calls, what to do to items, memories, tasks and summaries.
//! Not for: requests themselves (`request`), drafts and how to name items (`draft`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::code::symbols::NamedSymbol;
use crate::domain::conversation::mark::MarkKind;
use crate::domain::planning::draft::Draft;
use crate::domain::summary::accepted::SummaryKind;
use crate::domain::summary::draft::SummaryAuthor;
use crate::domain::summary::versions::EditableKind;
use crate::domain::tool::consent::{Rule, RuleScope};
use std::sync::Arc;

/// What to do to an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Put this mark on it in place of any other. The same mark again takes it off when `toggle` is set.
    Set {
        /// The mark.
        kind: MarkKind,
        /// On and off with the same key.
        toggle: bool,
    },
    /// Lease it for as many turns as the policy says.
    Lease {
        /// On and off with the same key.
        toggle: bool,
    },
    /// Take any mark off.
    Clear,
    /// Make it the message that the next question replies to (off when it is already).
    Reply,
}

/// Where a memory is to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryScope {
    /// In the open session.
    Session,
    /// In all sessions.
    All,
}

/// What to do to a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryAct {
    /// It is right; from now on it holds there (where it was meant to, when none is named).
    Confirm(Option<MemoryScope>),
    /// Other words, or another place where it holds.
    Edit(Option<String>, Option<MemoryScope>),
    /// It is not wanted, and not suggested again.
    Dismiss,
    /// It goes.
    Delete,
}

/// What is wanted of the folder's own settings file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderAct {
    /// How it stands; answered by [`Answer::FolderSettings`](super::Answer::FolderSettings).
    Show,
    /// What a person says to its settings.
    Say {
        /// Which: the digest that was shown.
        digest: crate::domain::base::hash::Hash,
        /// They may be used.
        yes: bool,
    },
}

/// What is asked about rules about calls to tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleAct {
    /// Those that hold for the session.
    List,
    /// Adds one, or takes it off.
    Set {
        /// Where: in the session, or in the folder.
        scope: RuleScope,
        /// It.
        rule: Rule,
        /// Add it.
        on: bool,
    },
}

/// What becomes of a message's name and star.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TagAct {
    /// This name, in place of any other; an empty one takes it off.
    Label(String),
    /// A star or none; the other than now when nothing is said.
    Favourite(Option<bool>),
}

/// What becomes of a branch's tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskAct {
    /// One begins, by its name; one that is running ends.
    Start(String),
    /// The one that is running ends, with what came of it, where something is said.
    Done(Option<String>),
}

/// How to name a call whose plan is to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallSelector {
    /// By a unique prefix of a run's or a plan's id.
    Named(String),
    /// The last call of a branch, or of those that it was forked from.
    Last(BranchId),
    /// The one that would be sent next on a branch: the last plan drawn for it.
    Next(BranchId),
}

/// What is asked about the exact bytes of a request.
#[derive(Clone, PartialEq, Debug)]
pub enum Exact {
    /// The body of the last plan drawn, with what it consists of.
    Show,
    /// What an edited body counts, and whether it may go. Nothing is sent.
    Weigh {
        /// What it is to answer.
        draft: Draft,
        /// The body.
        body: Arc<str>,
    },
    /// Sends a body byte for byte, as one call that answers the draft; where the draft is empty, the body's last user
    /// message. Refused when it is no chat request, asks another model, or is over the budget.
    Send {
        /// What it is to answer: what is kept as the person's message, unless the body says other words.
        draft: Draft,
        /// The body.
        body: Arc<str>,
    },
}

/// What a person asks about summaries of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SummaryAct {
    /// Makes a draft in the background; answered when it is there.
    Draft {
        /// Of which kind: lane or session.
        kind: SummaryKind,
        /// Up to this turn; by itself all but the newest messages.
        up_to: Option<u32>,
        /// By whom.
        by: SummaryAuthor,
    },
    /// The draft that waits.
    Show,
    /// Takes dropped items, by their places in the draft's list, into it word for word.
    Keep {
        /// Of which draft.
        draft: u64,
        /// Which.
        items: Vec<usize>,
    },
    /// Keeps the weightiest items that fit while the summary stays well below its sources.
    KeepAll {
        /// Of which draft.
        draft: u64,
    },
    /// Takes kept words out again, by their place among the kept.
    Unkeep {
        /// Of which draft.
        draft: u64,
        /// Which.
        item: usize,
    },
    /// Replaces the draft's text; what it dropped is looked for again.
    Edit {
        /// Of which draft.
        draft: u64,
        /// The new text, without the kept words.
        text: String,
    },
    /// Stores the draft; from then on it goes in place of its turns (undoable).
    Accept {
        /// Which draft.
        draft: u64,
    },
    /// Throws the draft away, or stops it while it is made. Its turns are not summed up by themselves again.
    Reject,
    /// Stops a draft that is being made; one that waits goes on waiting.
    Stop,
    /// Takes the newest level back: the summary before it goes again, or the turns themselves (undoable).
    UndoLevel {
        /// Of which kind.
        kind: SummaryKind,
    },
    /// Takes a capsule that is in use, or a level below one, out of use: the one before it goes again, or the turns
    /// themselves (undoable).
    TakeBack {
        /// Which.
        capsule: Hash,
    },
    /// Puts a summary in use into other words: a level over it, for the same turns (undoable).
    Rewrite {
        /// Which.
        capsule: Hash,
        /// The new text, with what is kept word for word.
        text: String,
    },
    /// The branch's summaries, newest first.
    List,
    /// Figures about the session's memory, with the next call's context.
    Stats,
}

/// What is asked about files of the workspace. Both want the folder's trust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAct {
    /// Names that fit what was typed, best first; answered by [`Answer::Files`](super::Answer::Files), with the reason where
    /// there are none.
    Find {
        /// What was typed.
        query: String,
        /// At most so many.
        limit: usize,
    },
    /// The text of one, to go with a message, secrets masked; answered by [`Answer::Attached`](super::Answer::Attached).
    Read {
        /// Its path beneath the workspace.
        path: String,
    },
}

/// What is wanted of a workspace's code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeAct {
    /// It is read, or what of it has changed; answered when that is done.
    Index,
    /// What a question, a task or a commit's message is about.
    Find {
        /// The question.
        query: String,
        /// Tokens for what is found.
        budget: u32,
    },
    /// The map of its folders, and central symbols.
    Map {
        /// Tokens for the map.
        budget: u32,
        /// How many symbols.
        anchors: usize,
    },
    /// Symbols of the program's own workspace by what is typed of a name, best first. Wants the folder's trust.
    Names {
        /// What is typed.
        typed: String,
        /// At most so many.
        most: usize,
    },
    /// The source of a symbol of the program's own workspace, to go with a message. Wants the folder's trust.
    Source(Box<NamedSymbol>),
}

impl CodeAct {
    /// Whether it asks for names while one is typed.
    pub(in crate::engine) fn is_names(&self) -> bool {
        matches!(self, Self::Names { .. })
    }

    /// Whether it is about the program's own workspace alone, and wants its trust.
    pub(in crate::engine) fn is_own(&self) -> bool {
        matches!(self, Self::Names { .. } | Self::Source(_))
    }
}

/// What is asked about things that have versions: state, summaries, memories, policies.
#[derive(Clone, PartialEq, Debug)]
pub enum EditableAct {
    /// What the next call would be under a policy, beside how it stands. Changes nothing.
    TryPolicy {
        /// On which branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// Which policy.
        policy: String,
    },
    /// Things that a person edits, with their versions.
    List {
        /// As a branch has them.
        branch: BranchId,
        /// Of which kind.
        kind: EditableKind,
    },
    /// Saves a policy of the person's own. A text that is none is refused with the place of its fault.
    SavePolicy {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
        /// For a new one: the policy that it is a copy of.
        preset: Option<String>,
    },
    /// Goes back to the version that a policy's present one was made from, or on to the newest made from it.
    StepPolicy {
        /// Its name.
        name: String,
        /// On instead of back.
        forward: bool,
    },
}
