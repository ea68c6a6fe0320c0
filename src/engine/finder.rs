//! Keeps the indexes of sessions in step with the paths that are asked about, and gives the retrieval room what it needs:
//! texts, scopes, what belongs together. Runs on the planner's thread.
//! Not for: what becomes of the hits (`found`) or how they are scored (`retrieval`).

use super::path::PathNode;
use crate::context::project;
use crate::domain::failure::Failure;
use crate::domain::hash::Hash;
use crate::domain::ids::{NodeId, SessionId};
use crate::domain::message::{Content, Node, NodeHead, Role};
use crate::domain::plan::Form;
use crate::retrieval::index::{Entry, Index};
use crate::retrieval::scope::Scope;
use crate::retrieval::search::Texts;
use crate::store::Store;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// Messages read from the store at once.
const BATCH: usize = 256;
/// Scopes kept for each session.
const SCOPES: usize = 3;
/// Texts kept at hand for cards.
const TEXTS: usize = 4_000;

/// What is kept of one session.
#[derive(Default)]
pub(super) struct Shelf {
    pub(super) index: Index,
    /// Node ids by the index's numbers.
    ids: Vec<NodeId>,
    /// Lanes by their number.
    lanes: Vec<String>,
    scopes: Vec<(Hash, Scope)>,
}

/// See the module.
pub(super) struct Finder {
    store: Store,
    sessions: HashMap<SessionId, Shelf>,
}

impl Finder {
    pub(super) fn new(store: Store) -> Self {
        Self { store, sessions: HashMap::new() }
    }

    /// Messages were removed: nothing of them may be found again.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
    }

    /// The session's shelf with this path indexed and its scope made, and the texts behind it.
    pub(super) fn shelf(
        &mut self,
        session: SessionId,
        path: &[PathNode],
    ) -> Result<(&Shelf, &Scope, Library<'_>), Failure> {
        let there = self.sessions.entry(session).or_default();
        there.take_in(&self.store, path)?;
        let place = there.scope(path);
        let there = &*there;
        let library = Library { store: &self.store, shelf: there, texts: RefCell::new(HashMap::new()) };
        Ok((there, &there.scopes[place].1, library))
    }
}

impl Shelf {
    /// Indexes what of a path is not yet. Paths go in from their root, so what stands before a known message is known.
    fn take_in(&mut self, store: &Store, path: &[PathNode]) -> Result<(), Failure> {
        let known = path.iter().rposition(|node| self.index.number(&node.key).is_some()).map_or(0, |at| at + 1);
        for batch in path[known..].chunks(BATCH) {
            let ids: Vec<NodeId> = batch.iter().map(|node| node.id).collect();
            let nodes = store.nodes(&ids)?;
            let by_id: HashMap<NodeId, Node> = nodes.into_iter().map(|node| (node.head.id, node)).collect();
            for node in batch {
                self.add(node, by_id.get(&node.id));
            }
        }
        Ok(())
    }

    fn add(&mut self, node: &PathNode, stored: Option<&Node>) {
        let text = stored.filter(|_| node.speaks).map(|node| searchable(&node.head, &node.content)).unwrap_or_default();
        let lane = self.lane(stored.map_or("", |node| node.head.lane.as_str()));
        self.index.add(&Entry {
            key: node.key,
            role: node.role,
            speaker: stored.and_then(|node| node.head.name.as_deref()),
            at: Some(node.at / 1_000),
            lane,
            text: &text,
        });
        self.ids.push(node.id);
    }

    /// The number of a lane; one that nothing has where it is not known.
    pub(super) fn lane_number(&self, name: &str) -> u32 {
        let at = self.lanes.iter().position(|known| known == name);
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
    }

    /// The number of a lane, a new one where it is not known.
    fn lane(&mut self, name: &str) -> u32 {
        let at = self.lanes.iter().position(|known| known == name).unwrap_or_else(|| {
            self.lanes.push(name.to_owned());
            self.lanes.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The place of a path's scope among those kept.
    fn scope(&mut self, path: &[PathNode]) -> usize {
        let last = path.last().map(|node| node.key).unwrap_or_default();
        if let Some(at) = self.scopes.iter().position(|(key, scope)| *key == last && scope.len() == path.len()) {
            return at;
        }
        let numbers: Vec<u32> = path.iter().map(|node| self.index.number(&node.key).unwrap_or(u32::MAX)).collect();
        self.scopes.truncate(SCOPES - 1);
        self.scopes.insert(0, (last, Scope::new(&self.index, &numbers)));
        0
    }
}

/// A message's words as they are indexed and as cards show them.
pub(super) fn searchable(head: &NodeHead, content: &Content) -> String {
    let form = match head.role {
        Role::Assistant if head.calls > 0 => Form::Elided,
        Role::Assistant => Form::NoState,
        Role::User | Role::Tool | Role::System => Form::Full,
    };
    project::words(head.key, head.role, content, form)
}

/// Who speaks, as cards name it.
fn speaker(head: &NodeHead) -> Option<String> {
    head.name.clone().filter(|name| !name.trim().is_empty())
}

/// Texts of a session's messages, read when they are wanted.
pub(super) struct Library<'a> {
    store: &'a Store,
    shelf: &'a Shelf,
    texts: RefCell<HashMap<Hash, Told>>,
}

/// What cards need to know of a message.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) id: NodeId,
    pub(super) text: String,
    pub(super) external_id: Option<String>,
    name: Option<String>,
}

impl Library<'_> {
    /// A message by its key.
    pub(super) fn told(&self, key: &Hash) -> Option<Told> {
        self.with(key, Clone::clone)
    }

    fn with<T>(&self, key: &Hash, take: impl FnOnce(&Told) -> T) -> Option<T> {
        let mut texts = self.texts.borrow_mut();
        if let Some(known) = texts.get(key) {
            return Some(take(known));
        }
        let id = *self.shelf.ids.get(self.shelf.index.number(key)? as usize)?;
        let node = self.store.nodes(&[id]).ok()?.pop()?;
        if texts.len() >= TEXTS {
            texts.clear();
        }
        let told = Told {
            id,
            text: searchable(&node.head, &node.content),
            name: speaker(&node.head),
            external_id: node.head.external_id,
        };
        Some(take(texts.entry(*key).or_insert(told)))
    }
}

impl Texts for Library<'_> {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.with(key, |told| Cow::Owned(told.text.clone()))
    }

    fn speaker(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.with(key, |told| told.name.clone()).flatten().map(Cow::Owned)
    }
}

/// The positions that must not be parted from one: a calling message and its results.
pub(super) fn together(path: &[PathNode], at: usize) -> Range<usize> {
    let result = |node: &PathNode| node.role == Role::Tool;
    let mut start = at;
    while start > 0 && result(&path[start]) {
        start -= 1;
    }
    let mut end = start + 1;
    while path.get(end).is_some_and(result) {
        end += 1;
    }
    start..end.max(at + 1)
}
