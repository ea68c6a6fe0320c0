//! Keeps the message indexes of sessions up to date with the paths that are planned, and prepares the inputs of the
//! room `retrieval`: texts, scopes, groups. Runs on the planner's thread.
//! Not for: the use of the hits (`plans::sources::retrieval`), or their scores (`retrieval`).

use super::vectors::{NewVectors, Vectors};
use crate::context::render::render_forms;
use crate::domain::base::{Failure, Fields, Hash, NodeId, SessionId};
use crate::domain::conversation::{Content, Node, NodeHead, Role};
use crate::domain::planning::Form;
use crate::engine::sessions::path::PathNode;
use crate::retrieval::index::segment::Source;
use crate::retrieval::index::session::{self, Index, Sealed};
use crate::retrieval::index::words::Term;
use crate::retrieval::scope::Scope;
use crate::retrieval::search::{MOST_HITS, MessageTexts};
use crate::retrieval::vectors::memory::{DocSet, VectorIndex};
use crate::store::Store;
use crate::store::types::Write;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The number of messages that are read from the store at a time.
const BATCH: usize = 64;
/// How long indexing may occupy the planner's thread at a time.
const TIME_SLICE: Duration = Duration::from_millis(80);
/// The number of cached scopes of each session.
const SCOPES: usize = 3;
/// The number of segments whose postings stay in memory. Postings of other segments are read from the store.
const RESIDENT: usize = 16;
/// The minimum growth, in passages, after which the growing segment is stored again.
const MIN_GROWTH: u32 = 256;
/// The number of cached texts for cards at which the cache is cleared.
const TEXTS: usize = 4_000;

/// Up to this number of passages, a question is compared with every passage; with more, only with the approximately
/// nearest.
const EXHAUSTIVE_LIMIT: usize = 200_000;

/// The message index of one session.
pub(crate) struct SessionIndex {
    pub(crate) index: Index,
    session: SessionId,
    /// Digests of the segments that the store has or was sent.
    stored: Vec<Hash>,
    /// The number of passages of the growing segment when it was last stored.
    kept: u32,
    scopes: Vec<(Hash, Scope)>,
    /// Vectors by the numbers of passages.
    vectors: VectorIndex,
}

/// The message indexes of sessions.
pub(crate) struct MessageSearch {
    store: Store,
    sessions: HashMap<SessionId, SessionIndex>,
    /// The source of vectors; `None` without an embedder.
    pub(crate) vectors: Option<Vectors>,
}

impl MessageSearch {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, sessions: HashMap::new(), vectors: None }
    }

    /// Clears all indexes, because messages were removed.
    pub(crate) fn forget(&mut self) {
        self.sessions.clear();
        if let Some(vectors) = &self.vectors {
            vectors.forget();
        }
    }

    /// Indexes the missing messages of a path for a short time. Returns the number of messages that are left.
    pub(crate) fn index_path(&mut self, session: SessionId, path: &[PathNode]) -> Result<usize, Failure> {
        let store = &self.store;
        Self::of(&mut self.sessions, store, session)?.index_path(store, path, Some(TIME_SLICE))
    }

    fn of<'a>(
        sessions: &'a mut HashMap<SessionId, SessionIndex>,
        store: &Store,
        session: SessionId,
    ) -> Result<&'a mut SessionIndex, Failure> {
        Ok(match sessions.entry(session) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(SessionIndex::open(store, session)?),
        })
    }

    /// Returns the session's index with this whole path indexed, the path's scope, and access to texts and postings.
    pub(crate) fn path_index(&mut self, session: SessionId, path: &[PathNode]) -> Result<PathIndex<'_>, Failure> {
        let store = &self.store;
        let there = Self::of(&mut self.sessions, store, session)?;
        there.index_path(store, path, None)?;
        if let Some(vectors) = &self.vectors {
            vectors.want(session, path);
            there.take_vectors(vectors.arrived(session));
        }
        let place = there.scope(path);
        let there = &*there;
        Ok(PathIndex {
            store,
            vectors: self.vectors.as_ref(),
            session_index: there,
            scope: &there.scopes[place].1,
            texts: RefCell::new(HashMap::new()),
            lists: RefCell::new(HashMap::new()),
        })
    }
}

impl SessionIndex {
    /// Reads the index of a session from the store. An index that cannot be read is dropped and made again.
    fn open(store: &Store, session: SessionId) -> Result<Self, Failure> {
        let empty = || Self {
            index: Index::new(),
            session,
            stored: Vec::new(),
            kept: 0,
            scopes: Vec::new(),
            vectors: VectorIndex::new(),
        };
        let mut session_index = empty();
        for (digest, header) in store.index_segments(session)? {
            if session_index.index.attach(&header).is_err() {
                store.post(vec![Write::DropIndex(session)]);
                return Ok(empty());
            }
            session_index.stored.push(digest);
        }
        if let Some((before, bytes)) = store.index_tail(session)?
            && before.as_ref() == session_index.stored.last()
            && session_index.index.resume(&bytes).is_ok()
        {
            session_index.kept = session_index.index.growing();
        }
        Ok(session_index)
    }

    /// Indexes the missing messages of a path, all of them or as many as the time allows. Returns the number of
    /// messages that are left. Paths are indexed from the root, so everything before an indexed message is indexed.
    fn index_path(&mut self, store: &Store, path: &[PathNode], most: Option<Duration>) -> Result<usize, Failure> {
        let begun = Instant::now();
        let mut known = path.iter().rposition(|node| self.index.number(&node.key).is_some()).map_or(0, |at| at + 1);
        for batch in path[known..].chunks(BATCH) {
            if most.is_some_and(|most| begun.elapsed() >= most) {
                break;
            }
            let ids: Vec<NodeId> = batch.iter().map(|node| node.id).collect();
            let nodes = store.nodes(&ids)?;
            let by_id: HashMap<NodeId, Node> = nodes.into_iter().map(|node| (node.head.id, node)).collect();
            for node in batch {
                self.add(node, by_id.get(&node.id));
            }
            self.store_sealed_segments(store);
            known += batch.len();
        }
        if known == path.len() {
            self.keep_tail(store);
        }
        Ok(path.len() - known)
    }

    /// Stores the growing segment once it has grown by enough, so that the next program does not need to rebuild it.
    fn keep_tail(&mut self, store: &Store) {
        let growing = self.index.growing();
        let grown = if growing < self.kept { growing } else { growing - self.kept };
        if grown < MIN_GROWTH || store.read_only() {
            return;
        }
        if let Some(tail) = self.index.tail() {
            let (session, before) = (self.session, self.stored.last().copied());
            self.kept = tail.passages;
            store.post(vec![Write::PutIndexTail { session, before, keys: tail.keys, body: tail.bytes }]);
        }
    }

    /// Adds vectors to the passages that they were made from. Vectors that do not match their message's passages are
    /// skipped.
    fn take_vectors(&mut self, arrived: Vec<NewVectors>) {
        for (key, codes) in arrived {
            let known = self.index.number(&key).and_then(|number| self.index.known(number));
            let Some(known) = known.filter(|known| usize::from(known.passages) == codes.len()) else { continue };
            for (passage, code) in (known.first..).zip(&codes) {
                if let Err(error) = self.vectors.push(passage, code) {
                    tracing::warn!(%error, "skipped a vector");
                }
            }
        }
    }

    fn add(&mut self, node: &PathNode, stored: Option<&Node>) {
        let text = stored.filter(|_| node.speaks).map(|node| searchable(&node.head, &node.content)).unwrap_or_default();
        self.index.add(&session::Entry {
            key: node.key,
            role: node.role,
            speaker: stored.and_then(|node| node.head.name.as_deref()),
            at: Some(node.at / 1_000),
            lane: lane_number(stored.map_or("", |node| node.head.lane.as_str())),
            text: &text,
        });
    }

    /// Stores sealed segments and, except for the first segments, drops their postings from memory, since they can be
    /// read from the store.
    fn store_sealed_segments(&mut self, store: &Store) {
        if store.read_only() {
            return;
        }
        while let Ok(segment) = u32::try_from(self.stored.len()) {
            let Some(sealed) = self.index.sealed(segment) else { break };
            let before = self.stored.last().copied();
            let digest = Fields::new("shelf").optional(before).bytes(&sealed.header).finish();
            let Sealed { keys, header, lists } = sealed;
            let session = self.session;
            let write = vec![Write::PutIndexSegment { session, segment, before, digest, keys, header, lists }];
            if self.stored.len() < RESIDENT {
                store.post(write);
            } else if store.write(write).is_ok() && store.holds_segment(session, segment, digest).unwrap_or(false) {
                self.index.forget(segment);
            }
            self.stored.push(digest);
        }
    }

    /// Returns the index of a path's scope among the cached ones.
    fn scope(&mut self, path: &[PathNode]) -> usize {
        let last = path.last().map(|node| node.key).unwrap_or_default();
        if let Some(at) = self.scopes.iter().position(|(key, scope)| *key == last && scope.messages() == path.len()) {
            return at;
        }
        let numbers: Vec<u32> = path.iter().map(|node| self.index.number(&node.key).unwrap_or(u32::MAX)).collect();
        self.scopes.truncate(SCOPES - 1);
        self.scopes.insert(0, (last, Scope::new(&self.index, &numbers)));
        0
    }
}

/// Returns the index's number for a lane.
pub(crate) fn lane_number(name: &str) -> u32 {
    let [a, b, c, d, ..] = Hash::of(name.as_bytes()).0;
    u32::from_be_bytes([a, b, c, d])
}

/// Returns a message's text as it is indexed and as cards quote it.
pub(crate) fn searchable(head: &NodeHead, content: &Content) -> String {
    let form = match head.role {
        Role::Assistant if head.calls > 0 => Form::Elided,
        Role::Assistant => Form::NoState,
        Role::User | Role::Tool | Role::System => Form::Full,
    };
    render_forms::message_text(head.key, head.role, content, form)
}

/// Returns the speaker's name for cards.
fn speaker(head: &NodeHead) -> Option<String> {
    head.name.clone().filter(|name| !name.trim().is_empty())
}

/// A session's index with the scope of one path. Texts and postings are read when they are needed.
pub(crate) struct PathIndex<'a> {
    store: &'a Store,
    pub(crate) vectors: Option<&'a Vectors>,
    pub(crate) session_index: &'a SessionIndex,
    pub(crate) scope: &'a Scope,
    texts: RefCell<HashMap<Hash, CardFacts>>,
    /// Postings by term and segment.
    lists: RefCell<HashMap<Term, HashMap<u32, Vec<u8>>>>,
}

/// The facts about a message that cards use.
#[derive(Clone, Debug)]
pub(crate) struct CardFacts {
    pub(crate) id: NodeId,
    pub(crate) text: String,
    pub(crate) external_id: Option<String>,
    name: Option<String>,
}

impl PathIndex<'_> {
    /// Returns the similarity of the scope's passages to a question; `None` if a passage that may be returned has no
    /// vector.
    pub(crate) fn cosines(&self, question: &[f32], allowed: &[bool]) -> Option<Vec<(u32, f32)>> {
        let (index, scope) = (&self.session_index.index, self.scope);
        let mut docs = DocSet::default();
        for (position, may) in allowed.iter().enumerate() {
            let Some(known) = index.known(scope.number(position)) else { continue };
            for passage in known.first..known.first + u32::from(known.passages) {
                if self.session_index.vectors.contains(passage) {
                    docs.insert(passage);
                } else if *may {
                    return None;
                }
            }
        }
        let found = if scope.slots() > EXHAUSTIVE_LIMIT {
            self.session_index.vectors.nearest(question, MOST_HITS, Some(&docs))
        } else {
            self.session_index.vectors.cosines(question, Some(&docs))
        };
        found.ok().map(|found| found.into_iter().map(|near| (near.doc, near.cosine)).collect())
    }

    /// Returns the vector of a message's first passage; `None` if there is none yet.
    pub(crate) fn vector(&self, key: &Hash) -> Option<&[i8]> {
        let known = self.session_index.index.number(key).and_then(|number| self.session_index.index.known(number))?;
        self.session_index.vectors.values(known.first)
    }

    /// Returns the facts of a message by its key.
    pub(crate) fn card_facts(&self, key: &Hash) -> Option<CardFacts> {
        self.with(key, Clone::clone)
    }

    fn with<T>(&self, key: &Hash, take: impl FnOnce(&CardFacts) -> T) -> Option<T> {
        let mut texts = self.texts.borrow_mut();
        if let Some(known) = texts.get(key) {
            return Some(take(known));
        }
        let node = self.store.node_by_key(self.session_index.session, *key).ok()??;
        if texts.len() >= TEXTS {
            texts.clear();
        }
        let facts = CardFacts {
            id: node.head.id,
            text: searchable(&node.head, &node.content),
            name: speaker(&node.head),
            external_id: node.head.external_id,
        };
        Some(take(texts.entry(*key).or_insert(facts)))
    }
}

impl MessageTexts for PathIndex<'_> {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.with(key, |facts| Cow::Owned(facts.text.clone()))
    }

    fn speaker(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.with(key, |facts| facts.name.clone()).flatten().map(Cow::Owned)
    }
}

impl Source for PathIndex<'_> {
    fn postings(&self, segment: u32, terms: &[Term], found: &mut dyn FnMut(Term, &[u8])) -> Result<(), String> {
        let mut lists = self.lists.borrow_mut();
        let fresh: Vec<Term> = terms.iter().copied().filter(|term| !lists.contains_key(term)).collect();
        if !fresh.is_empty() {
            lists.extend(fresh.iter().map(|term| (*term, HashMap::new())));
            for (term, segment, bytes) in
                self.store.postings(self.session_index.session, &fresh).map_err(|error| error.to_string())?
            {
                lists.entry(term).or_default().insert(segment, bytes);
            }
        }
        for term in terms {
            if let Some(bytes) = lists.get(term).and_then(|of| of.get(&segment)) {
                found(*term, bytes);
            }
        }
        Ok(())
    }
}

/// Returns the positions that must be kept together with this position: a calling message and its results.
pub(crate) fn together(path: &[PathNode], at: usize) -> Range<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    /// A growing segment is stored again only once it has grown by enough: not with every message, and not never.
    #[test]
    fn a_growing_segment_is_stored_after_enough_growth() {
        let folder = tempfile::tempdir().unwrap();
        let options = crate::store::OpenOptions { path: folder.path().join("s.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let session = SessionId(Uuid::from_u128(1));
        store.write(vec![Write::PutSession { id: session, title: "t".into(), at: 1 }]).unwrap();
        let mut session_index = SessionIndex::open(&store, session).unwrap();
        let mut stored = Vec::new();
        for number in 1..=600_u32 {
            session_index.index.add(&session::Entry {
                key: Hash::of(&number.to_le_bytes()),
                role: Role::User,
                speaker: None,
                at: Some(i64::from(number)),
                lane: 0,
                text: "the red crane",
            });
            let before = session_index.kept;
            session_index.keep_tail(&store);
            if session_index.kept != before {
                stored.push((number, session_index.kept));
            }
        }
        assert_eq!(stored, [(MIN_GROWTH, MIN_GROWTH), (2 * MIN_GROWTH, 2 * MIN_GROWTH)]);
        assert_eq!((session_index.index.growing(), MIN_GROWTH), (600, 256));
    }
}
