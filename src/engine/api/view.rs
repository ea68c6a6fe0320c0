//! What requests come to, and what a screen is shown.
//! Not for: what happens by itself (`event`).

use super::traces::TraceWhole;
use crate::domain::base::damage::Holding;
use crate::domain::base::failure::Failure;
use crate::domain::base::finding::Finding;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::domain::call::item_use::CallUses;
use crate::domain::call::ledger::Ledger;
use crate::domain::call::meter::CalibrationEntry;
use crate::domain::call::model::ModelInfo;
use crate::domain::call::race::BranchRun;
use crate::domain::call::retrieval_set::RetrievalSet;
use crate::domain::call::run::RunCard;
use crate::domain::code::symbols::{CodeFound, CodeMap, IndexStatus, NamedSymbol, SymbolSource};
use crate::domain::code::workspace_rules::ProjectList;
use crate::domain::conversation::branch::{Branch, SessionCard};
use crate::domain::conversation::compare::Comparison;
use crate::domain::conversation::mark::{Actor, Atom};
use crate::domain::conversation::memory::Memory;
use crate::domain::conversation::message::{Node, NodeHead};
use crate::domain::conversation::record::{Imported, Skipped, Transcript};
use crate::domain::conversation::search::FoundMessages;
use crate::domain::conversation::tag::Tag;
use crate::domain::conversation::transition::{ItemState, Transition};
use crate::domain::planning::diff::{ItemHistory, PlanDiff};
use crate::domain::planning::draft::Planned;
use crate::domain::planning::plan::ContextPlan;
use crate::domain::planning::what_if::{ActPreview, WhatIf};
use crate::domain::summary::draft::{Stats, SummaryCard, SummaryDraft};
use crate::domain::summary::module::ModuleVersion;
use crate::domain::summary::versions::{Editable, EditableKind, Fault};
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::domain::tool::trace::ToolTrace;
use std::sync::Arc;

/// Names of files of the workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileList {
    /// Their paths beneath the workspace, best first.
    pub paths: Vec<String>,
    /// Why there are none, or not all; empty for nothing to say.
    pub note: String,
}

/// What a request came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The folder's own settings file, where there is one.
    FolderSettings(Option<Box<crate::domain::tool::folder_settings::FolderSettings>>),
    /// All tools.
    Toolbox(Box<crate::domain::tool::cards::Toolbox>),
    /// Rules about calls to tools, with where each stands.
    Rules(Vec<(RuleScope, Rule)>),
    /// Summaries of parts of the program, all versions.
    Modules(Vec<ModuleVersion>),
    /// What the project says of itself.
    Project(Box<ProjectList>),
    /// It is done; there is nothing more to say than this sentence (may be empty).
    Done(String),
    /// Sessions.
    Sessions(Vec<SessionCard>),
    /// Messages that were found.
    Found(Box<FoundMessages>),
    /// The session is open.
    Opened(Arc<SessionView>),
    /// Contents; nodes that are gone are missing.
    Bodies(Vec<Arc<Node>>),
    /// The branch that was made or stood on.
    Branch(Box<Branch>),
    /// What was solved.
    Planned(Planned),
    /// The next call made otherwise.
    WhatIf(Arc<WhatIf>),
    /// What an act would do to the next call.
    Preview(Box<ActPreview>),
    /// The exact bytes of the next call.
    Raw(Box<RawRequest>),
    /// What an edited body counts.
    Weighed(BodyCount),
    /// The call is under way.
    Asked {
        /// Its run.
        run: RunId,
    },
    /// A text.
    Text(String),
    /// Files by what was typed.
    Files(FileList),
    /// The text of a file that goes with a message.
    Attached {
        /// The text.
        text: Arc<str>,
        /// How many things in it looked like secrets and are masked.
        masked: usize,
    },
    /// Calls.
    Runs(Vec<RunCard>),
    /// What calls came to.
    Ledger(Box<Ledger>),
    /// What became of the items of a call; none where that is not known.
    Uses(Option<Box<CallUses>>),
    /// A stored plan with the calls made from it.
    StoredPlan {
        /// The plan.
        plan: Arc<ContextPlan>,
        /// Its calls.
        runs: Vec<RunCard>,
    },
    /// What differs between two calls.
    Diff(Box<PlanDiff>),
    /// Two branches side by side.
    Compared(Box<Comparison>),
    /// An item over the calls of a branch.
    History(Box<ItemHistory>),
    /// A stored call, rendered again.
    Replayed {
        /// The call.
        run: Box<RunCard>,
        /// Digest of the body rendered now.
        digest: Hash,
        /// The body.
        body: String,
    },
    /// A stored call that is under way again.
    Replaying(Box<ReplayedCall>),
    /// The branches of a race.
    Race(Vec<Branch>),
    /// Models by profile.
    Models(Vec<(String, Result<Vec<ModelInfo>, Failure>)>),
    /// What was learned of how models count.
    Meters(Vec<CalibrationEntry>),
    /// What was found.
    Doctor(Vec<Finding>),
    /// The copies of the store that there are, newest first.
    Backups(Vec<Holding>),
    /// What the index of a workspace's code holds.
    Indexed(Box<IndexStatus>),
    /// Code that a question is about.
    Code(Box<CodeFound>),
    /// Symbols by what is typed of a name.
    Symbols(Vec<NamedSymbol>),
    /// A symbol's source.
    Source(Box<SymbolSource>),
    /// The map of a workspace's code.
    Map(Box<CodeMap>),
    /// What was looked up.
    Retrieved(Box<Retrieved>),
    /// Memories.
    Memories(Vec<Memory>),
    /// Steps, oldest first.
    Steps(Vec<TransitionReport>),
    /// What was appended.
    Added(Box<NodeHead>),
    /// What was imported.
    Imported {
        /// The format found.
        format: String,
        /// Session by session.
        sessions: Vec<Imported>,
        /// What was skipped.
        skipped: Vec<Skipped>,
    },
    /// The draft of a summary that waits, where one does.
    Draft(Option<Arc<SummaryDraft>>),
    /// Capsules, newest level first.
    Summaries(Vec<SummaryCard>),
    /// Things of a kind, with their versions.
    Editables(EditableKind, Vec<Editable>),
    /// A policy was changed.
    Policies {
        /// All names.
        names: Vec<String>,
        /// What was done.
        said: String,
    },
    /// A text that cannot be what it should.
    Refused(Fault),
    /// Calls to tools, oldest first.
    Traces(Vec<ToolTrace>),
    /// One of them, whole.
    Trace(Box<TraceWhole>),
    /// Figures; what a plan would tell is left empty.
    Stats(Box<Stats>),
    /// Records.
    Transcript(Box<Transcript>),
}

/// The exact bytes of a request, with what they consist of.
#[derive(Clone, PartialEq, Debug)]
pub struct RawRequest {
    /// The body.
    pub body: Arc<str>,
    /// Its BLAKE3.
    pub digest: Hash,
    /// What its messages are made of, in order.
    pub parts: Vec<RawPart>,
    /// Tokens of the whole.
    pub tokens: u32,
    /// Tokens that it may have.
    pub room: u32,
}

/// A part of a message of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawPart {
    /// The message, from 0.
    pub message: u32,
    /// How many bytes of its content, as JSON writes it.
    pub bytes: usize,
    /// Its section and what it is, unsanitised.
    pub title: String,
    /// Its tokens.
    pub tokens: u32,
}

/// What an edited body counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyCount {
    /// Its BLAKE3.
    pub digest: Hash,
    /// Tokens of the whole.
    pub tokens: u32,
    /// Tokens that it may have.
    pub room: u32,
    /// Messages that are not as they were planned.
    pub changed: u32,
}

/// A stored call that is made again.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayedCall {
    /// The stored call.
    pub of: RunCard,
    /// The new one.
    pub run: RunId,
    /// The scratch branch on which its answer comes.
    pub branch: Box<Branch>,
    /// The bytes are the same.
    pub exact: bool,
    /// What was left out, with its first words, unsanitised.
    pub without: Option<(Atom, String)>,
}

/// What a look through older messages found.
#[derive(Clone, PartialEq, Debug)]
pub struct Retrieved {
    /// The set: query, gate, items with their scores, near misses.
    pub set: RetrievalSet,
    /// For each item of the set, in the order of the conversation: its message, its id in an import, its lines as sent.
    pub items: Vec<(NodeId, Option<String>, String)>,
}

/// A step with what it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionReport {
    /// It.
    pub step: Transition,
    /// First words of the item, or the memory's text; unsanitised.
    pub title: String,
    /// The item's turn on the branch's path, from 1.
    pub turn: Option<u32>,
    /// The turn at whose end it happened, from 1.
    pub at_turn: Option<u32>,
}

impl TransitionReport {
    /// `turn 12: leased by the program, referred to in 2 of the last 5 turns`
    #[must_use]
    pub fn sentence(&self) -> String {
        let by = match self.step.by {
            Actor::User => "you",
            Actor::Engine => "pleach",
            Actor::Model => "the model",
        };
        let at = self.at_turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let to = match (self.step.from, self.step.to) {
            (ItemState::Leased, ItemState::Leased) => "renewed",
            (_, ItemState::None) => "dropped",
            (_, to) => to.name(),
        };
        // That a person decided it is said already.
        let why = match self.step.reason.as_str() {
            "" | "decided by the person" => String::new(),
            why => format!(", {why}"),
        };
        format!("{at}{to} by {by}{why}")
    }
}

/// A side question: asked in a branch's present context, and no message of the tree.
#[derive(Clone, PartialEq, Debug)]
pub struct AsideView {
    /// Its call.
    pub run: RunId,
    /// The branch in whose context it was asked.
    pub branch: BranchId,
    /// The question.
    pub question: Arc<str>,
    /// The answer so far, state block included.
    pub text: String,
    /// Tokens of the answer so far, estimated.
    pub tokens: u32,
    /// Millionths of a dollar so far, where prices are known; what the server reported once it is over.
    pub cost_micro: Option<u64>,
    /// Its card, once it is over.
    pub card: Option<Box<RunCard>>,
    /// Why it failed, where it did.
    pub failure: Option<Failure>,
}

/// An open session, as the screen needs it: everything light, no contents.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    /// The session.
    pub card: SessionCard,
    /// All nodes, parents before children.
    pub nodes: Vec<NodeHead>,
    /// All branches, archived ones too.
    pub branches: Vec<Branch>,
    /// The branch last stood on.
    pub current: BranchId,
    /// All calls, oldest first.
    pub runs: Vec<RunCard>,
    /// Names and stars on messages.
    pub tags: Vec<Tag>,
    /// What is kept of the branches of races.
    pub races: Vec<BranchRun>,
    /// The newest tool traces, oldest first (at most 500).
    pub traces: Vec<ToolTrace>,
    /// Whether the workspace folder is trusted, and which it is.
    pub workspace: (String, bool),
    /// What was being written on branches when they were left.
    pub drafts: Vec<(BranchId, Arc<str>)>,
    /// What recovery found at opening ("1 answer was interrupted; …"), empty when nothing.
    pub recovered: Vec<String>,
}
