//! What a planning job is given: the part of a session that can matter, copied, so that planning goes on beside the engine.
//! Not for: contents and counts; the job fetches them itself.

use super::session::Session;
use super::setup::Rules;
use super::summaries::{self, Ground, Summaries};
use crate::domain::branch::{Branch, StateVersion};
use crate::domain::hash::Hash;
use crate::domain::ids::{NodeId, SessionId};
use crate::domain::input::Gap;
use crate::domain::mark::{Atom, Mark};
use crate::domain::message::{Content, End, NodeHead, Role, node_key};
use crate::domain::tree::{self, Slot, Turn};
use std::collections::BTreeSet;

/// Turns looked at one by one, at the most and at the least.
const MOST_TURNS: usize = 2_000;
const LEAST_TURNS: usize = 48;

/// A turn's heads.
#[derive(Clone, Debug)]
pub(super) struct TurnHeads {
    pub(super) number: u32,
    pub(super) heads: Vec<NodeHead>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) session: SessionId,
    pub(super) branch: Branch,
    pub(super) rules: Rules,
    pub(super) turns: Vec<TurnHeads>,
    pub(super) gaps: Vec<Gap>,
    pub(super) open: TurnHeads,
    /// The message that is not a node yet, with the key that it would have.
    pub(super) draft: Option<(Hash, Content)>,
    /// The open turn ends in a cut answer that is to be continued.
    pub(super) go_on: bool,
    pub(super) marks: Vec<Mark>,
    pub(super) sleepers: Vec<(Mark, Option<NodeHead>)>,
    pub(super) state: Option<StateVersion>,
    pub(super) state_missing: bool,
    pub(super) reply: Option<NodeHead>,
    pub(super) summaries: Summaries,
    /// Key of the node that the open turn stands after.
    pub(super) head: Option<Hash>,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    /// The last node of the path that is sent (for an edit: the parent of the edited message).
    pub(super) base: Option<NodeId>,
    /// A new user message.
    pub(super) text: Option<std::sync::Arc<str>>,
    /// Go on from a cut answer.
    pub(super) go_on: bool,
    /// The message that is replied to, by key.
    pub(super) reply: Option<Hash>,
}

/// Copies what a plan for `question` on `branch` can depend on.
pub(super) fn take(session: &Session, branch: &Branch, rules: Rules, question: &Question) -> Snapshot {
    let tree = &session.tree;
    let tip = question.base.and_then(|id| tree.slot(id));
    let path = tip.map(|tip| tree.path(tip)).unwrap_or_default();
    let mut turns = tree::turns(tree, &path);
    let preamble = usize::from(turns.first().is_some_and(|turn| !turn.asked));
    let open_turn = if question.text.is_some() { None } else { turns.pop() };
    let open_number = number(turns.len() + 1, preamble);
    let on_path = |slot: Slot| path.get(tree.depth(slot) as usize) == Some(&slot);
    let (awake, asleep) = sort_marks(session, branch, &on_path);
    let (looked_at, gaps) = horizon(session, branch, &path, &turns, &awake, &rules, preamble);
    let heads = |turn: &Turn| turn.nodes.clone().map(|at| tree.head(path[at]).clone()).collect::<Vec<_>>();
    let ends = |turn: &Turn| {
        let key = |at: usize| tree.head(path[at]).key;
        (key(turn.nodes.start), key(turn.nodes.end - 1))
    };
    let ground = Ground { session, path: &path, marks: &awake };
    let summaries =
        summaries::choose(&ground, branch, rules.mode, looked_at.iter().map(|index| ends(&turns[*index])), &gaps);
    Snapshot {
        session: session.card.id,
        summaries,
        draft: question.text.as_ref().map(|text| draft_node(session, tip, text)),
        go_on: question.go_on,
        turns: looked_at
            .into_iter()
            .map(|index| TurnHeads { number: number(index + 1, preamble), heads: heads(&turns[index]) })
            .collect(),
        gaps,
        open: TurnHeads { number: open_number, heads: open_turn.map(|turn| heads(&turn)).unwrap_or_default() },
        marks: awake,
        sleepers: asleep,
        state: session.state_on(branch, tip),
        state_missing: session.state_missing.contains(&branch.id),
        reply: question
            .reply
            .and_then(|key| tree.by_key(key))
            .map(|slot| tree.head(slot).clone())
            .filter(|head| head.end != End::Removed),
        head: tip.map(|tip| tree.head(tip).key),
        branch: branch.clone(),
        rules,
    }
}

fn number(position: usize, preamble: usize) -> u32 {
    u32::try_from(position - preamble.min(position)).unwrap_or(u32::MAX)
}

/// A message that is not a node yet, with the key that the first such child of `parent` has. Twins are not counted: what
/// other branches say after the same message must not change this one's plan.
fn draft_node(session: &Session, parent: Option<Slot>, text: &str) -> (Hash, Content) {
    let content = Content::text(text);
    let key = node_key(parent.map(|p| session.tree.head(p).key), Role::User, Some(content.hash()), 0, None);
    (key, content)
}

/// The key of a new child of `parent`: twins (same role and content) count up, past removed ones too.
pub(super) fn fresh_key(session: &Session, parent: Option<Slot>, role: Role, content: &Content) -> Hash {
    let tree = &session.tree;
    let (above, hash) = (parent.map(|p| tree.head(p).key), Some(content.hash()));
    let mut keys = (0..u32::MAX).map(|twin| node_key(above, role, hash, twin, None));
    keys.find(|key| tree.by_key(*key).is_none()).unwrap_or_default()
}

/// The first node that a mark is on, by key; none for notes.
pub(super) fn anchor_key(atom: &Atom) -> Option<Hash> {
    match atom {
        Atom::Turn { tip, .. } | Atom::Episode { tip, .. } => Some(*tip),
        Atom::Preamble { first } => Some(*first),
        Atom::Message { node } => Some(*node),
        Atom::Section { .. } | Atom::Range { .. } => None,
    }
}

type Sorted = (Vec<Mark>, Vec<(Mark, Option<NodeHead>)>);

/// Marks whose messages are on the path (notes always are), and those that sleep; in an order that does not depend on when
/// they were made, so that undo and a restart give the same plan.
fn sort_marks(session: &Session, branch: &Branch, on_path: &dyn Fn(Slot) -> bool) -> Sorted {
    let mut awake = Vec::new();
    let mut asleep = Vec::new();
    for mark in &branch.marks {
        match anchor_key(&mark.target) {
            None => awake.push(mark.clone()),
            Some(key) => match session.tree.by_key(key) {
                Some(slot) if on_path(slot) => awake.push(mark.clone()),
                slot => asleep.push((mark.clone(), slot.map(|slot| session.tree.head(slot).clone()))),
            },
        }
    }
    awake.sort_unstable_by_key(|mark: &Mark| mark.target);
    asleep.sort_unstable_by_key(|(mark, _): &(Mark, _)| mark.target);
    (awake, asleep)
}

/// Which turns are looked at one by one: the newest until they are three times what the budget could hold (and at least
/// those of the last call's window, which may hold more of them, their tool results shortened), and every marked one. The
/// others become gaps, each with its size in rough tokens.
fn horizon(
    session: &Session,
    branch: &Branch,
    path: &[Slot],
    turns: &[Turn],
    marks: &[Mark],
    rules: &Rules,
    preamble: usize,
) -> (Vec<usize>, Vec<Gap>) {
    let tree = &session.tree;
    let bytes = |turn: &Turn| turn.nodes.clone().map(|at| tree.head(path[at]).bytes).sum::<u64>();
    let enough = u64::from(rules.budget.prompt) * 4 * 3;
    let mut sum = 0_u64;
    let mut first = turns.len();
    let anchor = branch.anchor.as_ref().and_then(|anchor| tree.by_key(anchor.start));
    let anchor = anchor.map(|slot| tree.depth(slot) as usize).filter(|at| *at < path.len());
    let held = |first: usize| anchor.is_some_and(|at| at < turns[first - 1].nodes.end);
    let looked = |first: usize| turns.len() - first;
    while first > 0 && looked(first) < MOST_TURNS && (sum < enough || looked(first) < LEAST_TURNS || held(first)) {
        first -= 1;
        sum += bytes(&turns[first]);
    }
    if first <= 1 {
        first = 0;
    }
    let old: BTreeSet<usize> = marks
        .iter()
        .filter_map(|mark| tree.by_key(anchor_key(&mark.target)?))
        .map(|slot| tree.depth(slot) as usize)
        .map(|at| turns.partition_point(|turn| turn.nodes.end <= at))
        .filter(|index| *index < first)
        .collect();
    let looked_at: Vec<usize> = old.into_iter().chain(first..turns.len()).collect();
    let mut gaps = Vec::new();
    let mut expected = 0;
    for (before, index) in looked_at.iter().copied().chain([turns.len()]).enumerate() {
        if index > expected {
            let run = &turns[expected..index];
            let tokens: u64 = run.iter().map(bytes).sum::<u64>() / 4;
            let end = run[run.len() - 1].nodes.end - 1;
            gaps.push(Gap {
                before,
                range: (tree.head(path[run[0].nodes.start]).key, tree.head(path[end]).key),
                turns: u32::try_from(run.len()).unwrap_or(u32::MAX),
                tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
                from: number(expected + 1, preamble),
            });
        }
        expected = index + 1;
    }
    (looked_at, gaps)
}
