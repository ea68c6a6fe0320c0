//! The input of a planning job: a copy of the part of a session that the plan can depend on, so that planning runs in
//! parallel with the engine.
//! Not for: contents and token counts, which the job fetches itself.

use super::inactive_marks::{InactiveNode, sort_marks};
use super::input_builder::Contents;
use super::sources::suggested_pins::{self, Suggestion};
use super::sources::summaries::{self, Summaries, SummaryView};
use crate::domain::base::{Hash, NodeId, SessionId};
use crate::domain::code::CodeRef;
use crate::domain::conversation::message::node_key;
use crate::domain::conversation::tree::Turn;
use crate::domain::conversation::{
    Atom, Branch, Content, End, Lane, Mark, NodeHead, Role, Slot, StateVersion, TaskSpan, Tree,
};
use crate::domain::planning::{ContextPlan, Gap, SearchChoice, Source, TurnSelection};
use crate::domain::summary::Summary;
use crate::engine::indexing::priority::Priority;
use crate::engine::sessions::path::{LaneNumber, PathView};
use crate::engine::sessions::session::Session;
use crate::engine::startup::rules::Rules;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum and minimum number of turns that are considered individually.
const MOST_TURNS: usize = 2_000;
const LEAST_TURNS: usize = 48;
/// The same for policies that choose turns by score, so that old turns can be chosen.
const LEAST_SCORED_TURNS: usize = 500;

/// A turn's heads.
#[derive(Clone, Debug)]
pub(crate) struct TurnHeads {
    pub(crate) number: u32,
    /// Position of its first node on the path.
    pub(crate) at: usize,
    pub(crate) heads: Vec<NodeHead>,
}

/// The part of a session that a plan can depend on.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) session: SessionId,
    pub(crate) branch: Branch,
    pub(crate) rules: Rules,
    pub(crate) turns: Vec<TurnHeads>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) open: TurnHeads,
    /// The message that is not a node yet, with the key that it would have.
    pub(crate) draft: Option<(Hash, Content)>,
    /// Whether the open turn ends with a truncated answer that the call continues.
    pub(crate) go_on: bool,
    pub(crate) marks: Vec<Mark>,
    pub(crate) inactive_marks: Vec<InactiveNode>,
    pub(crate) state: Option<StateVersion>,
    pub(crate) state_missing: bool,
    pub(crate) reply: Option<NodeHead>,
    pub(crate) summaries: Summaries,
    /// The key of the node that the open turn follows.
    pub(crate) head: Option<Hash>,
    /// The whole path, and the number of its nodes before the open turn.
    pub(crate) path: Arc<PathView>,
    pub(crate) open_at: usize,
    /// Whether older messages are searched.
    pub(crate) search: SearchChoice,
    /// The lane that the open turn belongs to.
    pub(crate) lane: String,
    /// How an embedder may be used.
    pub(crate) priority: Priority,
    /// Whether to wait until all older messages are indexed.
    pub(crate) waits: bool,
    /// Suggested pins.
    pub(crate) suggested: Vec<Suggestion>,
    /// Symbols that the model suggested to pin.
    pub(crate) suggested_symbols: Vec<CodeRef>,
    /// Instructions in the conversation, in the order of the path.
    pub(crate) instructions: Vec<NodeHead>,
    /// The previous round of the open turn, if the turn is sent again.
    pub(crate) round_before: Option<RoundBefore>,
    /// Tasks on the path, oldest first: the start position, the end position, and whether the task is done.
    pub(crate) tasks: Vec<(usize, usize, bool)>,
}

/// The plan of the open turn's previous round, with its texts.
#[derive(Clone, Debug)]
pub(crate) struct RoundBefore {
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) contents: Arc<Contents>,
}

/// The question of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    /// The last node of the path that is sent (for an edit: the parent of the edited message).
    pub(crate) base: Option<NodeId>,
    /// A new user message.
    pub(crate) text: Option<Arc<str>>,
    /// Whether the call continues a truncated answer.
    pub(crate) go_on: bool,
    /// Whether the message or its answer replaces the next one on the branch: an edit, or a regenerated answer.
    pub(crate) replaces: bool,
    /// The lane of the message that an edit replaces. The new version stays in it.
    pub(crate) lane: Option<String>,
    /// The message that is replied to, by key.
    pub(crate) reply: Option<Hash>,
    /// Whether older messages are searched.
    pub(crate) search: SearchChoice,
    /// The previous round of the same turn.
    pub(crate) round_before: Option<RoundBefore>,
}

impl Snapshot {
    /// Returns the snapshot without an accepted summary, as after undoing it, and that summary; `None` if it is not among
    /// them. The anchor of the window stays.
    pub(crate) fn without_summary(&self, id: Hash) -> Option<(Self, Arc<Summary>)> {
        let at = self.summaries.sent.iter().rposition(|sent| sent.summary.id == id)?;
        let mut without = self.clone();
        let summary = without.summaries.sent.remove(at).summary;
        without.summaries.covered.retain(|covered| covered.by != id);
        if without.branch.summaries.contains(&id) {
            without.branch.summaries.retain(|other| *other != id);
            without.branch.summaries.extend(summary.parent);
        }
        Some((without, summary))
    }

    /// Returns the keys of the last nodes of the turns before the open one, newest first.
    pub(crate) fn closed_tips(&self) -> impl Iterator<Item = Hash> + '_ {
        let path = &self.path;
        let closed = path.turns.partition_point(|turn| turn.nodes.start < self.open_at);
        path.turns[..closed].iter().rev().map(|turn| path.nodes[turn.nodes.end - 1].key)
    }

    /// Returns the source of a row about the message at a position of the path; `span` is a part of its text.
    pub(crate) fn source(
        &self,
        at: usize,
        node: NodeId,
        external_id: Option<String>,
        span: Option<(u32, u32)>,
    ) -> Source {
        Source {
            session: Some(self.session),
            branch: Some(self.branch.id),
            turn: Some(self.path.number(self.path.turn_at(at))).filter(|turn| *turn > 0),
            message: Some(node),
            external_id,
            at: self.path.nodes.get(at).map(|node| node.at),
            span,
            ..Source::default()
        }
    }

    /// Whether a person excluded a message with a mark on it or on its episode.
    pub(crate) fn excludes_message(&self, key: Hash) -> bool {
        let is_meant =
            |target| matches!(target, Atom::Message { node } | Atom::Episode { call: node, .. } if node == key);
        self.marks.iter().any(|mark| mark.kind.excludes() && is_meant(mark.target))
    }

    /// The only lane whose messages are searched. If the window contains only one lane, all lanes are searched, because
    /// the others can be found nowhere else.
    pub(crate) fn lane_searched(&self) -> Option<&str> {
        let policy = &self.rules.policy;
        Some(self.lane.as_str()).filter(|_| policy.one_lane && !policy.lane_window)
    }
}

/// Copies the state that a plan for `question` on `branch` can depend on.
#[allow(clippy::too_many_lines, reason = "one line or a few for each field")]
pub(crate) fn take(session: &Session, branch: &Branch, rules: Rules, question: &Question) -> Snapshot {
    let tree = &session.tree;
    let tip = question.base.and_then(|id| tree.slot(id));
    let path = session.paths.get(tree, tip);
    let closed = path.turns.len() - usize::from(question.text.is_none() && !path.turns.is_empty());
    let open_turn = path.turns.get(closed);
    let open_at = open_turn.map_or(path.slots.len(), |turn| turn.nodes.start);
    let on_path = |slot: Slot| path.slots.get(tree.depth(slot) as usize) == Some(&slot);
    let (active, inactive) = sort_marks(session, branch, &path.slots, question.replaces);
    let window = branch.anchor.as_ref().map(|anchor| anchor.start);
    let lane = lane_of(session, branch, tip, question);
    let alone = rules.policy.keeps_to_lane(true).then(|| LaneNumber::of(&lane));
    let own = |turn: usize| alone.is_none_or(|lane| path.is_in(turn, lane));
    let by_score = matches!(rules.policy.choose, TurnSelection::Relevance | TurnSelection::Levels);
    let least = if by_score { LEAST_SCORED_TURNS } else { LEAST_TURNS };
    let size = (rules.budget.prompt, least);
    let (considered, gaps) = horizon(tree, window, &path, closed, (&active, &own), size);
    let heads = |turn: &Turn| turn.nodes.clone().map(|at| tree.head(path.slots[at]).clone()).collect::<Vec<_>>();
    let ends = |turn: &Turn| {
        let key = |at: usize| tree.head(path.slots[at]).key;
        (key(turn.nodes.start), key(turn.nodes.end - 1))
    };
    let view = SummaryView { session, path: &path.slots, marks: &active, lane: alone.map(|_| lane.as_str()) };
    let summaries =
        summaries::choose(&view, branch, rules.mode, considered.iter().map(|index| ends(&path.turns[*index])), &gaps);
    Snapshot {
        session: session.card.id,
        summaries,
        draft: question.text.as_ref().map(|text| draft_node(session, tip, text)),
        go_on: question.go_on,
        turns: considered
            .into_iter()
            .map(|index| TurnHeads {
                number: path.number(index),
                at: path.turns[index].nodes.start,
                heads: heads(&path.turns[index]),
            })
            .collect(),
        gaps,
        instructions: path
            .system
            .iter()
            .map(|slot| tree.head(*slot))
            .filter(|head| is_instructions(head, &active))
            .cloned()
            .collect(),
        open: TurnHeads { number: path.number(closed), at: open_at, heads: open_turn.map(heads).unwrap_or_default() },
        marks: active,
        inactive_marks: inactive,
        state: session.state_on(branch, tip),
        state_missing: session.state_missing.contains(&branch.id),
        reply: question
            .reply
            .and_then(|key| tree.by_key(key))
            .map(|slot| tree.head(slot).clone())
            .filter(|head| head.end != End::Removed),
        head: tip.map(|tip| tree.head(tip).key),
        search: question.search,
        priority: Priority::Typing,
        waits: false,
        suggested_symbols: suggested_pins::symbols_on(session, branch, &path),
        suggested: suggested_pins::on(session, branch, &path, rules.policy.activation.suggest_after),
        round_before: question.round_before.clone(),
        tasks: tasks(tree, &branch.overrides.tasks, &on_path),
        open_at,
        path: path.clone(),
        lane,
        branch: branch.clone(),
        rules,
    }
}

/// Returns the positions of the branch's tasks on its path, without tasks that started off the path.
fn tasks(tree: &Tree, spans: &[TaskSpan], on_path: &dyn Fn(Slot) -> bool) -> Vec<(usize, usize, bool)> {
    let after = |key: Hash| {
        let slot = tree.by_key(key).filter(|slot| on_path(*slot))?;
        Some(tree.depth(slot) as usize + 1)
    };
    let span = |task: &TaskSpan| {
        let from = task.from.map_or(Some(0), after)?;
        let to = task.to.and_then(after).filter(|_| task.done).unwrap_or(usize::MAX);
        Some((from, to, task.done))
    };
    spans.iter().filter_map(span).collect()
}

/// Returns the lane of the open turn's message, or of a new message.
pub(crate) fn lane_of(session: &Session, branch: &Branch, tip: Option<Slot>, question: &Question) -> String {
    let tree = &session.tree;
    let tip_lane = tip.map_or(String::new(), |tip| tree.head(tip).lane.clone());
    if question.text.is_none() {
        return tip_lane;
    }
    let here = Lane::read(&tip_lane);
    let chosen = question.lane.as_deref().or(branch.overrides.lane.as_deref());
    let current = chosen.map_or_else(|| here.clone(), Lane::read);
    let replied = question.reply.and_then(|key| tree.by_key(key));
    let asks = |slot: &Slot| tree.head(*slot).role == Role::User;
    let root = |slot: Slot| std::iter::successors(Some(slot), |at| tree.parent(*at)).find(asks).unwrap_or(slot);
    let replied = replied.map(|slot| (Lane::read(&tree.head(slot).lane), tree.head(root(slot)).key));
    let lane = Lane::of_message(&current, replied.as_ref().map(|(lane, key)| (lane, *key)));
    if lane == here {
        return tip_lane;
    }
    // A chain of replies that an earlier version named keeps its name.
    let above = std::iter::successors(tip.filter(|_| replied.is_some()), |at| tree.parent(*at));
    let above = above.map(|slot| &tree.head(slot).lane);
    let begun = question.lane.iter().chain(above).find(|text| lane.was_named(text));
    begun.cloned().unwrap_or_else(|| lane.text())
}

/// Returns a message that is not a node yet, with the key that the first such child of `parent` has. Twins are not
/// counted, because messages of other branches after the same message must not change this plan.
fn draft_node(session: &Session, parent: Option<Slot>, text: &str) -> (Hash, Content) {
    let content = Content::text(text);
    let key = node_key(parent.map(|p| session.tree.head(p).key), Role::User, Some(content.hash()), 0, None);
    (key, content)
}

/// Returns the key of a new child of `parent`. Twins (same role and content) are counted, including removed ones.
pub(crate) fn fresh_key(session: &Session, parent: Option<Slot>, role: Role, content: &Content) -> Hash {
    let tree = &session.tree;
    let (above, hash) = (parent.map(|p| tree.head(p).key), Some(content.hash()));
    let mut keys = (0..u32::MAX).map(|twin| node_key(above, role, hash, twin, None));
    keys.find(|key| tree.by_key(*key).is_none()).unwrap_or_default()
}

/// Returns the first node that a mark is on, by key; `None` for notes.
pub(crate) fn anchor_key(atom: &Atom) -> Option<Hash> {
    match atom {
        Atom::Turn { tip, .. } | Atom::Episode { tip, .. } => Some(*tip),
        Atom::Preamble { first } => Some(*first),
        Atom::Message { node } => Some(*node),
        Atom::Section { .. } | Atom::Range { .. } => None,
    }
}

/// Returns the turns that are considered one by one, and the gaps between them, each with its approximate size in
/// tokens. Considers the newest turns, up to three times the size of the budget and not fewer than `least` (and at
/// least to the start of the last call's window, which may contain more turns if its tool results are shortened); the
/// lane's `own` turns, equally far back, if the window contains only one lane; and every marked turn.
fn horizon(
    tree: &Tree,
    window: Option<Hash>,
    path: &PathView,
    closed: usize,
    (marks, own): (&[Mark], &dyn Fn(usize) -> bool),
    (prompt, least): (u32, usize),
) -> (Vec<usize>, Vec<Gap>) {
    let turns = &path.turns[..closed];
    let enough = u64::from(prompt) * 4 * 3;
    let anchor = window
        .and_then(|key| tree.by_key(key))
        .map(|slot| tree.depth(slot) as usize)
        .filter(|at| *at < path.slots.len());
    let held = |first: usize| anchor.is_some_and(|at| at < turns[first - 1].nodes.end);
    let reach = |counts: &dyn Fn(usize) -> bool| {
        let (mut first, mut sum, mut count) = (turns.len(), 0_u64, 0_usize);
        while first > 0 && count < MOST_TURNS && (sum < enough || count < least || held(first)) {
            first -= 1;
            if counts(first) {
                sum += path.bytes(tree, first..first + 1);
                count += 1;
            }
        }
        if first <= 1 { 0 } else { first }
    };
    let first = reach(&|_| true);
    let marked = marks.iter().filter_map(|mark| tree.by_key(anchor_key(&mark.target)?));
    let old: BTreeSet<usize> = marked
        .map(|slot| path.turn_at(tree.depth(slot) as usize))
        .filter(|index| *index < first)
        .chain((reach(own)..first).filter(|index| own(*index)))
        .collect();
    let considered: Vec<usize> = old.into_iter().chain(first..turns.len()).collect();
    let mut gaps = Vec::new();
    let mut expected = 0;
    for (before, index) in considered.iter().copied().chain([turns.len()]).enumerate() {
        if index > expected {
            let tokens = path.bytes(tree, expected..index) / 4;
            let key = |at: usize| tree.head(path.slots[at]).key;
            gaps.push(Gap {
                before,
                range: (key(turns[expected].nodes.start), key(turns[index - 1].nodes.end - 1)),
                turns: u32::try_from(index - expected).unwrap_or(u32::MAX),
                tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
                from: path.number(expected),
                elsewhere: !(expected..index).any(own),
            });
        }
        expected = index + 1;
    }
    (considered, gaps)
}

/// Returns whether a message is instructions that are sent: a system message that was added here, or an imported one
/// that the person pinned, leased, or included.
fn is_instructions(head: &NodeHead, marks: &[Mark]) -> bool {
    let target = Atom::Message { node: head.key };
    let kept = || marks.iter().any(|mark| mark.target == target && mark.kind.includes());
    head.role == Role::System && head.end != End::Removed && !head.hidden && (!head.imported || kept())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::mark::{Actor, LeaseTurns, MarkKind};
    use crate::engine::sessions::path::tests::head;
    use proptest::prelude::*;

    /// Turns of two messages each, with these total sizes in bytes; the first may be a preamble.
    fn chain(sizes: &[u64], preamble: bool) -> (Tree, PathView) {
        let heads = (0..sizes.len() * 2).map(|at| {
            let id = at as u128 + 1;
            let role = if at % 2 == 0 && !(preamble && at == 0) { Role::User } else { Role::Assistant };
            let bytes = if at % 2 == 0 { 0 } else { sizes[at / 2] };
            NodeHead { bytes, ..head(id, (id > 1).then(|| id - 1), role) }
        });
        let tree = Tree::build(heads.collect());
        let tip = u32::try_from(sizes.len() * 2 - 1).unwrap();
        let path = PathView::of(&tree, tip);
        (tree, path)
    }

    #[test]
    fn an_imported_system_prompt_is_sent_with_every_including_mark() {
        let imported = NodeHead { imported: true, ..head(1, None, Role::System) };
        let sent = |kind| {
            let target = Atom::Message { node: imported.key };
            let mark = Mark { kind, ..crate::engine::branches::mark_state::pin_on(target) };
            is_instructions(&imported, &[mark])
        };
        assert!(!is_instructions(&imported, &[]));
        assert!([MarkKind::Sticky, MarkKind::IncludeOnce, MarkKind::leased(2)].into_iter().all(sent));
        assert!(!sent(MarkKind::Exclude) && !sent(MarkKind::Leased { turns: LeaseTurns::Ended }));
    }

    #[test]
    fn a_task_begins_and_ends_after_the_last_message_of_that_time() {
        let (tree, path) = chain(&[1, 1, 1], false);
        let key = |at: usize| Some(tree.head(path.slots[at]).key);
        let task = |from, done, to| TaskSpan { name: "t".into(), from, done, to, outcome: None };
        let spans = [
            task(None, false, None),
            task(key(1), true, key(3)),
            task(key(3), false, key(3)),
            task(Some(Hash::default()), true, key(3)),
        ];
        let whole = usize::MAX;
        let expected = [(0, whole, false), (2, 4, true), (4, whole, false)];
        assert_eq!(tasks(&tree, &spans, &|_| true), expected, "a task that began off the path is left out");
        assert_eq!(tasks(&tree, &spans, &|slot| slot < 3)[1], (2, whole, true), "it ended off the path");
    }

    fn pinned(target: Atom) -> Mark {
        let (by, kind) = (Actor::User, MarkKind::Sticky);
        let (note, inherited_from, counted, origin, code) = (None, None, None, None, None);
        Mark { target, kind, by, note, inherited_from, revision: 1, counted, renewals: 0, origin, code }
    }

    proptest! {
        /// Each closed turn is either considered or in one gap, and no turn that must be considered is in a gap.
        #[test]
        fn turns_are_considered_or_counted(
            sizes in proptest::collection::vec(0_u64..900, 1..140), prompt in 0_u32..6_000,
            open in 0_usize..2, marked in 0_usize..140, preamble in any::<bool>(), window in proptest::option::of(0_usize..140),
            every in 1_usize..9,
        ) {
            let (tree, path) = chain(&sizes, preamble);
            let closed = sizes.len() - open;
            let key = |turn: usize| tree.head(path.slots[turn * 2]).key;
            let (marked, window) = (marked % sizes.len(), window.map(|turn| turn % sizes.len()));
            let marks = [pinned(Atom::Message { node: key(marked) })];
            // Every so many turns are the window's own.
            let own = |turn: usize| turn.is_multiple_of(every);
            let size = (prompt, LEAST_TURNS);
            let (considered, gaps) = horizon(&tree, window.map(key), &path, closed, (&marks, &own), size);
            let mut all = considered.clone();
            for gap in &gaps {
                let from = gap.from as usize + path.preamble() - 1;
                let run = from..from + gap.turns as usize;
                prop_assert_eq!(gap.range, (key(run.start), tree.head(path.slots[run.end * 2 - 1]).key));
                prop_assert_eq!(u64::from(gap.tokens), sizes[run.clone()].iter().sum::<u64>() / 4);
                prop_assert_eq!(gap.before, considered.iter().filter(|turn| **turn < from).count());
                prop_assert_eq!(gap.elsewhere, !run.clone().any(own));
                all.extend(run);
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..closed).collect::<Vec<_>>());
            let enough = u64::from(prompt) * 12;
            for turn in 0..closed {
                let newer: u64 = sizes[turn + 1..closed].iter().sum();
                let later = || (turn + 1..closed).filter(|later| own(*later));
                let own_newer: u64 = later().map(|later| sizes[later]).sum();
                let must = turn == marked
                    || newer < enough
                    || turn + LEAST_TURNS >= closed
                    || window.is_some_and(|window| window <= turn)
                    || own(turn) && (own_newer < enough || later().count() < LEAST_TURNS);
                prop_assert!(considered.contains(&turn) || !must, "{turn} of {closed}: {considered:?}");
                // A single remaining turn is considered too.
                let may = must || (turn == 0 && considered.contains(&1));
                prop_assert!(!considered.contains(&turn) || may, "{turn} of {closed}: {considered:?}");
            }
        }
    }
}
