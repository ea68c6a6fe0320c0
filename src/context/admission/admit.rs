//! Admits all candidates into the budget, each in a form. Enforces the hard rules: the open turn and permanent pins are
//! sent or the call is blocked, atoms are never split, and the total never exceeds the budget.
//! Not for: the form of a message under a mark (`forms`) or rows and reasons (`explain`).

use super::accepted_summaries::{self, SummaryCoverage};
use super::choose::{self, PolicyChoice};
use super::forms::{Marks, cost_of, turn_cost, turn_forms};
use super::offers::Offers;
use super::window::{self, CLOSED_RESULT, Costs, OPEN_OLDER, Window};
use crate::domain::conversation::mark::{LeaseTurns, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::planning::input::{ANSWER_FRAMING, Block, MESSAGE_FRAMING, OmittedItem, PlanInput, TurnInput};
use crate::domain::planning::plan::{Blocked, Form, Reason};
use crate::domain::planning::policy::{Layout, Section};
use crate::domain::planning::tuning::TurnSelection;

/// This many of the newest results of the open turn keep more characters than older ones.
const OPEN_NEWEST: usize = 5;
const OPEN_RESULT: u32 = 5_000;

/// The place of a closed turn or leased text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::context) enum RowPosition {
    /// In the window.
    Window,
    /// Before the window, as a card.
    Card(Section),
    /// Left out by the window or the budget.
    Outside,
    /// Left out by a person's mark.
    Excluded {
        /// For this call only.
        once: bool,
    },
    /// A summary that is not used.
    Idle,
    /// A lease that its cap or the budget leaves no room for.
    NoLease {
        /// Whether the cap is the limit.
        capped: bool,
    },
}

impl RowPosition {
    /// Returns whether the turn is sent, in full or as a card.
    pub(in crate::context) fn is_sent(self) -> bool {
        matches!(self, Self::Window | Self::Card(_))
    }

    /// Returns whether a person excluded it.
    pub(in crate::context) fn is_excluded(self) -> bool {
        matches!(self, Self::Excluded { .. })
    }
}

/// How the allowance for retrieved candidates is spent.
#[derive(Clone, Copy)]
pub(in crate::context) enum AllowanceUse {
    /// Offers spend it.
    Offered,
    /// This many tokens stay free instead.
    KeptFree(u32),
}

/// The result of admission.
pub(in crate::context) struct Admitted<'a> {
    pub(in crate::context) input: &'a PlanInput,
    pub(in crate::context) marks: Marks<'a>,
    pub(in crate::context) window: Window,
    /// The maximum size of the request that the window may produce, if smaller than the budget.
    pub(in crate::context) most: Option<u32>,
    pub(in crate::context) choice: PolicyChoice,
    /// The place of each turn.
    pub(in crate::context) places: Vec<RowPosition>,
    /// For each block: `None` if it is not a lease and is sent.
    pub(in crate::context) leases: Vec<Option<RowPosition>>,
    /// Tokens that all leases together may take.
    pub(in crate::context) lease_cap: u32,
    pub(in crate::context) open: Vec<Form>,
    /// The turns that summaries replace.
    pub(in crate::context) summed: SummaryCoverage,
    offers: Offers<'a>,
    /// Upper bound of the request's tokens, never above the budget.
    pub(in crate::context) total: u32,
    pub(in crate::context) costs: Sums,
    /// Costs without the policy's choice and without offers, which decide whether a call is blocked; `None` where the
    /// policy chooses nothing.
    pub(in crate::context) loose: Option<Sums>,
}

impl Admitted<'_> {
    /// Returns the free tokens.
    pub(in crate::context) fn free(&self) -> u32 {
        self.input.budget.prompt.saturating_sub(self.total)
    }

    /// Returns the blocks of admitted candidates, in sending order.
    pub(in crate::context) fn offered(&self) -> Vec<Block> {
        self.offers.blocks(&|turn| self.places[turn].is_sent())
    }

    /// Returns the candidates that were not admitted.
    pub(in crate::context) fn omitted_candidates(&self) -> Vec<OmittedItem> {
        self.offers.omitted(&|turn| self.places[turn].is_sent())
    }

    /// Returns the form of each message of a closed turn in the window.
    pub(in crate::context) fn forms(&self, turn: usize) -> Vec<Form> {
        let form = if turn < self.window.shortened { self.window.form } else { Form::Full };
        turn_forms(&self.input.turns[turn], self.choice.form(turn, form), &self.marks)
    }
}

/// Prefix sums over the turns, so that the cost of any window takes a few additions.
pub(in crate::context) struct Sums {
    fixed: u32,
    /// Tokens of the offers, by the start of the window.
    offered: Vec<u32>,
    pub(in crate::context) summed: usize,
    full: Vec<u32>,
    cut: Vec<u32>,
    elided: Vec<u32>,
    /// Tokens of required cards (pinned and included-once turns) before each index.
    cards: Vec<u32>,
}

impl Sums {
    fn new(input: &PlanInput, marks: &Marks<'_>, choice: &PolicyChoice) -> Self {
        let out = |at: usize, turn: &TurnInput| {
            choice.withholds(at) || marks.turn(turn).is_some_and(|mark| mark.kind.excludes())
        };
        let run = |form: Form| {
            let cost = |(at, turn): (usize, &TurnInput)| {
                if out(at, turn) { 0 } else { turn_cost(turn, choice.form(at, form), marks) }
            };
            prefix(input.turns.iter().enumerate().map(cost))
        };
        let card = |turn: &TurnInput| {
            let must = marks.turn(turn).is_some_and(|m| matches!(m.kind, MarkKind::Sticky | MarkKind::IncludeOnce));
            turn.card.filter(|_| must).map_or(0, |(_, tokens)| tokens + MESSAGE_FRAMING)
        };
        let full = run(Form::Full);
        let shortened = |form: Form| if input.policy.shorten_tools { run(form) } else { full.clone() };
        Self {
            fixed: 0,
            offered: vec![0; input.turns.len() + 1],
            summed: 0,
            cut: shortened(Form::Cut(CLOSED_RESULT)),
            elided: shortened(Form::Elided),
            full,
            cards: prefix(input.turns.iter().map(card)),
        }
    }

    /// Returns the request's cost without offers, which never block a call.
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
        self.required(start, shortened, form).saturating_add(self.offered[start])
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

/// Admits all candidates. Summaries are sent where they are wanted and fit; they never block a call.
pub(in crate::context) fn admit(input: &PlanInput) -> Result<Admitted<'_>, Box<Blocked>> {
    admit_using(input, AllowanceUse::Offered)
}

/// Like [`admit`], with a choice of how the allowance is spent.
pub(in crate::context) fn admit_using(
    input: &PlanInput,
    looked_up: AllowanceUse,
) -> Result<Admitted<'_>, Box<Blocked>> {
    accepted_summaries::admit(input, looked_up)
}

/// Admits with exactly these summaries. `most` limits the size of the request that the window may produce, leases
/// apart. Order: required items (if they do not fit, the call is blocked), offers without an allowance, retrieved
/// candidates within the mode's allowance, the window with the rest of the budget, leases.
pub(in crate::context) fn admit_with(
    input: &PlanInput,
    summed: SummaryCoverage,
    looked_up: AllowanceUse,
    most: Option<u32>,
) -> Result<Admitted<'_>, Box<Blocked>> {
    let marks = Marks::new(&input.marks);
    let room = input.budget.prompt;
    let required_beside_turns = required_beside_turns(input, &summed);
    let mut plain = Sums::new(input, &marks, &PolicyChoice::all(input, &marks));
    plain.summed = summed.floor;
    let base_cost = required_beside_turns.saturating_add(window::least(input, &plain));
    let (open, open_cost) = open_forms(input, &marks, room.saturating_sub(base_cost));
    let needed = base_cost.saturating_add(open_cost);
    if needed > room {
        return Err(crate::context::explain::blocked::blocked(input, &marks, needed, &open));
    }
    let OptionalParts { mut offers, open: (open, open_cost) } =
        OptionalParts::new(input, (&marks, &summed), room - base_cost, looked_up);
    let choice = chosen(input, &marks, required_beside_turns, looked_up, &summed);
    plain.fixed = required_beside_turns.saturating_add(open_cost);
    let (mut costs, loose) = if input.policy.withholds() {
        let chosen = Sums { fixed: plain.fixed, summed: plain.summed, ..Sums::new(input, &marks, &choice) };
        (chosen, Some(plain))
    } else {
        (plain, None)
    };
    let is_sent = |turn: usize, start: usize| is_turn_sent(input, &marks, &choice, (turn, start));
    costs.offered = offers.by_start(input.turns.len(), &is_sent);
    let window = window::choose_within(input, &costs, most);
    let session_room = choose::session_room(input, &summed, offers.tokens_in(&choose::SESSION_LEVEL, &|_| false));
    let lease_cap = input.policy.leased_cap_tokens.min(session_room);
    let mut lease = Leases { cap: lease_cap, room, total: 0, taken: 0 };
    lease.total = costs.total(window.start, window.shortened, window.form);
    let mut block_position = |block: &Block| match () {
        () if summed.omits(block) => Some(RowPosition::Idle),
        () => is_lease(block).then(|| lease.place(block.tokens, 0)),
    };
    let mut leases: Vec<_> = input.blocks.iter().map(&mut block_position).collect();
    let mut places = places(input, &marks, &choice, window, &mut lease);
    let spent = |places: &[RowPosition]| offers.cost(&|turn| places[turn].is_sent());
    lease.total = (lease.total - costs.offered[window.start]).saturating_add(spent(&places));
    lease.place_in_returned_room(input, (&mut leases, &mut places), &spent);
    let (total, is_sent) = (lease.total, |turn: usize| places[turn].is_sent());
    let allowance = if matches!(looked_up, AllowanceUse::Offered) { input.allowance } else { 0 };
    let total = total.saturating_add(offers.settle(&is_sent, allowance, room.saturating_sub(total)));
    Ok(Admitted {
        input,
        marks,
        window,
        most,
        choice,
        places,
        leases,
        lease_cap,
        open,
        summed,
        offers,
        total,
        costs,
        loose,
    })
}

/// The offers and the open turn, fitted into the room that everything required leaves.
struct OptionalParts<'a> {
    offers: Offers<'a>,
    /// The open turn's forms and their cost.
    open: (Vec<Form>, u32),
}

impl<'a> OptionalParts<'a> {
    fn new(
        input: &'a PlanInput,
        (marks, summed): (&Marks<'_>, &SummaryCoverage),
        room: u32,
        looked_up: AllowanceUse,
    ) -> Self {
        let mut offers = Offers::new(input, summed);
        let asked = open_forms(input, marks, room).1.min(open_forms(input, marks, 0).1);
        let by_room = offers.by_room(room.saturating_sub(asked), choose::session_room(input, summed, 0));
        let open = open_forms(input, marks, room.saturating_sub(by_room));
        offers.look_up(looked_up, input.allowance, room.saturating_sub(by_room).saturating_sub(open.1));
        Self { offers, open }
    }
}

/// Applies the policy in the room that is left beside the offers that would fit if no turn had to be sent, so that a
/// mark on one turn does not change the choice of another. Candidates that repeat a chosen turn cost nothing, which
/// makes room for others; the policy is applied again until that room stops growing.
fn chosen(
    input: &PlanInput,
    marks: &Marks<'_>,
    required_beside_turns: u32,
    looked_up: AllowanceUse,
    summed: &SummaryCoverage,
) -> PolicyChoice {
    if matches!(input.policy.choose, TurnSelection::Recent | TurnSelection::Lane) {
        return choose::choose(input, marks, (0, 0), (summed, None), &|_| 0);
    }
    let OptionalParts { offers, open: (_, asked) } = OptionalParts::new(
        input,
        (marks, summed),
        input.budget.prompt.saturating_sub(required_beside_turns),
        looked_up,
    );
    let with = |is_sent: &dyn Fn(usize) -> bool, before: Option<&PolicyChoice>| {
        let taken = required_beside_turns.saturating_add(asked).saturating_add(offers.cost(is_sent));
        choose::choose(input, marks, (taken, asked), (summed, before), &|sections| offers.tokens_in(sections, is_sent))
    };
    let floor = window::floor(input, summed.floor);
    let takes = |choice: &PolicyChoice, turn: usize| turn >= floor && choice.takes_itself(turn);
    let mut choice = with(&|_| false, None);
    let mut spent = offers.cost(&|_| false);
    loop {
        let cost = offers.cost(&|turn| takes(&choice, turn));
        if cost >= spent {
            break;
        }
        let next = with(&|turn| takes(&choice, turn), Some(&choice));
        if offers.cost(&|turn| takes(&next, turn)) > cost {
            break;
        }
        (choice, spent) = (next, cost);
    }
    choice
}

/// Returns whether a turn is sent without a lease, if the window starts at `start`.
fn is_turn_sent(input: &PlanInput, marks: &Marks<'_>, choice: &PolicyChoice, (turn, start): (usize, usize)) -> bool {
    match marks.turn(&input.turns[turn]).map(|mark| mark.kind) {
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => false,
        Some(MarkKind::Sticky | MarkKind::IncludeOnce) => true,
        Some(MarkKind::Leased { .. } | MarkKind::Ephemeral) | None => turn >= start && !choice.withholds(turn),
    }
}

/// Returns whether a block is sent only within its lease, the cap of leases and the budget.
pub(in crate::context) fn is_lease(block: &Block) -> bool {
    matches!(block.reason, Reason::Leased { .. })
}

/// Returns the tokens required beside the turns: blocks, tools, framing, and the label of the user message if blocks
/// precede it.
fn required_beside_turns(input: &PlanInput, summed: &SummaryCoverage) -> u32 {
    let has = |section: Section| input.blocks.iter().any(|block| block.section == section);
    let required = input.blocks.iter().filter(|block| !is_lease(block) && !summed.omits(block));
    let blocks = required.fold(0_u32, |sum, block| sum.saturating_add(block.tokens));
    let labelled = input.layout == Layout::CacheFriendly || has(Section::QuotedReply);
    let has_user_message =
        input.open.messages.iter().any(|message| message.role == Role::User && message.bar.is_none());
    // Instructions and cards; blocks in a message of their own if no user message is open; the continuation request.
    let messages = 2 + u32::from(!has_user_message) + u32::from(has(Section::UserMessage));
    blocks
        .saturating_add(if labelled { input.labelled } else { 0 })
        .saturating_add(messages * MESSAGE_FRAMING + ANSWER_FRAMING)
        .saturating_add(input.tools_tokens)
}

/// Returns the forms of the open turn and their cost: in full, or with shortened tool results if it does not fit in
/// full. The result may still exceed `room`. The person's question is always sent in full, whatever mark it has.
fn open_forms(input: &PlanInput, marks: &Marks<'_>, room: u32) -> (Vec<Form>, u32) {
    let messages = &input.open.messages;
    let with_question = |form: Form, at: usize| {
        let is_shortened_question = messages[at].role == Role::User && form == Form::Placeholder;
        if is_shortened_question { messages[at].whole } else { form }
    };
    let whole: Vec<Form> = turn_forms(&input.open, Form::Full, marks);
    let whole: Vec<Form> = whole.into_iter().enumerate().map(|(at, form)| with_question(form, at)).collect();
    let cost = cost_of(&input.open, &whole);
    if cost <= room || !input.policy.shorten_tools {
        return (whole, cost);
    }
    let (newest, older) = (Form::Cut(OPEN_RESULT), Form::Cut(OPEN_OLDER));
    let (newest, older) = (turn_forms(&input.open, newest, marks), turn_forms(&input.open, older, marks));
    let mut cut = whole;
    let results = messages.iter().enumerate().rev().filter(|(_, m)| m.role == Role::Tool && !m.orphan);
    for (rank, (at, _)) in results.enumerate() {
        cut[at] = if rank < OPEN_NEWEST { newest[at] } else { older[at] };
    }
    let cost = cost_of(&input.open, &cut);
    (cut, cost)
}

/// Places leases within their cap and the budget.
pub(in crate::context) struct Leases {
    pub(in crate::context) cap: u32,
    pub(in crate::context) room: u32,
    pub(in crate::context) total: u32,
    pub(in crate::context) taken: u32,
}

impl Leases {
    pub(in crate::context) fn place(&mut self, tokens: u32, framing: u32) -> RowPosition {
        if self.taken.saturating_add(tokens) > self.cap {
            RowPosition::NoLease { capped: true }
        } else if self.total.saturating_add(tokens).saturating_add(framing) > self.room {
            RowPosition::NoLease { capped: false }
        } else {
            self.taken += tokens;
            self.total += tokens + framing;
            RowPosition::Card(Section::LeasedPins)
        }
    }

    /// Tries leases again that had no room: a turn sent as a card frees the tokens of its quotations. `spent` returns
    /// the tokens of the offers for given places.
    fn place_in_returned_room(
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
                *place = Some(self.place(block.tokens, 0));
            }
            for at in (0..turns.len()).rev().filter(|at| turns[*at] == refused).collect::<Vec<_>>() {
                let offered = spent(turns);
                turns[at] = self.place(input.turns[at].card.map_or(0, |(_, tokens)| tokens), MESSAGE_FRAMING);
                self.total = self.total.saturating_sub(offered).saturating_add(spent(turns));
            }
        }
    }
}

/// Returns the place of each turn. Leases are placed newest first, while the budget and their cap last.
fn places(
    input: &PlanInput,
    marks: &Marks<'_>,
    choice: &PolicyChoice,
    window: Window,
    leases: &mut Leases,
) -> Vec<RowPosition> {
    let mut places = vec![RowPosition::Outside; input.turns.len()];
    for (index, turn) in input.turns.iter().enumerate().rev() {
        places[index] = match marks.turn(turn).map(|mark| mark.kind) {
            Some(MarkKind::Exclude) => RowPosition::Excluded { once: false },
            Some(MarkKind::ExcludeOnce) => RowPosition::Excluded { once: true },
            _ if choice.withholds(index) => RowPosition::Outside,
            _ if index >= window.start => RowPosition::Window,
            Some(MarkKind::Sticky) => RowPosition::Card(Section::StickyPins),
            Some(MarkKind::IncludeOnce) => RowPosition::Card(Section::LeasedPins),
            Some(MarkKind::Ephemeral) => leases.place(turn.card.map_or(0, |(_, tokens)| tokens), MESSAGE_FRAMING),
            Some(MarkKind::Leased { turns: LeaseTurns::Left(_) }) => {
                leases.place(turn.card.map_or(0, |(_, tokens)| tokens), MESSAGE_FRAMING)
            }
            Some(MarkKind::Leased { turns: LeaseTurns::Ended }) | None => RowPosition::Outside,
        };
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, key};
    use crate::domain::planning::input::MessageInput;
    use crate::domain::planning::policy::PolicySpec;

    #[test]
    fn results_of_the_open_turn_are_cut_only_where_it_does_not_fit_and_the_policy_shortens() {
        let newest = OPEN_NEWEST;
        for (shorten_tools, results) in [(true, newest + 2), (false, newest + 2), (true, 1)] {
            let mut input = input(&[], PolicySpec { shorten_tools, ..PolicySpec::default() }, 0);
            input.open.messages.extend((1..=results).map(|at| MessageInput {
                cuts: vec![(OPEN_RESULT, 50), (OPEN_OLDER, 10)],
                ..MessageInput::plain(key(0, at), Role::Tool, String::new(), 90)
            }));
            let marks = Marks::new(&[]);
            let whole = vec![Form::Full; results + 1];
            let rank = |at: usize| if at + newest > results { OPEN_RESULT } else { OPEN_OLDER };
            let cut = (0..=results).map(|at| if at == 0 { Form::Full } else { Form::Cut(rank(at)) }).collect();
            let cost = cost_of(&input.open, &whole);
            assert_eq!(open_forms(&input, &marks, cost), (whole.clone(), cost));
            let (older, forms) = (results.saturating_sub(newest), if shorten_tools { cut } else { whole });
            let shorter = if shorten_tools { 40 * results + 40 * older } else { 0 };
            let expected = (forms, cost - u32::try_from(shorter).unwrap());
            assert_eq!(open_forms(&input, &marks, cost - 1), expected);
        }
    }
}
