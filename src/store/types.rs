//! The types written to and read from the store, in addition to the types of `domain`.
//! Not for: SQL.

use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use crate::domain::call::{BranchRun, CallUses, CodeSet, Encoding, RetrievalSet, RunCard, UsageReport};
use crate::domain::conversation::{
    Atom, Branch, Content, Mark, Memory, Node, NodeHead, Operation, Overrides, StateVersion, Tag, Touches, Transition,
};
use crate::domain::planning::Anchor;
use crate::domain::summary::{ModuleCard, StoredDraft, Summary};
use crate::domain::tool::ToolTrace;
use std::sync::Arc;

/// A run in progress, written before its POST: enough to save what arrived if this program dies.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenRun {
    /// The card, with status `open`.
    pub card: RunCard,
    /// The id of the process that runs it; that process holds its owner lock.
    pub owner: String,
    /// The parent of the first new node: the branch's head, or an earlier node on its path when regenerating.
    pub after: Option<NodeId>,
    /// The branch's head when the run was opened.
    pub head: Option<NodeId>,
    /// The user message that is not a node yet.
    pub user: Option<(NodeHead, Content)>,
}

/// The vector of a passage of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassageVector {
    /// The message.
    pub node: NodeId,
    /// The hash of the passage's text, under which the vector is stored.
    pub key: Hash,
    /// The bytes of the vector.
    pub code: Vec<u8>,
}

/// One change. A list of them is one transaction: all or nothing.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// Stores a new session.
    PutSession {
        id: SessionId,
        title: String,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// Sets the title of a session.
    SetTitle {
        session: SessionId,
        title: String,
    },
    /// Stores a title made by a model, with its sources so that it is deleted with them.
    SetModelTitle {
        session: SessionId,
        title: String,
        /// The messages it was made from.
        sources: Vec<NodeId>,
    },
    /// Permanently deletes a session and everything that belongs to it, including texts that no other session has.
    DeleteSession(SessionId),
    /// Stores new nodes, parents first. Nodes whose key the session already has are skipped.
    PutNodes {
        session: SessionId,
        nodes: Vec<Node>,
    },
    /// Turns nodes into tombstones: deletes body, preview, search rows, counts, and state versions made from them. A
    /// random content hash remains; children keep their place. Refused with `Busy` while a run is open on any branch of
    /// the session.
    Tombstone {
        session: SessionId,
        nodes: Vec<NodeId>,
    },
    /// Stores the text of a file before or after a tool changed it, for undo.
    PutFileText {
        /// The session in which it was changed.
        session: SessionId,
        text: Arc<str>,
    },
    /// Stores vectors of a model, except those of messages that are removed by then.
    PutEmbeddings {
        /// The embedder's id.
        model: String,
        vectors: Vec<PassageVector>,
    },
    /// Deletes every model's vectors of texts with these hashes.
    DropEmbeddings(Vec<Hash>),
    /// Stores a new branch with its marks. (`state` is not stored here.)
    PutBranch(Box<Branch>),
    /// Moves a head if it is `expect`, otherwise fails with `Moved`. Increments `seq`.
    MoveHead {
        branch: BranchId,
        /// The expected head.
        expect: Option<NodeId>,
        head: Option<NodeId>,
    },
    RenameBranch {
        branch: BranchId,
        name: String,
    },
    /// Archives a branch or restores it.
    ArchiveBranch {
        branch: BranchId,
        archived: bool,
    },
    /// Replaces all overrides of a branch.
    SetOverrides {
        branch: BranchId,
        overrides: Box<Overrides>,
    },
    /// Sets a branch's window anchor.
    SetAnchor {
        branch: BranchId,
        anchor: Option<Anchor>,
    },
    /// Sets the message that the next message replies to.
    SetReply {
        branch: BranchId,
        /// The node's key.
        reply: Option<Hash>,
    },
    /// Sets, changes, or removes a mark if the current revision is `expect` (`None`: no mark), otherwise fails with
    /// `Moved`.
    PutMark {
        branch: BranchId,
        /// The marked item.
        target: Atom,
        /// The expected revision.
        expect: Option<u64>,
        /// The mark; `None` removes it.
        mark: Option<Mark>,
    },
    /// Stores a state version, new or changed (by session and version number).
    PutState {
        session: SessionId,
        version: StateVersion,
    },
    /// Stores a summary, and its figures in `metrics`. For a known summary, only the figures are added.
    PutSummary {
        session: SessionId,
        summary: Box<Summary>,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// Sets the summaries that a branch uses if the current ones are `expect`, otherwise fails with `Moved`.
    SetSummaries {
        branch: BranchId,
        /// The expected summaries.
        expect: Vec<Hash>,
        summaries: Vec<Hash>,
    },
    /// Stores the draft of a summary that waits on its branch if the current one is `expect` (`None`: none), otherwise
    /// fails with `Moved`.
    PutDraft {
        session: SessionId,
        draft: Box<StoredDraft>,
        /// The id of the expected draft.
        expect: Option<Hash>,
    },
    /// Deletes the draft of a summary that waits on a branch if it is `expect`, otherwise fails with `Moved`.
    DeleteDraft {
        branch: BranchId,
        /// The id of the expected draft.
        expect: Hash,
    },
    /// Stores an operation; the store assigns its `seq`. Deletes the operations of the session that are currently
    /// undone.
    PutOperation(Box<Operation>),
    /// Marks an operation as undone or redone.
    SetUndone {
        /// The operation's `seq`.
        seq: u64,
        undone: bool,
    },
    /// Stores a plan's JSON under its id; known ids are skipped.
    PutPlan {
        id: Hash,
        /// The branch that it was made for; it is stored as a difference from that branch's plans.
        branch: BranchId,
        /// The plan as JSON.
        body: String,
    },
    /// Opens a run. Fails with `Busy` while the branch has an open run of a living owner, and with `Moved` if the
    /// branch's head is not `head`.
    OpenRun(Box<OpenRun>),
    /// Records that the user message of an open run is stored as a node.
    UserIsNode(RunId),
    /// Updates a run's card.
    PutRun(Box<RunCard>),
    /// Stores a run's card at its end and deletes its chunks.
    CloseRun(Box<RunCard>),
    /// Stores the item uses of a run; ignored if the run no longer exists.
    PutUses {
        run: RunId,
        uses: CallUses,
    },
    /// Stores a chunk of a stream. Its bytes are opaque to the store.
    PutChunk {
        run: RunId,
        /// Counts up from 0.
        seq: u64,
        /// The bytes.
        body: Vec<u8>,
    },
    /// Stores a tool trace, new or changed (by run and call id).
    PutTrace {
        session: SessionId,
        trace: Box<ToolTrace>,
    },
    /// Stores the full result of a tool call. Deletes the oldest of the session if together they exceed the limit.
    PutToolOutput {
        session: SessionId,
        /// The run in which the model made the call.
        run: RunId,
        call_id: String,
        /// The result.
        text: Arc<str>,
    },
    /// Stores a sealed segment of a session's word index. Skipped if its number is taken, if it does not continue the
    /// previous segment, or if one of its messages was removed.
    PutIndexSegment {
        session: SessionId,
        /// Counts up from 0.
        segment: u32,
        /// The digest of the previous segment; `None` for the first one.
        before: Option<Hash>,
        /// The digest of this segment.
        digest: Hash,
        /// The messages whose words it contains.
        keys: Vec<Hash>,
        /// Its messages and their lengths; opaque to the store.
        header: Vec<u8>,
        /// Its postings by term; opaque to the store.
        lists: Vec<(u64, Vec<u8>)>,
    },
    /// Replaces the growing part of a session's word index. Skipped if it does not continue the last segment, or one of
    /// its messages was removed.
    PutIndexTail {
        session: SessionId,
        /// The digest of the last segment; `None` if there is none.
        before: Option<Hash>,
        /// The messages whose words it contains.
        keys: Vec<Hash>,
        /// Its bytes; opaque to the store.
        body: Vec<u8>,
    },
    /// Deletes a session's word index because it is damaged or has another format version.
    DropIndex(SessionId),
    /// Stores a retrieval set; known ids are skipped.
    PutRetrieval {
        session: SessionId,
        set: Box<RetrievalSet>,
    },
    /// Stores a set of code; known ids are skipped.
    PutCodeSet {
        session: SessionId,
        set: Box<CodeSet>,
    },
    /// Stores a memory: a new one if `expect` is `None`, otherwise in place of that version. Fails with `Moved` if
    /// another version is stored.
    PutMemory {
        memory: Box<Memory>,
        /// The expected version.
        expect: Option<u32>,
    },
    /// Permanently deletes a memory if its version is `expect`, otherwise fails with `Moved`.
    DeleteMemory {
        id: MemoryId,
        /// The expected version.
        expect: u32,
    },
    /// Stores a transition of an item or a memory.
    PutTransition {
        session: SessionId,
        transition: Box<Transition>,
    },
    /// Stores the touches of a completed turn; known nodes are skipped.
    PutTouches {
        session: SessionId,
        /// The key of the turn's last node.
        node: Hash,
        /// The touched items.
        touches: Touches,
    },
    /// Sets a message's tag if the current one is `expect`, otherwise fails with `Moved`.
    PutTag {
        session: SessionId,
        /// The message's key.
        node: Hash,
        expect: Option<Tag>,
        tag: Option<Tag>,
    },
    /// Stores a new version of a module summary.
    PutModule {
        /// The workspace's folder.
        root: String,
        /// The summary.
        card: Box<ModuleCard>,
    },
    /// Undoes the newest version of a module summary, or redoes the oldest undone one; fails with `Moved` if there is
    /// none.
    StepModule {
        /// The workspace's folder.
        root: String,
        /// The path of the module.
        path: String,
        /// Redo instead of undo.
        forward: bool,
    },
    /// Stores the record of a race branch, new or changed.
    PutBranchRun {
        session: SessionId,
        record: Box<BranchRun>,
    },
    /// Stores the usage report of a call.
    PutUsage(Box<UsageReport>),
    /// Stores token counts by the hash of the rendered bytes.
    PutCounts(Vec<(Hash, Encoding, u32)>),
    /// Records the session as the last used one.
    UseSession(SessionId),
    /// Records the branch as the last used one in its session.
    UseBranch(BranchId),
    /// Sets a named value; `None` deletes it.
    SetValue {
        /// The name.
        key: String,
        value: Option<String>,
    },
}

/// Errors of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store was written by a newer version of this program.
    #[error("the store at {path} was written by a newer pleach (its format is {found}; this version supports {known})")]
    Newer {
        path: String,
        /// Its schema version.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// The file is not a store of this program, or is damaged. It was not changed.
    #[error("the store at {path} is damaged: {why}")]
    Corrupt {
        path: String,
        /// SQLite's message.
        why: String,
    },
    /// The folder or the file cannot be opened or written.
    #[error("the store at {path} can't be opened: {why}")]
    Open {
        path: String,
        /// The system's message.
        why: String,
    },
    /// The disk is full or a limit was reached. Posted writes that could not be stored stay in memory.
    #[error("the store can't grow: {0}")]
    Full(String),
    /// The store was opened read-only.
    #[error("the store is read-only here")]
    ReadOnly,
    /// The data that this change was based on has changed.
    #[error("the data was changed in the meantime, here or in another window")]
    Moved,
    /// The branch has an open run.
    #[error("an answer is still arriving on this branch, here or in another window")]
    Busy,
    /// A stored plan cannot be decompressed, or a plan that it depends on cannot.
    #[error("the stored plan of that call can't be read: {0}")]
    Plan(String),
    /// Any other error of SQLite.
    #[error("the store failed: {0}")]
    Sql(String),
}
