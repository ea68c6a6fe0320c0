//! Prefix sums of the costs of turns, so that the cost of any window takes a few additions.
//! Not for: choosing a window (`window`), or which leases are sent (`leases`).

use super::choose::PolicyChoice;
use super::forms::{Marks, turn_cost};
use super::leases::PersonsLeases;
use super::window::{CLOSED_RESULT, Costs};
use crate::domain::conversation::MarkKind;
use crate::domain::planning::{Form, PlanInput, TurnInput};

pub(in crate::context) struct Sums {
    pub(in crate::context) fixed: u32,
    /// Tokens of the offers, by the start of the window.
    pub(in crate::context) offered: Vec<u32>,
    /// Tokens of the blocks and cards that a person leased, by the start of the window.
    leased: Vec<u32>,
    pub(in crate::context) summed: usize,
    full: Vec<u32>,
    cut: Vec<u32>,
    elided: Vec<u32>,
    /// Tokens of required cards (pinned and included-once turns) by the start of the window. A covered turn is a card
    /// wherever the window starts.
    cards: Vec<u32>,
}

impl Sums {
    pub(in crate::context) fn new(input: &PlanInput, marks: &Marks<'_>, choice: &PolicyChoice) -> Self {
        let out = |at: usize, turn: &TurnInput| {
            choice.is_outside(at) || marks.turn(turn).is_some_and(|mark| mark.kind.excludes())
        };
        let run = |form: Form| {
            let cost = |(at, turn): (usize, &TurnInput)| {
                if out(at, turn) { 0 } else { turn_cost(turn, choice.form(at, form), marks) }
            };
            prefix(input.turns.iter().enumerate().map(cost))
        };
        let card = |turn: &TurnInput| {
            let must = marks.turn(turn).is_some_and(|m| matches!(m.kind, MarkKind::Sticky | MarkKind::IncludeOnce));
            turn.card.filter(|_| must).map_or(0, |(_, tokens)| tokens)
        };
        let of = |covered: bool| {
            let turns = input.turns.iter().enumerate();
            turns.map(move |(at, turn)| if choice.covers(at) == covered { card(turn) } else { 0 })
        };
        let always = of(true).fold(0, u32::saturating_add);
        let full = run(Form::Full);
        let shortened = |form: Form| if input.policy.shorten_tools { run(form) } else { full.clone() };
        Self {
            fixed: 0,
            offered: vec![0; input.turns.len() + 1],
            leased: vec![0; input.turns.len() + 1],
            summed: 0,
            cut: shortened(Form::Cut(CLOSED_RESULT)),
            elided: shortened(Form::Elided),
            full,
            cards: prefix(of(false)).into_iter().map(|cards| cards.saturating_add(always)).collect(),
        }
    }

    pub(in crate::context) fn lease(&mut self, leases: &PersonsLeases) {
        let cards = leases.by_start(self.leased.len() - 1);
        self.leased = cards.into_iter().map(|cost| cost.saturating_add(leases.block_tokens)).collect();
    }

    /// Returns the maximum cost of a person's leases over all starts of the window.
    pub(in crate::context) fn most_leased(&self) -> u32 {
        self.leased.iter().copied().max().unwrap_or(0)
    }

    /// Returns the cost of the cheapest request that contains the newest turn, without offers; `form` is the shortest
    /// form of tool results, and turns before `floor` are not in the window.
    pub(in crate::context) fn with_newest(&self, floor: usize, form: Form) -> Option<u32> {
        let turns = self.full.len() - 1;
        let starts = floor..=self.newest().filter(|newest| *newest >= floor)?;
        starts.map(|start| self.required(start, turns, form).saturating_add(self.leased[start])).min()
    }

    /// Returns the request's cost without offers and leases, which never block a call.
    pub(in crate::context) fn required(&self, start: usize, shortened: usize, form: Form) -> u32 {
        self.fixed.saturating_add(self.turns(start, shortened, form)).saturating_add(self.cards[start])
    }

    /// Returns the cost of a window's turns alone.
    pub(in crate::context) fn turns(&self, start: usize, shortened: usize, form: Form) -> u32 {
        let all = self.full.len() - 1;
        let split = shortened.clamp(start, all);
        let old = match form {
            Form::Cut(_) => &self.cut,
            Form::Elided => &self.elided,
            Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => &self.full,
        };
        (old[split] - old[start]) + (self.full[all] - self.full[split])
    }
}

impl Costs for Sums {
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32 {
        self.required(start, shortened, form).saturating_add(self.leased[start]).saturating_add(self.offered[start])
    }

    fn newest(&self) -> Option<usize> {
        (0..self.full.len() - 1).rfind(|at| self.full[at + 1] > self.full[*at])
    }

    fn summed(&self) -> usize {
        self.summed
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
