//! What goes into the store and comes out of it, beyond the nouns of `domain`.
//! Not for: SQL.

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, MemoryId, NodeId, RunId, SessionId};
use crate::domain::call::item_use::CallUses;
use crate::domain::call::race::BranchRun;
use crate::domain::call::retrieval_set::RetrievalSet;
use crate::domain::call::run::RunCard;
use crate::domain::call::tokens::Encoding;
use crate::domain::call::usage::UsageReport;
use crate::domain::conversation::activation::Touches;
use crate::domain::conversation::branch::{Branch, Overrides, StateVersion};
use crate::domain::conversation::mark::{Atom, Mark};
use crate::domain::conversation::memory::Memory;
use crate::domain::conversation::message::{Content, Node, NodeHead};
use crate::domain::conversation::operation::Operation;
use crate::domain::conversation::tag::Tag;
use crate::domain::conversation::transition::Transition;
use crate::domain::planning::plan::Anchor;
use crate::domain::summary::accepted::Summary;
use crate::domain::summary::module::ModuleCard;
use crate::domain::tool::trace::ToolTrace;
use std::sync::Arc;

/// A run that is under way, as it is written before its POST: enough to save what came if this program dies.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenRun {
    /// The card, with status `open`.
    pub card: RunCard,
    /// Who runs it: the id of a process that holds its owner lock.
    pub owner: String,
    /// The node after which the first new node will stand; must be the branch's head, or on its path when regenerating.
    pub after: Option<NodeId>,
    /// The branch's head when the run was opened.
    pub head: Option<NodeId>,
    /// The user message that is not a node yet.
    pub user: Option<(NodeHead, Content)>,
}

/// One change. A list of them is one transaction: all or nothing.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// A new session.
    PutSession {
        /// Its id.
        id: SessionId,
        /// Its title.
        title: String,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// A new title.
    Title {
        /// Of which.
        session: SessionId,
        /// The title.
        title: String,
    },
    /// A title that a model made: what it was made from, so that it goes with it.
    MadeTitle {
        /// Of which.
        session: SessionId,
        /// The title.
        title: String,
        /// The messages that were read.
        sources: Vec<NodeId>,
    },
    /// A session and all that belongs to it is deleted for good, bodies too where no other session has them.
    DeleteSession(SessionId),
    /// New nodes, parents first. A node whose key the session has already is passed over.
    PutNodes {
        /// Where.
        session: SessionId,
        /// The nodes.
        nodes: Vec<Node>,
    },
    /// Nodes become tombstones: body, preview, search rows, counts and state versions made from them go, a random content
    /// hash stays; children keep their place. Refused with `Busy` while a run is open on any branch of the session.
    Tombstone {
        /// Where.
        session: SessionId,
        /// Which.
        nodes: Vec<NodeId>,
    },
    /// The text of a file before or after a tool changed it, so that this can be undone.
    PutFileText {
        /// In which session it was changed.
        session: SessionId,
        /// The text.
        text: Arc<str>,
    },
    /// Vectors of a model, by the hashes of their texts.
    PutEmbeddings {
        /// The embedder's id.
        model: String,
        /// Hash of the text, and the vector's bytes.
        codes: Vec<(Hash, Vec<u8>)>,
    },
    /// Every model's vectors of texts with these hashes go.
    DropEmbeddings(Vec<Hash>),
    /// A new branch, with its marks. (`state` is not stored here.)
    PutBranch(Box<Branch>),
    /// Moves a head when it still is `expect`, else the transaction fails with `Moved`. Raises `seq`.
    MoveHead {
        /// Of which branch.
        branch: BranchId,
        /// Where it must be.
        expect: Option<NodeId>,
        /// Where it goes.
        head: Option<NodeId>,
    },
    /// A branch's name.
    Name {
        /// Of which.
        branch: BranchId,
        /// The name.
        name: String,
    },
    /// Away or back.
    Archive {
        /// Which.
        branch: BranchId,
        /// Away.
        archived: bool,
    },
    /// A branch's overrides, whole.
    SetOverrides {
        /// Of which.
        branch: BranchId,
        /// They.
        overrides: Box<Overrides>,
    },
    /// A branch's window anchor.
    SetAnchor {
        /// Of which.
        branch: BranchId,
        /// It.
        anchor: Option<Anchor>,
    },
    /// What the next message replies to.
    SetReply {
        /// On which branch.
        branch: BranchId,
        /// The node's key.
        reply: Option<Hash>,
    },
    /// Puts, changes or takes off a mark, when the revision there still is `expect` (`None`: no mark), else `Moved`.
    PutMark {
        /// On which branch.
        branch: BranchId,
        /// On what.
        target: Atom,
        /// The revision that must be there.
        expect: Option<u64>,
        /// The mark, or none.
        mark: Option<Mark>,
    },
    /// A state version, new or changed (by session and version number).
    PutState {
        /// Where.
        session: SessionId,
        /// It.
        version: StateVersion,
    },
    /// A summary with its figures in `metrics`; a known one only gets figures.
    PutSummary {
        /// Where.
        session: SessionId,
        /// It.
        summary: Box<Summary>,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// Which summaries a branch uses, when they still are `expect`, else `Moved`.
    SetSummaries {
        /// Which branch.
        branch: BranchId,
        /// Those that must be there.
        expect: Vec<Hash>,
        /// Those from now on.
        summaries: Vec<Hash>,
    },
    /// An operation; its `seq` is given by the store. Operations of the session that are undone at that moment go.
    PutOp(Box<Operation>),
    /// Marks an operation as undone or done again.
    SetUndone {
        /// Which.
        seq: u64,
        /// Undone.
        undone: bool,
    },
    /// A plan's JSON under its id (known ids are passed over).
    PutPlan {
        /// The id.
        id: Hash,
        /// The branch for which it was made: it is kept as a difference to the plans there.
        branch: BranchId,
        /// JSON.
        body: String,
    },
    /// Opens a run. Fails with `Busy` while the branch has an open run of a living owner, with `Moved` when the branch's
    /// head is not `head`.
    OpenRun(Box<OpenRun>),
    /// The user message of an open run has become a node.
    UserIsNode(RunId),
    /// A run's card, changed.
    PutRun(Box<RunCard>),
    /// A run's card at its end; its chunks go.
    CloseRun(Box<RunCard>),
    /// What became of the items of a run (one that is gone meanwhile is passed over).
    PutUses {
        /// Of which run.
        run: RunId,
        /// It.
        uses: CallUses,
    },
    /// A piece of a stream. Opaque to the store.
    PutChunk {
        /// Of which run.
        run: RunId,
        /// Counts up from 0.
        seq: u64,
        /// The bytes.
        body: Vec<u8>,
    },
    /// A tool trace, new or changed (by run and call id).
    PutTrace {
        /// Where.
        session: SessionId,
        /// It.
        trace: Box<ToolTrace>,
    },
    /// The full result of a call to a tool. The oldest of the session go where all together are too much.
    PutToolOutput {
        /// Where.
        session: SessionId,
        /// The run in which the model asked.
        run: RunId,
        /// The call.
        call_id: String,
        /// It.
        text: Arc<str>,
    },
    /// A sealed segment of a session's word index. Passed over where another stands there already, or where it does not
    /// continue the one before it.
    PutShelf {
        /// Where.
        session: SessionId,
        /// Counts up from 0.
        segment: u32,
        /// Digest of the segment before it; none for the first.
        before: Option<Hash>,
        /// Its own digest.
        digest: Hash,
        /// Its messages and lengths, opaque.
        header: Vec<u8>,
        /// Its postings by term, opaque.
        lists: Vec<(u64, Vec<u8>)>,
    },
    /// The part of a session's word index that still grows, in place of the one before. Passed over where it does not
    /// continue the last segment, or where one of its messages was removed.
    PutTail {
        /// Where.
        session: SessionId,
        /// Digest of the last segment; none where there is none.
        before: Option<Hash>,
        /// The messages whose words are in it.
        keys: Vec<Hash>,
        /// It, opaque.
        body: Vec<u8>,
    },
    /// Drops a session's word index: it is of another version, or damaged.
    DropShelf(SessionId),
    /// What was looked up for a call (known ids are passed over).
    PutRetrieval {
        /// Where.
        session: SessionId,
        /// It.
        set: Box<RetrievalSet>,
    },
    /// A memory: new where `expect` is none, else in place of that version; `Moved` where that is not what is there.
    PutMemory {
        /// It.
        memory: Box<Memory>,
        /// The version that must be there.
        expect: Option<u32>,
    },
    /// A memory goes for good, when its version still is `expect`, else `Moved`.
    DeleteMemory {
        /// Which.
        id: MemoryId,
        /// The version that must be there.
        expect: u32,
    },
    /// A step in the life of an item or a memory.
    PutTransition {
        /// Where.
        session: SessionId,
        /// It.
        transition: Box<Transition>,
    },
    /// What a completed turn touched of older ones (known nodes are passed over).
    PutTouches {
        /// Where.
        session: SessionId,
        /// The key of the turn's last node.
        node: Hash,
        /// It.
        touches: Touches,
    },
    /// What stands on a message, when that still is `expect`, else `Moved`.
    PutTag {
        /// Where.
        session: SessionId,
        /// The message's key.
        node: Hash,
        /// What must be there.
        expect: Option<Tag>,
        /// What from now on.
        tag: Option<Tag>,
    },
    /// A new version of a summary of a part of a program.
    PutModule {
        /// The workspace's folder.
        root: String,
        /// It.
        card: Box<ModuleCard>,
    },
    /// Undoes the newest version of such a summary, or does it again; `Moved` where there is none.
    StepModule {
        /// The workspace's folder.
        root: String,
        /// Of what.
        path: String,
        /// Again, instead of undone.
        forward: bool,
    },
    /// What is kept of a branch of a race, new or changed.
    PutBranchRun {
        /// Where.
        session: SessionId,
        /// It.
        record: Box<BranchRun>,
    },
    /// The account of a call.
    PutUsage(Box<UsageReport>),
    /// Token counts by hash of the projected bytes.
    PutCounts(Vec<(Hash, Encoding, u32)>),
    /// This session was used last.
    UseSession(SessionId),
    /// This branch was used last in its session.
    UseBranch(BranchId),
    /// A small value under a name; none deletes it.
    Setting {
        /// The name.
        key: String,
        /// The value.
        value: Option<String>,
    },
}

/// The figures of one compression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compression {
    /// What came of it.
    pub summary: Hash,
    /// Tokens before.
    pub original: u32,
    /// Tokens after.
    pub compressed: u32,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// A message found by search.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    /// Its session.
    pub session: SessionId,
    /// The node.
    pub node: NodeId,
    /// bm25, smaller is better.
    pub score: f64,
}

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file was written by a newer program.
    #[error(
        "the store at {path} was written by a newer pleach (its format is {found}, this version knows \
        {known})"
    )]
    Newer {
        /// Where.
        path: String,
        /// Its schema version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The file is no store of ours, or is damaged. It was not changed.
    #[error("the store at {path} is damaged: {why}")]
    Corrupt {
        /// Where.
        path: String,
        /// SQLite's words.
        why: String,
    },
    /// The folder or the file cannot be opened or written.
    #[error("the store at {path} cannot be opened: {why}")]
    Open {
        /// Where.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The disk is full, or a limit was reached. What was to be written is still in memory.
    #[error("the store cannot grow: {0}")]
    Full(String),
    /// The store was opened read-only.
    #[error("the store is read-only here")]
    ReadOnly,
    /// Something else changed what this change was based on.
    #[error("it was changed in the meantime, here or in another window")]
    Moved,
    /// A run is open on the branch.
    #[error("an answer is still arriving on this branch, here or in another window")]
    Busy,
    /// Anything else that SQLite says.
    #[error("the store failed: {0}")]
    Sql(String),
}
