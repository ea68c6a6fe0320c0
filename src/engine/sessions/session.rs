//! An open session in memory: its tree, branches, states, and runs, read from the store and kept up to date with it.
//! Not for: changes; `branches::marks` and `turns` write to the store first and then apply them here.

use super::path::Paths;
use crate::domain::base::{BranchId, Failure, Hash, NodeId, SessionId};
use crate::domain::call::{BranchRun, RunCard};
use crate::domain::conversation::branch;
use crate::domain::conversation::{Branch, NodeHead, SessionCard, Slot, StateVersion, Tag, Tree};
use crate::engine::api::{Answer, SessionView};
use crate::engine::plans::sources::summaries::LoadedSummary;
use crate::store::Store;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The number of tool traces that the screen gets when a session opens.
const TRACES: usize = 500;

/// Returns the settings key of a branch's draft.
pub(crate) fn draft_key(branch: BranchId) -> String {
    format!("draft:{branch}")
}

/// Returns the settings key of the message that was last cleared on a branch. The value is the time in milliseconds, a
/// space, and the text.
pub(crate) fn cleared_key(branch: BranchId) -> String {
    format!("cleared:{branch}")
}

/// Returns the settings key of the messages that were cleared on a branch before the last one. The value is a JSON
/// array of pairs of time in milliseconds and text, newest first.
pub(crate) fn earlier_cleared_key(branch: BranchId) -> String {
    format!("cleared:{branch}:earlier")
}

/// Returns the messages that were cleared on a branch, newest first, each with its time in milliseconds.
pub(crate) fn cleared_texts(store: &Store, branch: BranchId) -> Result<Vec<(i64, String)>, Failure> {
    let last = store.setting(&cleared_key(branch))?.unwrap_or_default();
    let last = last.split_once(' ').and_then(|(at, text)| Some((at.parse().ok()?, text.to_owned())));
    let earlier = store.setting(&earlier_cleared_key(branch))?;
    let earlier: Vec<(i64, String)> = earlier.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    Ok(last.into_iter().chain(earlier).collect())
}

/// An open session.
pub(crate) struct Session {
    pub(crate) card: SessionCard,
    pub(crate) tree: Arc<Tree>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) states: Vec<StateVersion>,
    /// Indexes into `states` by node.
    pub(crate) state_at: HashMap<NodeId, Vec<usize>>,
    /// Indexes of the `states` that suggest pins, oldest first.
    pub(crate) suggesting: Vec<usize>,
    pub(crate) runs: Arc<Vec<RunCard>>,
    /// Labels and favorites, by the message's key.
    pub(crate) tags: BTreeMap<Hash, Tag>,
    /// The records of branches in races, in the order in which they were made.
    pub(crate) races: Vec<BranchRun>,
    /// All summaries, by id.
    pub(crate) summaries: HashMap<Hash, LoadedSummary>,
    pub(crate) current: BranchId,
    /// Branches whose last answer lacked its required state block.
    pub(crate) state_missing: HashSet<BranchId>,
    /// Cached paths of branches.
    pub(crate) paths: Paths,
}

impl Session {
    /// Returns a session without messages and branches.
    pub(crate) fn blank(card: SessionCard) -> Self {
        Self {
            current: BranchId(card.id.0),
            card,
            tree: Arc::new(Tree::build(Vec::new())),
            branches: Vec::new(),
            states: Vec::new(),
            state_at: HashMap::new(),
            suggesting: Vec::new(),
            runs: Arc::default(),
            tags: BTreeMap::new(),
            races: Vec::new(),
            summaries: HashMap::new(),
            state_missing: HashSet::new(),
            paths: Paths::default(),
        }
    }

    /// Reads a session from the store.
    pub(crate) fn load(store: &Store, id: SessionId) -> Result<Self, Failure> {
        let card = store.session(id)?.ok_or_else(Failure::session_gone)?;
        let summaries = store.summaries(id)?.into_iter();
        let mut session = Self {
            tree: Arc::new(Tree::build(store.heads(id)?)),
            branches: store.branches(id)?,
            runs: Arc::new(store.runs(id)?),
            tags: store.tags(id)?.into_iter().map(|tag| (tag.node, tag)).collect(),
            races: store.branch_runs(id)?,
            summaries: summaries.map(|summary| (summary.id, LoadedSummary::new(summary))).collect(),
            ..Self::blank(card)
        };
        session.add_states(store.states(id)?);
        let last = store.last_branch(id)?;
        let open = |wanted: BranchId| session.branches.iter().any(|b| b.id == wanted && !b.archived);
        let first = session.branches.iter().find(|b| !b.archived).or(session.branches.first()).map(|b| b.id);
        session.current =
            last.filter(|b| open(*b)).or(first).ok_or_else(|| Failure::user("That session has no branch."))?;
        for id in session.branches.iter().map(|branch| branch.id).collect::<Vec<_>>() {
            session.refresh_state(id);
        }
        Ok(session)
    }

    /// Returns the session's data for the screen.
    pub(crate) fn view(
        &self,
        store: &Store,
        workspace: (String, bool),
        recovered: Vec<String>,
    ) -> Result<SessionView, Failure> {
        Ok(SessionView {
            card: self.card.clone(),
            nodes: self.tree.heads().cloned().collect(),
            branches: self.branches.clone(),
            current: self.current,
            runs: self.runs.as_ref().clone(),
            tags: self.tags.values().cloned().collect(),
            races: self.races.clone(),
            traces: store.traces(self.card.id, TRACES)?,
            workspace,
            drafts: self.drafts(store)?,
            cleared: self.cleared(store)?,
            recovered,
        })
    }

    /// Returns the unsent drafts of its branches.
    fn drafts(&self, store: &Store) -> Result<Vec<(BranchId, Arc<str>)>, Failure> {
        let mut drafts = Vec::new();
        for branch in &self.branches {
            if let Some(text) = store.setting(&draft_key(branch.id))? {
                drafts.push((branch.id, Arc::from(text)));
            }
        }
        Ok(drafts)
    }

    /// Returns the messages that were cleared on its branches, the newest of each branch first.
    fn cleared(&self, store: &Store) -> Result<Vec<(BranchId, i64, Arc<str>)>, Failure> {
        let mut cleared = Vec::new();
        for branch in &self.branches {
            let texts = cleared_texts(store, branch.id)?.into_iter();
            cleared.extend(texts.map(|(at, text)| (branch.id, at, Arc::from(text))));
        }
        Ok(cleared)
    }

    /// Returns the branch, or a failure if it no longer exists.
    pub(crate) fn branch(&self, id: BranchId) -> Result<&Branch, Failure> {
        self.branches.iter().find(|b| b.id == id).ok_or_else(Failure::branch_gone)
    }

    /// Returns a branch whose path contains a node, the current one if possible.
    pub(crate) fn holding(&self, node: NodeId) -> Option<BranchId> {
        branch::holding(&self.branches, self.current, &self.tree, self.tree.slot(node)?)
    }

    /// Returns a copy for another thread.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let (tree, runs) = (self.tree.clone(), self.runs.clone());
        SessionSnapshot { id: self.card.id, tree, branches: self.branches.clone(), runs }
    }

    /// Adds or replaces a node's head.
    pub(crate) fn put_node(&mut self, head: NodeHead) {
        Arc::make_mut(&mut self.tree).insert(head);
    }

    /// Returns a mutable reference to the branch.
    pub(crate) fn branch_mut(&mut self, id: BranchId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|b| b.id == id)
    }

    /// Returns the slot of a branch's head.
    pub(crate) fn head(&self, branch: &Branch) -> Option<Slot> {
        branch.head.and_then(|id| self.tree.slot(id))
    }

    /// Returns the path of a branch.
    pub(crate) fn path(&self, branch: &Branch) -> Vec<Slot> {
        self.head(branch).map(|tip| self.tree.path(tip)).unwrap_or_default()
    }

    /// Returns the node's slot, or a failure if it no longer exists.
    pub(crate) fn slot(&self, id: NodeId) -> Result<Slot, Failure> {
        self.tree.slot(id).ok_or_else(Failure::message_gone)
    }

    /// Returns the node's head, or a failure if it no longer exists.
    pub(crate) fn node(&self, id: NodeId) -> Result<&NodeHead, Failure> {
        Ok(self.tree.head(self.slot(id)?))
    }

    /// Adds state versions.
    pub(crate) fn add_states(&mut self, versions: impl IntoIterator<Item = StateVersion>) {
        for version in versions {
            self.state_at.entry(version.node).or_default().push(self.states.len());
            if !version.pins.is_empty() {
                self.suggesting.push(self.states.len());
            }
            self.states.push(version);
        }
    }

    /// Returns the state version that applies on a branch whose path ends at `tip`: the deepest version, a person's
    /// version before the model's. A person's version applies only on the branch where it was written. The search goes
    /// upward from the tip, because the answer is usually there.
    pub(crate) fn state_on(&self, branch: &Branch, tip: Option<Slot>) -> Option<StateVersion> {
        self.nearest(branch, tip, |state| !state.offered)
    }

    fn nearest(&self, branch: &Branch, tip: Option<Slot>, may: impl Fn(&StateVersion) -> bool) -> Option<StateVersion> {
        if self.states.is_empty() {
            return None;
        }
        let counts =
            |state: &&StateVersion| !state.withdrawn && may(state) && state.branch.is_none_or(|id| id == branch.id);
        let mut at = tip;
        while let Some(slot) = at {
            let here = self.state_at.get(&self.tree.head(slot).id).into_iter().flatten();
            let best = here.map(|index| &self.states[*index]).filter(counts).max_by_key(|s| (s.edited, s.version));
            if let Some(state) = best {
                return Some(state.clone());
            }
            at = self.tree.parent(slot);
        }
        None
    }

    /// Recomputes one branch's state.
    pub(crate) fn refresh_state(&mut self, id: BranchId) {
        let Some(at) = self.branches.iter().position(|branch| branch.id == id) else { return };
        let tip = self.head(&self.branches[at]);
        let state = self.state_on(&self.branches[at], tip);
        let nearest = self.nearest(&self.branches[at], tip, |_| true);
        self.branches[at].state = state;
        self.branches[at].offered = nearest.filter(|state| state.offered);
    }

    /// Returns a summary by its id.
    pub(crate) fn summary(&self, id: Hash) -> Option<&LoadedSummary> {
        self.summaries.get(&id)
    }

    /// Returns the number of the next state version.
    pub(crate) fn next_state(&self) -> u32 {
        self.states.iter().map(|state| state.version).max().unwrap_or(0) + 1
    }

    /// Adds a run's card, or replaces its older version.
    pub(crate) fn put_run(&mut self, card: &RunCard) {
        let runs = Arc::make_mut(&mut self.runs);
        match runs.iter_mut().rev().find(|run| run.id == card.id) {
            Some(run) => *run = card.clone(),
            None => runs.push(card.clone()),
        }
    }
}

/// A copy of a session for other threads.
pub(crate) struct SessionSnapshot {
    pub(crate) id: SessionId,
    pub(crate) tree: Arc<Tree>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) runs: Arc<Vec<RunCard>>,
}

impl SessionSnapshot {
    /// Returns the branch, or a failure if it no longer exists.
    pub(crate) fn branch(&self, id: BranchId) -> Result<&Branch, Failure> {
        self.branches.iter().find(|b| b.id == id).ok_or_else(Failure::branch_gone)
    }

    /// Returns the slot of a branch's head.
    pub(crate) fn head(&self, branch: &Branch) -> Option<Slot> {
        branch.head.and_then(|id| self.tree.slot(id))
    }
}

impl From<crate::store::types::StoreError> for Failure {
    fn from(error: crate::store::types::StoreError) -> Self {
        use crate::domain::base::failure::FailureKind as Kind;
        use crate::store::types::StoreError as E;
        let kind = match &error {
            E::Busy => Kind::Busy,
            E::Moved => Kind::Stale,
            E::Newer { .. }
            | E::Corrupt { .. }
            | E::Open { .. }
            | E::Full(_)
            | E::ReadOnly
            | E::Plan(_)
            | E::Sql(_) => Kind::Store,
        };
        let todo = match &error {
            E::Busy => "Wait for it, stop it, or fork and ask there.",
            E::Moved => "Check the new state, then try again.",
            E::Newer { .. } => "Use the newer version of pleach, or name another store with --store.",
            E::Corrupt { .. } => {
                "`pleach doctor --repair` moves the damaged store aside after asking, and starts from the newest \
                    backup; or \
                    name another store with --store."
            }
            E::Open { .. } => "Check the folder's permissions, or name another store with --store.",
            E::Full(_) => "Free some disk space; nothing on the screen is lost while pleach runs.",
            E::ReadOnly => "Name a writable store with --store.",
            E::Plan(_) => "All messages are intact, and you can continue. `pleach doctor --repair` drops such plans.",
            E::Sql(_) => "Try again; if it happens again, run `pleach doctor`.",
        };
        Self::new(kind, format!("{}.", capital(&error.to_string()))).todo(todo)
    }
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the answer about an act that `u` undoes.
pub(crate) fn undoable(what: &str) -> Answer {
    Answer::Done(format!("{}. u undoes it.", capital(what)))
}

/// Returns a version of the state block that the model wrote at a node.
pub(crate) fn state_at(head: &NodeHead, version: u32, text: String) -> StateVersion {
    StateVersion {
        text,
        node: head.id,
        key: head.key,
        edited: false,
        branch: None,
        withdrawn: false,
        offered: false,
        version,
        at: head.at,
        pins: Vec::new(),
    }
}

/// Returns a branch and its ancestors, each with the time until which its events belong to the branch.
pub(crate) fn lineage(branches: &[Branch], branch: &Branch) -> Vec<(BranchId, i64)> {
    let (mut lines, mut until, mut at) = (Vec::new(), i64::MAX, Some(branch));
    while let Some(branch) = at.filter(|branch| lines.iter().all(|(id, _)| *id != branch.id)) {
        lines.push((branch.id, until));
        until = until.min(branch.created_at);
        at = branch.parent.and_then(|id| branches.iter().find(|branch| branch.id == id));
    }
    lines
}

/// Whether an event on a branch at a time is part of a lineage.
pub(crate) fn reaches(lines: &[(BranchId, i64)], of: BranchId, at: i64) -> bool {
    lines.iter().any(|(id, until)| *id == of && at <= *until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_before_a_fork_apply_to_the_fork() {
        let [own, above, other] = [1, 2, 3].map(|id| BranchId(uuid::Uuid::from_u128(id)));
        let lines = [(own, i64::MAX), (above, 5)];
        let cases = [(own, 9, true), (above, 4, true), (above, 5, true), (above, 6, false), (other, 1, false)];
        for (of, at, counts) in cases {
            assert_eq!(reaches(&lines, of, at), counts, "{of:?} {at}");
        }
    }
}
