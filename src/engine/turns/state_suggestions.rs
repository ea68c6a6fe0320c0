//! Reads an answer's state block: the state itself, suggested memories, and suggested pins.
//! Not for: a person's acts on them (`sessions::memory`), or the rest of the turn's end (`commit`).

use super::state::LiveTurn;
use crate::context::render::render_forms;
use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, Failure, Hash, SessionId, secrets};
use crate::domain::conversation::memory::{self, Origin};
use crate::domain::conversation::{
    Actor, Content, End, ItemState, Memory, MemoryKind, MemoryStatus, NodeHead, Role, Scope, Slot, StateVersion,
    Subject, SuggestedPin, Transition, state, state_suggestions, tree,
};
use crate::domain::planning::Form;
use crate::engine::core::{Core, content};
use crate::engine::plans::sources::suggested_pins;
use crate::engine::sessions::session::{Session, state_at};
use crate::store::Store;
use crate::store::types::Write;
use std::collections::HashSet;
use uuid::Uuid;

/// The maximum number of memories that one answer may suggest.
const MAX_MEMORIES: usize = 5;
/// The minimum length of a quoted text that names a message, in characters; shorter texts occur everywhere.
const MIN_QUOTE: usize = 8;
/// The maximum number of messages that are checked for a quoted text.
const MAX_HITS: usize = 40;

/// The contents of an answer's state block, as changes.
#[derive(Default)]
pub(crate) struct StateSuggestions {
    pub(crate) state: Option<StateVersion>,
    pub(crate) writes: Vec<Write>,
    /// Sentences for the person.
    pub(crate) notices: Vec<String>,
}

impl Core {
    /// Reads an answer's state block.
    pub(crate) fn read_state_block(
        &self,
        branch: BranchId,
        live: &LiveTurn,
        head: &NodeHead,
        content: &Content,
        end: End,
    ) -> Result<StateSuggestions, Failure> {
        let Some(block) = state::find(&content.plain_text(), end == End::Complete) else {
            return Ok(StateSuggestions::default());
        };
        let mut asked = state_suggestions::read(&block.text);
        if end != End::Complete {
            asked.remember.clear();
            asked.pins.clear();
        }
        let session = self.sessions.of_branch(branch)?;
        let tip = live.after.and_then(|id| session.tree.slot(id));
        let mut suggestions = StateSuggestions::default();
        memories_of(&self.store, &asked.remember, session.card.id, head, &mut suggestions)?;
        let pins = self.pins_of(&asked.pins, session, branch, tip)?;
        suggestions.writes.extend(pins.iter().map(|pin| Write::PutTransition {
            session: session.card.id,
            transition: Box::new(Transition {
                item: Subject::Item(suggested_pins::atom_of_pin(pin)),
                from: ItemState::None,
                to: ItemState::Suggested,
                reason: "named by the model".into(),
                turn: Some(head.key),
                branch: Some(branch),
                by: Actor::Model,
                at: head.at,
            }),
        }));
        let before = session.branch(branch)?.state.as_ref().map(|state| state.text.clone());
        let text = if asked.state.is_empty() { before.filter(|_| !pins.is_empty()) } else { Some(asked.state) };
        let version = session.next_state();
        suggestions.state = text.map(|text| StateVersion { pins, ..state_at(head, version, text) });
        Ok(suggestions)
    }

    /// Returns the symbols and messages that the model named. A name counts only if it means one symbol of the code or
    /// one turn of the path.
    fn pins_of(
        &self,
        names: &[String],
        session: &Session,
        branch: BranchId,
        tip: Option<Slot>,
    ) -> Result<Vec<SuggestedPin>, Failure> {
        let (Some(tip), false) = (tip, names.is_empty()) else { return Ok(Vec::new()) };
        let path = session.tree.path(tip);
        let turns = tree::turns(&session.tree, &path);
        let dismissed = &session.branch(branch)?.overrides.dismissed;
        let known: HashSet<Hash> =
            session.states.iter().flat_map(|state| &state.pins).filter(|p| p.branch == branch).map(|p| p.key).collect();
        let mut found: Vec<SuggestedPin> = Vec::new();
        for name in names {
            let symbol = self.named_symbols(branch, &format!("`{name}`"), 1).pop();
            let pin = match symbol {
                Some(code) => SuggestedPin { key: code.key(), branch, code: Some(Box::new(code)) },
                None => match resolve_name(&self.store, name, session, &path, &turns)? {
                    Some(key) => SuggestedPin { key, branch, code: None },
                    None => continue,
                },
            };
            let again = known.contains(&pin.key) || dismissed.contains(&suggested_pins::atom_of_pin(&pin));
            if !again && found.iter().all(|other| other.key != pin.key) {
                found.push(pin);
            }
        }
        Ok(found)
    }
}

fn memories_of(
    store: &Store,
    asked: &[(MemoryKind, String)],
    session: SessionId,
    head: &NodeHead,
    suggestions: &mut StateSuggestions,
) -> Result<(), Failure> {
    if asked.is_empty() {
        return Ok(());
    }
    let known = store.memories(Some(session))?;
    let mut known: HashSet<String> = known.iter().map(|memory| memory::normalized(&memory.text)).collect();
    let (mut made, mut secret, mut long) = (0, 0, 0);
    for (kind, text) in asked {
        if secrets::count(text) > 0 {
            secret += 1;
        } else if text.chars().count() > memory::LONGEST {
            long += 1;
        } else if made < MAX_MEMORIES && known.insert(memory::normalized(text)) {
            made += 1;
            let memory = suggestion(*kind, text, session, head);
            suggestions.writes.push(first_transition(session, &memory, "suggested by the model"));
            suggestions.writes.push(Write::PutMemory { memory: Box::new(memory), expect: None });
        }
    }
    let counted = |n: usize| if n == 1 { "1 memory".to_owned() } else { format!("{n} memories") };
    if made > 0 {
        suggestions.notices.push(format!("The model suggests {}; /memories lists the suggestions.", counted(made)));
    }
    if secret > 0 {
        let what = counted(secret);
        suggestions.notices.push(format!("The model suggested {what} that may contain a secret; not saved."));
    }
    if long > 0 {
        let (what, most) = (counted(long), memory::LONGEST);
        suggestions.notices.push(format!("The model suggested {what} longer than {most} characters; skipped."));
    }
    Ok(())
}

/// Resolves a name to a message on a path: a turn's number, an id, or a quoted text. `None` unless it means exactly
/// one turn.
pub(crate) fn resolve_name(
    store: &Store,
    name: &str,
    session: &Session,
    path: &[Slot],
    turns: &[tree::Turn],
) -> Result<Option<Hash>, Failure> {
    let head = |at: usize| session.tree.head(path[at]);
    if let Some(number) = turn_number(name) {
        let turn = turns.iter().filter(|turn| turn.asked).nth(number.saturating_sub(1));
        return Ok(turn.map(|turn| head(turn.nodes.start).key));
    }
    if let Some(id) = id_prefix(name) {
        let fits = |head: &NodeHead| head.id.begins(&id) || head.key.begins(&id);
        let mut fitting = (0..path.len()).map(head).filter(|head| fits(head));
        return Ok(fitting.next().filter(|_| fitting.next().is_none()).map(|head| head.key));
    }
    let words = memory::normalized(name);
    if words.chars().count() < MIN_QUOTE {
        return Ok(None);
    }
    let turn_of = |at: usize| turns.partition_point(|turn| turn.nodes.end <= at);
    let mut first: Option<usize> = None;
    for node in store.newest_with(&words, session.card.id, MAX_HITS)? {
        let Some(slot) = session.tree.slot(node) else { continue };
        let at = session.tree.depth(slot) as usize;
        if path.get(at) != Some(&slot) || !contains_words(store, session.tree.head(slot), &words)? {
            continue;
        }
        if first.is_some_and(|first| turn_of(first) != turn_of(at)) {
            return Ok(None);
        }
        first = Some(first.map_or(at, |first| first.min(at)));
    }
    Ok(first.map(|at| head(at).key))
}

/// Whether a message contains these words in this order, without its state block.
fn contains_words(store: &Store, head: &NodeHead, words: &str) -> Result<bool, Failure> {
    let form = if head.role == Role::Assistant { Form::NoState } else { Form::Full };
    let text = render_forms::message_text(head.key, head.role, &content(store, head.id)?, form);
    Ok(format!(" {} ", memory::normalized(&text)).contains(&format!(" {words} ")))
}

fn suggestion(kind: MemoryKind, text: &str, session: SessionId, head: &NodeHead) -> Memory {
    Memory {
        id: MemoryId(Uuid::now_v7()),
        kind,
        text: text.to_owned(),
        scope: if kind == MemoryKind::Preference { Scope::All } else { Scope::Session(session) },
        lane: head.lane.clone(),
        source: Origin { session: Some(session), node: Some(head.key), by: Actor::Model },
        status: MemoryStatus::Suggested,
        version: 1,
        created_at: head.at,
        updated_at: head.at,
    }
}

/// Returns the write of a memory's first state change.
pub(crate) fn first_transition(session: SessionId, memory: &Memory, reason: &str) -> Write {
    let transition = Transition {
        item: Subject::Memory(memory.id),
        from: ItemState::None,
        to: state_of_status(memory.status),
        reason: reason.into(),
        turn: memory.source.node,
        branch: None,
        by: memory.source.by,
        at: memory.created_at,
    };
    Write::PutTransition { session, transition: Box::new(transition) }
}

/// Returns the item state that corresponds to a memory's status.
pub(crate) fn state_of_status(status: MemoryStatus) -> ItemState {
    match status {
        MemoryStatus::Suggested => ItemState::Suggested,
        MemoryStatus::Confirmed => ItemState::Confirmed,
        MemoryStatus::Dismissed => ItemState::Dismissed,
    }
}

fn turn_number(name: &str) -> Option<usize> {
    let lower = name.to_lowercase();
    lower.strip_prefix("turn ")?.trim().parse().ok().filter(|number| *number > 0)
}

/// Returns a name as a prefix of an id; `None` if it is not one of at least eight hexadecimal digits.
fn id_prefix(name: &str) -> Option<String> {
    let id = name.trim_matches(['#', '[', ']']).to_lowercase();
    let digits = id.chars().filter(char::is_ascii_hexdigit).count();
    (digits >= 8 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_messages_are_recognized() {
        assert_eq!((turn_number("turn 7"), turn_number("Turn 0"), turn_number("turn about")), (Some(7), None, None));
        assert_eq!(id_prefix("#1a2b3c4d").as_deref(), Some("1a2b3c4d"));
        assert_eq!((id_prefix("1a2b3c"), id_prefix("deadbeef me")), (None, None));
    }
}
