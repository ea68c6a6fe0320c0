//! Places the messages of a file into a tree as they arrive: parents before children, siblings in order of arrival.
//! Only the number of a finished message stays in memory; a message that waits for its parent is read again later.
//! Not for: the content of messages (`message`).

use super::message::{Draft, Parent};
use super::notes::Notes;
use crate::domain::base::{Fields, Hash};
use crate::domain::conversation::record::{PORTION, PORTION_RECORDS};
use crate::domain::conversation::{Part, PlacedRecord, Record, Role};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

/// The number of a message that is known but waits for its parent.
const WAITING_NUMBER: u32 = u32::MAX;

/// The maximum number of messages that may wait for their parents at the same time.
const MAX_WAITING: usize = 400_000;

/// The maximum number of messages with unanswered calls that results can still be matched to, and the maximum size of
/// the names of these calls in bytes.
const OPEN_CALLS: (usize, usize) = (20_000, 4 << 20);

/// An id hashed to eight bytes.
pub(super) type ShortId = u64;

/// Returns the short form of an id.
pub(super) fn short(id: &str) -> ShortId {
    let Hash(bytes) = Hash::of(id.as_bytes());
    bytes.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The position of a message in the file.
#[derive(Clone, Copy, Default)]
pub(super) struct FilePosition {
    /// The byte offset.
    pub(super) place: u64,
    /// The message's number in the file.
    pub(super) number: u64,
}

/// Reads a message again.
pub(super) type Fetch<'a> = dyn FnMut(FilePosition) -> io::Result<Option<Draft>> + 'a;

/// A message that waits for its parent.
#[derive(Clone, Copy)]
struct PendingMessage {
    position: FilePosition,
    /// The parent that it waits for.
    parent: ShortId,
    /// The next message that waits for the same parent; the last one names itself.
    next: u32,
    /// The ordinal among messages with the same derived id, from 1, or 0 if the file gives the message an id.
    twin: u32,
}

enum Next {
    /// A message in memory. The last field is the `twin` of [`PendingMessage`].
    Here(Box<Draft>, FilePosition, u32),
    /// A waiting message, and all later ones that wait for the same parent.
    Chain(u32),
}

/// The state of the tree that is being built.
#[derive(Default)]
pub(super) struct TreeBuilder {
    /// The name of a message in sentences.
    pub(super) unit: &'static str,
    /// The prefix of a message's position in sentences.
    pub(super) prefix: String,
    /// Whether any message names its parent. Then a message without a parent is a root.
    pub(super) tree: bool,
    /// Messages that were placed and not yet taken.
    pub(super) ready: Vec<PlacedRecord>,
    /// Their weight in memory.
    pub(super) weight: u64,
    /// The number of the current message, if the file names one.
    pub(super) current: Option<u32>,
    /// The number of messages that were placed.
    pub(super) count: u32,
    marked: u64,
    known: HashMap<ShortId, u32>,
    /// Unreadable messages, which are placed only if they have children.
    placeholders: HashMap<ShortId, FilePosition>,
    /// Messages to place or to keep waiting.
    queue: VecDeque<Next>,
    /// Waiting messages, in the order of the file.
    waiting_messages: Vec<PendingMessage>,
    /// The number of waiting messages that were handled at the end.
    ended: usize,
    /// For each parent, the first and the last message that waits for it.
    waiting: HashMap<ShortId, (u32, u32)>,
    twins: HashMap<ShortId, u32>,
    previous: Option<String>,
    call_matcher: CallMatcher,
}

impl TreeBuilder {
    /// Makes a builder for messages called `unit`, with `prefix` before their positions. `tree` tells whether any
    /// message names its parent.
    pub(super) fn new(unit: &'static str, prefix: &str, tree: bool) -> Self {
        Self { unit, prefix: prefix.to_owned(), tree, ..Self::default() }
    }

    /// Adds the next message; [`TreeBuilder::run`] places it.
    pub(super) fn put(&mut self, mut draft: Draft, position: FilePosition, notes: &mut Notes) {
        if draft.placeholder && draft.record.id.is_empty() {
            return;
        }
        if self.waiting.is_empty() && self.queue.is_empty() {
            self.waiting_messages.clear();
        }
        draft.record.parent = match &draft.parent {
            Parent::Of(id) => Some(id.clone()),
            Parent::Unstated if !self.tree => self.previous.clone(),
            Parent::Unstated | Parent::Root => None,
        };
        let twin = if draft.record.id.is_empty() { self.derive(&mut draft.record) } else { 0 };
        let id = short(&draft.record.id);
        if self.known.contains_key(&id) {
            if !draft.placeholder {
                let why = format!("the id {:?} appeared before; the first message keeps it", draft.record.id);
                notes.skip(draft.place(&self.prefix), why);
            }
            return;
        }
        if draft.placeholder && !self.waiting.contains_key(&id) {
            self.placeholders.entry(id).or_insert(position);
            return;
        }
        self.placeholders.remove(&id);
        if self.waiting_messages.len() >= MAX_WAITING
            && draft.record.parent.as_ref().is_some_and(|id| self.number(id).is_none())
        {
            let why = format!("more than {MAX_WAITING} messages come before their parents; this one was skipped");
            notes.skip(draft.place(&self.prefix), why);
            return;
        }
        self.previous = Some(draft.record.id.clone());
        self.queue.push_back(Next::Here(Box::new(draft), position, twin));
    }

    /// Returns the number of the message with this id, if it was placed.
    pub(super) fn number(&self, id: &str) -> Option<u32> {
        self.known.get(&short(id)).copied().filter(|number| *number != WAITING_NUMBER)
    }

    /// Handles the end of the file: messages that wait for a missing parent get an empty message as their parent.
    /// Returns whether everything is placed; if not, the caller must first take the ready messages.
    pub(super) fn end(&mut self, notes: &mut Notes, fetch: &mut Fetch<'_>) -> io::Result<bool> {
        while self.run(fetch)? {
            let Some(PendingMessage { position, parent, .. }) = self.waiting_messages.get(self.ended).copied() else {
                self.drop_unreachable(notes, fetch)?;
                return Ok(true);
            };
            self.ended += 1;
            if self.known.contains_key(&parent) || !self.waiting.contains_key(&parent) {
                continue;
            }
            let Some(child) = fetch(position)? else { continue };
            let Parent::Of(name) = &child.parent else { continue };
            let why = format!("its parent {name:?} is missing; an empty message replaces it");
            notes.skip(child.place(&self.prefix), why);
            let placeholder = Draft::placeholder(name.clone(), Parent::Root, position.number, self.unit);
            self.queue.push_back(Next::Here(Box::new(placeholder), FilePosition::default(), 0));
        }
        Ok(false)
    }

    /// Reports messages that no root reaches, and drops them.
    fn drop_unreachable(&mut self, notes: &mut Notes, fetch: &mut Fetch<'_>) -> io::Result<()> {
        let mut lost: Vec<u32> = Vec::new();
        for (first, _) in std::mem::take(&mut self.waiting).into_values() {
            lost.extend(self.chain(first));
        }
        lost.sort_unstable();
        for at in lost {
            let draft = if notes.has_room() { fetch(self.waiting_messages[at as usize].position)? } else { None };
            let place = draft.map(|draft| draft.place(&self.prefix)).unwrap_or_default();
            notes.skip(place, "its parents form a cycle");
        }
        self.waiting_messages = Vec::new();
        Ok(())
    }

    /// Derives an id for a message without one. Returns its ordinal among the messages with the same derived id.
    fn derive(&mut self, record: &mut Record) -> u32 {
        record.id = derived_id(record);
        if !self.known.contains_key(&short(&record.id)) {
            return 1;
        }
        let twin = self.twins.entry(short(&record.id)).or_insert(1);
        *twin += 1;
        record.id = twin_id(&record.id, *twin);
        *twin
    }

    /// Whether enough messages are ready for a portion.
    pub(super) fn is_full(&self) -> bool {
        self.weight >= PORTION || self.ready.len() >= PORTION_RECORDS
    }

    /// Places messages and all messages that waited for them, or keeps them waiting. Returns whether everything is
    /// done; if not, the caller must first take the ready messages.
    pub(super) fn run(&mut self, fetch: &mut Fetch<'_>) -> io::Result<bool> {
        while !self.is_full() {
            let Some(next) = self.queue.pop_front() else { return Ok(true) };
            let (draft, position, twin) = match next {
                Next::Here(draft, position, twin) => (*draft, position, twin),
                Next::Chain(at) => {
                    let PendingMessage { position, twin, next, .. } = self.waiting_messages[at as usize];
                    if next != at {
                        self.queue.push_front(Next::Chain(next));
                    }
                    match fetch(position)? {
                        Some(draft) => (restore_id(draft, twin), position, twin),
                        None => continue,
                    }
                }
            };
            let id = short(&draft.record.id);
            let parent = match &draft.record.parent {
                None => None,
                Some(name) => match self.known.get(&short(name)).copied() {
                    Some(number) if number != WAITING_NUMBER => Some(number),
                    there => {
                        let placeholder = self.placeholders.remove(&short(name)).filter(|_| there.is_none());
                        self.wait(id, short(name), position, twin);
                        if let Some(position) = placeholder
                            && let Some(placeholder) = fetch(position)?
                        {
                            self.queue.push_front(Next::Here(Box::new(restore_id(placeholder, 0)), position, 0));
                        }
                        continue;
                    }
                },
            };
            self.place(draft, id, parent);
            if let Some((first, _)) = self.waiting.remove(&id) {
                self.queue.push_back(Next::Chain(first));
            }
        }
        Ok(self.queue.is_empty())
    }

    fn wait(&mut self, id: ShortId, parent: ShortId, position: FilePosition, twin: u32) {
        let Ok(at) = u32::try_from(self.waiting_messages.len()) else { return };
        self.known.insert(id, WAITING_NUMBER);
        self.waiting_messages.push(PendingMessage { position, parent, next: at, twin });
        let (_, last) = self.waiting.entry(parent).or_insert((at, at));
        let before = std::mem::replace(last, at);
        self.waiting_messages[before as usize].next = at;
    }

    /// Returns all messages that wait for the same parent, from `first` on.
    fn chain(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(first), |at| {
            let next = self.waiting_messages[*at as usize].next;
            (next != *at).then_some(next)
        })
    }

    fn place(&mut self, draft: Draft, id: ShortId, parent: Option<u32>) {
        let number = self.count;
        self.count += 1;
        self.known.insert(id, number);
        if draft.current && !draft.placeholder && draft.number >= self.marked {
            (self.current, self.marked) = (Some(number), draft.number);
        }
        let (mut record, is_blank) = (draft.record, draft.is_blank);
        self.call_matcher.observe(&mut record, id, draft.loose);
        self.weight = self.weight.saturating_add(draft.weight).saturating_add(256);
        let reply_root = record.reply_root().and_then(|id| self.number(&id)).filter(|root| *root < number);
        self.ready.push(PlacedRecord { record, parent, reply_root, is_blank });
    }
}

/// Restores the derived id and the parent of a message that was read again.
fn restore_id(mut draft: Draft, twin: u32) -> Draft {
    if let Parent::Of(id) = &draft.parent {
        draft.record.parent = Some(id.clone());
    }
    if twin > 0 {
        let id = derived_id(&draft.record);
        draft.record.id = if twin == 1 { id } else { twin_id(&id, twin) };
    }
    draft
}

/// Derives an id from a message's content and parent, so that unchanged messages have the same ids in a longer or
/// changed version of a file.
fn derived_id(record: &Record) -> String {
    let fields = Fields::new("record").text(record.parent.as_deref().unwrap_or("")).text(record.role.name());
    let hash = fields.hash(record.content.hash()).finish().to_string();
    hash[..20].to_owned()
}

fn twin_id(id: &str, twin: u32) -> String {
    format!("{id}-{twin}")
}

/// Makes a result the answer to this call.
fn answer(record: &mut Record, id: &str, called: &str) {
    if let Some(Part::Reply { call, name, .. }) = record.content.parts.first_mut() {
        id.clone_into(call);
        if name.is_empty() {
            called.clone_into(name);
        }
    }
}

/// Matches results that name no call: the n-th result after a message answers the message's n-th call.
#[derive(Default)]
struct CallMatcher {
    open: HashMap<ShortId, (Calls, usize)>,
    /// Messages with calls, oldest first, with the size of the calls' names in bytes.
    order: VecDeque<(ShortId, usize)>,
    bytes: usize,
}

/// The ids and names of a message's calls.
type Calls = Arc<Vec<(String, String)>>;

impl CallMatcher {
    fn observe(&mut self, record: &mut Record, id: ShortId, loose: bool) {
        if record.role == Role::Assistant && record.content.calls().next().is_some() {
            let calls: Vec<_> = record.content.calls().map(|(id, name, _)| (id.to_owned(), name.to_owned())).collect();
            let bytes = calls.iter().map(|(id, name)| id.len() + name.len() + 48).sum();
            self.keep(id, Arc::new(calls), 0, bytes);
        } else if record.role == Role::Tool
            && let Some((calls, turn)) =
                record.parent.as_ref().and_then(|parent| self.open.get(&short(parent))).cloned()
        {
            if let Some((call, name)) = calls.get(turn).filter(|_| loose) {
                answer(record, call, name);
            }
            self.keep(id, calls, turn + 1, 0);
        }
    }

    fn keep(&mut self, id: ShortId, calls: Calls, turn: usize, bytes: usize) {
        self.open.insert(id, (calls, turn));
        self.order.push_back((id, bytes));
        self.bytes += bytes;
        while self.order.len() > OPEN_CALLS.0 || (self.bytes > OPEN_CALLS.1 && self.order.len() > 1) {
            let Some((oldest, bytes)) = self.order.pop_front() else { return };
            self.open.remove(&oldest);
            self.bytes -= bytes;
        }
    }
}
