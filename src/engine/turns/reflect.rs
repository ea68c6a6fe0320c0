//! The reflection at the end of a completed turn: which older turns it touched, and the resulting changes of pins. They
//! are written in the turn's own transaction with an operation, so that a person can undo the program's changes.
//! Not for: the decision (`context::activation`), references in a text (`context::references`), or the turn's nodes
//! (`commit`).

use super::state::LiveTurn;
use super::touched_item::TouchedItem;
use crate::context::activation::{self, DecisionContext, Item, ItemChange, ItemMarks, Step};
use crate::context::references;
use crate::context::render::render_forms;
use crate::domain::base::{BranchId, Failure, Hash, NodeId};
use crate::domain::call::ClusterId;
use crate::domain::code::CodeRef;
use crate::domain::conversation::{
    Actor, Atom, Branch, Content, End, ItemState, Lane, LeaseTurns, Mark, MarkKind, NodeHead, Role, Subject, Touch,
    Touches,
};
use crate::domain::planning::Reason;
use crate::domain::planning::{Form, Row, RowKind};
use crate::domain::tool::ToolStatus;
use crate::engine::branches::mark_state::{
    MarkUpdate, mark_transition, resulting_mark, state_of_mark, step_text, suggestion_transition,
};
use crate::engine::core::{Core, content};
use crate::engine::plans::labels::atom_of;
use crate::engine::plans::sources::code::SYMBOL_TOKENS;
use crate::engine::sessions::path::PathView;
use crate::engine::sessions::session::{Session, lineage, reaches};
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::rules::Rules;
use crate::engine::turns::state_suggestions::resolve_name;
use crate::retrieval::cluster::QuestionPlace;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The number of additional traces that are read, because calls of other branches may be between the calls of a turn.
const OTHERS: usize = 64;
/// Estimated tokens of a card in addition to the text of its messages.
const LABEL: u32 = 40;

/// The changes at a turn's end in addition to its nodes.
#[derive(Default)]
pub(crate) struct TurnEndChanges {
    /// Marks that change.
    pub(crate) marks: Vec<MarkUpdate>,
    /// Writes for state changes, touches, and the operation.
    pub(crate) writes: Vec<Write>,
    /// Sentences for the person.
    pub(crate) notices: Vec<String>,
}

/// The input of a turn's reflection.
pub(crate) struct TurnEndInput<'a> {
    pub(crate) session: &'a Session,
    pub(crate) branch: &'a Branch,
    pub(crate) rules: &'a Rules,
    pub(crate) live: &'a LiveTurn,
    pub(crate) path: &'a PathView,
    /// The index of the turn that ends among the path's turns.
    pub(crate) here: usize,
    /// The head of the answer, which is not in the tree yet.
    pub(crate) head: &'a NodeHead,
}

impl TurnEndInput<'_> {
    fn key(&self, at: usize) -> Hash {
        self.session.tree.head(self.path.slots[at]).key
    }

    /// Returns the key of a turn's first node.
    pub(crate) fn first(&self, turn: usize) -> Hash {
        self.key(self.path.turns[turn].nodes.start)
    }

    /// Returns the index of the older turn that contains a node of the path.
    fn turn_of(&self, key: Hash) -> Option<usize> {
        let turn = self.path.turn_of(&self.session.tree, key)?;
        (turn < self.here && self.path.turns[turn].asked).then_some(turn)
    }

    pub(super) fn turn_of_atom(&self, atom: &Atom) -> Option<usize> {
        match atom {
            Atom::Turn { user: key, .. } | Atom::Message { node: key } | Atom::Episode { call: key, .. } => {
                self.turn_of(*key)
            }
            Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
        }
    }

    pub(super) fn atom(&self, turn: usize) -> Atom {
        let nodes = self.path.turns[turn].nodes.clone();
        let heads: Vec<NodeHead> = nodes.map(|at| self.session.tree.head(self.path.slots[at]).clone()).collect();
        atom_of(self.path.number(turn), &heads)
    }
}

impl Core {
    /// Determines the items that an ending turn touched, and the resulting changes.
    pub(crate) fn reflect(
        &self,
        id: BranchId,
        live: &LiveTurn,
        head: &NodeHead,
        content: &Content,
    ) -> Result<TurnEndChanges, Failure> {
        let counted = self.sessions.marks_after(id, live)?;
        let session = self.sessions.of_branch(id)?;
        let branch = session.branch(id)?;
        let rules = self.rules(branch)?;
        let tip = live.after.and_then(|node| session.tree.slot(node));
        let path = session.paths.get(&session.tree, tip);
        let Some(here) = path.turns.len().checked_sub(1) else { return Ok(TurnEndChanges::default()) };
        let input = TurnEndInput { session, branch, rules: &rules, live, path: &path, here, head };
        let touches = self.touches_of(&input, content)?;
        let mut after: BTreeMap<Atom, MarkUpdate> = counted.into_iter().map(|update| (update.target, update)).collect();
        let mut reasons: BTreeMap<Atom, (ItemState, String)> = BTreeMap::new();
        let mut done = TurnEndChanges::default();
        let (mut changes, mut asks) = (Vec::new(), Vec::new());
        for (item, step) in decided(&self.store, &input, &touches, &after)? {
            let (target, name) = (item.target(&input), item.name(&input));
            let words = step.why.to_text();
            if step.to == ItemChange::Suggest {
                asks.push(suggestion_transition(&input, item.suggestion(&input), words));
                done.notices.push(format!("Suggested pin: {name}; `pleach plan` shows it."));
                continue;
            }
            let stood = input.branch.marks.iter().find(|mark| mark.target == target).cloned();
            let update = after.entry(target).or_insert(MarkUpdate { target, before: stood.clone(), after: stood });
            let before = update.after.clone();
            update.after =
                resulting_mark(&input, step.to, (target, item.code()), before.as_ref().or(update.before.as_ref()));
            if step.to != ItemChange::Renew {
                let update = MarkUpdate { target, before, after: update.after.clone() };
                changes.push((update, format!("{name} {}", step_text(step.to))));
            }
            if step.to == ItemChange::Lease {
                let turns = rules.policy.lease_turns;
                done.notices.push(format!("{} is leased for {turns} turns: {words}.", item.title(&input)));
            }
            reasons.insert(target, (state_of_mark(update.after.as_ref()), words));
        }
        for update in after.values() {
            done.writes.extend(mark_transition(&input, update, reasons.get(&update.target)));
        }
        done.writes.extend(asks);
        done.marks = after.into_values().collect();
        if !live.moves && !changes.is_empty() {
            let what: Vec<&str> = changes.iter().map(|(_, what)| what.as_str()).collect();
            let what = format!("set automatic marks ({})", what.join(", "));
            let changes = changes.iter().map(|(update, _)| update.change(id)).collect();
            done.writes.push(self.setup.operation(branch.session, what, changes));
        }
        let (session, node) = (branch.session, head.key);
        if touches != Touches::default() {
            done.writes.push(Write::PutTouches { session, node, touches });
        }
        Ok(done)
    }

    /// Determines which older turns this turn touched, and how.
    fn touches_of(&self, input: &TurnEndInput<'_>, reply: &Content) -> Result<Touches, Failure> {
        let mut found: BTreeMap<usize, Touch> = BTreeMap::new();
        let plan = &input.live.solved.plan;
        let mut texts: Vec<(usize, BTreeSet<String>)> = Vec::new();
        for row in plan.included().filter(|row| row.kind == RowKind::Card) {
            let Some(turn) = input.turn_of_atom(&row.atom) else { continue };
            let touch = found.entry(turn).or_default();
            touch.plan = true;
            touch.found |= matches!(row.reason, Reason::Retrieved { .. });
            let text = row.text.and_then(|text| input.live.solved.contents.blocks.get(&text));
            texts.extend(text.map(|text| (turn, references::symbols(text))));
        }
        let asked = input.live.card.user.map(|id| content(&self.store, id)).transpose()?;
        let asked = asked.map(|content| content.plain_text()).unwrap_or_default();
        let answer = render_forms::message_text(input.head.key, Role::Assistant, reply, Form::NoState);
        let mut refers: [BTreeSet<usize>; 2] = [BTreeSet::new(), BTreeSet::new()];
        let path = input.path;
        for (turns, text) in refers.iter_mut().zip([&asked, &answer]) {
            for name in references::find_references(text) {
                let key = resolve_name(&self.store, &name, input.session, &path.slots, &path.turns)?;
                turns.extend(key.and_then(|key| input.turn_of(key)));
            }
        }
        let (own, spoken) = (references::symbols(&asked), references::symbols(&answer));
        refers[0].extend(references::holders(&texts, &own));
        refers[1].extend(references::holders(&texts, &spoken.difference(&own).cloned().collect()));
        refers[0].extend(replied_turn(&self.store, input));
        for turn in &refers[0] {
            found.entry(*turn).or_default().user = true;
        }
        for turn in &refers[1] {
            found.entry(*turn).or_default().model = true;
        }
        for turn in references::holders(&texts, &self.neighbor_names(input.branch.id, &(&own | &spoken))) {
            found.entry(turn).or_default().hop = true;
        }
        for turn in references::holders(&texts, &failed_on(&self.store, input)?) {
            found.entry(turn).or_default().against = true;
        }
        let subject = input.live.solved.contents.subject;
        let (cluster, inherited) = (subject.map(|placed| placed.id), subject.is_some_and(QuestionPlace::inherited));
        let touched = found.into_iter().map(|(turn, touch)| Touch { item: input.first(turn), ..touch });
        let code_set = input.live.solved.contents.code_set.as_ref().map(|set| set.id);
        let symbols = self.touched_symbols(input, (&asked, &answer))?;
        Ok(Touches { cluster, inherited, touched: touched.collect(), symbols, code_set })
    }
}

/// Returns the symbols in the arguments and the output of tools that failed in this turn.
fn failed_on(store: &Store, input: &TurnEndInput<'_>) -> Result<BTreeSet<String>, Failure> {
    let nodes = input.path.turns[input.here].nodes.clone();
    let heads = nodes.map(|at| input.session.tree.head(input.path.slots[at]));
    let results: HashSet<NodeId> = heads.filter(|head| head.role == Role::Tool).map(|head| head.id).collect();
    if results.is_empty() {
        return Ok(BTreeSet::new());
    }
    let traces = store.traces(input.branch.session, results.len() + OTHERS)?;
    let failed = traces.iter().filter(|trace| {
        trace.status == Some(ToolStatus::Failed) && trace.node.is_some_and(|node| results.contains(&node))
    });
    Ok(failed.flat_map(|trace| references::symbols(&format!("{} {}", trace.args, trace.preview))).collect())
}

/// Returns the index of the older turn that the turn's message replies to.
fn replied_turn(store: &Store, input: &TurnEndInput<'_>) -> Option<usize> {
    let content = content(store, input.live.card.user?).ok()?;
    let key = content.extra?.get("reply_to")?.as_str()?.parse().ok()?;
    input.turn_of(key)
}

/// Returns the decided steps, each with its item. `after` contains the marks that have changed already. Symbols
/// come before turns, so that turns take precedence among equals.
fn decided(
    store: &Store,
    input: &TurnEndInput<'_>,
    touches: &Touches,
    after: &BTreeMap<Atom, MarkUpdate>,
) -> Result<Vec<(TouchedItem, Step)>, Failure> {
    let policy = &input.rules.policy;
    let creates = input.rules.mode.limits(input.rules.budget.prompt).creates_leases;
    if !policy.activation.on || !creates {
        return Ok(Vec::new());
    }
    let past = past(store, input, touches)?;
    let clusters: Vec<Option<ClusterId>> = past.iter().map(|touches| touches.cluster).collect();
    let inherited: Vec<bool> = past.iter().map(|touches| touches.inherited).collect();
    let own = || input.branch.marks.iter().filter(|mark| by_engine(mark));
    let of_turns = past.iter().flat_map(|touches| &touches.touched);
    let mut turns: BTreeSet<usize> = of_turns.filter_map(|touch| input.turn_of(touch.item)).collect();
    turns.extend(own().filter_map(|mark| input.turn_of_atom(&mark.target)));
    let symbols = past.iter().rev().flat_map(|touches| &touches.symbols).map(|symbol| &symbol.code);
    let symbols: BTreeMap<Hash, &CodeRef> =
        own().filter_map(|mark| mark.code.as_deref()).chain(symbols).map(|code| (code.key(), code)).collect();
    let symbols = symbols.into_values().filter(|_| input.rules.code.is_some());
    let all: Vec<TouchedItem> = symbols
        .map(|code| TouchedItem::Symbol(Box::new(code.clone())))
        .chain(turns.into_iter().map(TouchedItem::Turn))
        .collect();
    let window = window_turns(input);
    let mut items = Vec::with_capacity(all.len());
    for item in &all {
        let held = item.marks(input, after);
        let free = held == ItemMarks::Free;
        items.push(Item {
            tokens: item.tokens(input),
            inside: item.turn().is_some_and(|turn| window.contains(&input.first(turn))),
            refused: free
                && (refused(store, input, item)? || item.turn().is_some_and(|turn| is_unavailable(input, turn))),
            held,
            seen: past.iter().map(|touches| item.touch(input, touches)).collect(),
        });
    }
    let taken = persons_leases(input, after);
    let (spec, cap) = (&policy.activation, policy.leased_cap_tokens);
    let context = DecisionContext { spec, creates, cap, taken, clusters: &clusters, inherited: &inherited };
    let steps = activation::decide(&items, &context);
    let dismissed = &input.branch.overrides.dismissed;
    let wanted = |item: &TouchedItem, step: &Step| {
        step.to != ItemChange::Suggest || !dismissed.contains(&item.suggestion(input))
    };
    let steps = steps.into_iter().map(|step| (all[step.item].clone(), step));
    Ok(steps.filter(|(item, step)| wanted(item, step)).collect())
}

/// Returns the touches of the last turns, newest first.
fn past(store: &Store, input: &TurnEndInput<'_>, touches: &Touches) -> Result<Vec<Touches>, Failure> {
    let older = (0..input.here).rev().take(activation::HORIZON - 1);
    let tips: Vec<Hash> = older.map(|turn| input.key(input.path.turns[turn].nodes.end - 1)).collect();
    let mut known = store.touches(input.branch.session, &tips)?;
    let mut all = vec![touches.clone()];
    all.extend(tips.iter().map(|tip| known.remove(tip).unwrap_or_default()));
    Ok(all)
}

/// Whether a person last removed or excluded the item, on this branch or on an ancestor before the fork.
fn refused(store: &Store, input: &TurnEndInput<'_>, item: &TouchedItem) -> Result<bool, Failure> {
    let nodes = item.turn().map_or(0..0, |turn| input.path.turns[turn].nodes.clone());
    let own = item.turn().map_or_else(|| item.target(input), |turn| input.atom(turn));
    let mut subjects = vec![Subject::Item(own).key()];
    subjects.extend(nodes.map(|at| Subject::Item(Atom::Message { node: input.key(at) }).key()));
    let lines = lineage(&input.session.branches, input.branch);
    let mut steps = store.steps_of(input.branch.session, &subjects)?;
    steps.retain(|step| step.branch.is_some_and(|of| reaches(&lines, of, step.at)));
    let own = steps.iter().rev().find(|step| step.by == Actor::User);
    Ok(own.is_some_and(|step| matches!(step.to, ItemState::None | ItemState::Excluded)))
}

impl Sessions {
    /// Returns the updates by counting: a lease that was sent loses a turn for each user message, a mark for one call
    /// that was considered is used up, and a lease of the program that ended a turn ago is removed.
    fn marks_after(&self, branch: BranchId, live: &LiveTurn) -> Result<Vec<MarkUpdate>, Failure> {
        let session = self.of_branch(branch)?;
        let user = live.card.user.and_then(|id| session.tree.get(id)).map(|head| head.key);
        let counted = |mark: &&Mark| live.counted.contains(&(mark.target, mark.revision));
        let marks = session.branch(branch)?.marks.iter().filter(counted);
        let update = marks.filter_map(|mark| {
            mark.after_turn(user, was_sent(live, mark)).map(|after| MarkUpdate {
                target: mark.target,
                before: Some(mark.clone()),
                after,
            })
        });
        Ok(update.collect())
    }
}

pub(super) fn by_engine(mark: &Mark) -> bool {
    mark.by == Actor::Engine
}

/// Estimates the tokens of a turn's card.
pub(super) fn card_tokens(input: &TurnEndInput<'_>, turn: usize) -> u32 {
    let bytes = input.path.bytes(&input.session.tree, turn..turn + 1);
    u32::try_from(bytes / 4).unwrap_or(u32::MAX).saturating_add(LABEL)
}

/// Returns the tokens of a person's leases that continue.
fn persons_leases(input: &TurnEndInput<'_>, after: &BTreeMap<Atom, MarkUpdate>) -> u32 {
    let theirs = input.branch.marks.iter().filter(|mark| mark.by != Actor::Engine);
    let left = theirs.filter(|mark| {
        let now = after.get(&mark.target).map_or(Some(*mark), |update| update.after.as_ref());
        now.is_some_and(|mark| matches!(mark.kind, MarkKind::Leased { turns: LeaseTurns::Left(_) }))
    });
    let size = |mark: &Mark| match (&mark.note, input.turn_of_atom(&mark.target)) {
        (Some(note), _) => u32::try_from(note.len() / 4).unwrap_or(u32::MAX),
        (None, Some(turn)) => card_tokens(input, turn),
        (None, None) if mark.code.is_some() => SYMBOL_TOKENS,
        (None, None) => 0,
    };
    left.fold(0_u32, |sum, mark| sum.saturating_add(size(mark)))
}

/// Returns the turns in the window of the call, by the keys of their user messages.
fn window_turns(input: &TurnEndInput<'_>) -> HashSet<Hash> {
    let key = |row: &Row| match row.atom {
        Atom::Turn { user, .. } if row.kind == RowKind::Turn => Some(user),
        _ => None,
    };
    input.live.solved.plan.included().filter_map(key).collect()
}

/// Whether a turn was removed or hidden, or belongs to another lane under a policy that separates lanes.
fn is_unavailable(input: &TurnEndInput<'_>, turn: usize) -> bool {
    let of = |turn: usize| input.session.tree.head(input.path.slots[input.path.turns[turn].nodes.start]);
    let (there, here) = (of(turn), of(input.here));
    let lanes = input.rules.policy.one_lane && Lane::read(&there.lane) != Lane::read(&here.lane);
    there.end == End::Removed || there.hidden || lanes
}

/// Whether the item of a mark was sent with one of the turn's calls.
fn was_sent(live: &LiveTurn, mark: &Mark) -> bool {
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
