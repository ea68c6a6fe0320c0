//! What is asked of the engine.
//! Not for: what comes back (`view`, `event`), drafts and names of items (`draft`).

use super::acts::{
    Act, CodeAct, Condense, Exact, FileAct, FolderAct, MemoryAct, MemoryScope, RuleAct, TagAct, TaskAct, ThingAct,
    Which,
};
use super::draft::{Draft, Item, Named};
use super::program::ProgramRequest;
use super::project::ProjectAct;
use super::traces::TraceAct;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::call::race::Limits;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::memory::MemoryKind;
use crate::domain::conversation::message::Role;
use crate::domain::conversation::record::Incoming;
use crate::domain::tool::consent::{Consent, Rule, RuleScope};
use std::sync::Arc;

/// What a person asks of the engine.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// All sessions, newest first.
    Sessions,
    /// Makes a session with one empty branch `main`, and opens it.
    NewSession {
        /// Its title; a dated one when empty.
        title: String,
    },
    /// Opens a session (the last used; a new one when there is none and `create` is set).
    OpenSession {
        /// Which.
        session: Named,
        /// Which branch to stand on; the last used when none.
        branch: Named,
        /// Make one where there is none.
        create: bool,
    },
    /// Renames a session (undoable).
    RenameSession {
        /// Which.
        session: Named,
        /// Its new title; none has the model make one.
        title: Option<String>,
    },
    /// Deletes a session with all its messages for good. The caller has asked the person.
    DeleteSession {
        /// Which.
        session: Named,
    },
    /// Sessions whose title or messages hold these words.
    SearchSessions {
        /// The words.
        words: String,
    },
    /// Messages of all sessions by words and filters, as [`Find`](crate::domain::conversation::search::Find) reads them. Looked for beside
    /// everything else; a newer one takes the place of one that is under way, which is answered as stale.
    Find {
        /// What was typed.
        line: String,
        /// At most so many.
        limit: usize,
    },
    /// Opens a session on a branch that holds this message: the last used where it does, else one that does, else the last
    /// used all the same.
    OpenAt {
        /// Which session.
        session: SessionId,
        /// Which message.
        node: NodeId,
    },
    /// Keeps what is being written on a branch, so that it is there after a restart; empty forgets it.
    KeepDraft {
        /// On which branch.
        branch: BranchId,
        /// The words.
        text: Arc<str>,
    },
    /// Files of the workspace for a message that is being written. Done beside everything else.
    Files(FileAct),
    /// Contents of nodes of an open session.
    Bodies {
        /// Which.
        nodes: Vec<NodeId>,
    },
    /// Stands on another branch; the session remembers it as the last used.
    Switch {
        /// Which.
        branch: BranchId,
    },
    /// A new branch whose head is `at` (moved back to the nearest whole atom); `None` forks at the branch's head.
    Fork {
        /// From which.
        branch: BranchId,
        /// Where.
        at: Option<NodeId>,
        /// Its name; made up when none.
        name: Option<String>,
        /// Stand on it.
        switch: bool,
    },
    /// Renames a branch.
    RenameBranch {
        /// Which.
        branch: BranchId,
        /// Its new name.
        name: String,
    },
    /// Puts a branch away, or takes it back.
    ArchiveBranch {
        /// Which.
        branch: BranchId,
        /// Away.
        archived: bool,
    },
    /// Moves the head to the newest leaf below `node`, or to `node` itself when `exact` (undoable).
    MoveHead {
        /// Of which branch.
        branch: BranchId,
        /// Where to.
        node: NodeId,
        /// Stop right there.
        exact: bool,
    },
    /// Moves to the next or previous sibling of a node on the path (undoable).
    Sibling {
        /// Of which branch.
        branch: BranchId,
        /// Of which node; the nearest ancestor-or-self with siblings at or above it is used.
        node: NodeId,
        /// +1 or −1.
        step: i32,
    },
    /// Marks items (one undo group).
    Mark {
        /// On which branch.
        branch: BranchId,
        /// What.
        items: Vec<Item>,
        /// How.
        act: Act,
    },
    /// Changes what a branch overrides: each given value replaces the branch's (undoable).
    Override {
        /// Which branch.
        branch: BranchId,
        /// The wished overrides, whole.
        overrides: Overrides,
    },
    /// Solves the plan for a draft again, off the screen's thread; answered by [`Event::Planned`](super::Event::Planned) too. Only the newest
    /// generation of a branch is worked on.
    Replan {
        /// For which branch.
        branch: BranchId,
        /// Counts up; comes back with the plan.
        generation: u64,
        /// The draft.
        draft: Draft,
    },
    /// What the next call would hold under other settings, beside how it stands: modes, policies, the other layout, models,
    /// budgets, and those that are named. Changes nothing, and is dropped when another draft of the branch is planned.
    WhatIf {
        /// On which branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// More ways (only what is set in each counts).
        arms: Vec<Overrides>,
    },
    /// Things that a person edits and that have versions.
    Thing(ThingAct),
    /// What an act on items would do to the next call, worked out beside it: what it brings, what it pushes out. Changes
    /// nothing; a newer one takes its place.
    Foresee {
        /// On which branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// What.
        items: Vec<Item>,
        /// How.
        act: Act,
    },
    /// The exact bytes of a request: shown, weighed, sent after a person edited them.
    Exact {
        /// On which branch.
        branch: BranchId,
        /// What.
        act: Exact,
    },
    /// Sends. With `plan`, exactly that plan (the last one drawn for this draft), or it is refused as stale and the new
    /// one comes. Without, it is solved, drawn and sent. Answered when the run row is written, not when the model is done.
    Ask {
        /// On which branch.
        branch: BranchId,
        /// What.
        draft: Draft,
        /// The plan on the screen.
        plan: Option<Hash>,
    },
    /// Waits until no other program asks on a branch, answered when the next `Ask` is ours; or (false) gives that back.
    Turn(BranchId, bool),
    /// Stops the open turn of a branch; what came is kept.
    Cancel {
        /// Which.
        branch: BranchId,
    },
    /// Undoes the last operation of the session.
    Undo,
    /// Does the last undone operation again.
    Redo,
    /// The text of a row of the last plan drawn for a branch, as it will be sent.
    RowText {
        /// Which branch.
        branch: BranchId,
        /// Which row.
        atom: Atom,
    },
    /// The exact bytes of the last plan drawn for a branch.
    WireText {
        /// Which branch.
        branch: BranchId,
    },
    /// Replaces the state block of a branch by a hand-edited one (undoable).
    EditState {
        /// Which branch.
        branch: BranchId,
        /// The new text.
        text: String,
    },
    /// Rebuilds the state from the state blocks in the messages of the window.
    RebuildState(BranchId),
    /// Takes the state that came with an import and waits on a branch (undoable).
    AdoptState(BranchId),
    /// A person's word on a call that waits for it.
    Consent {
        /// On which branch.
        branch: BranchId,
        /// Which call of the answer.
        index: usize,
        /// The word.
        consent: Consent,
        /// A rule by which the like of it is decided from now on.
        always: Option<(RuleScope, Rule)>,
    },
    /// Tools and their servers, as a branch has them.
    Servers(Option<BranchId>, super::servers::ServerAct),
    /// Rules about calls to tools.
    Rule(RuleAct),
    /// Trusts (or no longer trusts) the workspace folder, so that tools are offered.
    Trust {
        /// Yes or no.
        trusted: bool,
    },
    /// The folder's own settings file: how it stands, or what a person says to it.
    FolderSettings(FolderAct),
    /// Calls to tools: all, one whole, one again.
    Traces(TraceAct),
    /// The calls of a session, newest last.
    Runs,
    /// What the calls of a branch, or of its whole session, came to, one after the other.
    Ledger {
        /// Of which branch.
        branch: BranchId,
        /// Of all branches of its session.
        whole: bool,
    },
    /// A stored plan, by a unique prefix of its id, or of a run's id.
    StoredPlan {
        /// The prefix.
        id: String,
    },
    /// What differs between two calls, and by whose act. The earlier one is told first, whatever the order.
    DiffPlans {
        /// One; when none, the call before the other on its branch.
        before: Option<Which>,
        /// The other.
        after: Which,
    },
    /// Two branches of a session side by side, from where they part.
    Compare {
        /// One.
        a: BranchId,
        /// The other.
        b: BranchId,
    },
    /// Picks items of one branch onto another, with where they came from (undoable).
    Pick {
        /// From which branch.
        from: BranchId,
        /// What.
        items: Vec<Item>,
        /// Onto which.
        onto: BranchId,
        /// As one text, instead of each for itself.
        together: bool,
    },
    /// Brings what a branch came to back as a card that links to its sources (undoable); it is stale once the branch grows.
    BringBack {
        /// Which branch.
        from: BranchId,
        /// Onto which; the one that it was forked from when none.
        onto: Option<BranchId>,
    },
    /// An item over the calls of a branch: in which it went, how, why, and who changed it when.
    Why {
        /// Of which branch.
        branch: BranchId,
        /// Which item.
        item: Item,
        /// Only so many of the newest calls; all when none.
        most: Option<u32>,
    },
    /// Renders a stored call again from the store and compares its digest; sends nothing.
    ReplayDryRun {
        /// The run, by a unique prefix.
        run: String,
    },
    /// Makes a stored call again on a scratch branch at its place: byte for byte, for another model, or without one item.
    /// Answered when the run row is written. The original is not touched.
    Replay {
        /// The run, by a unique prefix.
        run: String,
        /// Another profile.
        profile: Option<String>,
        /// Another model.
        model: Option<String>,
        /// Without this item of the call.
        without: Option<Item>,
    },
    /// Makes a branch for each of several settings at a branch's head (undone together); the first question stands under the limits.
    Race {
        /// Whose head.
        branch: BranchId,
        /// The settings of each.
        arms: Vec<Overrides>,
        /// What each may take at the most; where nothing is said, what the settings say.
        limits: Limits,
    },
    /// Keeps one branch of a race under the raced branch's name, where that stands as it stood; the others are put away (undoable).
    KeepOne {
        /// Which.
        branch: BranchId,
    },
    /// Names or stars a message (undoable); for a turn, its question.
    Tag {
        /// A branch of the session.
        branch: BranchId,
        /// Which message.
        item: Item,
        /// What.
        act: TagAct,
    },
    /// Asks beside a branch, in its present context, without a trace but the call; answered once that is written down.
    Aside {
        /// In whose context.
        branch: BranchId,
        /// The question.
        text: Arc<str>,
    },
    /// Stops a side question, or forgets its answer.
    DropAside {
        /// Its call.
        run: RunId,
    },
    /// Makes a branch of a side question that is answered, at the place where it was asked (undoable).
    KeepAside {
        /// Its call.
        run: RunId,
    },
    /// Puts several branches away in one step (undoable).
    PutAway {
        /// Which.
        branches: Vec<BranchId>,
    },
    /// Looks through the messages of a branch for what fits a query, as a plan would, and sends nothing.
    Retrieve {
        /// Which session.
        session: Named,
        /// Which branch; the last used when none.
        branch: Named,
        /// What to look for.
        query: String,
        /// Messages later than this do not exist (milliseconds since 1970).
        at: Option<i64>,
        /// Tokens for what is found; the mode's when none.
        budget: Option<u32>,
        /// Look whatever the query says.
        anyway: bool,
    },
    /// Reads the code of a workspace, or answers about it.
    Code {
        /// Its folder; when none the program's own, or for a question, where that was not indexed, the one indexed last.
        root: Option<std::path::PathBuf>,
        /// What is wanted.
        act: CodeAct,
    },
    /// About what the project says of itself: rules, skills.
    Project(ProjectAct),
    /// About the program itself.
    Program(ProgramRequest),
    /// Appends a message without calling a model.
    AddMessage {
        /// To which branch.
        branch: BranchId,
        /// Who says it.
        role: Role,
        /// What.
        text: String,
    },
    /// Deletes a turn for good; only its place is left. The caller has asked the person.
    RemoveMessage {
        /// On which branch.
        branch: BranchId,
        /// Which turn.
        item: Item,
    },
    /// Summaries: drafts, decisions on them, capsules. A draft is answered when it is made; it is made beside everything else.
    Condense {
        /// On which branch.
        branch: BranchId,
        /// What.
        act: Condense,
    },
    /// Memories that hold in a session: all, oldest first, or those that fit some words, best first.
    Memories {
        /// Which session; the open one, or the last used, when none.
        session: Named,
        /// What they are about.
        words: Option<String>,
        /// Only those that hold there.
        scope: Option<MemoryScope>,
    },
    /// Keeps a memory of the person's own, confirmed from the start (undoable). Refused where it looks like a secret.
    Remember {
        /// What it is.
        kind: MemoryKind,
        /// What is to be known.
        text: String,
        /// Where it holds.
        scope: MemoryScope,
    },
    /// Confirms, edits, dismisses or deletes a memory (undoable).
    Memory {
        /// Its id, the beginning of it, or the short one that lists show.
        id: String,
        /// What to do.
        act: MemoryAct,
    },
    /// Turns a pin down that the model suggested (undoable); it is not suggested again on this branch.
    Dismiss {
        /// On which branch.
        branch: BranchId,
        /// Which.
        item: Item,
    },
    /// Begins or ends a task on a branch (undoable). The program's own pins end with a task; an outcome is remembered.
    Task {
        /// On which branch.
        branch: BranchId,
        /// What.
        act: TaskAct,
    },
    /// The steps of a branch's items and memories, oldest first: made, leased, renewed, suggested, expired, dismissed …
    Steps {
        /// Of which branch.
        branch: BranchId,
        /// Only those of this item (of a turn, those of its messages too).
        atom: Option<Atom>,
    },
    /// Stores what an import read. The session that was added to becomes the last used.
    Import {
        /// What is read, piece by piece.
        reading: Incoming,
    },
    /// A branch's path as Markdown for reading, with what looks like a secret masked.
    Markdown {
        /// Which.
        branch: BranchId,
    },
    /// A session as neutral records: the whole tree, or one branch's path.
    Transcript {
        /// Which.
        session: Named,
        /// Only this branch.
        branch: Option<BranchId>,
    },
}
