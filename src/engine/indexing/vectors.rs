//! Vectors of sessions' passages: a thread reads them from the store, computes missing ones in batches, and stores
//! them. The planner takes the vectors that are ready and waits for others only if a command asked for it. Its queues
//! hold each message at most once; a newer request for vectors of symbols replaces the waiting one.
//! Not for: models (`llm::embedders`), vectors of code (`symbol_vectors`), comparing vectors
//! (`retrieval::vectors::memory`), or their use in a search (`plans::sources::retrieval`).
//!
//! A vector is stored under the embedder's id and the hash of its text (the passage after its speaker's name, if
//! known), so that branches and sessions share it.

use super::messages::searchable;
use super::priority::Priority;
use super::symbol_vectors::{SymbolText, SymbolVectors};
use crate::domain::base::{Failure, Hash, NodeId, SessionId};
use crate::domain::call::{Embed, EmbedError, Purpose};
use crate::domain::conversation::Node;
use crate::engine::api::{Event, IndexingEvent, ProgramEvent};
use crate::engine::jobs;
use crate::engine::sessions::path::PathNode;
use crate::engine::startup::setup::OpenEmbedder;
use crate::retrieval::index::passages::passages;
use crate::retrieval::vectors::memory::Code;
use crate::store::Store;
use crate::store::types::{PassageVector, StoreError, Write};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of messages whose vectors are read from the store at a time.
const READ_AT_ONCE: usize = 256;
/// The number of messages whose vectors are computed and stored at a time.
const COMPUTED_AT_ONCE: usize = 32;
/// How long an embedder is not asked after it failed.
const PAUSE: Duration = Duration::from_secs(30);
/// How long a question may take while a person types, and on request.
const TYPING: Duration = Duration::from_secs(1);
const ASKED: Duration = Duration::from_secs(20);
/// The pause for questions while a person types, after one took too long.
const LATE: Duration = Duration::from_secs(5);
/// The minimum time between events about progress.
const TELL: Duration = Duration::from_secs(1);
/// The number of cached questions at which the cache is cleared.
const QUESTIONS: usize = 256;

/// A message with its new vectors, one per passage, in order.
pub(crate) type NewVectors = (Hash, Vec<Code>);

/// The embedded texts of a message, passage by passage, with the storage keys (hashes) of their vectors.
type Texts = Vec<(Hash, String)>;

/// A message whose vectors are requested.
#[derive(Clone, Copy)]
struct WantedVectors {
    session: SessionId,
    key: Hash,
    node: NodeId,
}

#[derive(Default)]
pub(super) struct VectorsState {
    embedder: Option<Arc<dyn Embed>>,
    /// Messages that were requested in this process.
    known: HashSet<(SessionId, Hash)>,
    /// Messages whose reading or embedding failed; the next request queues them again.
    postponed: Vec<WantedVectors>,
    /// Messages whose vectors are still to be read from the store.
    unread: VecDeque<WantedVectors>,
    /// Messages whose vectors are not in the store and must be computed.
    missing: VecDeque<WantedVectors>,
    /// Whether a batch is being read, and whether a batch is being embedded.
    busy: (bool, bool),
    arrived: HashMap<SessionId, Vec<NewVectors>>,
    pub(super) symbols: SymbolVectors,
    questions: HashMap<String, Option<Vec<f32>>>,
    /// When a question last took too long, because the model was being loaded or busy.
    late: Option<Instant>,
    /// The number of messages embedded, and the total to embed, since the thread was last idle.
    made: usize,
    total: usize,
    reported: Option<Instant>,
    down: Option<Instant>,
    /// A counter of removals: vectors of texts that were read before a removal must not be stored after it.
    removals: u64,
    closed: bool,
}

impl VectorsState {
    /// Whether texts are sent to another machine; false while the embedder is not open.
    pub(super) fn is_remote(&self) -> bool {
        self.embedder.as_ref().is_some_and(|embedder| embedder.remote())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn rests(&self) -> bool {
        self.closed || self.down.is_some_and(|since| since.elapsed() < PAUSE)
    }

    fn give_up(&mut self) {
        let VectorsState { unread, missing, postponed, .. } = self;
        postponed.extend(unread.drain(..).chain(missing.drain(..)));
        self.symbols.give_up();
        self.down = Some(Instant::now());
        (self.made, self.total) = (0, 0);
    }
}

struct Inner {
    state: Mutex<VectorsState>,
    wake: Condvar,
    store: Store,
    events: Sender<Event>,
    open: OpenEmbedder,
    patient: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A handle to the thread of vectors. Clones share the thread.
#[derive(Clone)]
pub(crate) struct Vectors(Arc<Inner>);

impl Vectors {
    /// Starts the thread. If `patient`, a search waits until the stored vectors are read.
    pub(crate) fn start(
        store: Store,
        events: Sender<Event>,
        open: OpenEmbedder,
        patient: bool,
    ) -> Result<Self, Failure> {
        let (state, wake, thread) = (Mutex::default(), Condvar::new(), Mutex::default());
        let vectors = Self(Arc::new(Inner { state, wake, store, events, open, patient, thread }));
        let worker = vectors.clone();
        let started = jobs::service("vectors", move || worker.work())?;
        *vectors.0.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(vectors)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, VectorsState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the thread and waits for it; computed vectors are then stored.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.0.wake.notify_all();
        let thread = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Drops everything that was read, because messages were removed.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        let VectorsState { known, postponed, unread, missing, arrived, questions, .. } = &mut *state;
        known.clear();
        postponed.clear();
        unread.clear();
        missing.clear();
        arrived.clear();
        questions.clear();
        (state.made, state.total) = (0, 0);
        state.removals += 1;
        self.0.wake.notify_all();
    }

    /// Requests the vectors of a path's messages. Paths are requested from the root, so everything before a known
    /// message is known.
    pub(crate) fn want(&self, session: SessionId, path: &[PathNode]) {
        let mut state = self.lock();
        if state.rests() {
            return;
        }
        let postponed = std::mem::take(&mut state.postponed);
        state.unread.extend(postponed);
        let known = path.iter().rposition(|node| state.known.contains(&(session, node.key))).map_or(0, |at| at + 1);
        for node in path[known..].iter().filter(|node| node.speaks) {
            if state.known.insert((session, node.key)) {
                state.unread.push_back(WantedVectors { session, key: node.key, node: node.id });
            }
        }
        drop(self.wait_if_patient(state, |state| state.unread.is_empty() && !state.busy.0));
    }

    /// In single commands, waits until `done` returns true or nothing more can be done.
    pub(super) fn wait_if_patient<'a>(
        &self,
        state: MutexGuard<'a, VectorsState>,
        done: impl Fn(&VectorsState) -> bool,
    ) -> MutexGuard<'a, VectorsState> {
        self.0.wake.notify_all();
        if self.0.patient { self.wait(state, done) } else { state }
    }

    /// Waits until all requested vectors exist, or no more can be computed.
    pub(crate) fn settle(&self) {
        let done =
            |state: &VectorsState| state.unread.is_empty() && state.missing.is_empty() && state.busy == (false, false);
        drop(self.wait(self.lock(), done));
    }

    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, VectorsState>,
        done: impl Fn(&VectorsState) -> bool,
    ) -> MutexGuard<'a, VectorsState> {
        while !done(&state) && !state.rests() {
            state = self.0.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Returns the vectors of a session that became ready since the last call.
    pub(crate) fn arrived(&self, session: SessionId) -> Vec<NewVectors> {
        self.lock().arrived.remove(&session).unwrap_or_default()
    }

    /// Returns the embedder's id; `None` until it is open.
    pub(crate) fn id(&self) -> Option<String> {
        self.lock().embedder.as_ref().map(|embedder| embedder.id())
    }

    /// Whether this question would be sent to a remote server only on request, and was not sent yet.
    pub(crate) fn withheld(&self, question: &str) -> bool {
        let state = self.lock();
        state.is_remote() && !state.rests() && !state.questions.contains_key(question)
    }

    /// Records that a question was searched on request, so that it no longer counts as withheld.
    pub(crate) fn note_searched(&self, question: &str) {
        self.remember(question, None);
    }

    fn remember(&self, question: &str, vector: Option<Vec<f32>>) {
        let mut state = self.lock();
        if state.questions.len() >= QUESTIONS {
            state.questions.clear();
        }
        let known = state.questions.entry(question.to_owned()).or_default();
        if vector.is_some() {
            *known = vector;
        }
    }

    /// Returns the vector of a question; `None` if the embedder may not be asked now, failed, or took too long.
    pub(crate) fn question(&self, question: &str, priority: Priority) -> Option<Vec<f32>> {
        let embedder = {
            let state = self.lock();
            if let Some(Some(known)) = state.questions.get(question) {
                return Some(known.clone());
            }
            let late = state.late.is_some_and(|since| since.elapsed() < LATE);
            let may = |embedder: &Arc<dyn Embed>| priority == Priority::Asked || !(late || embedder.remote());
            state.embedder.clone().filter(|embedder| !state.rests() && may(embedder))?
        };
        let (since, limit) = (Instant::now(), if priority == Priority::Asked { ASKED } else { TYPING });
        let go_on = || since.elapsed() < limit && !self.lock().closed;
        match embedder.embed(&[question], Purpose::Query, &go_on) {
            Ok(mut vectors) => {
                let vector = vectors.pop()?;
                self.remember(question, Some(vector.clone()));
                Some(vector)
            }
            Err(EmbedError::Stopped) => {
                self.lock().late = Some(Instant::now());
                None
            }
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    fn work(&self) {
        while let Some(work) = self.next() {
            let result = match &work {
                Work::Symbols(batch) => self.make_symbols(batch),
                Work::Messages(batch) if batch.reads => self.read(batch),
                Work::Messages(batch) => self.make(batch),
            };
            match result {
                Ok(()) => self.tell(),
                Err(error) => {
                    self.postpone(work);
                    // The work is stopped when the program ends or messages are removed.
                    if error != EmbedError::Stopped {
                        self.failed(&error);
                    }
                }
            }
            self.lock().busy = (false, false);
            self.0.wake.notify_all();
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(batch) = state.symbols.next_batch() {
                state.busy = (false, true);
                return Some(Work::Symbols(batch));
            }
            let (reads, makes) = (!state.unread.is_empty(), !state.missing.is_empty());
            if reads || makes {
                state.busy = (reads, !reads);
                let queue = if reads { &mut state.unread } else { &mut state.missing };
                let most = queue.len().min(if reads { READ_AT_ONCE } else { COMPUTED_AT_ONCE });
                let session = queue[0].session;
                let count = queue.iter().take(most).take_while(|wanted| wanted.session == session).count();
                let batch = queue.drain(..count).collect();
                return Some(Work::Messages(Batch { reads, wanted: batch, removals: state.removals }));
            }
            (state.made, state.total) = (0, 0);
            state = self.0.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn embedder(&self) -> Result<Arc<dyn Embed>, EmbedError> {
        if let Some(embedder) = &self.lock().embedder {
            return Ok(Arc::clone(embedder));
        }
        let made = (self.0.open)()?;
        self.lock().embedder = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Reads vectors from the store and queues the messages whose vectors are missing.
    fn read(&self, Batch { wanted: batch, removals, .. }: &Batch) -> Result<(), EmbedError> {
        let model = self.embedder()?.id();
        let texts = self.texts(batch)?;
        let stored = self.stored(&model, &texts)?;
        let mut state = self.lock();
        if state.removals != *removals {
            return Ok(());
        }
        for (wanted, texts) in texts {
            let codes: Option<Vec<Code>> = texts.iter().map(|(key, _)| stored.get(key).cloned()).collect();
            if let Some(codes) = codes {
                state.arrived.entry(wanted.session).or_default().push((wanted.key, codes));
            } else {
                state.missing.push_back(wanted);
                state.total += 1;
            }
        }
        Ok(())
    }

    /// Computes the missing vectors, stores them, and passes them on.
    fn make(&self, Batch { wanted: batch, removals, .. }: &Batch) -> Result<(), EmbedError> {
        let embedder = self.embedder()?;
        let model = embedder.id();
        let texts = self.texts(batch)?;
        let mut codes = self.stored(&model, &texts)?;
        let mut named = HashSet::new();
        let fresh: Vec<(NodeId, Hash, &str)> = texts
            .iter()
            .flat_map(|(wanted, texts)| texts.iter().map(|(key, text)| (wanted.node, *key, text.as_str())))
            .filter(|(_, key, _)| !codes.contains_key(key) && named.insert(*key))
            .collect();
        let go_on = || {
            let state = self.lock();
            !state.closed && state.removals == *removals
        };
        let fresh_texts: Vec<&str> = fresh.iter().map(|(.., text)| *text).collect();
        let vectors =
            if fresh_texts.is_empty() { Vec::new() } else { embedder.embed(&fresh_texts, Purpose::Passage, &go_on)? };
        let mut written = Vec::with_capacity(fresh.len());
        for ((node, key, _), vector) in fresh.into_iter().zip(vectors) {
            let code = Code::of(&vector).map_err(|error| EmbedError::Answer(error.to_string()))?;
            written.push(PassageVector { node, key, code: code.encode() });
            codes.insert(key, code);
        }
        let mut state = self.lock();
        if state.removals != *removals {
            return Ok(());
        }
        if !written.is_empty() && !self.0.store.read_only() {
            self.0.store.post(vec![Write::PutEmbeddings { model, vectors: written }]);
        }
        for (wanted, texts) in texts {
            let all: Option<Vec<Code>> = texts.iter().map(|(key, _)| codes.get(key).cloned()).collect();
            state.arrived.entry(wanted.session).or_default().extend(all.map(|codes| (wanted.key, codes)));
        }
        state.made += batch.len();
        Ok(())
    }

    /// Returns the stored vectors of texts, except unreadable ones.
    fn stored(&self, model: &str, texts: &[(WantedVectors, Texts)]) -> Result<HashMap<Hash, Code>, EmbedError> {
        let keys: Vec<Hash> = texts.iter().flat_map(|(_, texts)| texts).map(|(key, _)| *key).collect();
        let stored = self.0.store.embeddings(model, &keys).map_err(|error| unread(&error))?;
        Ok(stored.into_iter().filter_map(|(key, code)| Some((key, Code::decode(&code).ok()?))).collect())
    }

    /// Returns the texts of messages, passage by passage; empty for messages that no longer exist.
    fn texts(&self, batch: &[WantedVectors]) -> Result<Vec<(WantedVectors, Texts)>, EmbedError> {
        let ids: Vec<NodeId> = batch.iter().map(|wanted| wanted.node).collect();
        let nodes = self.0.store.nodes(&ids).map_err(|error| unread(&error))?;
        let nodes: HashMap<NodeId, Node> = nodes.into_iter().map(|node| (node.head.id, node)).collect();
        let of = |wanted: &WantedVectors| (*wanted, nodes.get(&wanted.node).map(passage_texts).unwrap_or_default());
        Ok(batch.iter().map(of).collect())
    }

    /// Keeps the messages of a failed batch for the next request, unless messages were removed since; in that case,
    /// everything is requested again.
    fn postpone(&self, work: Work) {
        let mut state = self.lock();
        match work {
            Work::Symbols(_) => state.symbols.give_up(),
            Work::Messages(Batch { wanted: batch, removals, .. }) if state.removals == removals => {
                state.postponed.extend(batch);
            }
            Work::Messages(_) => {}
        }
    }

    fn failed(&self, error: &EmbedError) {
        let mut state = self.lock();
        let first = state.down.is_none_or(|since| since.elapsed() > PAUSE);
        state.give_up();
        if first {
            let _ = self.0.events.send(Event::Program(ProgramEvent::Notice(format!(
                "Older messages are searched by words only: {}.",
                error.to_string().trim_end_matches('.')
            ))));
        }
        self.0.wake.notify_all();
    }

    fn tell(&self) {
        let mut state = self.lock();
        if state.made == 0 || state.total <= COMPUTED_AT_ONCE {
            return;
        }
        let last = state.made >= state.total;
        if last || state.reported.is_none_or(|at| at.elapsed() >= TELL) {
            state.reported = Some(Instant::now());
            let (made, total) = (state.made.min(state.total), state.total);
            let _ = self.0.events.send(Event::Indexing(IndexingEvent::Vectors { made, total }));
        }
    }
}

/// The next work of the thread.
enum Work {
    Messages(Batch),
    Symbols(Vec<SymbolText>),
}

/// A batch of messages whose vectors are read from the store, or made.
struct Batch {
    reads: bool,
    wanted: Vec<WantedVectors>,
    /// The number of removals before the batch.
    removals: u64,
}

fn unread(error: &StoreError) -> EmbedError {
    EmbedError::Settings(error.to_string())
}

/// Returns the embedded texts of a message: its passages, each after the speaker's name if there is one, with the
/// storage keys (hashes) of their vectors.
fn passage_texts(node: &Node) -> Texts {
    let text = searchable(&node.head, &node.content);
    let name = node.head.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let named = |passage: &str| name.map_or_else(|| passage.to_owned(), |name| format!("{name}: {passage}"));
    passages(&text)
        .into_iter()
        .map(|span| {
            let text = named(&text[span]);
            (Hash::of(text.as_bytes()), text)
        })
        .collect()
}

/// Returns the hashes that vectors of messages may be stored under.
pub(crate) fn vector_keys(nodes: &[Node]) -> Vec<Hash> {
    nodes.iter().flat_map(passage_texts).map(|(key, _)| key).collect()
}

#[cfg(test)]
#[path = "vectors_tests.rs"]
mod tests;
