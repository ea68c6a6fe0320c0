//! Suggested pins that wait for a person's decision, as rows of the plan. The model suggests them, and so does the
//! program for items that it leased again and again.
//! Not for: reading them from answers (`turns::state_suggestions`), or dismissing them (`sessions::memory`).
//!
//! A suggestion waits while its answer and the message that it names are on the branch's path, nobody marked that
//! message or its turn, and nobody dismissed it. It is never sent and never blocks a call.

use crate::domain::base::{Fields, Hash};
use crate::domain::code::CodeRef;
use crate::domain::conversation::{Actor, Atom, Branch, End, Mark, MarkKind, NodeHead, SuggestedPin};
use crate::domain::planning::Reason;
use crate::domain::planning::{OmittedItem, PlanInput, RowKind, Source};
use crate::engine::plans::snapshot::Snapshot;
use crate::engine::sessions::path::{PathView, position};
use crate::engine::sessions::session::Session;
use std::collections::HashSet;

/// The number of answers with suggestions that are checked, newest first.
const ANSWERS: usize = 64;
/// The maximum number of suggestions that wait at once; older ones follow when these are decided.
const WAITING: usize = 8;

/// The action of a suggestion's row, and its effect.
const REMEDY: (&str, &str) = ("pin", "pins it permanently");

/// A suggested pin.
#[derive(Clone, Debug)]
pub(crate) struct Suggestion {
    head: NodeHead,
    /// The position of the message on the path.
    at: usize,
    /// The size of its turn.
    bytes: u64,
    why: Reason,
}

/// Returns the user message of the turn if the program renewed its lease so often that a pin is suggested.
pub(crate) fn earned(mark: &Mark, after: u32) -> Option<Hash> {
    let own = mark.by == Actor::Engine && mark.renewals >= after.max(1);
    match (mark.target, mark.kind) {
        (Atom::Turn { user, .. }, MarkKind::Leased { .. }) if own => Some(user),
        _ => None,
    }
}

/// Returns the symbol of the program's lease if it was renewed so often that a pin is suggested.
pub(crate) fn earned_symbol(mark: &Mark, after: u32) -> Option<&CodeRef> {
    let own = mark.by == Actor::Engine && mark.renewals >= after.max(1);
    let leased = matches!(mark.kind, MarkKind::Leased { .. });
    mark.code.as_deref().filter(|_| own && leased)
}

/// Returns the atom of the row that suggests to pin a symbol, so that the symbol keeps its own row.
pub(crate) fn symbol_atom(key: Hash) -> Atom {
    Atom::Section { text: Fields::new("suggested symbol").hash(key).finish() }
}

/// Returns the symbol that a suggestion's row names.
pub(crate) fn suggested_symbol(session: &Session, branch: &Branch, atom: &Atom) -> Option<Atom> {
    let leased = branch.marks.iter().filter_map(|mark| Some(mark.code.as_ref()?.key()));
    let by_model = session.states.iter().flat_map(|state| &state.pins).filter(|pin| pin.code.is_some());
    let mut keys = leased.chain(by_model.map(|pin| pin.key));
    keys.find(|key| symbol_atom(*key) == *atom).map(|text| Atom::Section { text })
}

/// Returns the atom of the row of a pin that the model suggested.
pub(crate) fn atom_of_pin(pin: &SuggestedPin) -> Atom {
    if pin.code.is_some() { symbol_atom(pin.key) } else { atom(pin.key) }
}

/// Returns the symbols that the model suggested on a branch and that nobody has decided about, newest first.
pub(crate) fn symbols_on(session: &Session, branch: &Branch, path: &PathView) -> Vec<CodeRef> {
    let on_path = |key: Hash| position(&session.tree, &path.slots, key).is_some();
    let decided = |key: Hash| {
        let own = branch.marks.iter().filter(|mark| mark.is_decision());
        branch.overrides.dismissed.contains(&symbol_atom(key))
            || own.filter_map(|mark| mark.code.as_ref()).any(|code| code.key() == key)
    };
    let answers = session.suggesting.iter().rev().take(ANSWERS).map(|index| &session.states[*index]);
    let pins = answers.filter(|version| on_path(version.key)).flat_map(|version| &version.pins);
    let pins = pins.filter(|pin| pin.branch == branch.id && !decided(pin.key));
    let mut seen = HashSet::new();
    let symbols = pins.filter_map(|pin| pin.code.as_deref()).filter(|code| seen.insert(code.key()));
    symbols.take(WAITING).cloned().collect()
}

/// Returns the suggestions that wait on a branch: first the program's, in the order of the path, then the suggestions
/// from comparisons, then the model's, newest first.
pub(crate) fn on(session: &Session, branch: &Branch, path: &PathView, after: u32) -> Vec<Suggestion> {
    let tree = &session.tree;
    let place = |key: Hash| position(tree, &path.slots, key);
    let mut seen: HashSet<Hash> = HashSet::new();
    let mut found = Vec::new();
    let is_dismissed = |key: Hash| branch.overrides.dismissed.contains(&atom(key));
    // Whether nobody removed or dismissed the message or marked its turn.
    let is_open = |at: usize, key: Hash| {
        let nodes = path.turns[path.turn_at(at)].nodes.clone();
        let keys: Vec<Hash> = nodes.map(|at| tree.head(path.slots[at]).key).collect();
        tree.head(path.slots[at]).end != End::Removed && !is_dismissed(key) && !marked(branch, &keys)
    };
    let mut earned: Vec<(usize, u32)> = branch
        .marks
        .iter()
        .filter_map(|mark| Some((place(earned(mark, after)?)?, mark.renewals)))
        .filter(|(at, _)| !is_dismissed(tree.head(path.slots[*at]).key))
        .collect();
    earned.sort_unstable();
    for (at, renewals) in earned {
        seen.insert(tree.head(path.slots[at]).key);
        found.push(at_place(session, path, at, Reason::SuggestedByRenewals { renewals }));
    }
    let important = branch.overrides.important.iter().filter_map(first).map(|key| (key, Reason::SuggestedByRating));
    let answers = session.suggesting.iter().rev().take(ANSWERS).map(|index| &session.states[*index]);
    let pins = answers.filter(|version| place(version.key).is_some()).flat_map(|version| &version.pins);
    let suggested = pins.filter(|pin| pin.branch == branch.id).map(|pin| (pin.key, Reason::SuggestedByModel));
    for (key, reason) in important.chain(suggested) {
        let Some(at) = place(key).filter(|_| seen.insert(key)) else { continue };
        if is_open(at, key) {
            found.push(at_place(session, path, at, reason));
        }
    }
    found.truncate(WAITING);
    found
}

fn at_place(session: &Session, path: &PathView, at: usize, why: Reason) -> Suggestion {
    let turn = path.turn_at(at);
    let bytes = path.bytes(&session.tree, turn..turn + 1);
    Suggestion { head: session.tree.head(path.slots[at]).clone(), at, bytes, why }
}

/// Returns the first message of an item, by key; `None` for items without messages.
pub(crate) fn first(atom: &Atom) -> Option<Hash> {
    match *atom {
        Atom::Turn { user: key, .. }
        | Atom::Preamble { first: key }
        | Atom::Message { node: key }
        | Atom::Episode { call: key, .. } => Some(key),
        Atom::Section { .. } | Atom::Range { .. } => None,
    }
}

/// Returns the atom of a suggestion's row: the message, so that the turn keeps its own row.
pub(crate) fn atom(key: Hash) -> Atom {
    Atom::Message { node: key }
}

fn marked(branch: &Branch, turn: &[Hash]) -> bool {
    branch.marks.iter().filter(|mark| mark.is_decision()).any(|mark| match mark.target {
        Atom::Turn { user: key, .. }
        | Atom::Preamble { first: key }
        | Atom::Message { node: key }
        | Atom::Episode { call: key, .. } => turn.contains(&key),
        Atom::Section { .. } | Atom::Range { .. } => false,
    })
}

/// Adds the suggestions to a plan's input: messages, then symbols of the code.
pub(crate) fn add(snapshot: &Snapshot, input: &mut PlanInput) {
    add_messages(snapshot, input);
    let after = snapshot.rules.policy.activation.suggest_after;
    let dismissed = &snapshot.branch.overrides.dismissed;
    let earned = |mark| Some((earned_symbol(mark, after)?, Reason::SuggestedByRenewals { renewals: mark.renewals }));
    let earned: Vec<(&CodeRef, Reason)> = snapshot.marks.iter().filter_map(earned).collect();
    let keys: HashSet<Hash> = earned.iter().map(|(code, _)| code.key()).collect();
    let by_model = snapshot.suggested_symbols.iter().filter(|code| !keys.contains(&code.key()));
    let all = earned.into_iter().chain(by_model.map(|code| (code, Reason::SuggestedByModel)));
    let waiting =
        all.filter(|(code, _)| snapshot.rules.code.is_some() && !dismissed.contains(&symbol_atom(code.key())));
    input.near.extend(waiting.take(WAITING).map(|(code, reason)| {
        let item = OmittedItem::new(symbol_atom(code.key()), RowKind::Code, &code.title(), 0, reason, REMEDY);
        OmittedItem { source: Source { code: Some(Box::new(code.clone())), ..Source::default() }, ..item }
    }));
}

fn add_messages(snapshot: &Snapshot, input: &mut PlanInput) {
    input.near.extend(snapshot.suggested.iter().map(|Suggestion { head, at, bytes, why }| {
        let tokens = u32::try_from(bytes / 4).unwrap_or(u32::MAX);
        let source = snapshot.source(*at, head.id, head.external_id.clone(), None);
        let item = OmittedItem::new(atom(head.key), RowKind::Message, &head.preview, tokens, why.clone(), REMEDY);
        OmittedItem { source, ..item }
    }));
}
