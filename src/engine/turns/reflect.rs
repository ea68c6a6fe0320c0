//! Reflection at the end of a completed turn: which older turns it touched, and the steps for pins that follow. Written
//! in the turn's own transaction with an operation, so that a person can undo what the program did.
//! Not for: the decision (`context::activation`), references in a text (`context::references`), or the turn's nodes
//! (`commit`).

use super::state::LiveTurn;
use crate::context::activation::{self, DecisionContext, Item, ItemChange, ItemMarks, Step};
use crate::context::references;
use crate::context::render::render_forms;
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::call::retrieval_set::ClusterId;
use crate::domain::conversation::activation::{Touch, Touches};
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::lane::Lane;
use crate::domain::conversation::mark::{Actor, Atom, LeaseTurns, Mark, MarkKind};
use crate::domain::conversation::message::{Content, End, NodeHead, Role};
use crate::domain::conversation::operation::Change;
use crate::domain::conversation::transition::{ItemState, Subject};
use crate::domain::planning::plan::{Form, Reason, Row, RowKind};
use crate::domain::tool::trace::ToolStatus;
use crate::engine::branches::mark_state::{made, sentence, standing, step_words, stepped, suggested};
use crate::engine::core::Core;
use crate::engine::plans::labels::atom_of;
use crate::engine::sessions::path::PathView;
use crate::engine::sessions::session::{Session, lineage};
use crate::engine::startup::rules::Rules;
use crate::store::types::Write;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Tool calls of other branches that may lie between those of a turn.
const OTHERS: usize = 64;
/// Approximate tokens of a card beside its messages' text.
const LABEL: u32 = 40;

/// A mark that changes at a turn's end.
#[derive(Clone, Debug)]
pub(crate) struct MarkUpdate {
    pub(crate) target: Atom,
    pub(crate) before: Option<Mark>,
    pub(crate) after: Option<Mark>,
}

impl MarkUpdate {
    /// As a part of an operation.
    pub(crate) fn change(&self, branch: BranchId) -> Change {
        let boxed = |mark: &Option<Mark>| mark.clone().map(Box::new);
        Change::Mark { branch, target: self.target, before: boxed(&self.before), after: boxed(&self.after) }
    }

    /// The write.
    pub(crate) fn write(&self, branch: BranchId) -> Write {
        let expect = self.before.as_ref().map(|mark| mark.revision);
        Write::PutMark { branch, target: self.target, expect, mark: self.after.clone() }
    }
}

/// The changes at a turn's end beside its nodes.
#[derive(Default)]
pub(crate) struct TurnEndChanges {
    /// Marks that change.
    pub(crate) marks: Vec<MarkUpdate>,
    /// Steps, touches and the operation.
    pub(crate) writes: Vec<Write>,
    /// Sentences for the user.
    pub(crate) said: Vec<String>,
}

/// The input of a turn's reflection.
pub(crate) struct TurnEndInput<'a> {
    pub(crate) session: &'a Session,
    pub(crate) branch: &'a Branch,
    pub(crate) rules: &'a Rules,
    pub(crate) live: &'a LiveTurn,
    pub(crate) path: &'a PathView,
    /// The turn that ends, by its place among the path's turns.
    pub(crate) here: usize,
    /// The answer, which is no node of the tree yet.
    pub(crate) head: &'a NodeHead,
}

impl TurnEndInput<'_> {
    fn key(&self, at: usize) -> Hash {
        self.session.tree.head(self.path.slots[at]).key
    }

    /// The key of a turn's first node.
    pub(crate) fn first(&self, turn: usize) -> Hash {
        self.key(self.path.turns[turn].nodes.start)
    }

    /// The older turn that contains a node of the path.
    fn turn_of(&self, key: Hash) -> Option<usize> {
        let slot = self.session.tree.by_key(key)?;
        let at = self.session.tree.depth(slot) as usize;
        let turn = (self.path.slots.get(at) == Some(&slot)).then(|| self.path.turn_at(at))?;
        (turn < self.here && self.path.turns[turn].asked).then_some(turn)
    }

    fn turn_of_atom(&self, atom: &Atom) -> Option<usize> {
        match atom {
            Atom::Turn { user: key, .. } | Atom::Message { node: key } | Atom::Episode { call: key, .. } => {
                self.turn_of(*key)
            }
            Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
        }
    }

    fn number(&self, turn: usize) -> u32 {
        let preamble = usize::from(self.path.turns.first().is_some_and(|turn| !turn.asked));
        u32::try_from((turn + 1).saturating_sub(preamble)).unwrap_or(u32::MAX)
    }

    fn atom(&self, turn: usize) -> Atom {
        let nodes = self.path.turns[turn].nodes.clone();
        let heads: Vec<NodeHead> = nodes.map(|at| self.session.tree.head(self.path.slots[at]).clone()).collect();
        atom_of(self.number(turn), &heads)
    }
}

impl Core {
    /// Computes what an ending turn touched, and the resulting steps.
    pub(crate) fn reflect(
        &self,
        id: BranchId,
        live: &LiveTurn,
        head: &NodeHead,
        content: &Content,
    ) -> Result<TurnEndChanges, Failure> {
        let counted = self.marks_after(id, live)?;
        let session = self.sessions.of_branch(id)?;
        let branch = session.branch(id)?;
        let rules = self.rules(branch)?;
        let tip = live.after.and_then(|node| session.tree.slot(node));
        let path = session.paths.get(&session.tree, tip);
        let Some(here) = path.turns.len().checked_sub(1) else { return Ok(TurnEndChanges::default()) };
        let turn_end = TurnEndInput { session, branch, rules: &rules, live, path: &path, here, head };
        let touches = self.touches_of(&turn_end, content)?;
        let mut after: BTreeMap<Atom, MarkUpdate> = counted.into_iter().map(|moved| (moved.target, moved)).collect();
        let mut reasons: BTreeMap<Atom, (ItemState, String)> = BTreeMap::new();
        let mut done = TurnEndChanges::default();
        let (mut changes, mut asks) = (Vec::new(), Vec::new());
        for (turn, step) in self.decided(&turn_end, &touches, &after)? {
            let target = marked(&turn_end, turn).map_or_else(|| turn_end.atom(turn), |mark| mark.target);
            let words = step.why.to_text();
            if step.to == ItemChange::Suggest {
                asks.push(suggested(&turn_end, turn, words));
                done.said.push(format!("Suggested pin: turn {}; the overlay shows it.", turn_end.number(turn)));
                continue;
            }
            let stood = turn_end.branch.marks.iter().find(|mark| mark.target == target).cloned();
            let moved = after.entry(target).or_insert(MarkUpdate { target, before: stood.clone(), after: stood });
            let before = moved.after.clone();
            moved.after = made(&turn_end, step.to, target, before.as_ref().or(moved.before.as_ref()));
            if step.to != ItemChange::Renew {
                let moved = MarkUpdate { target, before, after: moved.after.clone() };
                changes.push((moved, sentence(step_words(step.to), turn_end.number(turn))));
            }
            if step.to == ItemChange::Lease {
                let turns = rules.policy.lease_turns;
                done.said.push(format!("Turn {} is leased for {turns} turns: {words}.", turn_end.number(turn)));
            }
            reasons.insert(target, (standing(moved.after.as_ref()), words));
        }
        for moved in after.values() {
            done.writes.extend(stepped(&turn_end, moved, reasons.get(&moved.target)));
        }
        done.writes.extend(asks);
        done.marks = after.into_values().collect();
        if !live.moves && !changes.is_empty() {
            let what: Vec<&str> = changes.iter().map(|(_, what)| what.as_str()).collect();
            let what = format!("automatic marks ({})", what.join(", "));
            let changes = changes.iter().map(|(moved, _)| moved.change(id)).collect();
            done.writes.push(self.operation(branch.session, what, changes));
        }
        let (session, node) = (branch.session, head.key);
        if touches.cluster.is_some() || !touches.touched.is_empty() {
            done.writes.push(Write::PutTouches { session, node, touches });
        }
        Ok(done)
    }

    /// Sent leases lose a turn, once per user message; used marks for one call end; a lease of the program that ran out
    /// a turn ago is removed.
    fn marks_after(&self, branch: BranchId, live: &LiveTurn) -> Result<Vec<MarkUpdate>, Failure> {
        let session = self.sessions.of_branch(branch)?;
        let user = live.card.user.and_then(|id| session.tree.get(id)).map(|head| head.key);
        let counted = |mark: &&Mark| live.counted.contains(&(mark.target, mark.revision));
        let marks = session.branch(branch)?.marks.iter().filter(counted);
        let moved = marks.filter_map(|mark| {
            mark.after_turn(user, sent(live, mark)).map(|after| MarkUpdate {
                target: mark.target,
                before: Some(mark.clone()),
                after,
            })
        });
        Ok(moved.collect())
    }

    /// What the turn touched, by the indices of the older turns.
    fn touches_of(&self, turn_end: &TurnEndInput<'_>, content: &Content) -> Result<Touches, Failure> {
        let mut found: BTreeMap<usize, Touch> = BTreeMap::new();
        let plan = &turn_end.live.solved.plan;
        let mut texts: Vec<(usize, BTreeSet<String>)> = Vec::new();
        for row in plan.included().filter(|row| row.kind == RowKind::Card) {
            let Some(turn) = turn_end.turn_of_atom(&row.atom) else { continue };
            let touch = found.entry(turn).or_default();
            touch.plan = true;
            touch.found |= matches!(row.reason, Reason::Retrieved { .. });
            let text = row.text.and_then(|text| turn_end.live.solved.contents.blocks.get(&text));
            texts.extend(text.map(|text| (turn, references::symbols(text))));
        }
        let asked = self.asked_words(turn_end)?;
        let said = render_forms::message_text(turn_end.head.key, Role::Assistant, content, Form::NoState);
        let mut refers: [BTreeSet<usize>; 2] = [BTreeSet::new(), BTreeSet::new()];
        let path = turn_end.path;
        for (turns, text) in refers.iter_mut().zip([&asked, &said]) {
            for name in references::find_references(text) {
                let key = self.named(&name, turn_end.session, &path.slots, &path.turns)?;
                turns.extend(key.and_then(|key| turn_end.turn_of(key)));
            }
        }
        let (own, spoken) = (references::symbols(&asked), references::symbols(&said));
        refers[0].extend(references::holders(&texts, &own));
        refers[1].extend(references::holders(&texts, &spoken.difference(&own).cloned().collect()));
        refers[0].extend(self.replied_turn(turn_end));
        for turn in &refers[0] {
            found.entry(*turn).or_default().user = true;
        }
        for turn in &refers[1] {
            found.entry(*turn).or_default().model = true;
        }
        for turn in references::holders(&texts, &self.uses_away(turn_end.branch.id, &(&own | &spoken))) {
            found.entry(turn).or_default().hop = true;
        }
        for turn in references::holders(&texts, &self.failed_on(turn_end)?) {
            found.entry(turn).or_default().against = true;
        }
        let cluster = turn_end.live.solved.contents.subject.map(|placed| placed.id);
        let touched = found.into_iter().map(|(turn, touch)| Touch { item: turn_end.first(turn), ..touch });
        Ok(Touches { cluster, touched: touched.collect() })
    }

    /// Names in the arguments or messages of the tools that failed in the ending turn.
    fn failed_on(&self, turn_end: &TurnEndInput<'_>) -> Result<BTreeSet<String>, Failure> {
        let nodes = turn_end.path.turns[turn_end.here].nodes.clone();
        let heads = nodes.map(|at| turn_end.session.tree.head(turn_end.path.slots[at]));
        let results: HashSet<NodeId> = heads.filter(|head| head.role == Role::Tool).map(|head| head.id).collect();
        if results.is_empty() {
            return Ok(BTreeSet::new());
        }
        let traces = self.store.traces(turn_end.branch.session, results.len() + OTHERS)?;
        let failed = traces.iter().filter(|trace| {
            trace.status == Some(ToolStatus::Failed) && trace.node.is_some_and(|node| results.contains(&node))
        });
        Ok(failed.flat_map(|trace| references::symbols(&format!("{} {}", trace.args, trace.preview))).collect())
    }

    /// The question of the ending turn.
    fn asked_words(&self, turn_end: &TurnEndInput<'_>) -> Result<String, Failure> {
        let node = turn_end.live.card.user.map(|id| self.content(id)).transpose()?;
        Ok(node.map(|content| content.plain_text()).unwrap_or_default())
    }

    /// The older turn to which the turn's message replies.
    fn replied_turn(&self, turn_end: &TurnEndInput<'_>) -> Option<usize> {
        let content = self.content(turn_end.live.card.user?).ok()?;
        let key = content.extra?.get("reply_to")?.as_str()?.parse().ok()?;
        turn_end.turn_of(key)
    }

    /// The steps, each with its turn. `after`: the marks that have changed already.
    fn decided(
        &self,
        turn_end: &TurnEndInput<'_>,
        touches: &Touches,
        after: &BTreeMap<Atom, MarkUpdate>,
    ) -> Result<Vec<(usize, Step)>, Failure> {
        let policy = &turn_end.rules.policy;
        let creates = turn_end.rules.mode.limits(turn_end.rules.budget.prompt).creates_leases;
        if !policy.activation.on || !creates {
            return Ok(Vec::new());
        }
        let (past, clusters) = self.past(turn_end, touches)?;
        let mut turns: BTreeSet<usize> =
            past.iter().flatten().filter_map(|touch| turn_end.turn_of(touch.item)).collect();
        turns.extend(
            turn_end
                .branch
                .marks
                .iter()
                .filter(|mark| by_engine(mark))
                .filter_map(|mark| turn_end.turn_of_atom(&mark.target)),
        );
        let turns: Vec<usize> = turns.into_iter().collect();
        let inside = inside(turn_end);
        let mut items = Vec::with_capacity(turns.len());
        for turn in &turns {
            let seen = past.iter().map(|touched| {
                let first = turn_end.first(*turn);
                touched.iter().find(|touch| touch.item == first).copied().unwrap_or_default()
            });
            let held = held(turn_end, *turn, after);
            let free = held == ItemMarks::Free;
            items.push(Item {
                tokens: tokens(turn_end, *turn),
                inside: inside.contains(&turn_end.first(*turn)),
                refused: free && (self.refused(turn_end, *turn)? || elsewhere(turn_end, *turn)),
                held,
                seen: seen.collect(),
            });
        }
        let taken = persons_leases(turn_end, after);
        let (spec, cap) = (&policy.activation, policy.leased_cap_tokens);
        let ground = DecisionContext { spec, creates, cap, taken, clusters: &clusters };
        let steps = activation::decide(&items, &ground);
        let dismissed = &turn_end.branch.overrides.dismissed;
        let wanted = |turn: usize, step: &Step| {
            step.to != ItemChange::Suggest
                || !dismissed.contains(&crate::engine::plans::sources::suggested_pins::atom(turn_end.first(turn)))
        };
        let steps = steps.into_iter().map(|step| (turns[step.item], step));
        Ok(steps.filter(|(turn, step)| wanted(*turn, step)).collect())
    }

    /// The touches and subjects of the last turns, the newest first.
    #[allow(clippy::type_complexity, reason = "two lists of the same turns")]
    fn past(
        &self,
        turn_end: &TurnEndInput<'_>,
        touches: &Touches,
    ) -> Result<(Vec<Vec<Touch>>, Vec<Option<ClusterId>>), Failure> {
        let older = (0..turn_end.here).rev().take(activation::HORIZON - 1);
        let tips: Vec<Hash> = older.map(|turn| turn_end.key(turn_end.path.turns[turn].nodes.end - 1)).collect();
        let mut known = self.store.touches(turn_end.branch.session, &tips)?;
        let mut all = vec![touches.clone()];
        all.extend(tips.iter().map(|tip| known.remove(tip).unwrap_or_default()));
        Ok(all.into_iter().map(|touches| (touches.touched, touches.cluster)).unzip())
    }

    /// Whether a person removed or excluded it, on this branch or on an ancestor before the fork.
    fn refused(&self, turn_end: &TurnEndInput<'_>, turn: usize) -> Result<bool, Failure> {
        let nodes = turn_end.path.turns[turn].nodes.clone();
        let mut subjects = vec![Subject::Item(turn_end.atom(turn)).key()];
        subjects.extend(nodes.map(|at| Subject::Item(Atom::Message { node: turn_end.key(at) }).key()));
        let lines = lineage(&turn_end.session.branches, turn_end.branch);
        let mut steps = self.store.steps_of(turn_end.branch.session, &subjects)?;
        steps.retain(|step| step.branch.is_some_and(|of| reaches(&lines, of, step.at)));
        let own = steps.iter().rev().find(|step| step.by == Actor::User);
        Ok(own.is_some_and(|step| matches!(step.to, ItemState::None | ItemState::Excluded)))
    }
}

/// Whether an event on a branch at a time applies to a lineage.
pub(crate) fn reaches(lines: &[(BranchId, i64)], of: BranchId, at: i64) -> bool {
    lines.iter().any(|(id, until)| *id == of && at <= *until)
}

fn by_engine(mark: &Mark) -> bool {
    mark.by == Actor::Engine
}

/// The program's mark on a turn.
fn marked<'a>(turn_end: &TurnEndInput<'a>, turn: usize) -> Option<&'a Mark> {
    let mut own = turn_end.branch.marks.iter().filter(|mark| by_engine(mark));
    own.find(|mark| turn_end.turn_of_atom(&mark.target) == Some(turn))
}

/// The mark on a turn after the changes.
fn held(turn_end: &TurnEndInput<'_>, turn: usize, after: &BTreeMap<Atom, MarkUpdate>) -> ItemMarks {
    let mut held = ItemMarks::Free;
    for mark in turn_end.branch.marks.iter().filter(|mark| turn_end.turn_of_atom(&mark.target) == Some(turn)) {
        let now = after.get(&mark.target).map_or(Some(mark), |moved| moved.after.as_ref());
        match (mark.by, now.map(|mark| mark.kind)) {
            (Actor::Engine, Some(MarkKind::Leased { turns: LeaseTurns::Left(_) })) => {
                held = ItemMarks::Leased { renewals: mark.renewals };
            }
            (Actor::Engine, _) => {}
            (Actor::User | Actor::Model, _) => return ItemMarks::Person,
        }
    }
    held
}

/// Tokens of a turn's card, roughly.
fn tokens(turn_end: &TurnEndInput<'_>, turn: usize) -> u32 {
    let bytes = turn_end.path.bytes(&turn_end.session.tree, turn..turn + 1);
    u32::try_from(bytes / 4).unwrap_or(u32::MAX).saturating_add(LABEL)
}

/// Tokens of a person's continuing leases.
fn persons_leases(turn_end: &TurnEndInput<'_>, after: &BTreeMap<Atom, MarkUpdate>) -> u32 {
    let theirs = turn_end.branch.marks.iter().filter(|mark| mark.by != Actor::Engine);
    let left = theirs.filter(|mark| {
        let now = after.get(&mark.target).map_or(Some(*mark), |moved| moved.after.as_ref());
        now.is_some_and(|mark| matches!(mark.kind, MarkKind::Leased { turns: LeaseTurns::Left(_) }))
    });
    let size = |mark: &Mark| match (&mark.note, turn_end.turn_of_atom(&mark.target)) {
        (Some(note), _) => u32::try_from(note.len() / 4).unwrap_or(u32::MAX),
        (None, Some(turn)) => tokens(turn_end, turn),
        (None, None) => 0,
    };
    left.fold(0_u32, |sum, mark| sum.saturating_add(size(mark)))
}

/// Turns in the window, by the keys of their user messages.
fn inside(turn_end: &TurnEndInput<'_>) -> HashSet<Hash> {
    let key = |row: &Row| match row.atom {
        Atom::Turn { user, .. } if row.kind == RowKind::Turn => Some(user),
        _ => None,
    };
    turn_end.live.solved.plan.included().filter_map(key).collect()
}

/// Deleted, or of another lane if the policy separates lanes.
fn elsewhere(turn_end: &TurnEndInput<'_>, turn: usize) -> bool {
    let of = |turn: usize| turn_end.session.tree.head(turn_end.path.slots[turn_end.path.turns[turn].nodes.start]);
    let (there, here) = (of(turn), of(turn_end.here));
    let lanes = turn_end.rules.policy.one_lane && Lane::read(&there.lane) != Lane::read(&here.lane);
    there.end == End::Removed || there.hidden || lanes
}

/// Whether the target of a mark was sent with one of the turn's calls.
fn sent(live: &LiveTurn, mark: &Mark) -> bool {
    let first = |atom: &Atom| -> Option<Hash> {
        match atom {
            Atom::Turn { user, .. } => Some(*user),
            Atom::Preamble { first } => Some(*first),
            _ => None,
        }
    };
    live.sent.contains(&mark.target)
        || live.sent.iter().any(|atom| first(atom).is_some() && first(atom) == first(&mark.target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_before_a_fork_counts_on_it() {
        let [own, above, other] = [1, 2, 3].map(|id| BranchId(uuid::Uuid::from_u128(id)));
        let lines = [(own, i64::MAX), (above, 5)];
        let cases = [(own, 9, true), (above, 4, true), (above, 5, true), (above, 6, false), (other, 1, false)];
        for (of, at, counts) in cases {
            assert_eq!(reaches(&lines, of, at), counts, "{of:?} {at}");
        }
    }
}
