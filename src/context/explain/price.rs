//! Computes the cost of including an item: the tokens it adds, and the turns that would leave the window for it.
//! Not for: decisions (`admission`) or rows (`excluded`).

use crate::context::admission::admit::{Admitted, admit};
use crate::context::admission::forms::{cost_of, turn_cost, turn_forms};
use crate::context::admission::position::RowPosition;
use crate::context::admission::sums::Sums;
use crate::context::admission::window::{self, CLOSED_RESULT, Costs, Window};
use crate::domain::conversation::{Actor, LeaseTurns, MarkKind};
use crate::domain::planning::{Form, PlanInput};

/// Tokens by the form of tool results: full, cut, elided.
type TokensByForm = [u32; 3];

fn in_form(by_form: TokensByForm, form: Form) -> u32 {
    match form {
        Form::Cut(_) => by_form[1],
        Form::Elided => by_form[2],
        Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => by_form[0],
    }
}

/// An item that might be included, with its tokens.
#[derive(Clone, Copy)]
pub(in crate::context) struct Addition {
    /// The turn that it belongs to; `None` for an item that belongs to no turn.
    turn: Option<usize>,
    /// Tokens it adds while that turn is in the window.
    inside: TokensByForm,
    /// The same without the policy's choice; these numbers decide whether a call is blocked.
    plain: TokensByForm,
    /// Maximum tokens it adds while that turn is outside the window.
    outside: u32,
    /// Tokens of the items that come with it, regardless of the place of that turn.
    companions: u32,
    /// Whether it may be left out while that turn is outside the window.
    is_lease: bool,
}

impl Addition {
    /// Returns an item that belongs to no turn.
    pub(in crate::context) fn apart(tokens: u32) -> Self {
        Self { turn: None, inside: [0; 3], plain: [0; 3], outside: tokens, companions: 0, is_lease: false }
    }

    /// Returns a message of a turn that is in the window.
    pub(in crate::context) fn into_turn(turn: usize, tokens: u32) -> Self {
        Self { turn: Some(turn), inside: [tokens; 3], plain: [tokens; 3], outside: 0, companions: 0, is_lease: false }
    }

    /// Returns the tokens it adds to a window.
    fn adds(self, start: usize, shortened: usize, form: Form) -> u32 {
        match self.turn {
            Some(turn) if turn >= start => in_form(self.inside, if turn < shortened { form } else { Form::Full }),
            _ => self.outside,
        }
    }

    /// Returns the maximum tokens that it requires. A lease never blocks a call.
    fn most(self) -> u32 {
        self.plain.into_iter().fold(if self.is_lease { 0 } else { self.outside }, u32::max)
    }
}

/// The consequences of including an item.
pub(in crate::context) struct Price {
    /// Tokens and turns that would leave the window. If the item cannot fit: the missing tokens, and 0 turns.
    pub(in crate::context) pushes: (u32, u32),
    /// Whether the item would then be in the request.
    pub(in crate::context) is_sent: bool,
}

impl Admitted<'_> {
    /// Returns the addition of a turn's card, or of the turn itself if the window reaches it: a person's mark then
    /// overrides the policy's choice.
    pub(in crate::context) fn card_addition(&self, turn: usize, card: u32) -> Addition {
        let out = matches!(self.places[turn], RowPosition::Excluded { .. });
        // A covered turn is a card even where the window reaches it.
        if turn >= self.costs.summed && self.summed.covers(turn) {
            return Addition::apart(card);
        }
        let whole = self.by_form(|form| turn_cost(&self.input.turns[turn], form, &self.marks));
        let counted = if out || self.choice.withholds(turn) { [0; 3] } else { self.chosen(turn) };
        let mut inside = whole;
        inside.iter_mut().zip(counted).for_each(|(tokens, counted)| *tokens = tokens.saturating_sub(counted));
        let plain = if out { whole } else { [0; 3] };
        Addition { turn: Some(turn), inside, plain, outside: card, companions: 0, is_lease: false }
    }

    /// Returns the addition of an excluded turn that returns to its place; as a card outside the window if one of its
    /// messages is pinned.
    pub(in crate::context) fn restored_addition(&self, turn: usize, card: u32) -> Addition {
        let of = &self.input.turns[turn];
        let plain = self.by_form(|form| turn_cost(of, form, &self.marks));
        let mark = self.marks.message_mark(of);
        let persons = mark.is_some_and(|mark| mark.by != Actor::Engine);
        let (is_kept, needs_card, is_lease) = match mark.map(|mark| mark.kind) {
            Some(MarkKind::Sticky | MarkKind::IncludeOnce) => (true, true, false),
            Some(MarkKind::Leased { turns: LeaseTurns::Left(_) } | MarkKind::Ephemeral) => (true, persons, true),
            Some(MarkKind::Leased { turns: LeaseTurns::Ended } | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => {
                (false, false, false)
            }
        };
        let inside = if is_kept { plain } else { self.chosen(turn) };
        let outside = if needs_card { card } else { 0 };
        Addition { turn: Some(turn), inside, plain, outside, companions: 0, is_lease }
    }

    /// Returns the cost of a turn as the policy chose it.
    fn chosen(&self, turn: usize) -> TokensByForm {
        let of = &self.input.turns[turn];
        self.by_form(|form| cost_of(of, &turn_forms(of, self.choice.form(turn, form), &self.marks)))
    }

    fn by_form(&self, cost: impl Fn(Form) -> u32) -> TokensByForm {
        let full = cost(Form::Full);
        if self.input.policy.shorten_tools {
            [full, cost(Form::Cut(CLOSED_RESULT)), cost(Form::Elided)]
        } else {
            [full; 3]
        }
    }

    /// Returns the tokens it adds to the current request.
    pub(in crate::context) fn adds(&self, addition: Addition) -> u32 {
        addition.adds(self.window.start, self.window.shortened, self.window.form)
    }

    /// Computes the price of including an item by choosing the window again. A card's size is only an upper bound, and
    /// a smaller card can displace more, because a window that is cut back keeps fewer turns than a window that is
    /// chosen again. Therefore tries several sizes and the largest size at which the window can still be cut back, and
    /// returns the worst price.
    pub(in crate::context) fn price(&self, addition: Addition) -> Price {
        let turn = addition.turn.filter(|_| self.loose.is_some());
        let bare = turn.and_then(|turn| self.without_candidates_of(turn));
        let bare = bare.as_ref().and_then(|bare| admit(bare).ok());
        let price = self.base_price(addition, bare.as_ref());
        // The first turn that leaves the window triggers the request for a state block.
        let Some(request) = self.input.state_request.as_ref().filter(|_| price.pushes.1 > 0) else { return price };
        let with = self.base_price(Addition { companions: request.tokens, ..addition }, bare.as_ref());
        let blocks = with.pushes.0 > 0 && with.pushes.1 == 0;
        if !blocks && (!with.is_sent || with.pushes.1 > price.pushes.1) { with } else { price }
    }

    /// Returns the price without the request for a state block. `bare` is the plan without the quotations of the turn.
    fn base_price(&self, addition: Addition, bare: Option<&Admitted<'_>>) -> Price {
        let fits = self.total.saturating_add(self.adds(addition)) <= self.input.budget.prompt;
        if fits && !self.window.refilled && self.is_not_blocked(addition) {
            return self.chosen_anew(addition, bare, self.price_of(addition, Some(self.window)));
        }
        let whole = self.price_of(addition, None);
        if whole.pushes.0 > 0 && whole.pushes.1 == 0 {
            return whole;
        }
        let smaller = [3, 2, 1].map(|quarters| addition.outside / 4 * quarters);
        let sizes = smaller.into_iter().chain(self.last_cut_back(addition));
        let others = sizes.map(|outside| self.price_of(Addition { outside, ..addition }, None));
        let worst = others.fold(whole, |worst, other| if other.pushes.1 > worst.pushes.1 { other } else { worst });
        self.chosen_anew(addition, bare, worst)
    }

    /// Returns the worse of `worst` and the price after a new choice by the policy. If the turn itself is sent, its
    /// quotations are not. A policy that chooses by free room then chooses again and may leave out turns that it had
    /// included.
    fn chosen_anew(&self, addition: Addition, bare: Option<&Admitted<'_>>, worst: Price) -> Price {
        let Some(bare) = bare else { return worst };
        let in_window = (0..self.places.len()).filter(|turn| self.places[*turn] == RowPosition::Window);
        let in_window: Vec<usize> = in_window.filter(|turn| addition.turn != Some(*turn)).collect();
        let sizes = [4, 3, 2, 1].map(|quarters| addition.outside / 4 * quarters);
        let left = sizes.map(|outside| {
            let with = CostsWithAddition { costs: &bare.costs, addition: Addition { outside, ..addition } };
            let then = window::choose(bare.input, &with, bare.input.budget.prompt);
            let pushed_out = in_window.iter().filter(|turn| **turn < then.start || bare.choice.withholds(**turn));
            let cost = |turn: &usize| self.costs.turns(*turn, self.window.shortened, self.window.form);
            let each = pushed_out.map(|turn| cost(turn).saturating_sub(cost(&(turn + 1))));
            each.fold((0_u32, 0_u32), |(tokens, turns), cost| (tokens.saturating_add(cost), turns + 1))
        });
        left.into_iter().fold(
            worst,
            |worst, pushes| {
                if pushes.1 > worst.pushes.1 { Price { pushes, ..worst } } else { worst }
            },
        )
    }

    /// Returns the input without the candidates of a turn; `None` if there are none.
    fn without_candidates_of(&self, turn: usize) -> Option<PlanInput> {
        let atom = Some(self.input.turns[turn].atom);
        let mut found = self.input.offers.iter().flat_map(|offer| &offer.candidates);
        found.find(|one| one.turn == atom)?;
        let mut bare = self.input.clone();
        bare.offers.iter_mut().for_each(|offer| offer.candidates.retain(|one| one.turn != atom));
        Some(bare)
    }

    /// Returns the largest size outside the window at which the anchored window can be cut back, if the full size is
    /// too large for that.
    fn last_cut_back(&self, addition: Addition) -> Option<u32> {
        let can = |outside: u32| {
            let with = CostsWithAddition { costs: &self.costs, addition: Addition { outside, ..addition } };
            window::can_cut_back(self.input, &with, self.input.budget.prompt)
        };
        if can(addition.outside) != Some(false) || can(0) != Some(true) {
            return None;
        }
        let (mut low, mut high) = (0, addition.outside);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if can(middle) == Some(true) { low = middle } else { high = middle }
        }
        Some(low)
    }

    fn price_of(&self, addition: Addition, then: Option<Window>) -> Price {
        let now = self.window;
        let with = CostsWithAddition { costs: &self.costs, addition };
        let then = if let Some(then) = then {
            then
        } else {
            if let Some(missing) = self.missing(addition, &with) {
                return Price { pushes: (missing, 0), is_sent: false };
            }
            window::choose_within(self.input, &with, self.most)
        };
        let leaves = (now.start..then.start).filter(|turn| self.places[*turn] == RowPosition::Window).count();
        let turns = u32::try_from(leaves).unwrap_or(u32::MAX);
        let cost = |start: usize| self.costs.turns(start, now.shortened, now.form);
        let tokens = if turns == 0 { 0 } else { cost(now.start).saturating_sub(cost(then.start)) };
        let left_out = addition.is_lease && addition.turn.is_some_and(|turn| turn < then.start);
        let is_sent = !left_out && addition.adds(then.start, then.shortened, then.form) > 0;
        Price { pushes: (tokens, turns), is_sent }
    }

    fn is_not_blocked(&self, addition: Addition) -> bool {
        self.loose.is_none() || self.missing(addition, &CostsWithAddition { costs: &self.costs, addition }).is_none()
    }

    /// Returns how many tokens the cheapest request with the addition exceeds the budget by; `None` if it fits. Ignores
    /// the policy's choice and offers, which are dropped before a call is blocked.
    fn missing(&self, addition: Addition, with: &CostsWithAddition<'_>) -> Option<u32> {
        let (turns, room) = (self.input.turns.len(), self.input.budget.prompt);
        // Usually no turn must be in the window, so there is no need to search for the cheapest.
        let bare = self.loose.as_ref().unwrap_or(&self.costs).required(turns, turns, Form::Full);
        if bare.saturating_add(addition.most()).saturating_add(addition.companions) <= room {
            return None;
        }
        self.least(addition, with).checked_sub(room).filter(|missing| *missing > 0)
    }

    /// Returns the cost of the cheapest request with the addition.
    fn least(&self, addition: Addition, with: &CostsWithAddition<'_>) -> u32 {
        let outside = if addition.is_lease { 0 } else { addition.outside };
        let Some(costs) = &self.loose else {
            let with = CostsWithAddition { addition: Addition { outside, ..addition }, ..*with };
            return window::least(self.input, &CostsWithoutOffers(&with));
        };
        let addition = Addition { inside: addition.plain, outside, ..addition };
        window::least(self.input, &CostsWithAddition { costs, addition })
    }
}

/// The same costs without offers and leases, which are dropped before a call is blocked.
struct CostsWithoutOffers<'a>(&'a CostsWithAddition<'a>);

impl Costs for CostsWithoutOffers<'_> {
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32 {
        let more = self.0.addition.adds(start, shortened, form);
        self.0.costs.required(start, shortened, form).saturating_add(more)
    }

    fn summed(&self) -> usize {
        self.0.costs.summed
    }

    fn newest(&self) -> Option<usize> {
        self.0.newest()
    }
}

struct CostsWithAddition<'a> {
    costs: &'a Sums,
    addition: Addition,
}

impl Costs for CostsWithAddition<'_> {
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32 {
        let more = self.addition.adds(start, shortened, form).saturating_add(self.addition.companions);
        self.costs.total(start, shortened, form).saturating_add(more)
    }

    fn summed(&self) -> usize {
        self.costs.summed
    }

    fn newest(&self) -> Option<usize> {
        let added = self.addition.turn.filter(|_| self.addition.inside.iter().any(|tokens| *tokens > 0));
        self.costs.newest().max(added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, offered};
    use crate::domain::planning::input::OfferLimit;
    use crate::domain::planning::policy::PolicySpec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_size_that_cuts_back_is_the_largest(
            turns in prop::collection::vec([1_u32..20, 1_u32..60, 1_u32..60], 1..6),
            (refill_percent, shorten_tools) in (0_u32..=100, any::<bool>()),
            (room, start, outside) in (30_u32..300, 0_usize..6, 0_u32..60),
        ) {
            let policy = PolicySpec { anchored: true, refill_percent, shorten_tools, ..PolicySpec::default() };
            let mut input = input(&turns, policy, room);
            let old = Window { start: start.min(turns.len()), shortened: 0, form: Form::Full, floor: 0, refilled: false };
            input.anchor = window::anchor(&input, old, &[]);
            let Ok(admitted) = admit(&input) else { return Ok(()) };
            let addition = Addition::apart(outside);
            let can = |outside: u32| {
                let with = CostsWithAddition { costs: &admitted.costs, addition: Addition::apart(outside) };
                window::can_cut_back(&input, &with, room) == Some(true)
            };
            let largest = (0..outside).rfind(|outside| can(*outside)).filter(|_| !can(outside));
            prop_assert_eq!(admitted.last_cut_back(addition), largest);
        }
    }

    #[test]
    fn only_the_candidates_of_a_turn_are_taken_out() {
        let mut input = input(&[[1; 3]; 2], PolicySpec::default(), 500);
        input.offers = vec![offered(&input, &[(Some(0), 5, 0), (None, 9, 0)], OfferLimit::Room)];
        let admitted = admit(&input).ok().unwrap();
        let bare = admitted.without_candidates_of(0).unwrap();
        let left: Vec<_> = bare.offers[0].candidates.iter().map(|one| one.turn).collect();
        assert_eq!((left, admitted.without_candidates_of(1).is_none()), (vec![None], true));
    }

    /// Turn 4, in windows given by start, end of the shortened turns, and form.
    #[test]
    fn additions_cost_by_their_place_in_the_window() {
        let (cut, gone) = (Form::Cut(CLOSED_RESULT), Form::Elided);
        let turn = Addition { turn: Some(4), inside: [300, 200, 100], ..Addition::apart(7) };
        for ((start, shortened, form), tokens) in [
            ((5, 9, gone), 7),
            ((4, 9, Form::Full), 300),
            ((4, 9, cut), 200),
            ((0, 5, cut), 200),
            ((0, 5, gone), 100),
            ((0, 4, cut), 300),
            ((0, 4, gone), 300),
        ] {
            assert_eq!(turn.adds(start, shortened, form), tokens, "{start} {shortened} {form:?}");
            let beside = Addition { turn: None, ..turn };
            assert_eq!(beside.adds(start, shortened, form), 7, "beside the turns");
        }
    }
}
