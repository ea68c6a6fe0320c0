//! The answers to requests, and the views of sessions, plans, and settings in them.
//! Not for: events that answer no request (`event`).

use super::traces::TraceWhole;
use crate::domain::base::{BackupReport, BranchId, Failure, Finding, Hash, NodeId, RunId};
use crate::domain::call::{
    BranchRun, CalibrationEntry, CallUses, CodeSet, Ledger, ModelInfo, RawRequest, RetrievalSet, RunCard, SentRequest,
};
use crate::domain::code::{CodeMap, CodeSearchResult, IndexStatus, NamedSymbol, ProjectList, SymbolSource};
use crate::domain::conversation::{
    Actor, Atom, Branch, Comparison, FoundMessages, ImportResult, ItemState, Memory, Node, NodeHead, SessionCard,
    Skipped, Tag, Transcript, Transition,
};
use crate::domain::planning::{ActPreview, ContextPlan, ItemHistory, PlanDiff, Planned, WhatIf};
use crate::domain::summary::{Editable, EditableKind, ModuleVersion, PolicyFault, Stats, SummaryCard, SummaryDraft};
use crate::domain::tool::{Rule, RuleScope, ToolTrace};
use std::sync::Arc;

/// File names of the workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileList {
    /// Paths relative to the workspace, best match first.
    pub paths: Vec<String>,
    /// Why the list is empty or incomplete; may be empty.
    pub note: String,
}

/// The answer to a request. Unlike requests and events, answers have no families: each is read where its request was
/// made, by a caller that expects one variant. Families would add nesting but no exhaustive match.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The folder's own settings file, if any.
    FolderSettings(Option<Box<crate::domain::tool::folder_settings::FolderSettings>>),
    /// All tools.
    ToolList(Box<crate::domain::tool::cards::ToolList>),
    /// Rules for tool calls, each with its scope.
    Rules(Vec<(RuleScope, Rule)>),
    /// Module summaries, all versions.
    Modules(Vec<ModuleVersion>),
    /// Rules and skills of the workspace.
    Project(Box<ProjectList>),
    /// The request was carried out. The sentence for the person may be empty.
    Done(String),
    Sessions(Vec<SessionCard>),
    /// Messages that were found.
    Found(Box<FoundMessages>),
    /// The session is open.
    Opened(Arc<SessionView>),
    /// Contents of nodes; nodes that no longer exist are omitted.
    Bodies(Vec<Arc<Node>>),
    /// The branch that was made or switched to.
    Branch(Box<Branch>),
    /// The solved plan.
    Planned(Planned),
    /// The next call under other settings.
    WhatIf(Arc<WhatIf>),
    /// The effect of an act on the next call.
    Preview(Box<ActPreview>),
    /// The exact bytes of the next call.
    Raw(Box<RawRequest>),
    /// Token counts of an edited body.
    Weighed(BodyCount),
    /// The call was started.
    Asked {
        /// The call's run.
        run: RunId,
    },
    Text(String),
    /// Files that match the typed text.
    Files(FileList),
    /// The text of an attachment.
    Attached {
        text: Arc<str>,
        /// The number of likely secrets that are masked.
        masked: usize,
    },
    /// Calls.
    Runs(Vec<RunCard>),
    /// Figures of calls.
    Ledger(Box<Ledger>),
    /// How the answer used a call's items; `None` if that was not recorded.
    Uses(Option<Box<CallUses>>),
    /// A stored plan with the calls made from it.
    StoredPlan {
        plan: Arc<ContextPlan>,
        /// Its calls.
        runs: Vec<RunCard>,
        /// The retrieval set of the code search.
        code_set: Option<Arc<CodeSet>>,
    },
    /// The request of a call that was made.
    SentRequest(Box<SentRequest>),
    /// The differences between two calls.
    Diff(Box<PlanDiff>),
    /// Two branches side by side.
    Compared(Box<Comparison>),
    /// The history of an item over the calls of a branch.
    History(Box<ItemHistory>),
    /// A stored call, rendered again.
    Replayed {
        /// The call.
        run: Box<RunCard>,
        /// The request as rendered now.
        request: Box<RawRequest>,
    },
    /// A stored call that is being replayed.
    Replaying(Box<ReplayedCall>),
    /// The branches of a race.
    Race(Vec<Branch>),
    /// Models by profile.
    Models(Vec<(String, Result<Vec<ModelInfo>, Failure>)>),
    /// Calibrations of models' token counts.
    Meters(Vec<CalibrationEntry>),
    /// The findings of a check of the setup.
    Doctor(Vec<Finding>),
    /// The backups of the store, newest first.
    Backups(Vec<BackupReport>),
    /// The state of a workspace's code index.
    Indexed(Box<IndexStatus>),
    /// Code that matches a query.
    Code(Box<CodeSearchResult>),
    /// Symbols that match the typed text.
    Symbols(Vec<NamedSymbol>),
    /// A symbol's source.
    Source(Box<SymbolSource>),
    /// The map of a workspace's code.
    Map(Box<CodeMap>),
    /// Retrieved messages.
    Retrieved(Box<Retrieved>),
    Memories(Vec<Memory>),
    /// State changes of items, oldest first.
    Steps(Vec<TransitionReport>),
    /// The appended message.
    Added(Box<NodeHead>),
    /// The result of an import.
    Imported {
        /// The detected format.
        format: String,
        sessions: Vec<ImportResult>,
        /// Records that were skipped.
        skipped: Vec<Skipped>,
    },
    /// The waiting draft of a summary, if any.
    Draft(Option<Arc<SummaryDraft>>),
    /// Summaries, newest level first.
    Summaries(Vec<SummaryCard>),
    /// Editable texts of a kind, with their versions.
    Editables(EditableKind, Vec<Editable>),
    /// A policy was changed.
    Policies {
        /// The names of all policies.
        names: Vec<String>,
        /// A sentence about the change.
        notice: String,
    },
    /// A text that was refused as invalid.
    Refused(PolicyFault),
    /// Tool calls, oldest first.
    Traces(Vec<ToolTrace>),
    /// One tool call in full.
    Trace(Box<TraceWhole>),
    /// Statistics; figures that need a plan are empty if there is none.
    Stats(Box<Stats>),
    /// A session as neutral records.
    Transcript(Box<Transcript>),
}

/// Token counts of an edited body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyCount {
    /// The BLAKE3 hash of the body.
    pub digest: Hash,
    /// Tokens in all.
    pub tokens: u32,
    /// The token budget.
    pub room: u32,
    /// The number of messages that differ from the plan.
    pub changed: u32,
}

/// A replayed call.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayedCall {
    /// The stored call.
    pub of: RunCard,
    /// The new call.
    pub run: RunId,
    /// The scratch branch for its answer.
    pub branch: Box<Branch>,
    /// Whether the new bytes equal the stored ones.
    pub exact: bool,
    /// The item that was left out, with its first words, not sanitized.
    pub without: Option<(Atom, String)>,
}

/// The result of a search through older messages.
#[derive(Clone, PartialEq, Debug)]
pub struct Retrieved {
    /// The set: query, gate, items with their scores, near misses.
    pub set: RetrievalSet,
    /// For each item of the set, in the order of the conversation: its message, its id in an import, and its lines as
    /// sent.
    pub items: Vec<(NodeId, Option<String>, String)>,
}

/// A state change with a description of its item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionReport {
    /// The state change.
    pub step: Transition,
    /// First words of the item, or the memory's text; not sanitized.
    pub title: String,
    /// The item's turn on the branch's path, from 1.
    pub turn: Option<u32>,
    /// The turn at whose end the change happened, from 1.
    pub at_turn: Option<u32>,
}

impl TransitionReport {
    /// Returns a sentence such as `turn 12: leased by the program, referred to in 2 of the last 5 turns`.
    pub fn sentence(&self) -> String {
        let by = match self.step.by {
            Actor::User => "you",
            Actor::Engine => "pleach",
            Actor::Model => "the model",
        };
        let at = self.at_turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let to = match (self.step.from, self.step.to) {
            (ItemState::Leased, ItemState::Leased) => "renewed",
            (_, ItemState::None) => "removed",
            (_, ItemState::Ephemeral) if self.step.by == Actor::User => "included once",
            (_, ItemState::Ephemeral) => "kept for one turn",
            (_, ItemState::Sticky) => "pinned",
            (_, to) => to.name(),
        };
        // `by` already says that a person decided.
        let why = match self.step.reason.as_str() {
            "" | "decided by the person" => String::new(),
            why => format!(", {why}"),
        };
        format!("{at}{to} by {by}{why}")
    }
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
    /// The failure, if any.
    pub failure: Option<Failure>,
}

/// An open session for the screen, without contents of messages.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    pub card: SessionCard,
    /// All nodes, parents before children.
    pub nodes: Vec<NodeHead>,
    /// All branches, including archived ones.
    pub branches: Vec<Branch>,
    /// The last used branch.
    pub current: BranchId,
    /// All calls, oldest first.
    pub runs: Vec<RunCard>,
    /// Labels and stars of messages.
    pub tags: Vec<Tag>,
    /// Records of branches in races.
    pub races: Vec<BranchRun>,
    /// The newest tool traces, oldest first (at most 500).
    pub traces: Vec<ToolTrace>,
    /// The workspace folder, and whether it is trusted.
    pub workspace: (String, bool),
    /// Unsent drafts by branch.
    pub drafts: Vec<(BranchId, Arc<str>)>,
    /// The messages that were cleared on each branch, newest first, with their times in milliseconds since 1970.
    pub cleared: Vec<(BranchId, i64, Arc<str>)>,
    /// Notices about recovery ("1 answer was interrupted; …"); may be empty.
    pub recovered: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::transition::Subject;

    #[test]
    fn steps_become_sentences() {
        use ItemState::{Excluded, Leased, None as Free};
        let text = |(from, to), by, reason: &str, at_turn| {
            let item = Subject::Item(Atom::Message { node: Hash::default() });
            let step = Transition { item, from, to, reason: reason.into(), turn: None, branch: None, by, at: 0 };
            TransitionReport { step, title: String::new(), turn: None, at_turn }.sentence()
        };
        for (found, expected) in [
            (text((Free, Leased), Actor::Engine, "named again", Some(12)), "turn 12: leased by pleach, named again"),
            (text((Leased, Leased), Actor::Model, "", None), "renewed by the model"),
            (text((Leased, Free), Actor::User, "decided by the person", Some(3)), "turn 3: removed by you"),
            (text((Free, Excluded), Actor::User, "", None), "excluded by you"),
        ] {
            assert_eq!(found, expected);
        }
    }
}
