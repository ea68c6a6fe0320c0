//! Admits all candidates into the budget, each in a form. Enforces the hard rules: the open turn and permanent pins are
//! sent or the call is blocked, atoms are never split, and the total never exceeds the budget.
//! Not for: the form of a message under a mark (`forms`) or rows and reasons (`explain`).

use super::accepted_summaries;
use super::choose::{self, PolicyChoice};
use super::coverage::SummaryCoverage;
use super::forms::{Marks, cost_of, is_lease, turn_cost, turn_forms};
use super::framing::{self, Reserved};
use super::leases::{self, Leases, PersonsLeases};
use super::offers::Offers;
use super::position::RowPosition;
use super::sums::Sums;
use super::window::{self, Costs, OPEN_OLDER, Window};
use crate::context::explain::blocked::{Required, blocked};
use crate::domain::conversation::{Actor, MarkKind, Role};
use crate::domain::planning::Blocked;
use crate::domain::planning::{Block, Form, OmittedItem, PlanInput, TurnInput, TurnSelection};

/// This many of the newest results of the open turn keep more characters than older ones.
const OPEN_NEWEST: usize = 5;
const OPEN_RESULT: u32 = 5_000;

/// How the allowance for retrieved candidates is spent.
#[derive(Clone, Copy)]
pub(in crate::context) enum AllowanceUse {
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
    pub(in crate::context) places: Vec<RowPosition>,
    /// For each block: `None` if it is not a lease and is sent.
    pub(in crate::context) leases: Vec<Option<RowPosition>>,
    /// Tokens that all leases together may take.
    pub(in crate::context) lease_cap: u32,
    pub(in crate::context) open: Vec<Form>,
    /// The turns that summaries replace.
    pub(in crate::context) summed: SummaryCoverage,
    offers: Offers<'a>,
    /// The tokens that offers took before it was known which turns are sent.
    offered_most: u32,
    /// The request's tokens, never above the budget. If the dialect joins messages, the request takes fewer.
    pub(in crate::context) total: u32,
    /// Tokens of framing that were reserved for items that are not sent.
    unused: u32,
    pub(in crate::context) costs: Sums,
}

impl Admitted<'_> {
    pub(in crate::context) fn free(&self) -> u32 {
        self.input.budget.prompt.saturating_sub(self.total)
    }

    /// Returns the tokens that are free for a lease or an offer, which may need framing.
    pub(in crate::context) fn free_beside_framing(&self) -> u32 {
        self.free().saturating_sub(self.unused)
    }

    /// Replaces the `reserved` tokens of framing in the total with those that the request needs.
    fn release_framing(&mut self, (reserved, all): (u32, u32)) {
        let used = framing::used(self, &self.offered());
        self.total = (self.total - reserved).saturating_add(used);
        self.unused = all.saturating_sub(used);
    }

    /// Returns the blocks of admitted candidates, in sending order.
    pub(in crate::context) fn offered(&self) -> Vec<Block> {
        self.offers.blocks(&|turn| self.places[turn].is_sent())
    }

    /// Returns the tokens of the offers, given the turns that are sent.
    #[cfg(test)]
    pub(in crate::context) fn offered_tokens(&self, is_sent: &dyn Fn(usize) -> bool) -> u32 {
        self.offers.cost(is_sent)
    }

    pub(in crate::context) fn omitted_candidates(&self) -> Vec<OmittedItem> {
        self.offers.omitted(&|turn| self.places[turn].is_sent())
    }

    /// Returns the form of each message of a closed turn in the window.
    pub(in crate::context) fn forms(&self, turn: usize) -> Vec<Form> {
        let form = if turn < self.window.shortened { self.window.form } else { Form::Full };
        turn_forms(&self.input.turns[turn], self.choice.form(turn, form), &self.marks)
    }
}

/// Admits all candidates. A summary is sent if it is useful and fits; summaries never block a call.
pub(in crate::context) fn admit(input: &PlanInput) -> Result<Admitted<'_>, Box<Blocked>> {
    accepted_summaries::admit(input, AllowanceUse::Offered)
}

/// Admits with exactly these summaries. `most` limits the size of the request that the window may produce, the
/// program's leases apart. Order: required items (if they do not fit, the call is blocked), a person's leases, the
/// newest turn in its shortest form, offers that do not spend the allowance, retrieved candidates within the mode's
/// allowance, the window with the rest of the budget, the program's leases.
pub(in crate::context) fn admit_with(
    input: &PlanInput,
    summed: SummaryCoverage,
    allowance_use: AllowanceUse,
    most: Option<u32>,
) -> Result<Admitted<'_>, Box<Blocked>> {
    Ok(extended(
        admit_chosen(input, summed, allowance_use, AdmitOptions { most, ..AdmitOptions::default() })?,
        allowance_use,
    ))
}

/// Like [`admit_with`], with the turns that another plan chose by relevance, and with `more` if they fit.
pub(super) fn admit_with_choice<'a>(
    before: &Admitted<'a>,
    summed: SummaryCoverage,
    allowance_use: AllowanceUse,
    more: bool,
) -> Result<Admitted<'a>, Box<Blocked>> {
    let options = AdmitOptions { choice: Some(before.choice.covered_by(&summed)), ..AdmitOptions::default() };
    let admitted = admit_chosen(before.input, summed, allowance_use, options)?;
    Ok(if more { extended(admitted, allowance_use) } else { admitted })
}

/// Options of admission in addition to its input.
#[derive(Default)]
struct AdmitOptions {
    /// The maximum size of the request that the window may produce, if smaller than the budget.
    most: Option<u32>,
    /// A choice of turns in place of the policy's.
    choice: Option<PolicyChoice>,
    /// Tokens of framing that need not be reserved, and the most tokens that offers may then take.
    unused: Option<(u32, u32)>,
}

/// Adds the turns that fit in addition: those that fit the target of a policy by relevance, and those that fit into
/// unused framing. A lease that fits into it is added as well.
fn extended(mut best: Admitted<'_>, allowance_use: AllowanceUse) -> Admitted<'_> {
    loop {
        let more = with_more_turns(&best);
        if more.is_none() && !fits_into_framing(&best) {
            return best;
        }
        let is_by_relevance = best.input.policy.choose == TurnSelection::Relevance;
        let choice = more.or_else(|| is_by_relevance.then(|| best.choice.clone()));
        let options = AdmitOptions { most: best.most, choice, unused: Some((best.unused, best.offered_most)) };
        match admit_chosen(best.input, best.summed.clone(), allowance_use, options) {
            Ok(next) if next.total <= next.input.budget.prompt && sends_more(&best, &next) => best = next,
            _ => return best,
        }
    }
}

/// Returns whether the newest turn that is left out, or a lease, fits only because reserved framing is unused.
fn fits_into_framing(admitted: &Admitted<'_>) -> bool {
    let Admitted { input, choice, places, leases, .. } = admitted;
    if admitted.unused == 0 || admitted.most.is_some() || input.round_before.is_some() {
        return false;
    }
    let waits = RowPosition::NoLease { capped: false };
    let floor = window::floor(input, admitted.costs.summed);
    let newest = (floor..places.len()).rfind(|at| !choice.covers(*at));
    let is_withheld = |at: &usize| choice.is_outside(*at) && !(newest == Some(*at) && choice.levels.is_some());
    let is_next = |at: &usize| places[*at] == RowPosition::Outside && !is_withheld(at);
    let cost = |at: usize| turn_cost(&input.turns[at], window::shortest_form(input), &admitted.marks);
    let next = (floor..places.len()).rev().find(is_next);
    // A policy may withhold the newest turn for want of these tokens, which leases of the program then take.
    next.is_some_and(|at| choice.is_outside(at) || cost(at) <= admitted.free())
        || places.contains(&waits)
        || leases.contains(&Some(waits))
}

/// Returns the choice of a policy by relevance with the turns that fit in addition to everything that is sent; `None` if
/// none fits. If the window had to drop chosen turns, because of a mark for example, only turns after them are added.
fn with_more_turns(admitted: &Admitted<'_>) -> Option<PolicyChoice> {
    let Admitted { input, choice, window, places, most, .. } = admitted;
    let is_free = input.policy.choose == TurnSelection::Relevance && input.round_before.is_none() && most.is_none();
    let floor = window::floor(input, admitted.costs.summed);
    let is_dropped = |at: usize| choice.takes_itself(at) && places[at] == RowPosition::Outside;
    let is_left_out = |at: usize| !choice.takes_itself(at) && !choice.covers(at);
    let floor = if (floor..places.len()).any(is_dropped) { window.start } else { floor };
    if !is_free || !(floor..places.len()).any(is_left_out) {
        return None;
    }
    let form = |at: usize| choice.form(at, if at < window.shortened { window.form } else { Form::Full });
    let is_marked = |at: usize| places[at].is_sent() && admitted.marks.turn(&input.turns[at]).is_some();
    choose::with_more_turns(input, (floor, admitted.total), choice, (&form, &is_marked))
}

/// Returns whether a plan sends all turns and leases of another one, and more. The program's leases may leave for a turn.
fn sends_more(before: &Admitted<'_>, after: &Admitted<'_>) -> bool {
    let turns: Vec<_> = before.places.iter().copied().zip(after.places.iter().copied()).collect();
    let leases = before.leases.iter().zip(&after.leases).filter_map(|(old, new)| Some(((*old)?, (*new)?)));
    let all: Vec<_> = turns.iter().copied().chain(leases).collect();
    let is_lost = |(old, new): &(RowPosition, RowPosition)| old.is_sent() && !new.is_sent();
    let is_added = |(old, new): &(RowPosition, RowPosition)| !old.is_sent() && new.is_sent();
    let by_engine = |turn: &TurnInput| before.marks.turn(turn).is_some_and(|mark| mark.by == Actor::Engine);
    let loses_turn = turns.iter().zip(&before.input.turns).any(|(pair, turn)| is_lost(pair) && !by_engine(turn));
    if loses_turn || accepted_summaries::displaces_lease(before, after) {
        return false;
    }
    let adds_turn = turns.iter().any(|pair| is_added(pair) && pair.1 == RowPosition::Window);
    adds_turn || all.iter().any(is_added) && !all.iter().any(is_lost)
}

/// Like [`admit_with`], with options.
#[allow(clippy::too_many_lines, reason = "one step for each kind of item, in their order")]
fn admit_chosen(
    input: &PlanInput,
    summed: SummaryCoverage,
    allowance_use: AllowanceUse,
    options: AdmitOptions,
) -> Result<Admitted<'_>, Box<Blocked>> {
    let marks = Marks::new(&input.marks);
    let (room, most) = (input.budget.prompt, options.most);
    let framing = Reserved::new(input, &marks, &summed);
    let (mut plain, base_cost) = base_cost(input, &marks, &summed);
    let (open, open_cost) = open_forms(input, &marks, room.saturating_sub(base_cost));
    let needed = base_cost.saturating_add(open_cost);
    if needed > room {
        let required = Required { needed, window: window::cheapest_window(input, &plain), open };
        return Err(blocked(input, &marks, &required, &|other| smallest_request(other, &summed)));
    }
    let shortest_open = open_cost.min(open_forms(input, &marks, 0).1);
    let reserved = framing.all.saturating_sub(options.unused.map_or(0, |(unused, _)| unused));
    // Without room for the framing of optional items, none is sent.
    let beside = base_cost.saturating_sub(framing.required).saturating_add(reserved);
    let left = room.checked_sub(beside.saturating_add(shortest_open));
    let (reserved, base_cost) = if left.is_some() { (reserved, beside) } else { (framing.required, base_cost) };
    let required_beside_turns = required_beside_turns(input, &summed).saturating_add(reserved);
    let persons = {
        let cap = input.policy.leased_cap_tokens.min(choose::session_room(input, &summed, 0));
        PersonsLeases::new(input, (&marks, &summed), (cap, left.unwrap_or(0)))
    };
    let (choice, most_offered) = chosen(input, (&marks, &summed), required_beside_turns, allowance_use, options.choice);
    let most_offered = most_offered.min(options.unused.map_or(u32::MAX, |(_, offered)| offered));
    let most_offered = left.map_or(0, |_| most_offered);
    plain.fixed = required_beside_turns;
    let mut costs = if input.policy.withholds() || input.round_before.is_some() || choice.withholds_any() {
        let mut chosen = Sums::new(input, &marks, &choice);
        (chosen.fixed, chosen.summed) = (plain.fixed, plain.summed);
        chosen
    } else {
        plain
    };
    costs.lease(&persons);
    let session = choose::session_room(input, &summed, persons.tokens(input.turns.len()));
    let parts_room = RoomForParts { session, most_offered, ..RoomForParts::new(input, &costs, base_cost, most) };
    let OptionalParts { mut offers, open: (open, open_cost), taken: offered_most } =
        OptionalParts::new(input, (&marks, &summed), parts_room, allowance_use);
    costs.fixed = required_beside_turns.saturating_add(open_cost);
    let is_sent =
        |turn: usize, start: usize| is_turn_sent(input, &marks, &choice, (turn, start)) || persons.sends(turn, start);
    costs.offered = offers.by_start(input.turns.len(), &is_sent);
    let mut window = window::choose_within(input, &costs, most);
    // The window starts with a turn that it may contain, so that the anchor names one.
    window.start += (window.start..input.turns.len()).take_while(|turn| summed.covers(*turn)).count();
    let session_room = choose::session_room(input, &summed, offers.tokens_in(&choose::SESSION_LEVEL, &|_| false));
    let lease_cap = input.policy.leased_cap_tokens.min(session_room);
    let total = costs.total(window.start, window.shortened, window.form);
    let room = left.map_or(total, |_| room);
    let mut lease = Leases { cap: lease_cap, room, total, taken: persons.tokens(window.start) };
    let in_window = |at: usize| leases::is_in_window(&input.turns[at], at, (&marks, &choice), window.start);
    let mut leases = lease.place_blocks(input, (&summed, &persons), &in_window);
    let mut places = leases::places(input, &marks, &choice, window, (&persons, &mut lease));
    let spent = |places: &[RowPosition]| offers.cost(&|turn| places[turn].is_sent());
    lease.total = (lease.total - costs.offered[window.start]).saturating_add(spent(&places));
    lease.place_in_returned_room(input, (&mut leases, &mut places), &spent);
    let (total, is_sent) = (lease.total, |turn: usize| places[turn].is_sent());
    let allowance = if matches!(allowance_use, AllowanceUse::Offered) { input.allowance } else { 0 };
    let total = total.saturating_add(offers.settle(&is_sent, allowance, room.saturating_sub(total)));
    let mut admitted = Admitted {
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
        offered_most,
        total,
        unused: 0,
        costs,
    };
    if !matches!(allowance_use, AllowanceUse::KeptFree(1..)) {
        admitted.release_framing((reserved, framing.all));
    }
    Ok(admitted)
}

/// Returns the sums of all turns, and the tokens of what is required beside the open turn.
fn base_cost(input: &PlanInput, marks: &Marks<'_>, summed: &SummaryCoverage) -> (Sums, u32) {
    let mut plain = Sums::new(input, marks, &PolicyChoice::all(input, marks, summed));
    plain.summed = summed.floor;
    let framing = Reserved::new(input, marks, summed).required;
    let beside_turns = required_beside_turns(input, summed).saturating_add(framing);
    let least = window::least(input, &plain);
    (plain, beside_turns.saturating_add(least))
}

/// Returns the tokens of the smallest request.
fn smallest_request(input: &PlanInput, summed: &SummaryCoverage) -> u32 {
    let marks = Marks::new(&input.marks);
    let (_, base_cost) = base_cost(input, &marks, summed);
    base_cost.saturating_add(open_forms(input, &marks, 0).1)
}

/// The room for the offers and the open turn.
#[derive(Clone, Copy)]
struct RoomForParts {
    /// Tokens left after the required items and a person's leases.
    all: u32,
    /// Tokens of these that the newest turn takes in its shortest form.
    newest: u32,
    /// The maximum size of offers and open turn in addition to the newest turn, if a summary limits the request.
    most: u32,
    /// The session level's room.
    session: u32,
    /// The largest size of offers at which the policy still includes the newest turn.
    most_offered: u32,
}

impl RoomForParts {
    /// Returns the room that `base_cost` leaves. `base_cost` is the cost of everything required except the open turn.
    fn new(input: &PlanInput, costs: &Sums, base_cost: u32, most: Option<u32>) -> Self {
        let taken = base_cost.saturating_add(costs.most_leased());
        let all = input.budget.prompt.saturating_sub(taken);
        let with_newest = costs.with_newest(window::floor(input, costs.summed), window::shortest_form(input));
        let newest = with_newest.map_or(0, |cost| cost.saturating_sub(taken));
        let most = most.map_or(all, |most| most.saturating_sub(taken)).min(all);
        Self { all, newest, most, session: u32::MAX, most_offered: u32::MAX }
    }
}

/// The offers and the open turn, fitted into the room that everything required leaves. Offers leave room for the newest
/// turn if it is sent without them.
struct OptionalParts<'a> {
    offers: Offers<'a>,
    /// The open turn's forms and their cost.
    open: (Vec<Form>, u32),
    /// The tokens that the offers take.
    taken: u32,
}

impl<'a> OptionalParts<'a> {
    fn new(
        input: &'a PlanInput,
        (marks, summed): (&Marks<'_>, &SummaryCoverage),
        room: RoomForParts,
        allowance_use: AllowanceUse,
    ) -> Self {
        let mut offers = Offers::new(input, summed);
        let alone = open_forms(input, marks, room.all).1.saturating_add(room.newest);
        let newest = if alone <= room.all { room.newest } else { 0 };
        let most = room.most.checked_sub(alone).unwrap_or(u32::MAX).min(room.most_offered);
        let all = room.all - newest;
        let asked = open_forms(input, marks, all).1.min(open_forms(input, marks, 0).1);
        let by_room = offers.by_room(all.saturating_sub(asked).min(most), room.session);
        let open = open_forms(input, marks, all.saturating_sub(by_room));
        let left = all.saturating_sub(by_room).saturating_sub(open.1);
        let by_allowance = offers.by_allowance(allowance_use, input.allowance, left.min(most.saturating_sub(by_room)));
        Self { offers, open, taken: by_room + by_allowance }
    }
}

/// Applies the policy in the room left by the offers that would fit if no turn were required, so that a mark on one
/// turn does not change the choice of another. Candidates that repeat a chosen turn cost nothing, which makes room for
/// others; the policy is applied again until that room stops growing. Returns the `given` choice, if there is one. Also
/// returns the largest size of offers at which the policy includes the newest turn.
fn chosen(
    input: &PlanInput,
    (marks, summed): (&Marks<'_>, &SummaryCoverage),
    required_beside_turns: u32,
    allowance_use: AllowanceUse,
    given: Option<PolicyChoice>,
) -> (PolicyChoice, u32) {
    if matches!(input.policy.choose, TurnSelection::Recent | TurnSelection::Lane) {
        return (choose::choose(input, marks, (0, 0), (summed, None), &|_| 0), u32::MAX);
    }
    let all = input.budget.prompt.saturating_sub(required_beside_turns);
    let beside = required_beside_turns.saturating_add(open_forms(input, marks, all).1);
    let most_offered = choose::most_offered(input, summed, beside);
    if let Some(given) = given {
        return (given, most_offered);
    }
    let session = choose::session_room(input, summed, 0);
    let room = RoomForParts { all, newest: 0, most: u32::MAX, session, most_offered };
    let OptionalParts { offers, open: (_, asked), .. } =
        OptionalParts::new(input, (marks, summed), room, allowance_use);
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
    (choice, most_offered)
}

/// Returns whether a turn would be sent without a lease if the window starts at `start`.
fn is_turn_sent(input: &PlanInput, marks: &Marks<'_>, choice: &PolicyChoice, (turn, start): (usize, usize)) -> bool {
    match marks.turn(&input.turns[turn]).map(|mark| mark.kind) {
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => false,
        Some(MarkKind::Sticky | MarkKind::IncludeOnce) => true,
        Some(MarkKind::Leased { .. } | MarkKind::Ephemeral) | None => turn >= start && !choice.is_outside(turn),
    }
}

/// Returns the tokens required in addition to the turns, without framing: blocks and tools.
fn required_beside_turns(input: &PlanInput, summed: &SummaryCoverage) -> u32 {
    let required = input.blocks.iter().filter(|block| !is_lease(block) && !summed.omits(block));
    required.fold(input.tools_tokens, |sum, block| sum.saturating_add(block.tokens))
}

/// Returns the forms of the open turn and their cost: in full, or with shortened tool results if it does not fit in
/// full. The result may still exceed `room`. The person's question is always sent in full, regardless of its mark.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, key};
    use crate::domain::planning::input::MessageInput;
    use crate::domain::planning::policy::{PolicySpec, Section};
    use crate::domain::planning::tuning::{Adaptive, Milli};
    use crate::domain::planning::{Reason, RowKind};

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

    /// The target of 400 tokens holds the last turn in full (357 tokens with the open one), and neither a leased note of
    /// 60 tokens nor the first turn as well. With shortened tool results, all fit.
    #[test]
    fn turns_that_fit_once_results_are_shortened_are_added() {
        let adaptive =
            Adaptive { base: 400, lowest: Milli(1_000), highest: Milli(1_000), step: Milli(0), ..Adaptive::default() };
        let choose = TurnSelection::Relevance;
        let policy = PolicySpec { choose, adaptive, shorten_tools: true, ..PolicySpec::default() };
        let mut input = input(&[[50, 1, 1], [10, 300, 50]], policy, 400);
        let note = Reason::Leased { left: 1, engine: false };
        for (blocks, sent) in [
            (Vec::new(), [false, true]),
            (vec![Block::new(Section::LeasedPins, RowKind::Note, (key(9, 9), 60), "note", note)], [true; 2]),
        ] {
            input.blocks = blocks;
            let admitted = admit(&input).ok().unwrap();
            assert_eq!(admitted.places.iter().map(|place| place.is_sent()).collect::<Vec<_>>(), sent);
            assert!(admitted.total <= 400);
        }
    }
}
