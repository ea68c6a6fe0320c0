//! Chooses the window of recent turns: its start and the shortening of tool results, by policy and room.
//! Not for: pins, exclusions, and the open turn, which are part of the costs.

use crate::domain::base::Hash;
use crate::domain::conversation::Atom;
use crate::domain::planning::{Anchor, Form, PlanInput, TurnInput};
use std::collections::HashSet;

/// Characters kept of tool results of closed turns.
pub(in crate::context) const CLOSED_RESULT: u32 = 300;
/// Characters kept of older tool results of the open turn.
pub(in crate::context) const OPEN_OLDER: u32 = 1_000;

/// The cost of turns in tokens with framing, by the form of their tool results.
pub(in crate::context) trait Costs {
    /// Returns the request's cost if the window starts at `start` and turns before `shortened` are in `form`.
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32;
    /// Turns before this index are covered by summaries.
    fn summed(&self) -> usize;
    /// Returns the newest turn that a window may contain.
    fn newest(&self) -> Option<usize>;
}

/// The start of the window and its shortened turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::context) struct Window {
    /// Index of the first turn in the window; the number of turns when it is empty.
    pub(in crate::context) start: usize,
    /// Turns before this index are sent in `form`.
    pub(in crate::context) shortened: usize,
    /// `Full`, `Cut`, or `Elided`.
    pub(in crate::context) form: Form,
    /// Turns before this index stay out of the window, even if there is room.
    pub(in crate::context) floor: usize,
    /// Whether the anchored window was just cut back or extended.
    pub(in crate::context) refilled: bool,
}

/// Chooses the window. The result exceeds the room only if every window does (see [`least`]).
pub(in crate::context) fn choose(input: &PlanInput, costs: &impl Costs, room: u32) -> Window {
    let floor = floor(input, costs.summed());
    let old = anchored_window(input, floor).or_else(|| round_window(input, floor));
    let kept = old.and_then(|old| keep_or_refill(input, costs, room, old));
    let chosen = kept.unwrap_or_else(|| choose_anew(input, costs, room, floor));
    with_newest(input, costs, room, chosen)
}

/// Returns the window, or the newest turn alone if it would not be in the window but fits, in its shortest form if
/// necessary.
fn with_newest(input: &PlanInput, costs: &impl Costs, room: u32, chosen: Window) -> Window {
    let turns = input.turns.len();
    let Some(newest) = costs.newest().filter(|newest| (chosen.floor..chosen.start).contains(newest)) else {
        return chosen;
    };
    let fitting = tool_forms(input).rev().find(|form| costs.total(newest, turns, *form) <= room);
    fitting.map_or(chosen, |form| Window { refilled: chosen.refilled, ..window(input, newest, form, chosen.floor) })
}

/// Returns whether a turn belongs to another lane than the open turn.
pub(in crate::context) fn in_other_lane(input: &PlanInput, turn: usize) -> bool {
    input.turns[turn].facts.lane != input.open.facts.lane
}

/// Returns the index of the first turn that may be in the window. Earlier turns are beyond its length, precede a gap,
/// or are covered by a summary. If the window is limited to one lane, only turns of that lane count.
pub(in crate::context) fn floor(input: &PlanInput, summed: usize) -> usize {
    let turns = input.turns.len();
    let own = |at: &usize| !input.policy.lane_window || !in_other_lane(input, *at);
    let reach = match input.window_turns as usize {
        0 => 0,
        wanted => (0..turns).rev().filter(own).nth(wanted - 1).unwrap_or(0),
    };
    let unbroken = input.gaps.iter().filter(|gap| !gap.elsewhere).map(|gap| gap.before).max().unwrap_or(0);
    reach.max(unbroken).max(summed).min(turns)
}

/// Returns the cost of the cheapest window. If it exceeds the room, the call is blocked.
pub(in crate::context) fn least(input: &PlanInput, costs: &impl Costs) -> u32 {
    cheapest(input, costs, floor(input, costs.summed()))
}

/// Returns the cheapest window; of several, the one with the fewest turns and the least shortening.
pub(in crate::context) fn cheapest_window(input: &PlanInput, costs: &impl Costs) -> Window {
    let (turns, floor) = (input.turns.len(), floor(input, costs.summed()));
    let each = (floor..=turns).rev().flat_map(|start| tool_forms(input).map(move |form| (start, form)));
    let (start, form) =
        each.min_by_key(|(start, form)| costs.total(*start, turns, *form)).unwrap_or((turns, Form::Full));
    window(input, start, form, floor)
}

fn cheapest(input: &PlanInput, costs: &impl Costs, low: usize) -> u32 {
    let turns = input.turns.len();
    let each = (low..=turns).flat_map(|start| tool_forms(input).map(move |form| (start, form)));
    each.map(|(start, form)| costs.total(start, turns, form)).min().unwrap_or(u32::MAX)
}

/// Returns the window of the last call's anchor, from `floor` on, if it is still valid: same policy and budget, a form
/// that the policy still allows, and its turn among the input. `None` if the policy anchors no window.
fn anchored_window(input: &PlanInput, floor: usize) -> Option<Window> {
    let anchor = input.anchor.as_ref().filter(|_| input.policy.anchored)?;
    let same = anchor.policy == input.policy.name && anchor.budget == input.budget.without_results();
    if !same || !tool_forms(input).any(|form| form == anchor.form) {
        return None;
    }
    let contains = |turn: usize, key: Hash| input.turns[turn].messages.iter().any(|m| m.key == key);
    let find = |key: Hash| (0..input.turns.len()).find(|turn| contains(*turn, key));
    let start = find(anchor.start).or_else(|| starts_at_open_turn(input, anchor.start))?;
    let shortened = anchor.shortened_to.and_then(find).map_or(0, |turn| turn + 1);
    Some(Window { start: start.max(floor), shortened, form: anchor.form, floor, refilled: false })
}

/// Returns the window of a turn's previous round: it starts with the first turn, from `floor` on, that was in the
/// window then. Earlier turns stay outside, even marked ones that cost less in the window than as cards.
fn round_window(input: &PlanInput, floor: usize) -> Option<Window> {
    let before: HashSet<Atom> =
        input.round_before.as_ref()?.iter().filter(|turn| turn.in_window).map(|turn| turn.atom).collect();
    let is_first = |turn: &TurnInput| before.contains(&turn.atom);
    let start = input.turns[floor..].iter().position(is_first).map_or(input.turns.len(), |at| floor + at);
    Some(Window { start, shortened: 0, form: Form::Full, floor: start, refilled: false })
}

/// Returns the start of an anchor at the open turn, which means that no earlier turn was in the window.
fn starts_at_open_turn(input: &PlanInput, key: Hash) -> Option<usize> {
    input.open.messages.first().filter(|message| message.key == key).map(|_| input.turns.len())
}

/// Chooses a window without an anchor: all turns in full, else all turns shortened one step further, else as many of
/// the newest as fit.
fn choose_anew(input: &PlanInput, costs: &impl Costs, room: u32, floor: usize) -> Window {
    let turns = input.turns.len();
    for form in tool_forms(input) {
        if costs.total(floor, turns, form) <= room {
            return window(input, floor, form, floor);
        }
    }
    drop_turns(input, costs, room, floor, floor)
}

/// Keeps the window of an anchor unchanged while it fits and the history takes at least the policy's refill share of
/// the room that the rest of the request leaves. If the history takes less (a long message or many cards had made the
/// window small), older turns are added again up to that share. If the window does not fit, results are shortened step
/// by step, which may also add older turns again; then the oldest turns are dropped, down to that share. Returns `None`
/// if the anchored window cannot fit.
fn keep_or_refill(input: &PlanInput, costs: &impl Costs, room: u32, old: Window) -> Option<Window> {
    let rest = cheapest(input, costs, old.start);
    let left = u64::from(room.checked_sub(rest)?) * u64::from(input.policy.refill_percent.min(100)) / 100;
    let target = rest.saturating_add(u32::try_from(left).unwrap_or(u32::MAX));
    let as_before = |start: usize| costs.total(start, old.shortened, old.form);
    if as_before(old.start) <= room {
        let further = (old.floor..old.start).find(|start| as_before(*start) <= target);
        return Some(further.map_or(old, |start| Window { start, refilled: true, ..old }));
    }
    for form in tool_forms(input).skip(1) {
        let fits = |start: &usize| costs.total(*start, input.turns.len(), form) <= target;
        if fits(&old.start) {
            let start = (old.floor..old.start).find(fits).unwrap_or(old.start);
            return Some(Window { refilled: true, ..window(input, start, form, old.floor) });
        }
    }
    Some(Window { refilled: true, ..drop_turns(input, costs, target, old.start, old.floor) })
}

/// Returns the window with the earliest start from `low` on that fits with maximal shortening, or with less shortening
/// if only that fits.
fn drop_turns(input: &PlanInput, costs: &impl Costs, room: u32, low: usize, floor: usize) -> Window {
    let turns = input.turns.len();
    for form in tool_forms(input).rev() {
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

/// Returns the forms of tool results, from full to elided; only full if the policy does not shorten.
fn tool_forms(input: &PlanInput) -> impl DoubleEndedIterator<Item = Form> + use<> {
    let steps: &[Form] =
        if input.policy.shorten_tools { &[Form::Full, Form::Cut(CLOSED_RESULT), Form::Elided] } else { &[Form::Full] };
    steps.iter().copied()
}

/// Returns the shortest form of tool results that the policy allows.
pub(in crate::context) fn shortest_form(input: &PlanInput) -> Form {
    tool_forms(input).next_back().unwrap_or(Form::Full)
}

/// Chooses the window within the budget. With a smaller limit (`most`), the old window stays, without the turns that
/// must leave.
pub(in crate::context) fn choose_within(input: &PlanInput, costs: &impl Costs, most: Option<u32>) -> Window {
    let Some(room) = most else { return choose(input, costs, input.budget.prompt) };
    let floor = floor(input, costs.summed());
    let trimmed = anchored_window(input, floor).and_then(|old| {
        let fits = |start: &usize| costs.total(*start, old.shortened, old.form) <= room;
        let start = (old.start..=input.turns.len()).find(fits)?;
        Some(Window { start, refilled: true, ..old })
    });
    let chosen = trimmed.unwrap_or_else(|| choose_anew(input, costs, room, floor));
    with_newest(input, costs, room, chosen)
}

/// Returns the summaries that were sent with the last call, if its anchor is still valid.
pub(in crate::context) fn retained_summaries(input: &PlanInput) -> impl Iterator<Item = Hash> {
    let anchor = input.anchor.as_ref().filter(|_| anchored_window(input, 0).is_some());
    anchor.into_iter().flat_map(|anchor| anchor.summaries.iter().copied())
}

/// Returns the anchor that a sent plan leaves for the next one.
pub(in crate::context) fn anchor(input: &PlanInput, window: Window, summaries: &[Hash]) -> Option<Anchor> {
    if !input.policy.anchored {
        return None;
    }
    let first = |turn: usize| input.turns.get(turn).unwrap_or(&input.open).messages.first().map(|m| m.key);
    let last = |turn: usize| input.turns.get(turn).and_then(|t| t.messages.last()).map(|m| m.key);
    Some(Anchor {
        start: first(window.start)?,
        shortened_to: window.shortened.checked_sub(1).and_then(last),
        form: window.form,
        budget: input.budget.without_results(),
        policy: input.policy.name.clone(),
        summaries: summaries.to_vec(),
    })
}
