//! Decides which leases are sent. A person's leases get room before turns and offers; the program's leases get the
//! remaining room. All of them share one cap, and none blocks a call.
//! Not for: permanent pins and items included once, which are required (`admit`).

use super::choose::PolicyChoice;
use super::coverage::SummaryCoverage;
use super::forms::{Marks, is_lease};
use super::position::RowPosition;
use super::window::Window;
use crate::domain::conversation::{Actor, LeaseTurns, MarkKind};
use crate::domain::planning::Reason;
use crate::domain::planning::{Block, PlanInput, Section, TurnInput};

/// The leases that a person made, and the room that is reserved for them.
pub(in crate::context) struct PersonsLeases {
    /// For each block: whether room is reserved for it.
    blocks: Vec<bool>,
    pub(in crate::context) block_tokens: u32,
    /// Leased turns, the tokens of their cards, and whether a summary replaces them, newest first.
    turns: Vec<(usize, u32, bool)>,
    /// Tokens of the cap that the blocks leave.
    cap: u32,
    /// Tokens of the room that the blocks leave.
    room: u32,
}

impl PersonsLeases {
    /// Reserves at most `cap` tokens of `room`: first for blocks, in their order, then for turns, newest first.
    pub(in crate::context) fn new(
        input: &PlanInput,
        (marks, summed): (&Marks<'_>, &SummaryCoverage),
        (cap, room): (u32, u32),
    ) -> Self {
        let mut leases = Self { blocks: Vec::new(), block_tokens: 0, turns: Vec::new(), cap, room };
        for block in &input.blocks {
            let persons = matches!(block.reason, Reason::Leased { engine: false, .. }) && !summed.omits(block);
            let granted = persons && block.tokens <= leases.cap.min(leases.room);
            if granted {
                leases.block_tokens += block.tokens;
                leases.cap -= block.tokens;
                leases.room -= block.tokens;
            }
            leases.blocks.push(granted);
        }
        let card_of = |turn: &TurnInput| {
            let mark = marks.turn(turn).filter(|mark| mark.by != Actor::Engine)?;
            let alive = matches!(mark.kind, MarkKind::Leased { turns: LeaseTurns::Left(_) } | MarkKind::Ephemeral);
            alive.then(|| card_tokens(turn))
        };
        let turns = input.turns.iter().enumerate().rev();
        leases.turns = turns.filter_map(|(at, turn)| Some((at, card_of(turn)?, summed.covers(at)))).collect();
        leases
    }

    /// Returns the turns that are sent as cards if the window starts at `start`, with their tokens.
    fn cards(&self, start: usize) -> impl Iterator<Item = (usize, u32)> {
        let (mut cap, mut room) = (self.cap, self.room);
        let cards = self.turns.iter().filter(move |(turn, _, covered)| *turn < start || *covered);
        cards.map(|(turn, tokens, _)| (*turn, *tokens)).filter(move |(_, tokens)| {
            let granted = *tokens <= cap.min(room);
            if granted {
                cap -= tokens;
                room -= tokens;
            }
            granted
        })
    }

    /// Returns whether this turn is sent as a card if the window starts at `start`.
    pub(in crate::context) fn sends(&self, turn: usize, start: usize) -> bool {
        self.cards(start).any(|(at, _)| at == turn)
    }

    /// Returns the cost of the cards, by the start of the window.
    pub(in crate::context) fn by_start(&self, turns: usize) -> Vec<u32> {
        if self.turns.is_empty() {
            return vec![0; turns + 1];
        }
        (0..=turns).map(|start| self.cards(start).map(|(_, tokens)| tokens).sum()).collect()
    }

    /// Returns the tokens of everything granted if the window starts at `start`.
    pub(in crate::context) fn tokens(&self, start: usize) -> u32 {
        self.cards(start).fold(self.block_tokens, |sum, (_, tokens)| sum + tokens)
    }
}

fn card_tokens(turn: &TurnInput) -> u32 {
    turn.card.map_or(0, |(_, tokens)| tokens)
}

/// Places leases within their cap and the budget.
pub(in crate::context) struct Leases {
    pub(in crate::context) cap: u32,
    pub(in crate::context) room: u32,
    pub(in crate::context) total: u32,
    pub(in crate::context) taken: u32,
}

impl Leases {
    pub(in crate::context) fn place(&mut self, tokens: u32) -> RowPosition {
        if self.taken.saturating_add(tokens) > self.cap {
            RowPosition::NoLease { capped: true }
        } else if self.total.saturating_add(tokens) > self.room {
            RowPosition::NoLease { capped: false }
        } else {
            self.taken += tokens;
            self.total += tokens;
            RowPosition::Card(Section::LeasedPins)
        }
    }

    /// Returns the place of each block that is a lease or a summary that is not sent. `in_window` returns whether a
    /// turn is in the window.
    pub(in crate::context) fn place_blocks(
        &mut self,
        input: &PlanInput,
        (summed, persons): (&SummaryCoverage, &PersonsLeases),
        in_window: &dyn Fn(usize) -> bool,
    ) -> Vec<Option<RowPosition>> {
        let is_repeated = |block: &Block| {
            let mut turns = input.turns.iter().enumerate();
            turns.any(|(at, turn)| block.repeats.contains(&turn.atom) && in_window(at))
        };
        let place = |(block, granted): (&Block, &bool)| match () {
            () if summed.omits(block) => Some(RowPosition::Idle),
            () if *granted => Some(RowPosition::Card(Section::LeasedPins)),
            () if is_lease(block) && is_repeated(block) => Some(RowPosition::Repeated),
            () => is_lease(block).then(|| self.place(block.tokens)),
        };
        input.blocks.iter().zip(&persons.blocks).map(place).collect()
    }

    /// Tries leases again that had no room: a turn sent as a card frees the tokens of its quotations. `spent` returns
    /// the tokens of the offers for given places.
    pub(in crate::context) fn place_in_returned_room(
        &mut self,
        input: &PlanInput,
        (notes, turns): (&mut [Option<RowPosition>], &mut [RowPosition]),
        spent: &dyn Fn(&[RowPosition]) -> u32,
    ) {
        let refused = RowPosition::NoLease { capped: false };
        let mut before = None;
        while before != Some(self.taken) {
            before = Some(self.taken);
            for (block, place) in input.blocks.iter().zip(&mut *notes).filter(|(_, place)| **place == Some(refused)) {
                *place = Some(self.place(block.tokens));
            }
            for at in (0..turns.len()).rev().filter(|at| turns[*at] == refused).collect::<Vec<_>>() {
                let offered = spent(turns);
                turns[at] = self.place(card_tokens(&input.turns[at]));
                self.total = self.total.saturating_sub(offered).saturating_add(spent(turns));
            }
        }
    }
}

pub(in crate::context) fn is_in_window(
    turn: &TurnInput,
    at: usize,
    (marks, choice): (&Marks<'_>, &PolicyChoice),
    start: usize,
) -> bool {
    at >= start && !choice.is_outside(at) && !marks.turn(turn).is_some_and(|mark| mark.kind.excludes())
}

/// Returns the place of each turn. Leases without reserved room are placed newest first, while the budget and their cap
/// last.
pub(in crate::context) fn places(
    input: &PlanInput,
    marks: &Marks<'_>,
    choice: &PolicyChoice,
    window: Window,
    (persons, leases): (&PersonsLeases, &mut Leases),
) -> Vec<RowPosition> {
    let mut places = vec![RowPosition::Outside; input.turns.len()];
    for (index, turn) in input.turns.iter().enumerate().rev() {
        places[index] = match marks.turn(turn).map(|mark| mark.kind) {
            Some(MarkKind::Exclude) => RowPosition::Excluded { once: false },
            Some(MarkKind::ExcludeOnce) => RowPosition::Excluded { once: true },
            _ if is_in_window(turn, index, (marks, choice), window.start) => RowPosition::Window,
            _ if choice.withholds(index) => RowPosition::Outside,
            Some(MarkKind::Sticky) => RowPosition::Card(Section::StickyPins),
            Some(MarkKind::IncludeOnce) => RowPosition::Card(Section::LeasedPins),
            Some(MarkKind::Ephemeral | MarkKind::Leased { turns: LeaseTurns::Left(_) }) => {
                if persons.sends(index, window.start) {
                    RowPosition::Card(Section::LeasedPins)
                } else {
                    leases.place(card_tokens(turn))
                }
            }
            Some(MarkKind::Leased { turns: LeaseTurns::Ended }) | None => RowPosition::Outside,
        };
    }
    places
}
