//! What the engine reports, in families like those of the requests, and the door through which requests go in.
//! Not for: answers' contents (`view`).
//!
//! The order of a turn: [`TurnEvent::Opened`], then its run's card, [`TurnEvent::Stream`] and what its rounds bring, then
//! [`SessionEvent::Nodes`] and [`SessionEvent::Branch`] with what is kept, then the run's last card, then
//! [`TurnEvent::Closed`]. Nothing of that turn comes after it.

use super::draft::Ticket;
use super::request::Request;
use super::view::{Answer, AsideView};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::call::race::BranchRun;
use crate::domain::call::run::RunCard;
use crate::domain::call::tokens::Certainty;
use crate::domain::conversation::branch::{Branch, SessionCard, StateVersion};
use crate::domain::conversation::message::NodeHead;
use crate::domain::conversation::tag::Tag;
use crate::domain::planning::draft::Draft;
use crate::domain::planning::draft::Planned;
use crate::domain::planning::settings::Settings;
use crate::domain::summary::draft::{SummaryAuthor, SummaryDraft};
use crate::domain::tool::consent::PendingApproval;
use crate::domain::tool::rerun::AgainView;
use crate::domain::tool::trace::ToolTrace;
use std::sync::Arc;

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A request's answer.
    Answer {
        /// Whose.
        ticket: Ticket,
        /// What it came to.
        result: Result<Answer, Failure>,
    },
    /// A plan was solved (for whatever reason: typing, an act, a round of tools).
    Planned {
        /// For which branch.
        branch: BranchId,
        /// Which generation asked; the newest one when nobody did.
        generation: u64,
        /// The plan.
        planned: Planned,
    },
    /// What is kept of a session changed.
    Session(SessionEvent),
    /// A call to a model, or the turn that it belongs to, went on.
    Turn(TurnEvent),
    /// A call to a tool or a server of tools changed.
    Tool(ToolEvent),
    /// A summary is being written, or is there to be read.
    Summary(SummaryEvent),
    /// Messages or code are being indexed.
    Indexing(IndexingEvent),
    /// A sentence about the program itself.
    Program(ProgramEvent),
}

/// A change of what is kept of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionEvent {
    /// Nodes came or changed (an answer was committed, a message removed, another window wrote).
    Nodes {
        /// In which session.
        session: SessionId,
        /// Their heads, parents first.
        heads: Vec<NodeHead>,
    },
    /// A branch came or changed.
    Branch(Box<Branch>),
    /// All names and stars of a session, because one changed.
    Tags {
        /// Of which session.
        session: SessionId,
        /// They.
        tags: Vec<Tag>,
    },
    /// The session's card changed.
    Card(SessionCard),
    /// The state block of a branch changed, or was missing from an answer that should have had one.
    State {
        /// Whose.
        branch: BranchId,
        /// The version that counts now.
        version: Option<StateVersion>,
        /// The answer should have brought one and did not.
        missing: bool,
    },
    /// Which model and rules hold for a branch.
    Settings {
        /// Whose.
        branch: BranchId,
        /// They.
        settings: Box<Settings>,
    },
}

/// The course of a turn, a race, or a side question.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnEvent {
    /// A turn opened on a branch: its user message is not a node yet.
    Opened {
        /// On which branch.
        branch: BranchId,
        /// The message (empty for regenerate and continue).
        text: Arc<str>,
        /// The node after which the answer will stand.
        after: Option<NodeId>,
    },
    /// A call began, moved on or ended.
    Run(Box<RunCard>),
    /// Words came.
    Stream {
        /// On which branch.
        branch: BranchId,
        /// From which run.
        run: RunId,
        /// New words of the answer (state block included; the screen hides it).
        text: String,
        /// New words thought aloud.
        reasoning: String,
        /// Tokens of the answer so far.
        tokens: u32,
        /// How sure that number is.
        certainty: Certainty,
        /// Cost so far in millionths of a dollar, where prices are known.
        cost_micro: Option<u64>,
    },
    /// Before the first word: a failed attempt will be followed by another at `until_ms` from now.
    Retrying {
        /// On which branch.
        branch: BranchId,
        /// Which attempt comes next.
        attempt: u32,
        /// In how many milliseconds.
        wait_ms: u64,
        /// Why.
        why: String,
    },
    /// The turn is over. What there was of it is in nodes; a draft that came to nothing is given back.
    Closed {
        /// On which branch.
        branch: BranchId,
        /// The draft, when nothing of an answer came.
        draft: Option<Draft>,
        /// Why it failed, when it did.
        failure: Option<Failure>,
    },
    /// What is kept of a branch of a race came or changed.
    BranchRun(Box<BranchRun>),
    /// A side question went on, or is over.
    Aside(Box<AsideView>),
}

/// The course of calls to tools, and the state of their servers.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolEvent {
    /// A tool began, moved on or ended.
    Trace(Box<ToolTrace>),
    /// A tool reported something while it ran: a piece of a command's output.
    Output {
        /// On which branch.
        branch: BranchId,
        /// Of which run.
        run: RunId,
        /// Which call of its answer.
        index: usize,
        /// The piece.
        text: String,
    },
    /// A call to a tool waits for a person's approval, or (`None`) no longer does.
    Approval {
        /// On which branch.
        branch: BranchId,
        /// The call.
        pending: Option<Arc<PendingApproval>>,
    },
    /// A call that a person runs again began, asks, or ended.
    Rerun(Box<AgainView>),
    /// A server of tools stands otherwise, or its tools do.
    ServersChanged,
}

/// The course of a summary.
#[derive(Clone, PartialEq, Debug)]
pub enum SummaryEvent {
    /// A summary is being made; over when its `Draft` comes, with or without one.
    Progress {
        /// On which branch.
        branch: BranchId,
        /// The first and the last turn that it covers.
        turns: (u32, u32),
        /// Who writes it.
        by: SummaryAuthor,
        /// Parts that are written.
        done: u32,
        /// Of how many.
        of: u32,
        /// Tokens of the present part so far.
        tokens: u32,
    },
    /// A summary of a part of the program is being made; over when what asked for it is answered.
    ModuleProgress {
        /// On which branch.
        branch: BranchId,
        /// The folder or file.
        path: String,
        /// Who writes it.
        by: SummaryAuthor,
        /// Files that are read, and of how many.
        files: (usize, usize),
        /// Tokens of the model's text so far.
        tokens: u32,
    },
    /// The draft of a summary came, changed, or went.
    Draft {
        /// On which branch.
        branch: BranchId,
        /// It.
        draft: Option<Arc<SummaryDraft>>,
    },
}

/// How far indexing has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexingEvent {
    /// Older messages, so that they can be looked through.
    Messages {
        /// Messages that are.
        done: usize,
        /// Of how many on the path.
        total: usize,
    },
    /// Vectors of older messages.
    Vectors {
        /// Messages that have theirs.
        made: usize,
        /// Of how many that had none.
        total: usize,
    },
    /// The code of a workspace.
    Code {
        /// Files that are known.
        done: usize,
        /// Of how many.
        files: usize,
        /// Symbols so far.
        symbols: usize,
    },
}

/// A sentence about the program itself.
#[derive(Clone, PartialEq, Debug)]
pub enum ProgramEvent {
    /// A sentence for the status line.
    Notice(String),
    /// A sentence that must be seen.
    Alarm(String),
    /// The store cannot be written, which must be seen; nothing once it can be again.
    StorageFailure(Option<String>),
}

/// Where events go. A bounded queue would stop the engine when the screen stalls, so receivers must keep draining.
pub type Events = std::sync::mpsc::Receiver<Event>;

/// The door.
pub trait Door: Send {
    /// Hands a request in. Never blocks.
    fn send(&self, ticket: Ticket, request: Request);
}
