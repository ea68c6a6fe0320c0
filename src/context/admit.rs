//! Admission: which candidates go into the budget, and in what form. Hard rules are here: the open turn and sticky pins go
//! or the call is blocked, atoms stay whole, the total never passes the budget.
//! Not for: how a message is sent under a mark (`forms`) or sentences about any of it (`explain`, `excluded`).

use super::choose::{self, Choice};
use super::forms::{Marks, cost_of, turn_cost, turn_forms};
use super::offers::Offers;
use super::summaries::{self, Summed};
use super::window::{self, CLOSED_RESULT, Costs, OPEN_OLDER, Window};
use crate::domain::conversation::mark::{LeaseTurns, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::planning::input::{ANSWER_FRAMING, Block, MESSAGE_FRAMING, NotSent, PlanInput, TurnInput};
use crate::domain::planning::plan::{Blocked, Form, Reason};
use crate::domain::planning::policy::{Layout, Section};
use crate::domain::planning::tuning::Choose;

/// Results of the open turn: the newest so many keep more characters than the older ones.
const OPEN_NEWEST: usize = 5;
const OPEN_RESULT: u32 = 5_000;

/// Where a closed turn or a leased text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowPosition {
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
    /// A summary that is not used.
    Idle,
    /// A leased pin for which its cap, or the room, leaves none.
    NoLease {
        /// The cap is what stops it.
        capped: bool,
    },
}

impl RowPosition {
    /// The turn goes, whole or as a card.
    pub(super) fn goes(self) -> bool {
        matches!(self, Self::Window | Self::Card(_))
    }

    /// A person took it out.
    pub(super) fn taken_out(self) -> bool {
        matches!(self, Self::Excluded { .. })
    }
}

/// What becomes of the allowance for what is looked up.
#[derive(Clone, Copy)]
pub(super) enum LookedUp {
    /// The offers spend it.
    Offered,
    /// So many tokens are kept free instead.
    KeptFree(u32),
}

/// What admission decided.
pub(super) struct Admitted<'a> {
    pub(super) input: &'a PlanInput,
    pub(super) marks: Marks<'a>,
    pub(super) window: Window,
    /// What the window may make of the request, where that is less than the budget.
    pub(super) most: Option<u32>,
    pub(super) choice: Choice,
    /// For each turn.
    pub(super) places: Vec<RowPosition>,
    /// For each block: nothing where it just goes.
    pub(super) leases: Vec<Option<RowPosition>>,
    /// Tokens that leases may take together.
    pub(super) lease_cap: u32,
    pub(super) open: Vec<Form>,
    /// Which turns a summary stands for.
    pub(super) summed: Summed,
    offers: Offers<'a>,
    /// An upper bound of the request's tokens, never above the room.
    pub(super) total: u32,
    pub(super) costs: Sums,
    /// Costs without the policy's choice and without offers, by which a call is blocked; none where the policy chooses nothing.
    pub(super) loose: Option<Sums>,
}

impl Admitted<'_> {
    /// Tokens still free.
    pub(super) fn free(&self) -> u32 {
        self.input.budget.prompt.saturating_sub(self.total)
    }

    /// The blocks of what was let in, in the order in which they are sent.
    pub(super) fn offered(&self) -> Vec<Block> {
        self.offers.blocks(&|turn| self.places[turn].goes())
    }

    /// What was offered and stays out.
    pub(super) fn not_let_in(&self) -> Vec<NotSent> {
        self.offers.near(&|turn| self.places[turn].goes())
    }

    /// How each message of a closed turn in the window is sent.
    pub(super) fn forms(&self, turn: usize) -> Vec<Form> {
        let form = if turn < self.window.shortened { self.window.form } else { Form::Full };
        turn_forms(&self.input.turns[turn], self.choice.form(turn, form), &self.marks)
    }
}

/// Running sums over the turns, so that any window's cost is a few additions.
pub(super) struct Sums {
    fixed: u32,
    /// What offers take, by the window's start.
    offered: Vec<u32>,
    pub(super) summed: usize,
    full: Vec<u32>,
    cut: Vec<u32>,
    elided: Vec<u32>,
    /// Cards needed for turns before index i: sticky and included-once ones.
    cards: Vec<u32>,
}

impl Sums {
    fn new(input: &PlanInput, marks: &Marks<'_>, choice: &Choice) -> Self {
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

    /// The request's cost without offers, which never block a call.
    pub(super) fn required(&self, start: usize, shortened: usize, form: Form) -> u32 {
        self.fixed.saturating_add(self.turns(start, shortened, form)).saturating_add(self.cards[start])
    }

    /// The turns of a window alone.
    pub(super) fn turns(&self, start: usize, shortened: usize, form: Form) -> u32 {
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

/// Decides what goes. Summaries go where they are wanted and fit; they never block a call.
pub(super) fn admit(input: &PlanInput) -> Result<Admitted<'_>, Box<Blocked>> {
    admit_beside(input, LookedUp::Offered)
}

/// The same, with what becomes of the allowance.
pub(super) fn admit_beside(input: &PlanInput, looked_up: LookedUp) -> Result<Admitted<'_>, Box<Blocked>> {
    summaries::admit(input, looked_up)
}

/// With `most`, the window makes the request no larger than that, leases apart. In this order: what is required (else the call
/// is blocked), offers that draw on the room, what was looked up within the mode's allowance, the window with all that is left,
/// leases.
pub(super) fn admit_with(
    input: &PlanInput,
    summed: Summed,
    looked_up: LookedUp,
    most: Option<u32>,
) -> Result<Admitted<'_>, Box<Blocked>> {
    let marks = Marks::new(&input.marks);
    let room = input.budget.prompt;
    let around = around(input, &summed);
    let mut plain = Sums::new(input, &marks, &Choice::all(input, &marks));
    plain.summed = summed.floor;
    let beside = around.saturating_add(window::least(input, &plain));
    let (open, open_cost) = open_forms(input, &marks, room.saturating_sub(beside));
    let needed = beside.saturating_add(open_cost);
    if needed > room {
        return Err(super::blocked::blocked(input, &marks, needed, &open));
    }
    let Beside { mut offers, open: (open, open_cost) } =
        Beside::new(input, (&marks, &summed), room - beside, looked_up);
    let choice = chosen(input, &marks, around, looked_up, &summed);
    plain.fixed = around.saturating_add(open_cost);
    let (mut costs, loose) = if input.policy.choose == Choose::Recent {
        (plain, None)
    } else {
        let chosen = Sums { fixed: plain.fixed, summed: plain.summed, ..Sums::new(input, &marks, &choice) };
        (chosen, Some(plain))
    };
    let goes = |turn: usize, start: usize| turn_goes(input, &marks, &choice, (turn, start));
    costs.offered = offers.by_start(input.turns.len(), &goes);
    let window = window::choose_within(input, &costs, most);
    let session_room = choose::session_room(input, &summed, offers.of(&choose::SESSION_LEVEL, &|_| false));
    let lease_cap = input.policy.leased_cap_tokens.min(session_room);
    let mut lease = Leases { cap: lease_cap, room, total: 0, taken: 0 };
    lease.total = costs.total(window.start, window.shortened, window.form);
    let mut beside = |block: &Block| match () {
        () if summed.leaves_out(block) => Some(RowPosition::Idle),
        () => leased(block).then(|| lease.place(block.tokens, 0)),
    };
    let mut leases: Vec<_> = input.blocks.iter().map(&mut beside).collect();
    let mut places = places(input, &marks, &choice, window, &mut lease);
    let spent = |places: &[RowPosition]| offers.cost(&|turn| places[turn].goes());
    lease.total = (lease.total - costs.offered[window.start]).saturating_add(spent(&places));
    lease.place_in_returned_room(input, (&mut leases, &mut places), &spent);
    let (total, goes) = (lease.total, |turn: usize| places[turn].goes());
    let allowance = if matches!(looked_up, LookedUp::Offered) { input.allowance } else { 0 };
    let total = total.saturating_add(offers.settle(&goes, allowance, room.saturating_sub(total)));
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

/// Offers and the open turn, in the room that what is required leaves.
struct Beside<'a> {
    offers: Offers<'a>,
    /// The open turn's forms, and what they cost.
    open: (Vec<Form>, u32),
}

impl<'a> Beside<'a> {
    fn new(input: &'a PlanInput, (marks, summed): (&Marks<'_>, &Summed), room: u32, looked_up: LookedUp) -> Self {
        let mut offers = Offers::new(input, summed);
        let asked = open_forms(input, marks, room).1.min(open_forms(input, marks, 0).1);
        let by_room = offers.by_room(room.saturating_sub(asked), choose::session_room(input, summed, 0));
        let open = open_forms(input, marks, room.saturating_sub(by_room));
        offers.look_up(looked_up, input.allowance, room.saturating_sub(by_room).saturating_sub(open.1));
        Self { offers, open }
    }
}

/// What the policy chooses beside the offers that there would be room for if no turn had to go: so that marking one turn
/// changes what is chosen of no other. What is offered of a turn that is chosen costs nothing, which makes room for others.
fn chosen(input: &PlanInput, marks: &Marks<'_>, around: u32, looked_up: LookedUp, summed: &Summed) -> Choice {
    if matches!(input.policy.choose, Choose::Recent | Choose::Lane) {
        return choose::choose(input, marks, (0, 0), (summed, None), &|_| 0);
    }
    let Beside { offers, open: (_, asked) } =
        Beside::new(input, (marks, summed), input.budget.prompt.saturating_sub(around), looked_up);
    let with = |goes: &dyn Fn(usize) -> bool, before: Option<&Choice>| {
        let taken = around.saturating_add(asked).saturating_add(offers.cost(goes));
        choose::choose(input, marks, (taken, asked), (summed, before), &|sections| offers.of(sections, goes))
    };
    let floor = window::floor(input, summed.floor);
    let takes = |choice: &Choice, turn: usize| turn >= floor && choice.takes_itself(turn);
    let mut choice = with(&|_| false, None);
    let mut spent = offers.cost(&|_| false);
    loop {
        let said = offers.cost(&|turn| takes(&choice, turn));
        if said >= spent {
            break;
        }
        let next = with(&|turn| takes(&choice, turn), Some(&choice));
        if offers.cost(&|turn| takes(&next, turn)) > said {
            break;
        }
        (choice, spent) = (next, said);
    }
    choice
}

/// Whether a turn goes by itself, leases apart, when the window starts at `start`.
fn turn_goes(input: &PlanInput, marks: &Marks<'_>, choice: &Choice, (turn, start): (usize, usize)) -> bool {
    match marks.turn(&input.turns[turn]).map(|mark| mark.kind) {
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => false,
        Some(MarkKind::Sticky | MarkKind::IncludeOnce) => true,
        Some(MarkKind::Leased { .. } | MarkKind::Ephemeral) | None => turn >= start && !choice.withholds(turn),
    }
}

/// A text that goes only while its lease, the leases' cap and the room allow.
pub(super) fn leased(block: &Block) -> bool {
    matches!(block.reason, Reason::Leased { .. })
}

/// What must go beside the turns: blocks, tools, framing, and the label of the message where blocks stand before it.
fn around(input: &PlanInput, summed: &Summed) -> u32 {
    let has = |section: Section| input.blocks.iter().any(|block| block.section == section);
    let required = input.blocks.iter().filter(|block| !leased(block) && !summed.leaves_out(block));
    let blocks = required.fold(0_u32, |sum, block| sum.saturating_add(block.tokens));
    let labelled = input.layout == Layout::CacheFriendly || has(Section::QuotedReply);
    let asks = input.open.messages.iter().any(|message| message.role == Role::User && message.bar.is_none());
    // Instructions, cards; blocks of a message of their own where nobody asks; the request to go on.
    let messages = 2 + u32::from(!asks) + u32::from(has(Section::UserMessage));
    blocks
        .saturating_add(if labelled { input.labelled } else { 0 })
        .saturating_add(messages * MESSAGE_FRAMING + ANSWER_FRAMING)
        .saturating_add(input.tools_tokens)
}

/// The open turn whole; where that does not fit, with its tool results cut; the result may still be over the room. What
/// the person asks goes as it is, whatever mark is on it.
fn open_forms(input: &PlanInput, marks: &Marks<'_>, room: u32) -> (Vec<Form>, u32) {
    let messages = &input.open.messages;
    let asked = |form: Form, at: usize| {
        let asks = messages[at].role == Role::User && form == Form::Placeholder;
        if asks { messages[at].whole } else { form }
    };
    let whole: Vec<Form> = turn_forms(&input.open, Form::Full, marks);
    let whole: Vec<Form> = whole.into_iter().enumerate().map(|(at, form)| asked(form, at)).collect();
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

/// Hands out what leased pins may take.
pub(super) struct Leases {
    pub(super) cap: u32,
    pub(super) room: u32,
    pub(super) total: u32,
    pub(super) taken: u32,
}

impl Leases {
    pub(super) fn place(&mut self, tokens: u32, framing: u32) -> RowPosition {
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

    /// A turn that goes as a card makes what was offered of it cost nothing: that room goes to leases for which there was
    /// none before. `spent` says what offers take beside such places.
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

/// Turn by turn, newest leases first while the room and their cap last.
fn places(
    input: &PlanInput,
    marks: &Marks<'_>,
    choice: &Choice,
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
