//! A person's acts on memories and suggested pins. Each is stored with its operation and its state change.
//! Not for: suggesting memories (`turns::state_suggestions`), or sending them (`plans::sources::memory`).

use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, SessionId, secrets};
use crate::domain::conversation::memory::{self, Origin};
use crate::domain::conversation::{
    Actor, Atom, Branch, Change, ItemState, Mark, MarkKind, Memory, MemoryKind, MemoryStatus, Scope, Subject,
    Transition,
};
use crate::engine::api::{Answer, ItemName, MemoryAct, MemoryAnswer, MemoryScope};
use crate::engine::branches::marks::overrides_change;
use crate::engine::core::Core;
use crate::engine::plans::sources::memory::ranked;
use crate::engine::plans::sources::memory_terms::known;
use crate::engine::plans::sources::suggested_pins;
use crate::engine::sessions::lookup::named_session;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::state_suggestions::{first_transition, state_of_status};
use crate::store::Store;
use crate::store::types::Write;
use uuid::Uuid;

/// The minimum length of a prefix of an id.
const SHORTEST: usize = 4;

impl Core {
    /// Stores a person's own memory, which is confirmed from the start. Fails if the same text is already stored.
    pub(crate) fn remember(&mut self, kind: MemoryKind, text: &str, scope: MemoryScope) -> Result<Answer, Failure> {
        let text = checked_text(text)?;
        let session = self.sessions.current()?;
        let (id, branch) = (session.card.id, session.branch(session.current)?);
        let plain = memory::normalized(&text);
        let twin = self.store.memories(Some(id))?.into_iter().find(|known| memory::normalized(&known.text) == plain);
        if let Some(twin) = twin {
            let todo = if twin.status == MemoryStatus::Confirmed { "" } else { "Confirm that memory." };
            let what = format!("That memory already exists ({}) and is {}.", short(twin.id), twin.status.name());
            return Err(Failure::user(what).todo(todo));
        }
        let made = persons_memory(&self.sessions, &self.setup, branch, kind, text, scope_in(scope, id));
        let step = first_transition(id, &made, "decided by the person");
        self.change_memory(None, Some(made.clone()), "added a memory", vec![step])?;
        Ok(MemoryAnswer::Memories(vec![made]).into())
    }

    /// Confirms, edits, dismisses, or deletes a memory.
    pub(crate) fn act_on_memory(&mut self, named: &str, act: &MemoryAct) -> Result<Answer, Failure> {
        let session = self.sessions.current()?.card.id;
        let before = named_memory(&self.store, session, named)?;
        let mut after = Memory { version: before.version + 1, updated_at: self.setup.now(), ..before.clone() };
        let what = match act {
            MemoryAct::Confirm(scope) => {
                after.status = MemoryStatus::Confirmed;
                after.scope = scope.map_or(before.scope, |scope| scope_in(scope, session));
                "confirmed a memory"
            }
            MemoryAct::Edit(text, scope) => {
                after.text = text.as_deref().map_or_else(|| Ok(before.text.clone()), checked_text)?;
                after.scope = scope.map_or(before.scope, |scope| scope_in(scope, session));
                "edited a memory"
            }
            MemoryAct::Dismiss => {
                after.status = MemoryStatus::Dismissed;
                "dismissed a memory"
            }
            MemoryAct::Delete => {
                let step = (state_of_status(before.status), ItemState::None);
                let step = self.setup.step(session, &before, step, "deleted by a person");
                return self.change_memory(Some(before), None, "deleted a memory", vec![step]);
            }
        };
        if after.same(&Memory { updated_at: after.updated_at, ..before.clone() }) {
            return Ok(Answer::Done("Nothing to change.".into()));
        }
        let step = (state_of_status(before.status), state_of_status(after.status));
        let step = (step.0 != step.1).then(|| self.setup.step(session, &before, step, "decided by the person"));
        self.change_memory(Some(before), Some(after), what, step.into_iter().collect())
    }

    fn change_memory(
        &mut self,
        before: Option<Memory>,
        after: Option<Memory>,
        what: &str,
        steps: Vec<Write>,
    ) -> Result<Answer, Failure> {
        let session = self.sessions.current()?.card.id;
        let mut writes: Vec<Write> =
            memory_write(before.as_ref(), after.as_ref(), before.as_ref()).into_iter().collect();
        let change = Change::Memory { before: before.map(Box::new), after: after.map(Box::new) };
        writes.extend(steps);
        self.record(session, what, writes, &[change])
    }

    /// Makes all drawn plans stale, because memories apply to all branches.
    pub(crate) fn memories_changed(&mut self) {
        self.outdate_all_plans();
        if let Ok(current) = self.sessions.current().map(|session| session.current) {
            self.show_branch(current);
        }
    }

    /// Returns the writes of a memory's change by undo or redo, based on the currently stored data.
    pub(crate) fn memory_writes(&self, before: Option<&Memory>, after: Option<&Memory>) -> Vec<Write> {
        let Some(memory) = before.or(after) else { return Vec::new() };
        let now = self.store.memory(memory.id).ok().flatten();
        let mut writes: Vec<Write> = memory_write(before, after, now.as_ref()).into_iter().collect();
        let stands = |memory: Option<&Memory>| memory.map_or(ItemState::None, |memory| state_of_status(memory.status));
        let step = (stands(before), stands(after));
        if step.0 != step.1
            && let Ok(session) = self.sessions.current()
        {
            writes.push(self.setup.step(session.card.id, memory, step, "undone or redone"));
        }
        writes
    }

    /// Dismisses a suggested pin, so that it is not suggested again.
    pub(crate) fn dismiss(&mut self, id: BranchId, item: &ItemName) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let (target, _) = self.target(&branch, item)?;
        let target = match target {
            Atom::Section { text } if target != Atom::code_map() => suggested_pins::symbol_atom(text),
            target => target,
        };
        let mut overrides = branch.overrides.clone();
        if !self.suggests(id, &target) || overrides.dismissed.contains(&target) {
            return Err(Failure::user("That is not a suggested pin.")
                .todo("Suggested pins are listed under their own heading."));
        }
        overrides.dismissed.push(target);
        let (write, change) = overrides_change(&branch, overrides);
        let mut writes = vec![write];
        writes.extend(dismissal_steps(&self.sessions, &self.setup, &change));
        self.record(branch.session, "dismissed a suggested pin", writes, &[change])
    }

    /// Whether a pin of this item was suggested on the branch: by the model, by the program, or by a replay without the
    /// item.
    fn suggests(&self, id: BranchId, target: &Atom) -> bool {
        let Ok(session) = self.sessions.of_branch(id) else { return false };
        let Ok(branch) = session.branch(id) else { return false };
        let after = self.rules(branch).map_or(u32::MAX, |rules| rules.policy.activation.suggest_after);
        let mut pins = session.states.iter().flat_map(|state| &state.pins);
        let earned = |mark: &Mark| {
            let turn = suggested_pins::earned(mark, after).map(suggested_pins::atom);
            let symbol = suggested_pins::earned_symbol(mark, after).map(|code| suggested_pins::symbol_atom(code.key()));
            turn.as_ref() == Some(target) || symbol.as_ref() == Some(target)
        };
        let is_same = |item: &Atom| suggested_pins::first(item).map(suggested_pins::atom).as_ref() == Some(target);
        pins.any(|pin| pin.branch == id && suggested_pins::atom_of_pin(pin) == *target)
            || branch.marks.iter().any(earned)
            || branch.overrides.important.iter().any(is_same)
    }

    /// Returns the state change of an item that follows from a person's change of its mark; `None` if its state is the
    /// same.
    pub(crate) fn mark_step(&self, change: &Change, reason: &str) -> Option<Write> {
        let Change::Mark { branch, target, before, after } = change else { return None };
        let branch = self.sessions.branch(*branch).ok()?;
        let waits = self.suggests(branch.id, target) && !branch.overrides.dismissed.contains(target);
        let nothing = if waits { ItemState::Suggested } else { ItemState::None };
        let stands = |mark: Option<&Mark>| mark.map_or(nothing, |mark| ItemState::of(mark.kind));
        let step = (stands(before.as_deref()), stands(after.as_deref()));
        let again = matches!(after.as_deref(), Some(Mark { kind: MarkKind::Leased { .. }, .. }));
        (step.0 != step.1 || again)
            .then(|| item_transition(&self.sessions, &self.setup, &branch, *target, step, reason, Actor::User))
    }
}

/// Returns a person's new memory, which is confirmed from the start.
pub(crate) fn persons_memory(
    sessions: &Sessions,
    setup: &Setup,
    branch: &Branch,
    kind: MemoryKind,
    text: String,
    scope: Scope,
) -> Memory {
    let session = sessions.of_branch(branch.id).ok();
    let tip = session.and_then(|session| session.head(branch).map(|slot| session.tree.head(slot)));
    let now = setup.now();
    Memory {
        id: MemoryId(Uuid::now_v7()),
        kind,
        text,
        scope,
        lane: tip.map(|head| head.lane.clone()).unwrap_or_default(),
        source: Origin { session: Some(branch.session), node: None, by: Actor::User },
        status: MemoryStatus::Confirmed,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// Returns the state changes of suggested pins that follow from a change of the dismissed items.
pub(crate) fn dismissal_steps(sessions: &Sessions, setup: &Setup, change: &Change) -> Vec<Write> {
    let Change::Overrides { branch, before, after } = change else { return Vec::new() };
    let Ok(branch) = sessions.branch(*branch) else { return Vec::new() };
    let only = |here: &[Atom], there: &[Atom]| -> Vec<Atom> {
        here.iter().filter(|atom| !there.contains(atom)).copied().collect()
    };
    let back = (ItemState::Dismissed, ItemState::Suggested);
    let down = (ItemState::Suggested, ItemState::Dismissed);
    let gone = only(&before.dismissed, &after.dismissed).into_iter().map(|atom| (atom, back));
    let come = only(&after.dismissed, &before.dismissed).into_iter().map(|atom| (atom, down));
    let write =
        |(atom, step)| item_transition(sessions, setup, &branch, atom, step, "decided by the person", Actor::User);
    gone.chain(come).map(write).collect()
}

/// Returns the write of an item's state change on a branch.
pub(crate) fn item_transition(
    sessions: &Sessions,
    setup: &Setup,
    branch: &Branch,
    target: Atom,
    (from, to): (ItemState, ItemState),
    reason: &str,
    by: Actor,
) -> Write {
    let session = sessions.of_branch(branch.id).ok();
    let tip = session.and_then(|session| session.head(branch).map(|slot| session.tree.head(slot).key));
    let (item, reason, at) = (Subject::Item(target), reason.to_owned(), setup.now());
    let transition = Transition { item, from, to, reason, turn: tip, branch: Some(branch.id), by, at };
    Write::PutTransition { session: branch.session, transition: Box::new(transition) }
}

/// Returns the memories that apply to a session: all of them, or the memories that match some words, best first.
pub(crate) fn memories(
    sessions: &Sessions,
    store: &Store,
    session: Option<&str>,
    words: Option<&str>,
    scope: Option<MemoryScope>,
) -> Result<Answer, Failure> {
    let session = match session {
        None => sessions.current_id.map_or_else(|| named_session(store, None), |id| Ok(Some(id)))?,
        named => named_session(store, named)?,
    };
    let mut all = store.memories(session)?;
    all.retain(|memory| match scope {
        None => true,
        Some(MemoryScope::All) => memory.scope == Scope::All,
        Some(MemoryScope::Session) => memory.scope != Scope::All,
    });
    let Some(words) = words.filter(|words| !words.trim().is_empty()) else {
        return Ok(MemoryAnswer::Memories(all).into());
    };
    let known = known(all);
    let ranked = ranked(&known, words);
    let plain = memory::normalized(words);
    let holds = |text: &str| !plain.is_empty() && memory::normalized(text).contains(&plain);
    let hit = |at: &usize| ranked.iter().any(|(_, other)| other == at);
    let also = (0..known.len()).filter(|at| !hit(at) && holds(&known[*at].memory.text));
    let order: Vec<usize> = ranked.iter().map(|(_, at)| *at).chain(also).collect();
    Ok(MemoryAnswer::Memories(order.into_iter().map(|at| known[at].memory.clone()).collect()).into())
}

/// Whether an atom names a memory that applies to the session of a branch.
pub(crate) fn is_memory(sessions: &Sessions, store: &Store, branch: BranchId, atom: &Atom) -> bool {
    let session = sessions.of_branch(branch).map(|session| session.card.id).ok();
    matches!(atom, Atom::Section { .. })
        && store.memories(session).is_ok_and(|all| all.iter().any(|memory| memory.atom() == *atom))
}

/// Whether a memory is as the change expects.
pub(crate) fn memory_is_current(
    store: &Store,
    before: Option<&Memory>,
    after: Option<&Memory>,
) -> Result<bool, Failure> {
    let Some(id) = before.or(after).map(|memory| memory.id) else { return Ok(true) };
    Ok(match (store.memory(id)?, before) {
        (None, None) => true,
        (Some(now), Some(before)) => now.same(&Memory { updated_at: now.updated_at, ..before.clone() }),
        _ => false,
    })
}

fn named_memory(store: &Store, session: SessionId, named: &str) -> Result<Memory, Failure> {
    let wanted = named.trim().to_lowercase();
    let all = store.memories(Some(session))?;
    let fits = |memory: &&Memory| {
        let id = memory.id.to_string();
        id == wanted || (wanted.len() >= SHORTEST && (id.starts_with(&wanted) || short(memory.id).starts_with(&wanted)))
    };
    let found: Vec<&Memory> = all.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::user(format!("There is no memory {named:?} here."))
            .todo("`pleach memory list` lists the memories.")),
        more => Err(Failure::user(format!("{named:?} matches {} memories.", more.len())).todo("Type more of the id.")),
    }
}

/// Returns a sentence about confirmed memories that came from messages which are being deleted; empty if there are
/// none.
pub(crate) fn kept_memories_sentence(store: &Store, session: SessionId, keys: &[Hash]) -> Result<String, Failure> {
    let mut all = store.memories(Some(session))?;
    all.retain(|memory| {
        memory.status == MemoryStatus::Confirmed
            && memory.source.session == Some(session)
            && memory.source.node.is_some_and(|key| keys.contains(&key))
    });
    let listed: Vec<String> = all.iter().map(|memory| format!("{} ({})", memory.text, short(memory.id))).collect();
    Ok(match listed.len() {
        0 => String::new(),
        1 => format!(" 1 memory from the deleted text is kept: {}.", listed[0]),
        n => format!(" {n} memories from the deleted text are kept: {}.", listed.join("; ")),
    })
}

impl Setup {
    /// Returns the write of a memory's state change by a person.
    fn step(&self, session: SessionId, memory: &Memory, (from, to): (ItemState, ItemState), reason: &str) -> Write {
        let (item, reason, turn) = (Subject::Memory(memory.id), reason.to_owned(), memory.source.node);
        let transition = Transition { item, from, to, reason, turn, branch: None, by: Actor::User, at: self.now() };
        Write::PutTransition { session, transition: Box::new(transition) }
    }
}

/// Returns the write that changes a memory from one version to another, based on the currently stored data.
fn memory_write(before: Option<&Memory>, after: Option<&Memory>, now: Option<&Memory>) -> Option<Write> {
    let expect = now.map(|memory| memory.version);
    match (before, after) {
        (_, Some(after)) => {
            let version = expect.unwrap_or(0).max(after.version.saturating_sub(1)) + 1;
            let memory = Memory { version, ..after.clone() };
            Some(Write::PutMemory { memory: Box::new(memory), expect })
        }
        (Some(before), None) => Some(Write::DeleteMemory { id: before.id, expect: expect.unwrap_or(before.version) }),
        (None, None) => None,
    }
}

fn scope_in(scope: MemoryScope, session: SessionId) -> Scope {
    match scope {
        MemoryScope::All => Scope::All,
        MemoryScope::Session => Scope::Session(session),
    }
}

/// Checks and normalizes the text of a memory: it must be one line, not too long, and contain nothing that looks like a
/// secret.
pub(crate) fn checked_text(typed: &str) -> Result<String, Failure> {
    let text = memory::one_line(typed);
    if text.is_empty() {
        return Err(Failure::user("A memory needs text."));
    }
    let length = text.chars().count();
    if length > memory::LONGEST {
        let what = format!("A memory can have at most {} characters; this text has {length}.", memory::LONGEST);
        return Err(Failure::user(what).todo("Shorten it, or pin a note."));
    }
    if secrets::count(&text) + secrets::count(typed) > 0 {
        return Err(Failure::new(FailureKind::User, "That looks like a secret, and memories never contain secrets.")
            .kept("The memory was not saved.")
            .todo("Write where the secret is stored instead."));
    }
    Ok(text)
}

/// Returns the last characters of an id, a memory's short name. Memories of one answer share the first characters,
/// which encode the time.
pub(crate) fn short(id: MemoryId) -> String {
    let id = id.0.simple().to_string();
    id[id.len() - 8..].to_owned()
}
