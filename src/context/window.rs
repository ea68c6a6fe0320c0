//! The window of recent turns: where it starts and how far tool results are shortened, by policy and room.
//! Not for: pins, exclusions and the open turn; they come in as costs.

use crate::domain::hash::Hash;
use crate::domain::input::PlanInput;
use crate::domain::plan::{Anchor, Form};

/// The limit for tool results of closed turns, in characters (DEFINITIONS 1).
pub(super) const CLOSED_RESULT: u32 = 300;

/// What turns cost, in tokens with framing, by how their tool results are sent.
pub(super) trait Costs {
    /// The request's cost when the window starts at `start` and turns before `shortened` are in `form`.
    fn total(&self, start: usize, shortened: usize, form: Form) -> u32;
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
}

/// Chooses the window. Even an empty one may be over the room; the caller has made sure that it is not.
pub(super) fn choose(input: &PlanInput, costs: &impl Costs, room: u32) -> Window {
    let turns = input.turns.len();
    let floor = match input.window_turns as usize {
        0 => 0,
        wanted => turns.saturating_sub(wanted),
    };
    let plain = Window { start: floor, shortened: 0, form: Form::Full, floor };
    if !input.policy.anchored {
        return Window { start: first_fit(floor, turns, |start| costs.total(start, 0, Form::Full) <= room), ..plain };
    }
    match held(input) {
        Some(old) => keep_or_refill(input, costs, room, Window { start: old.start.max(floor), floor, ..old }),
        None => fresh(input, costs, room, plain),
    }
}

/// The anchor of the last call, where it still holds: same policy, same budget, its turn still looked at.
fn held(input: &PlanInput) -> Option<Window> {
    let anchor = input.anchor.as_ref()?;
    if anchor.policy != input.policy.name || anchor.budget != input.budget.prompt {
        return None;
    }
    let holds = |turn: usize, key: Hash| input.turns[turn].messages.iter().any(|m| m.key == key);
    let find = |key: Hash| (0..input.turns.len()).find(|turn| holds(*turn, key));
    let start = find(anchor.start).or_else(|| opens_with(input, anchor.start))?;
    let shortened = anchor.shortened_to.and_then(find).map_or(0, |turn| turn + 1);
    Some(Window { start, shortened, form: anchor.form, floor: 0 })
}

/// An anchor at the open turn: nothing before it was in the window.
fn opens_with(input: &PlanInput, key: Hash) -> Option<usize> {
    input.open.messages.first().filter(|message| message.key == key).map(|_| input.turns.len())
}

/// Without an anchor: everything whole, else everything with shortened results, else as many of the newest as fit.
fn fresh(input: &PlanInput, costs: &impl Costs, room: u32, plain: Window) -> Window {
    let turns = input.turns.len();
    if costs.total(plain.floor, 0, Form::Full) <= room {
        return plain;
    }
    for form in forms(input) {
        if costs.total(plain.floor, turns, form) <= room {
            return Window { shortened: turns, form, ..plain };
        }
    }
    let (shortened, form) = drop_form(input);
    let start = first_fit(plain.floor, turns, |start| costs.total(start, shortened, form) <= room);
    Window { start, shortened, form, ..plain }
}

/// With one: unchanged while it fits; else shortened, then cut at the front, down to the policy's refill share at once.
fn keep_or_refill(input: &PlanInput, costs: &impl Costs, room: u32, old: Window) -> Window {
    if costs.total(old.start, old.shortened, old.form) <= room {
        return old;
    }
    let turns = input.turns.len();
    let target = room / 100 * input.policy.refill_percent.min(100);
    for form in forms(input) {
        if costs.total(old.start, turns, form) <= target {
            return Window { shortened: turns, form, ..old };
        }
    }
    let (shortened, form) = drop_form(input);
    let start = first_fit(old.start, turns, |start| costs.total(start, shortened, form) <= target);
    Window { start, shortened, form, ..old }
}

fn forms(input: &PlanInput) -> impl Iterator<Item = Form> {
    let steps: &[Form] = if input.policy.shorten_tools { &[Form::Cut(CLOSED_RESULT), Form::Elided] } else { &[] };
    steps.iter().copied()
}

fn drop_form(input: &PlanInput) -> (usize, Form) {
    if input.policy.shorten_tools { (input.turns.len(), Form::Cut(CLOSED_RESULT)) } else { (0, Form::Full) }
}

/// The smallest start in `low..=high` that fits; `high` when none does. Costs fall as the start rises, but for a pinned
/// turn that becomes a card, so the answer of the halving is checked upwards.
fn first_fit(low: usize, high: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut below, mut above) = (low, high);
    while below < above {
        let middle = below + (above - below) / 2;
        if fits(middle) {
            above = middle;
        } else {
            below = middle + 1;
        }
    }
    (above..high).find(|start| fits(*start)).unwrap_or(high)
}

/// The anchor that a sent plan leaves behind.
pub(super) fn anchor(input: &PlanInput, window: Window) -> Option<Anchor> {
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
    })
}
