//! The window of recent turns: where it starts and how far tool results are shortened, by policy and room.
//! Not for: pins, exclusions and the open turn; they come in as costs.

use crate::domain::base::hash::Hash;
use crate::domain::planning::input::PlanInput;
use crate::domain::planning::plan::{Anchor, Form};

/// The limit for tool results of closed turns, in characters.
pub(super) const CLOSED_RESULT: u32 = 300;
/// The limit for older tool results of the open turn.
pub(super) const OPEN_OLDER: u32 = 1_000;

/// What turns cost, in tokens with framing, by how their tool results are sent.
pub(super) trait Costs {
    /// The request's cost when the window starts at `start` and turns before `shortened` are in `form`.
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32;
    /// Turns before this index go by a summary.
    fn summed(&self) -> usize;
}

/// Where the window starts and what is shortened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// First turn in it; the number of turns when it is empty.
    pub(super) start: usize,
    /// Turns before this index are sent in `form`.
    pub(super) shortened: usize,
    /// `Full`, `Cut` or `Elided`.
    pub(super) form: Form,
    /// No turn before this index is wanted, room or not.
    pub(super) floor: usize,
    /// The anchored window was just cut back, or reaches back again.
    pub(super) refilled: bool,
}

/// Chooses the window. It is over the room only where every window is (see [`least`]).
pub(super) fn choose(input: &PlanInput, costs: &impl Costs, room: u32) -> Window {
    let floor = floor(input, costs.summed());
    let kept = held(input).filter(|_| input.policy.anchored).and_then(|old| {
        let old = Window { start: old.start.max(floor), floor, ..old };
        keep_or_refill(input, costs, room, old)
    });
    kept.unwrap_or_else(|| fresh(input, costs, room, floor))
}

/// Whether the room is enough to cut the anchored window back (where not, it is chosen anew); none where there is no anchor.
pub(super) fn can_cut_back(input: &PlanInput, costs: &impl Costs, room: u32) -> Option<bool> {
    let old = held(input).filter(|_| input.policy.anchored)?;
    Some(cheapest(input, costs, old.start.max(floor(input, costs.summed()))) <= room)
}

/// Before this turn nothing is in the window: it is further back than the window reaches, turns are missing after it, or
/// a summary stands for it.
pub(super) fn floor(input: &PlanInput, summed: usize) -> usize {
    let turns = input.turns.len();
    let reach = match input.window_turns as usize {
        0 => 0,
        wanted => turns.saturating_sub(wanted),
    };
    let unbroken = input.gaps.iter().map(|gap| gap.before).max().unwrap_or(0);
    reach.max(unbroken).max(summed).min(turns)
}

/// The cost of the cheapest window: what is over the room when this is, is blocked.
pub(super) fn least(input: &PlanInput, costs: &impl Costs) -> u32 {
    cheapest(input, costs, floor(input, costs.summed()))
}

fn cheapest(input: &PlanInput, costs: &impl Costs, low: usize) -> u32 {
    let turns = input.turns.len();
    let each = (low..=turns).flat_map(|start| ladder(input).map(move |form| (start, form)));
    each.map(|(start, form)| costs.total(start, turns, form)).min().unwrap_or(u32::MAX)
}

/// The anchor of the last call, where it still holds: same policy, which may still shorten so, same budget, its turn still
/// looked at.
fn held(input: &PlanInput) -> Option<Window> {
    let anchor = input.anchor.as_ref()?;
    let same = anchor.policy == input.policy.name && anchor.budget == input.budget.prompt;
    if !same || !ladder(input).any(|form| form == anchor.form) {
        return None;
    }
    let holds = |turn: usize, key: Hash| input.turns[turn].messages.iter().any(|m| m.key == key);
    let find = |key: Hash| (0..input.turns.len()).find(|turn| holds(*turn, key));
    let start = find(anchor.start).or_else(|| opens_with(input, anchor.start))?;
    let shortened = anchor.shortened_to.and_then(find).map_or(0, |turn| turn + 1);
    Some(Window { start, shortened, form: anchor.form, floor: 0, refilled: false })
}

/// An anchor at the open turn: nothing before it was in the window.
fn opens_with(input: &PlanInput, key: Hash) -> Option<usize> {
    input.open.messages.first().filter(|message| message.key == key).map(|_| input.turns.len())
}

/// Without an anchor: everything whole, else everything a step down the ladder, else as many of the newest as fit.
fn fresh(input: &PlanInput, costs: &impl Costs, room: u32, floor: usize) -> Window {
    let turns = input.turns.len();
    for form in ladder(input) {
        if costs.total(floor, turns, form) <= room {
            return window(input, floor, form, floor);
        }
    }
    drop_turns(input, costs, room, floor, floor)
}

/// With one: unchanged while it fits and history takes the policy's refill share of the room that the rest of the request
/// leaves to it. Where history takes less (a long message or many cards made the window small), older turns come back up to
/// that share. Where it does not fit: down the ladder, which may let older turns come back too, then cut at the front, down
/// to that share. None where the anchor leaves no way.
fn keep_or_refill(input: &PlanInput, costs: &impl Costs, room: u32, old: Window) -> Option<Window> {
    let rest = cheapest(input, costs, old.start);
    let left = u64::from(room.checked_sub(rest)?) * u64::from(input.policy.refill_percent.min(100)) / 100;
    let target = rest.saturating_add(u32::try_from(left).unwrap_or(u32::MAX));
    let as_before = |start: usize| costs.total(start, old.shortened, old.form);
    if as_before(old.start) <= room {
        let further = (old.floor..old.start).find(|start| as_before(*start) <= target);
        return Some(further.map_or(old, |start| Window { start, refilled: true, ..old }));
    }
    for form in ladder(input).skip(1) {
        let fits = |start: &usize| costs.total(*start, input.turns.len(), form) <= target;
        if fits(&old.start) {
            let start = (old.floor..old.start).find(fits).unwrap_or(old.start);
            return Some(Window { refilled: true, ..window(input, start, form, old.floor) });
        }
    }
    Some(Window { refilled: true, ..drop_turns(input, costs, target, old.start, old.floor) })
}

/// The smallest start from `low` on that fits, everything at the end of the ladder; a higher rung where only that fits.
fn drop_turns(input: &PlanInput, costs: &impl Costs, room: u32, low: usize, floor: usize) -> Window {
    let turns = input.turns.len();
    let steps: Vec<Form> = ladder(input).collect();
    for form in steps.into_iter().rev() {
        if let Some(start) = (low..=turns).find(|start| costs.total(*start, turns, form) <= room) {
            return window(input, start, form, floor);
        }
    }
    window(input, turns, Form::Full, floor)
}

fn window(input: &PlanInput, start: usize, form: Form, floor: usize) -> Window {
    let shortened = if form == Form::Full { 0 } else { input.turns.len() };
    Window { start, shortened, form, floor, refilled: false }
}

/// The fidelity of tool results, from whole to gone; only whole where the policy shortens none.
fn ladder(input: &PlanInput) -> impl Iterator<Item = Form> + use<> {
    let steps: &[Form] =
        if input.policy.shorten_tools { &[Form::Full, Form::Cut(CLOSED_RESULT), Form::Elided] } else { &[Form::Full] };
    steps.iter().copied()
}

/// Chooses the window in the budget; in a smaller room as it stood, less only the turns that must leave.
pub(super) fn choose_within(input: &PlanInput, costs: &impl Costs, most: Option<u32>) -> Window {
    let Some(room) = most else { return choose(input, costs, input.budget.prompt) };
    let floor = floor(input, costs.summed());
    let old =
        held(input).filter(|_| input.policy.anchored).map(|old| Window { start: old.start.max(floor), floor, ..old });
    let trimmed = old.and_then(|old| {
        let fits = |start: &usize| costs.total(*start, old.shortened, old.form) <= room;
        let start = (old.start..=input.turns.len()).find(fits)?;
        Some(Window { start, refilled: true, ..old })
    });
    trimmed.unwrap_or_else(|| fresh(input, costs, room, floor))
}

/// Summaries that went with the last call, where its anchor still holds.
pub(super) fn went_on(input: &PlanInput) -> impl Iterator<Item = Hash> {
    let anchor = input.anchor.as_ref().filter(|_| input.policy.anchored && held(input).is_some());
    anchor.into_iter().flat_map(|anchor| anchor.summaries.iter().copied())
}

/// The anchor that a sent plan leaves behind.
pub(super) fn anchor(input: &PlanInput, window: Window, summaries: &[Hash]) -> Option<Anchor> {
    if !input.policy.anchored {
        return None;
    }
    let first = |turn: usize| input.turns.get(turn).unwrap_or(&input.open).messages.first().map(|m| m.key);
    let last = |turn: usize| input.turns.get(turn).and_then(|t| t.messages.last()).map(|m| m.key);
    Some(Anchor {
        start: first(window.start)?,
        shortened_to: window.shortened.checked_sub(1).and_then(last),
        form: window.form,
        budget: input.budget.prompt,
        policy: input.policy.name.clone(),
        summaries: summaries.to_vec(),
    })
}
