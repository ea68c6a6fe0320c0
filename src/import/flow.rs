//! Brings the messages of a long file into a tree while they come: parents before children, siblings in the order in
//! which they came. Of a message that is done only a number stays in memory; one that waits for its parent is read again.
//! Not for: conversations that are in memory as a whole (`arrange`), or what the messages say (`message`).

use super::arrange::{answer, derived_id};
use super::message::{Draft, Parent};
use super::notes::Notes;
use crate::domain::base::hash::Hash;
use crate::domain::conversation::message::Role;
use crate::domain::conversation::record::{Placed, Record};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

/// The number of a message that is known and waits.
const WAITS: u32 = u32::MAX;

/// Unreadable messages that are remembered in case something hangs on them.
const GHOSTS: usize = 100_000;

/// Messages with calls, and results, whose next result can still be named.
const ASKERS: usize = 20_000;

/// An id in eight bytes.
type Short = u64;

fn short(id: &str) -> Short {
    let Hash(bytes) = Hash::of(id.as_bytes());
    bytes.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Where a message stands in the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Spot {
    /// Its place in bytes.
    pub(super) place: u64,
    /// Its bytes.
    pub(super) size: u64,
    /// Its number.
    pub(super) number: u64,
}

/// Reads a message again.
pub(super) type Fetch<'a> = dyn FnMut(Spot) -> io::Result<Option<Draft>> + 'a;

struct Held {
    spot: Spot,
    /// Its id, where the file has none.
    derived: Option<String>,
}

enum Next {
    /// In memory; whether its id was derived.
    Here(Box<Draft>, Spot, bool),
    Held(Held),
}

/// See the module.
#[derive(Default)]
pub(super) struct Flow {
    /// What a message is called in sentences.
    pub(super) unit: &'static str,
    /// Some message names its parent, so that one that does not has none.
    pub(super) tree: bool,
    /// What is in its place, and was not taken yet.
    pub(super) ready: Vec<Placed>,
    /// The bytes of its contents.
    pub(super) bytes: u64,
    /// The number of the message at which the conversation stands, where the file says so.
    pub(super) current: Option<u32>,
    /// How many are in their places.
    pub(super) count: u32,
    marked: u64,
    known: HashMap<Short, u32>,
    ghosts: HashMap<Short, (Draft, Spot)>,
    waiting: HashMap<Short, Vec<Held>>,
    /// Parents that were waited for, in the order of the file.
    missing: Vec<(Short, String, u64)>,
    twins: HashMap<Short, u32>,
    previous: Option<String>,
    askers: Askers,
}

impl Flow {
    /// Of messages that are called so; whether any of them names its parent.
    pub(super) fn new(unit: &'static str, tree: bool) -> Self {
        Self { unit, tree, ..Self::default() }
    }

    /// Takes the next message.
    pub(super) fn put(
        &mut self,
        mut draft: Draft,
        spot: Spot,
        notes: &mut Notes,
        fetch: &mut Fetch<'_>,
    ) -> io::Result<()> {
        if draft.ghost && draft.record.id.is_empty() {
            return Ok(());
        }
        draft.record.parent = match &draft.parent {
            Parent::Of(id) => Some(id.clone()),
            Parent::Unsaid if !self.tree => self.previous.clone(),
            Parent::Unsaid | Parent::Root => None,
        };
        let derived = draft.record.id.is_empty();
        if derived {
            draft.record.id = self.derive(&draft.record);
        }
        let id = short(&draft.record.id);
        if self.known.contains_key(&id) {
            if !draft.ghost {
                let why = format!("the id {:?} was there before; the first one stays", draft.record.id);
                notes.skip(draft.place(""), why);
            }
            return Ok(());
        }
        if draft.ghost && !self.waiting.contains_key(&id) {
            if self.ghosts.len() < GHOSTS {
                self.ghosts.entry(id).or_insert((draft, spot));
            }
            return Ok(());
        }
        self.ghosts.remove(&id);
        self.previous = Some(draft.record.id.clone());
        self.settle(Next::Here(Box::new(draft), spot, derived), fetch)
    }

    /// The number of the message with this id, where it is in its place.
    pub(super) fn number(&self, id: &str) -> Option<u32> {
        self.known.get(&short(id)).copied().filter(|number| *number != WAITS)
    }

    /// Ends: what waits for a parent that never came gets an empty message for it.
    pub(super) fn finish(&mut self, notes: &mut Notes, fetch: &mut Fetch<'_>) -> io::Result<()> {
        for (id, name, number) in std::mem::take(&mut self.missing) {
            if self.known.contains_key(&id) || !self.waiting.contains_key(&id) {
                continue;
            }
            let why = format!("its parent {name:?} is missing; an empty message keeps the place");
            notes.skip(format!("{} {number}", self.unit), why);
            let ghost = Draft::ghost(name, Parent::Root, number, self.unit);
            self.settle(Next::Here(Box::new(ghost), Spot::default(), false), fetch)?;
        }
        let mut lost: Vec<u64> =
            std::mem::take(&mut self.waiting).into_values().flatten().map(|held| held.spot.number).collect();
        lost.sort_unstable();
        for number in lost {
            notes.skip(format!("{} {number}", self.unit), "its parents go round in a circle");
        }
        Ok(())
    }

    /// An id for a message without one.
    fn derive(&mut self, record: &Record) -> String {
        let id = derived_id(record);
        if !self.known.contains_key(&short(&id)) {
            return id;
        }
        let twin = self.twins.entry(short(&id)).or_insert(1);
        *twin += 1;
        format!("{id}-{twin}")
    }

    /// Puts a message in its place, and all that waited for it, or lets it wait.
    fn settle(&mut self, first: Next, fetch: &mut Fetch<'_>) -> io::Result<()> {
        let mut queue = VecDeque::from([first]);
        while let Some(next) = queue.pop_front() {
            let (draft, spot, derived) = match next {
                Next::Here(draft, spot, derived) => {
                    let id = derived.then(|| draft.record.id.clone());
                    (*draft, spot, id)
                }
                Next::Held(Held { spot, derived }) => match fetch(spot)? {
                    Some(draft) => (again(draft, derived.as_ref()), spot, derived),
                    None => continue,
                },
            };
            let id = short(&draft.record.id);
            let parent = match &draft.record.parent {
                None => None,
                Some(parent) => match self.known.get(&short(parent)).copied() {
                    Some(number) if number != WAITS => Some(number),
                    there => {
                        self.wait(&draft, Held { spot, derived }, there.is_none(), &mut queue);
                        continue;
                    }
                },
            };
            self.place(draft, id, parent);
            queue.extend(self.waiting.remove(&id).into_iter().flatten().map(Next::Held));
        }
        Ok(())
    }

    fn wait(&mut self, draft: &Draft, held: Held, unknown: bool, queue: &mut VecDeque<Next>) {
        self.known.insert(short(&draft.record.id), WAITS);
        let Some(name) = &draft.record.parent else { return };
        let parent = short(name);
        match self.ghosts.remove(&parent).filter(|_| unknown) {
            Some((ghost, spot)) => queue.push_front(Next::Here(Box::new(ghost), spot, false)),
            None if unknown && !self.waiting.contains_key(&parent) => {
                self.missing.push((parent, name.clone(), draft.number));
            }
            None => {}
        }
        self.waiting.entry(parent).or_default().push(held);
    }

    fn place(&mut self, draft: Draft, id: Short, parent: Option<u32>) {
        let number = self.count;
        self.count += 1;
        self.known.insert(id, number);
        if draft.current && !draft.ghost && draft.number >= self.marked {
            (self.current, self.marked) = (Some(number), draft.number);
        }
        let mut record = draft.record;
        self.askers.see(&mut record, id, draft.loose);
        self.bytes = self.bytes.saturating_add(record.content.bytes()).saturating_add(256);
        self.ready.push(Placed { record, parent });
    }
}

/// A message that was read again, with what is known of it.
fn again(mut draft: Draft, derived: Option<&String>) -> Draft {
    if let Parent::Of(id) = &draft.parent {
        draft.record.parent = Some(id.clone());
    }
    if let Some(id) = derived {
        draft.record.id.clone_from(id);
    }
    draft
}

/// Gives results that name no call the call whose turn it is: the n-th result after a message answers its n-th call.
#[derive(Default)]
struct Askers {
    open: HashMap<Short, (Calls, usize)>,
    order: VecDeque<Short>,
}

/// Ids and names of calls.
type Calls = Arc<Vec<(String, String)>>;

impl Askers {
    fn see(&mut self, record: &mut Record, id: Short, loose: bool) {
        if record.role == Role::Assistant && record.content.calls().next().is_some() {
            let calls = record.content.calls().map(|(id, name, _)| (id.to_owned(), name.to_owned())).collect();
            self.keep(id, Arc::new(calls), 0);
        } else if record.role == Role::Tool
            && let Some((calls, turn)) =
                record.parent.as_ref().and_then(|parent| self.open.get(&short(parent))).cloned()
        {
            if let Some((call, name)) = calls.get(turn).filter(|_| loose) {
                answer(record, call, name);
            }
            self.keep(id, calls, turn + 1);
        }
    }

    fn keep(&mut self, id: Short, calls: Calls, turn: usize) {
        self.open.insert(id, (calls, turn));
        self.order.push_back(id);
        if self.order.len() > ASKERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.open.remove(&oldest);
        }
    }
}
