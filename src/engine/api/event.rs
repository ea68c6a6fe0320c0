//! The events that the engine sends, in families that match the families of requests, and the trait that accepts
//! requests.
//! Not for: the contents of answers (`answer`).
//!
//! The order of a turn: [`TurnEvent::Opened`]; its run's card; [`TurnEvent::Stream`] and the events of its rounds;
//! [`SessionEvent::Nodes`] and [`SessionEvent::Branch`] with the stored data; the run's last card;
//! [`TurnEvent::Closed`]. No event of that turn follows.

use super::answer::Answer;
use super::draft::Ticket;
use super::request::Request;
use crate::domain::base::{BranchId, Failure, NodeId, RunId, SessionId};
use crate::domain::call::{BranchRun, Certainty, RunCard};
use crate::domain::conversation::{Branch, NodeHead, SessionCard, StateVersion, Tag};
use crate::domain::planning::{Draft, Planned, Settings};
use crate::domain::summary::{SummaryAuthor, SummaryDraft};
use crate::domain::tool::{PendingApproval, Rerun, ToolTrace};
use std::sync::Arc;

/// An event from the engine.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The answer to a request.
    Answer {
        /// The ticket of the request.
        ticket: Ticket,
        result: Result<Answer, Failure>,
    },
    /// A plan was solved (after typing, an act, or a round of tools).
    Planned {
        branch: BranchId,
        /// The generation of the draft; the newest one if no request asked for the plan.
        generation: u64,
        /// The plan.
        planned: Planned,
    },
    /// Stored data of a session changed.
    Session(SessionEvent),
    /// Progress of a call to a model or of its turn.
    Turn(TurnEvent),
    /// A tool call or tool server changed.
    Tool(ToolEvent),
    /// Progress of a summary, or a draft of one.
    Summary(SummaryEvent),
    /// Messages or code are being indexed.
    Indexing(IndexingEvent),
    /// News about the program itself.
    Program(ProgramEvent),
}

/// A change of a session's stored data.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionEvent {
    /// Nodes were added or changed (an answer was committed, a message removed, another window wrote).
    Nodes {
        session: SessionId,
        /// Their heads, parents first.
        heads: Vec<NodeHead>,
    },
    /// A branch was added or changed.
    Branch(Box<Branch>),
    /// All labels and favorites of a session, after one changed.
    Tags { session: SessionId, tags: Vec<Tag> },
    /// The session's card changed.
    Card(SessionCard),
    /// The state block of a branch changed, or an answer lacked its state block.
    State {
        branch: BranchId,
        version: Option<StateVersion>,
        /// Whether the answer lacked a state block.
        missing: bool,
    },
    /// The model and settings of a branch.
    Settings { branch: BranchId, settings: Box<Settings> },
}

/// The course of a turn, a race, or a side question.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnEvent {
    /// A turn opened on a branch: its user message is not a node yet.
    Opened {
        branch: BranchId,
        /// The message (empty for regenerate and continue).
        text: Arc<str>,
        /// The node that the answer will follow.
        after: Option<NodeId>,
    },
    /// A call started, progressed, or ended.
    Run(Box<RunCard>),
    /// Text of the answer arrived.
    Stream {
        branch: BranchId,
        run: RunId,
        /// New text of the answer, including the state block, which the screen hides.
        text: String,
        reasoning: String,
        /// Tokens of the answer so far.
        tokens: u32,
        /// How certain the token count is.
        certainty: Certainty,
        /// Cost so far in millionths of a dollar; `None` if prices are unknown.
        cost_micro: Option<u64>,
    },
    /// An attempt failed before the first token, and another follows after `wait_ms`.
    Retrying {
        branch: BranchId,
        /// The number of the next attempt.
        attempt: u32,
        /// Milliseconds until the next attempt.
        wait_ms: u64,
        /// The reason.
        why: String,
    },
    /// The turn is over. Its text is in nodes; a draft without an answer is returned.
    Closed {
        branch: BranchId,
        /// The draft to restore, if no answer arrived.
        draft: Option<Draft>,
        failure: Option<Failure>,
    },
    /// The record of a race's branch was added or changed.
    BranchRun(Box<BranchRun>),
    /// Progress or end of a side question.
    Aside(Box<AsideView>),
}

/// Progress of tool calls, and the state of their servers.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolEvent {
    /// A tool call started, progressed, or ended.
    Trace(Box<ToolTrace>),
    /// Output of a running tool, such as a piece of a command's output.
    Output {
        branch: BranchId,
        run: RunId,
        /// The index of the call in its answer.
        index: usize,
        /// The new output.
        text: String,
    },
    /// A tool call waits for approval, or (`None`) no longer does.
    Approval {
        branch: BranchId,
        /// The call.
        pending: Option<Arc<PendingApproval>>,
    },
    /// A rerun of a tool call started, waits for approval, or ended.
    Rerun(Box<Rerun>),
    /// A tool server changed its state or its tools.
    ServersChanged,
}

/// Progress of a summary.
#[derive(Clone, PartialEq, Debug)]
pub enum SummaryEvent {
    /// Progress of a summary draft. [`SummaryEvent::Draft`] follows at the end.
    Progress {
        branch: BranchId,
        /// The numbers of the first and the last turn that it covers.
        turns: (u32, u32),
        by: SummaryAuthor,
        /// The number of parts that are written.
        done: u32,
        /// The number of parts in all.
        of: u32,
        /// Tokens of the current part so far.
        tokens: u32,
    },
    /// Progress of a module summary, which ends when its request is answered.
    ModuleProgress {
        branch: BranchId,
        /// The folder or file.
        path: String,
        by: SummaryAuthor,
        /// Files read so far, and the total.
        files: (usize, usize),
        /// Tokens of the model's text so far.
        tokens: u32,
    },
    /// A draft was added, changed, or removed.
    Draft {
        branch: BranchId,
        /// The draft; `None` if it was removed.
        draft: Option<Arc<SummaryDraft>>,
    },
}

/// Progress of indexing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexingEvent {
    /// Older messages, for retrieval.
    Messages {
        /// Messages that are indexed.
        done: usize,
        /// Messages on the path.
        total: usize,
    },
    /// Vectors of older messages.
    Vectors {
        /// Messages that have vectors now.
        made: usize,
        /// Messages that lacked vectors at the start.
        total: usize,
    },
    /// The code of a workspace.
    Code {
        /// Files that are indexed.
        done: usize,
        /// The total.
        files: usize,
        /// Symbols so far.
        symbols: usize,
    },
}

/// News about the program itself.
#[derive(Clone, PartialEq, Debug)]
pub enum ProgramEvent {
    /// A sentence for the status line.
    Notice(String),
    /// An important sentence, which stays until it is read.
    Alarm(String),
    /// The sentence to show while the store cannot be written; `None` once it can be written again.
    StorageFailure(Option<String>),
}

/// The receiving end of the engine's events. The queue is unbounded, because a bounded queue would block the engine
/// when the screen stalls; receivers must keep draining it.
pub type Events = std::sync::mpsc::Receiver<Event>;

/// Accepts requests for the engine.
pub trait RequestSender: Send {
    /// Submits a request. Never blocks.
    fn send(&self, ticket: Ticket, request: Request);
}

/// A side question, asked in a branch's current context. It is not a message of the tree.
#[derive(Clone, PartialEq, Debug)]
pub struct AsideView {
    /// The run of its call.
    pub run: RunId,
    /// The branch whose context it uses.
    pub branch: BranchId,
    pub question: Arc<str>,
    /// The answer so far, including the state block.
    pub text: String,
    /// Tokens of the answer so far, estimated.
    pub tokens: u32,
    /// The cost so far in millionths of a dollar; `None` if prices are unknown. Once the call is over, the server's
    /// figure.
    pub cost_micro: Option<u64>,
    /// The card of the call, once the call is over.
    pub card: Option<Box<RunCard>>,
    pub failure: Option<Failure>,
}
