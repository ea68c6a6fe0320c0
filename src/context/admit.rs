//! Admission: which candidates go into the budget, and in what form. Hard rules are here: the open turn and sticky pins go
//! or the call is blocked, atoms stay whole, the total never passes the budget.
//! Not for: sentences about it (`explain`).

use super::window::{self, CLOSED_RESULT, Costs, Window};
use crate::domain::hash::Hash;
use crate::domain::input::{ANSWER_FRAMING, Bar, CALL_FRAMING, MESSAGE_FRAMING, MessageInput, PlanInput, TurnInput};
use crate::domain::mark::{Atom, Mark, MarkKind};
use crate::domain::message::Role;
use crate::domain::plan::{Blocked, Choice, Form};
use crate::domain::policy::{Layout, Section};
use std::collections::HashMap;

/// Results of the open turn: the newest so many keep more characters than the older ones (DEFINITIONS 1).
const OPEN_NEWEST: usize = 5;
const OPEN_RESULT: u32 = 5_000;
const OPEN_OLDER: u32 = 1_000;

/// Where a closed turn stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In the window, in its place.
    Window,
    /// Before it, as a card.
    Card(Section),
    /// Out by the window or the room.
    Outside,
    /// Out by a person's mark.
    Excluded {
        /// This call only.
        once: bool,
    },
    /// A leased pin for which its cap, or the room, leaves none.
    NoLease {
        /// The cap is what stops it.
        capped: bool,
    },
}

/// What admission decided.
pub(super) struct Admitted<'a> {
    pub(super) input: &'a PlanInput,
    pub(super) marks: Marks<'a>,
    pub(super) window: Window,
    pub(super) places: Vec<Place>,
    pub(super) open: Vec<Form>,
    /// An upper bound of the request's tokens, never above the room.
    pub(super) total: u32,
    costs: Sums,
}

impl Admitted<'_> {
    /// Tokens still free.
    pub(super) fn free(&self) -> u32 {
        self.input.budget.prompt.saturating_sub(self.total)
    }

    /// What leaves the window, as tokens and turns, when `extra` more tokens come in; no turns when that cannot work.
    pub(super) fn pushed(&self, extra: u32) -> (u32, u32) {
        let room = self.input.budget.prompt;
        if self.total.saturating_add(extra) <= room {
            return (0, 0);
        }
        let smaller = room.saturating_sub(extra);
        let over = self.total.saturating_add(extra) - room;
        if self.costs.total(self.input.turns.len(), 0, Form::Full) > smaller {
            return (over, 0);
        }
        let then = window::choose(self.input, &self.costs, smaller);
        let turns = u32::try_from(then.start.saturating_sub(self.window.start)).unwrap_or(u32::MAX);
        (over.max(self.total.saturating_sub(self.costs.total(then.start, then.shortened, then.form))), turns)
    }

    /// How each message of a closed turn in the window is sent.
    pub(super) fn forms(&self, turn: usize) -> Vec<Form> {
        let form = if turn < self.window.shortened { self.window.form } else { Form::Full };
        turn_forms(&self.input.turns[turn], form, &self.marks)
    }
}

/// The marks by what they are on.
pub(super) struct Marks<'a> {
    by_turn: HashMap<Hash, &'a Mark>,
    by_message: HashMap<Hash, &'a Mark>,
}

impl<'a> Marks<'a> {
    fn new(marks: &'a [Mark]) -> Self {
        let mut by_turn = HashMap::new();
        let mut by_message = HashMap::new();
        for mark in marks {
            match mark.target {
                Atom::Turn { user, .. } => by_turn.insert(user, mark),
                Atom::Preamble { first } => by_turn.insert(first, mark),
                Atom::Message { node } => by_message.insert(node, mark),
                Atom::Episode { call, .. } => by_message.insert(call, mark),
                Atom::Section { .. } | Atom::Range { .. } => None,
            };
        }
        Self { by_turn, by_message }
    }

    /// The mark on a turn: its first message must be the mark's, its tip one of the turn's messages.
    pub(super) fn turn(&self, turn: &TurnInput) -> Option<&'a Mark> {
        let first = turn.messages.first()?.key;
        self.by_turn.get(&first).copied().filter(|mark| match mark.target {
            Atom::Turn { tip, .. } => turn.messages.iter().any(|message| message.key == tip),
            Atom::Preamble { .. } | Atom::Episode { .. } | Atom::Message { .. } => true,
            Atom::Section { .. } | Atom::Range { .. } => false,
        })
    }

    /// The mark on one message.
    pub(super) fn message(&self, key: Hash) -> Option<&'a Mark> {
        self.by_message.get(&key).copied()
    }
}

/// How one message is sent.
fn form_of(message: &MessageInput, tools: Form, marks: &Marks<'_>) -> Form {
    let mark = marks.message(message.key).map(|mark| mark.kind);
    let wanted = mark.is_some_and(|kind| kind.pins() || kind == MarkKind::IncludeOnce);
    match message.bar {
        Some(Bar::Empty | Bar::Removed) => return Form::Out,
        Some(Bar::Hidden | Bar::Foreign) if !wanted => return Form::Out,
        Some(Bar::Hidden | Bar::Foreign) | None => {}
    }
    let excluded = mark.is_some_and(MarkKind::excludes);
    match (message.role, tools) {
        (Role::System, _) if excluded => Form::Out,
        (Role::Tool, Form::Elided) if !message.orphan => Form::Gone,
        (Role::Assistant, Form::Elided) if message.elided.is_some() => Form::Elided,
        _ if excluded => Form::Placeholder,
        (Role::Tool, Form::Cut(limit)) if message.cuts.iter().any(|(at, _)| *at == limit) => tools,
        _ => message.whole,
    }
}

fn turn_forms(turn: &TurnInput, tools: Form, marks: &Marks<'_>) -> Vec<Form> {
    turn.messages.iter().map(|message| form_of(message, tools, marks)).collect()
}

/// Tokens of a message's content in a form.
pub(super) fn tokens_in(message: &MessageInput, form: Form) -> u32 {
    match form {
        Form::Full | Form::NoState | Form::Card => message.tokens,
        Form::Cut(limit) => {
            message.cuts.iter().find(|(at, _)| *at == limit).map_or(message.tokens, |(_, tokens)| *tokens)
        }
        Form::Elided => message.elided.unwrap_or(message.tokens),
        Form::Placeholder => message.placeholder,
        Form::Gone | Form::Out => 0,
    }
}

/// Tokens with framing.
fn cost_in(message: &MessageInput, form: Form) -> u32 {
    let framing = match form {
        Form::Gone | Form::Out => return 0,
        Form::Elided => MESSAGE_FRAMING,
        Form::Full | Form::NoState | Form::Card | Form::Cut(_) | Form::Placeholder => {
            MESSAGE_FRAMING + CALL_FRAMING * u32::from(message.calls)
        }
    };
    tokens_in(message, form) + framing
}

fn turn_cost(turn: &TurnInput, tools: Form, marks: &Marks<'_>) -> u32 {
    turn.messages.iter().map(|message| cost_in(message, form_of(message, tools, marks))).sum()
}

/// Running sums over the turns, so that any window's cost is a few additions.
struct Sums {
    fixed: u32,
    full: Vec<u32>,
    cut: Vec<u32>,
    elided: Vec<u32>,
    /// Cards needed for turns before index i: sticky and included-once ones.
    cards: Vec<u32>,
}

impl Sums {
    fn new(input: &PlanInput, marks: &Marks<'_>, fixed: u32) -> Self {
        let excluded = |turn: &TurnInput| marks.turn(turn).is_some_and(|mark| mark.kind.excludes());
        let run = |form: Form| {
            prefix(input.turns.iter().map(|turn| if excluded(turn) { 0 } else { turn_cost(turn, form, marks) }))
        };
        let card = |turn: &TurnInput| {
            let must = marks.turn(turn).is_some_and(|m| matches!(m.kind, MarkKind::Sticky | MarkKind::IncludeOnce));
            turn.card.filter(|_| must).map_or(0, |(_, tokens)| tokens + MESSAGE_FRAMING)
        };
        Self {
            fixed,
            full: run(Form::Full),
            cut: run(Form::Cut(CLOSED_RESULT)),
            elided: run(Form::Elided),
            cards: prefix(input.turns.iter().map(card)),
        }
    }
}

impl Costs for Sums {
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32 {
        let all = self.full.len() - 1;
        let split = shortened.clamp(start, all);
        let old = match form {
            Form::Cut(_) => &self.cut,
            Form::Elided => &self.elided,
            Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => &self.full,
        };
        let window = (old[split] - old[start]) + (self.full[all] - self.full[split]);
        self.fixed.saturating_add(window).saturating_add(self.cards[start])
    }
}

fn prefix(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sums = vec![0_u32];
    let mut sum = 0_u32;
    for value in values {
        sum = sum.saturating_add(value);
        sums.push(sum);
    }
    sums
}

/// Decides what goes.
pub(super) fn admit(input: &PlanInput) -> Result<Admitted<'_>, Box<Blocked>> {
    let marks = Marks::new(&input.marks);
    let room = input.budget.prompt;
    let around = around(input);
    let sticky = Sums::new(input, &marks, 0);
    let empty = sticky.total(input.turns.len(), 0, Form::Full);
    let (open, open_cost) = open_forms(input, &marks, room.saturating_sub(around.saturating_add(empty)));
    let fixed = around.saturating_add(open_cost);
    if fixed.saturating_add(empty) > room {
        return Err(blocked(input, &marks, fixed, empty, &open));
    }
    let costs = Sums { fixed, ..sticky };
    let window = window::choose(input, &costs, room);
    let mut total = costs.total(window.start, window.shortened, window.form);
    let places = places(input, &marks, window, room, &mut total);
    Ok(Admitted { input, marks, window, places, open, total, costs })
}

/// What goes beside the turns: blocks, tools, framing, and the label of the message where blocks stand before it.
fn around(input: &PlanInput) -> u32 {
    let blocks: u32 = input.blocks.iter().map(|block| block.tokens).sum();
    let labelled =
        input.layout == Layout::CacheFriendly || input.blocks.iter().any(|block| block.section == Section::QuotedReply);
    let go_on = input.blocks.iter().any(|block| block.section == Section::UserMessage);
    let messages = 2 + u32::from(go_on);
    blocks
        .saturating_add(if labelled { input.labelled } else { 0 })
        .saturating_add(messages * MESSAGE_FRAMING + ANSWER_FRAMING + input.tools_tokens)
}

/// The open turn whole; where that does not fit, with its tool results cut; the result may still be over the room.
fn open_forms(input: &PlanInput, marks: &Marks<'_>, room: u32) -> (Vec<Form>, u32) {
    let cost = |forms: &[Form]| -> u32 { input.open.messages.iter().zip(forms).map(|(m, f)| cost_in(m, *f)).sum() };
    let whole = turn_forms(&input.open, Form::Full, marks);
    let whole_cost = cost(&whole);
    if whole_cost <= room || !input.policy.shorten_tools {
        return (whole, whole_cost);
    }
    let mut cut = whole;
    let results = input.open.messages.iter().enumerate().rev().filter(|(_, m)| m.role == Role::Tool && !m.orphan);
    for (rank, (at, message)) in results.enumerate() {
        let limit = if rank < OPEN_NEWEST { OPEN_RESULT } else { OPEN_OLDER };
        cut[at] = form_of(message, Form::Cut(limit), marks);
    }
    let cut_cost = cost(&cut);
    (cut, cut_cost)
}

/// Turn by turn, newest leases first while the room and their cap last.
fn places(input: &PlanInput, marks: &Marks<'_>, window: Window, room: u32, total: &mut u32) -> Vec<Place> {
    let mut places = vec![Place::Outside; input.turns.len()];
    let mut leased = 0_u32;
    for (index, turn) in input.turns.iter().enumerate().rev() {
        places[index] = match marks.turn(turn).map(|mark| mark.kind) {
            Some(MarkKind::Exclude) => Place::Excluded { once: false },
            Some(MarkKind::ExcludeOnce) => Place::Excluded { once: true },
            _ if index >= window.start => Place::Window,
            Some(MarkKind::Sticky) => Place::Card(Section::StickyPins),
            Some(MarkKind::IncludeOnce) => Place::Card(Section::LeasedPins),
            Some(MarkKind::Leased { turns }) if turns > 0 => {
                let tokens = turn.card.map_or(0, |(_, tokens)| tokens);
                let cost = tokens + MESSAGE_FRAMING;
                if leased + tokens > input.policy.leased_cap_tokens {
                    Place::NoLease { capped: true }
                } else if total.saturating_add(cost) > room {
                    Place::NoLease { capped: false }
                } else {
                    leased += tokens;
                    *total += cost;
                    Place::Card(Section::LeasedPins)
                }
            }
            Some(MarkKind::Leased { .. }) | None => Place::Outside,
        };
    }
    places
}

fn blocked(input: &PlanInput, marks: &Marks<'_>, fixed: u32, cards: u32, open: &[Form]) -> Box<Blocked> {
    let needed = fixed.saturating_add(cards);
    let over = needed - input.budget.prompt;
    let mut choices = vec![Choice::LargerBudget { at_least: needed }, Choice::OtherModel];
    let pinned: Vec<(Atom, u32)> = pinned(input, marks);
    let frees: u32 = pinned.iter().map(|(_, tokens)| tokens).sum();
    if frees > 0 {
        choices.push(Choice::Unpin { atoms: pinned.into_iter().map(|(atom, _)| atom).collect(), frees });
    }
    let shorter = turn_cost(&input.open, Form::Cut(OPEN_OLDER), marks);
    let now: u32 = input.open.messages.iter().zip(open).map(|(m, f)| cost_in(m, *f)).sum();
    if shorter < now {
        choices.push(Choice::ShortenBodies { frees: now - shorter });
    }
    if input.tools_tokens > 0 {
        choices.push(Choice::FewerTools { frees: input.tools_tokens });
    }
    choices.push(Choice::ShorterMessage { by: over });
    Box::new(Blocked {
        basis: input.basis,
        needed,
        budget: input.budget,
        choices,
        rows: super::explain::required_rows(input, marks, open),
    })
}

fn pinned(input: &PlanInput, marks: &Marks<'_>) -> Vec<(Atom, u32)> {
    let turns = input.turns.iter().filter_map(|turn| {
        let mark = marks.turn(turn).filter(|mark| mark.kind == MarkKind::Sticky)?;
        turn.card.map(|(_, tokens)| (mark.target, tokens))
    });
    let notes = input.blocks.iter().filter_map(|block| block.atom.map(|atom| (atom, block.tokens)));
    turns.chain(notes).collect()
}
