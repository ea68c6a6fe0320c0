//! The open session: nodes, branches, calls, tool traces, and settings.
//! Not for: contents of nodes (`bodies`), or drawn rows (`chat::model`).

use crate::domain::base::{BranchId, Hash, NodeId};
use crate::domain::call::{BranchRun, RunCard, ShortRead};
use crate::domain::conversation::branch;
use crate::domain::conversation::{Branch, Lane, NodeHead, Role, SessionCard, Slot, Tag, Tree, task};
use crate::domain::planning::Settings;
use crate::domain::tool::ToolTrace;
use crate::tui::model::tree_rows::TreeRows;
use std::collections::{HashMap, HashSet};

/// How many tool traces are kept for the list.
const TRACES: usize = 500;

/// The open session.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Title, dates, and counts.
    pub card: SessionCard,
    /// All nodes.
    pub tree: Tree,
    pub branches: Vec<Branch>,
    pub current: BranchId,
    /// Tool calls, oldest first.
    pub traces: Vec<ToolTrace>,
    /// Increases with every change of `traces`.
    pub trace_revision: u64,
    /// The workspace folder, and whether it is trusted.
    pub workspace: (String, bool),
    pub settings: HashMap<BranchId, Settings>,
    /// Branches with answers that arrived while another branch was current.
    pub unread: HashSet<BranchId>,
    /// Labels and favorites, by the message's key.
    pub tags: HashMap<Hash, Tag>,
    /// The branches of races, with their limits and results.
    pub races: HashMap<BranchId, BranchRun>,
    /// The rows of the tree: runs of nodes without a fork.
    pub tree_rows: TreeRows,
    by_user: HashMap<NodeId, RunCard>,
    by_answer: HashMap<NodeId, RunCard>,
    trace_of: HashMap<NodeId, usize>,
}

impl Session {
    /// Builds a session from its parts.
    pub fn new(card: SessionCard, nodes: Vec<NodeHead>, branches: Vec<Branch>, current: BranchId) -> Self {
        Self { card, tree: Tree::build(nodes), branches, current, ..Self::default() }
    }

    /// The current branch.
    pub fn branch(&self) -> Option<&Branch> {
        self.find(self.current)
    }

    /// A branch.
    pub fn find(&self, id: BranchId) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.id == id)
    }

    /// A branch whose path contains a node.
    pub fn holding(&self, node: NodeId) -> Option<BranchId> {
        branch::holding(&self.branches, self.current, &self.tree, self.tree.slot(node)?)
    }

    /// The lane of the next message on the current branch unless it is a reply: the branch's override, or else the lane
    /// of its head.
    pub fn lane(&self) -> Lane {
        let Some(branch) = self.branch() else { return Lane::Root };
        let of_head = || branch.head.and_then(|id| self.tree.get(id)).map(|head| head.lane.as_str());
        Lane::read(branch.overrides.lane.as_deref().or_else(of_head).unwrap_or_default())
    }

    /// The name of the running task of the current branch.
    pub fn task(&self) -> Option<&str> {
        self.branch().and_then(|branch| task::running(&branch.overrides.tasks)).map(|task| task.name.as_str())
    }

    /// The settings of the current branch.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.get(&self.current)
    }

    /// The tag of a message.
    pub fn tag(&self, head: &NodeHead) -> Option<&Tag> {
        self.tags.get(&head.key)
    }

    /// Replaces all tags.
    pub fn put_tags(&mut self, tags: Vec<Tag>) {
        self.tags = tags.into_iter().map(|tag| (tag.node, tag)).collect();
    }

    /// Updates the rows of the tree.
    pub fn sync_tree_rows(&mut self) {
        self.tree_rows.sync(&self.tree, &self.branches, self.current);
    }

    /// Adds or replaces a branch.
    pub fn put_branch(&mut self, branch: Branch) {
        match self.branches.iter_mut().find(|known| known.id == branch.id) {
            Some(known) => *known = branch,
            None => self.branches.push(branch),
        }
    }

    /// Adds or replaces a call.
    pub fn put_run(&mut self, card: RunCard) {
        if let Some(answer) = card.answer {
            self.by_answer.insert(answer, card.clone());
        }
        if let Some(user) = card.user {
            let replaces = |known: &RunCard| card.round <= 1 && (known.id == card.id || known.at <= card.at);
            if self.by_user.get(&user).is_none_or(replaces) {
                self.by_user.insert(user, card);
            }
        }
    }

    /// Whether the use of items is known for any answer.
    pub fn knows_uses(&self) -> bool {
        self.by_answer.values().any(|card| card.uses.is_some())
    }

    /// Adds or replaces a tool call.
    pub fn put_trace(&mut self, trace: ToolTrace) {
        self.trace_revision += 1;
        let same = |known: &ToolTrace| known.run == trace.run && known.call_id == trace.call_id;
        let at = if let Some(at) = self.traces.iter().rposition(same) {
            self.traces[at] = trace;
            at
        } else {
            self.make_room();
            self.traces.push(trace);
            self.traces.len() - 1
        };
        if let Some(node) = self.traces[at].node {
            self.trace_of.insert(node, at);
        }
    }

    fn make_room(&mut self) {
        if self.traces.len() >= TRACES * 2 {
            self.traces.drain(..TRACES);
            let nodes = self.traces.iter().enumerate().filter_map(|(at, trace)| trace.node.map(|node| (node, at)));
            self.trace_of = nodes.collect();
        }
    }

    /// The newest call that answers a user message, in its first round.
    pub fn run_of_user(&self, node: NodeId) -> Option<&RunCard> {
        self.by_user.get(&node)
    }

    /// The known calls, oldest first.
    pub fn calls(&self) -> Vec<&RunCard> {
        let mut calls: Vec<&RunCard> = self.by_user.values().chain(self.by_answer.values()).collect();
        calls.sort_by_key(|card| (card.at, card.round));
        calls
    }

    /// The call that returned an answer.
    pub fn run_of_answer(&self, node: NodeId) -> Option<&RunCard> {
        self.by_answer.get(&node)
    }

    /// The warning about a cut prompt under the answer at this index of the path. Of several answers of one turn, only
    /// the first shows it.
    pub fn short_read_at(&self, path: &[Slot], at: usize) -> Option<ShortRead> {
        let warning = |slot: &Slot| {
            let head = Some(self.tree.head(*slot)).filter(|head| head.role == Role::Assistant)?;
            self.run_of_answer(head.id)?.short_read
        };
        let mut earlier = path[..at].iter().rev().take_while(|slot| self.tree.head(**slot).role != Role::User);
        warning(&path[at]).filter(|_| !earlier.any(|slot| warning(slot).is_some()))
    }

    /// The trace of a tool result.
    pub fn trace_of(&self, node: NodeId) -> Option<&ToolTrace> {
        self.trace_of.get(&node).and_then(|at| self.traces.get(*at))
    }
}
