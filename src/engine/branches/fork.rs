//! Forks: the start of a branch, its inherited marks and settings, and its name.
//! Not for: other acts on branches (`marks`).

use crate::domain::base::{BranchId, Failure, NodeId};
use crate::domain::conversation::{Branch, Change, Mark, Node, Overrides, Role, Slot, StateVersion};
use crate::engine::api::{Answer, BranchAnswer};
use crate::engine::core::Core;
use crate::engine::sessions::session::Session;
use crate::store::types::Write;
use uuid::Uuid;

/// A branch that is about to be made.
pub(crate) struct NewBranch {
    pub(crate) id: BranchId,
    pub(crate) name: String,
    /// Its overrides; the parent's overrides if `None`.
    pub(crate) overrides: Option<Overrides>,
    /// New messages at its start, below the fork.
    pub(crate) grown: Vec<Node>,
    /// Additional writes of the same transaction.
    pub(crate) writes: Vec<Write>,
}

impl NewBranch {
    /// Returns a branch without its own messages.
    pub(crate) fn new(name: String, overrides: Option<Overrides>) -> Self {
        let id = BranchId(Uuid::now_v7());
        Self { id, name, overrides, grown: Vec::new(), writes: Vec::new() }
    }
}

impl Core {
    /// Forks a branch at a node or at its head. All marks and overrides are copied, and both branches are independent
    /// from then on.
    pub(crate) fn fork(
        &mut self,
        id: BranchId,
        at: Option<NodeId>,
        name: Option<String>,
        switch: bool,
    ) -> Result<Answer, Failure> {
        let session = self.sessions.of_branch(id)?;
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        if let Some(name) = &name {
            ensure_name_free(session, name)?;
        }
        let name = name.unwrap_or_else(|| fresh_name(session, session.branch(id).map_or("", |parent| &parent.name), 2));
        let what = format!("forked {name}");
        let new_branch = NewBranch::new(name, None);
        let child = new_branch.id;
        self.make_branches(id, at, vec![new_branch], what)?;
        if switch {
            self.store.write(vec![Write::UseBranch(child)])?;
            self.sessions.of_branch_mut(child)?.current = child;
            self.check_later(child);
        }
        Ok(BranchAnswer::Branch(Box::new(self.sessions.branch(child)?)).into())
    }

    /// Makes branches at one place of a branch as one operation. While a turn is open, its question is not part of
    /// them.
    pub(crate) fn make_branches(
        &mut self,
        id: BranchId,
        at: Option<NodeId>,
        new_branches: Vec<NewBranch>,
        what: String,
    ) -> Result<(), Failure> {
        let session = self.sessions.of_branch(id)?;
        let parent = session.branch(id)?;
        let open = at.is_none() && self.turns.live.contains_key(&id);
        let slot = match at {
            Some(node) => Some(session.slot(node)?),
            None => session.head(parent),
        };
        let asks = |slot: &Slot| session.tree.head(*slot).role == Role::User;
        let slot =
            if open && slot.as_ref().is_some_and(asks) { slot.and_then(|s| session.tree.parent(s)) } else { slot };
        let head = slot.and_then(|slot| whole_atom(session, slot)).map(|slot| session.tree.head(slot).id);
        self.make_branches_at(id, head, new_branches, what)
    }

    /// Makes branches whose fork is this node (`None` for the root) as one operation.
    pub(crate) fn make_branches_at(
        &mut self,
        id: BranchId,
        head: Option<NodeId>,
        new_branches: Vec<NewBranch>,
        what: String,
    ) -> Result<(), Failure> {
        let parent = self.sessions.branch(id)?;
        let before_choices = self.sessions.before_choices(id).cloned().unwrap_or_default();
        let session = self.sessions.of_branch(id)?;
        let (session_id, mut next) = (session.card.id, session.next_state());
        let (mut children, mut states, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        let mut grown = Vec::new();
        for new_branch in new_branches {
            let child = Branch {
                id: new_branch.id,
                name: new_branch.name,
                head: new_branch.grown.last().map(|node| node.head.id).or(head),
                parent: Some(id),
                fork: head,
                archived: false,
                created_at: self.setup.now(),
                seq: 0,
                marks: inherited(&parent),
                reply: None,
                overrides: new_branch.overrides.unwrap_or_else(|| parent.overrides.clone()),
                ..parent.clone()
            };
            grown.extend(new_branch.grown.iter().map(|node| node.head.clone()));
            if !new_branch.grown.is_empty() {
                writes.push(Write::PutNodes { session: session_id, nodes: new_branch.grown });
            }
            let own = copied_states(session, &parent, &child, next);
            next += u32::try_from(own.len()).unwrap_or(u32::MAX);
            writes.push(Write::PutBranch(Box::new(child.clone())));
            writes.extend(own.iter().map(|version| Write::PutState { session: session_id, version: version.clone() }));
            states.extend(own);
            writes.extend(new_branch.writes);
            children.push(child);
        }
        let ids: Vec<BranchId> = children.iter().map(|child| child.id).collect();
        let changes = ids.iter().map(|child| Change::Forked { branch: *child }).collect();
        writes.push(self.setup.operation(session_id, what, changes));
        self.store.write(writes)?;
        self.sessions.before_choices.extend(ids.iter().map(|child| (*child, before_choices.clone())));
        let outline = self.plans.outlines.get(&id).cloned();
        let session = self.sessions.of_branch_mut(id)?;
        session.card.branches += u32::try_from(ids.len()).unwrap_or(u32::MAX);
        session.branches.extend(children);
        session.card.messages += grown.len() as u64;
        for head in &grown {
            session.put_node(head.clone());
        }
        session.add_states(states);
        self.show_nodes(session_id, grown);
        for child in &ids {
            if let Some(outline) = &outline {
                self.plans.outlines.insert(*child, outline.clone());
                self.tools.project.inherit(id, *child);
            }
            self.show_branch(*child);
        }
        Ok(())
    }
}

/// Returns the nearest place at or above `slot` where a path may end: not between a call and its last result.
fn whole_atom(session: &Session, slot: Slot) -> Option<Slot> {
    let tree = &session.tree;
    let mut at = slot;
    loop {
        let head = tree.head(at);
        let inside = match head.role {
            Role::Assistant => head.calls > 0,
            Role::Tool => {
                tree.children(Some(at)).iter().any(|child| tree.head(*child).role == Role::Tool)
                    && !last_result(session, at)
            }
            Role::System | Role::User => false,
        };
        if !inside {
            return Some(at);
        }
        at = tree.parent(at)?;
    }
}

/// Whether all calls above a result are answered up to this result.
fn last_result(session: &Session, slot: Slot) -> bool {
    let tree = &session.tree;
    let mut results = 0_u16;
    let mut at = Some(slot);
    while let Some(slot) = at {
        let head = tree.head(slot);
        match head.role {
            Role::Tool => results += 1,
            Role::Assistant => return results >= head.calls,
            Role::System | Role::User => return true,
        }
        at = tree.parent(slot);
    }
    true
}

/// Returns the marks of a fork: all marks except marks for one call.
fn inherited(parent: &Branch) -> Vec<Mark> {
    let kept = parent.marks.iter().filter(|mark| !mark.kind.once());
    kept.map(|mark| Mark { inherited_from: Some(parent.name.clone()), ..mark.clone() }).collect()
}

/// Returns a fork's own copies of the parent's edited states.
fn copied_states(session: &Session, parent: &Branch, child: &Branch, next: u32) -> Vec<StateVersion> {
    let own = session.states.iter().filter(|state| state.branch == Some(parent.id) && !state.withdrawn);
    own.zip(next..).map(|(state, version)| StateVersion { branch: Some(child.id), version, ..state.clone() }).collect()
}

/// Fails if the session already has a branch of this name.
pub(crate) fn ensure_name_free(session: &Session, name: &str) -> Result<(), Failure> {
    if session.branches.iter().any(|branch| branch.name == name) {
        return Err(Failure::user(format!("This session already has a branch {name:?}.")).todo("Choose another name."));
    }
    Ok(())
}

/// Returns the first free name of the form `base-3`, counting from a number on.
pub(crate) fn fresh_name(session: &Session, base: &str, from: u32) -> String {
    let stem = base.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let taken = |name: &str| session.branches.iter().any(|branch| branch.name == name);
    (from..u32::MAX).map(|n| format!("{stem}-{n}")).find(|name| !taken(name)).unwrap_or_default()
}
