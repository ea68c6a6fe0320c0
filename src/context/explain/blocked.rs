//! Describes a call whose required parts do not fit: these parts and the remedies.
//! Not for: detecting that a call is blocked (`admission`).

use crate::context::admission::forms::{Marks, cost_of, turn_cost};
use crate::context::admission::window::{OPEN_OLDER, Window};
use crate::context::explain::{self, excluded};
use crate::domain::conversation::{Atom, MarkKind, Role};
use crate::domain::planning::{Blocked, BlockedRemedy, Reason};
use crate::domain::planning::{Form, PlanInput, Section};
use std::collections::HashSet;

/// Maximum number of characters of a title in a remedy.
const TITLE: usize = 30;

/// The smallest request.
pub(in crate::context) struct Required {
    /// Its tokens.
    pub(in crate::context) needed: u32,
    /// Its window. Pinned turns before the window are cards.
    pub(in crate::context) window: Window,
    /// The forms of the open turn's messages.
    pub(in crate::context) open: Vec<Form>,
}

/// Makes the report of a call whose smallest request exceeds the budget. `needed_by` returns the tokens of the smallest
/// request of an input.
pub(in crate::context) fn blocked(
    input: &PlanInput,
    marks: &Marks<'_>,
    required: &Required,
    needed_by: &dyn Fn(&PlanInput) -> u32,
) -> Box<Blocked> {
    let Required { needed, window, open } = required;
    let needed = *needed;
    let mut choices = vec![BlockedRemedy::more_room(&input.budget, needed)];
    choices.extend(fewest_unpinned(input, pinned(input, marks), needed, needed_by));
    let shorter = turn_cost(&input.open, Form::Cut(OPEN_OLDER), marks);
    let now = cost_of(&input.open, open);
    if !input.policy.shorten_tools && shorter < now {
        choices.push(BlockedRemedy::ShortenBodies { frees: now - shorter });
    }
    if input.tools_tokens > 0 {
        choices.push(BlockedRemedy::FewerTools { frees: input.tools_tokens });
    }
    let by = needed.saturating_sub(input.budget.prompt);
    if input.open.messages.iter().any(|message| message.role == Role::User && message.tokens > by) {
        choices.push(BlockedRemedy::ShorterMessage { by });
    }
    let rows = explain::required_rows(input, marks, *window, open);
    let left_out = excluded::without_room(input, marks, &rows);
    Box::new(Blocked { basis: input.basis, needed, budget: input.budget, choices, rows, left_out })
}

/// Returns the remedy that removes marks: the largest items first, no more than are needed to make the request fit, and
/// all of them if it does not fit without them either. `None` if no mark requires an item.
fn fewest_unpinned(
    input: &PlanInput,
    mut pinned: Vec<Pinned>,
    needed: u32,
    needed_by: &dyn Fn(&PlanInput) -> u32,
) -> Option<BlockedRemedy> {
    let places: Vec<Atom> = pinned.iter().map(|item| item.atom).collect();
    pinned.sort_by_key(|item| std::cmp::Reverse(item.tokens));
    let without = |count: usize| needed_by(&unmarked(input, pinned[..count].iter().map(|item| item.atom)));
    let (mut low, mut high) = (1, pinned.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if without(middle) <= input.budget.prompt { high = middle } else { low = middle + 1 }
    }
    let frees = needed.saturating_sub(without(low.min(pinned.len())));
    pinned.truncate(low);
    pinned.sort_by_key(|item| places.iter().position(|atom| *atom == item.atom));
    let atoms = pinned.iter().map(|item| item.atom).collect();
    let acts = pinned.into_iter().map(|item| item.act).collect::<Vec<_>>();
    (!acts.is_empty()).then_some(BlockedRemedy::Unpin { atoms, frees, acts })
}

/// Returns the input without the marks on these items.
fn unmarked(input: &PlanInput, items: impl Iterator<Item = Atom>) -> PlanInput {
    let items: HashSet<Atom> = items.collect();
    let mut input = input.clone();
    input.marks.retain(|mark| !items.contains(&mark.target));
    input.blocks.retain(|block| !block.atom.is_some_and(|atom| items.contains(&atom)));
    input
}

/// An item that a person's mark requires.
struct Pinned {
    atom: Atom,
    /// Its tokens: for a turn, as a card.
    tokens: u32,
    /// The act that undoes the mark: `unpin turn 1 "title"`.
    act: String,
}

impl Pinned {
    fn new(atom: Atom, tokens: u32, is_pin: bool, name: &str) -> Self {
        let verb = if is_pin { "unpin" } else { "stop including" };
        Self { atom, tokens, act: format!("{verb} {name}") }
    }
}

/// Returns the items that a person's marks require.
fn pinned(input: &PlanInput, marks: &Marks<'_>) -> Vec<Pinned> {
    let turns = input.turns.iter().filter_map(|turn| {
        let mark = marks.turn(turn).filter(|mark| matches!(mark.kind, MarkKind::Sticky | MarkKind::IncludeOnce))?;
        let name = format!("turn {} {}", turn.number, quoted(&turn.title));
        turn.card.map(|(_, tokens)| Pinned::new(mark.target, tokens, mark.kind == MarkKind::Sticky, &name))
    });
    let required = input.blocks.iter().filter(|block| !matches!(block.reason, Reason::Leased { .. }));
    let pins = required.filter(|block| matches!(block.section, Section::StickyPins | Section::LeasedPins));
    let notes = pins.filter_map(|block| {
        let is_pin = block.reason != Reason::IncludedOnce;
        Some(Pinned::new(block.atom?, block.tokens, is_pin, &quoted(&block.title)))
    });
    turns.chain(notes).collect()
}

/// Returns the start of a title in quotes.
fn quoted(title: &str) -> String {
    let start: String = title.trim().chars().take(TITLE).collect();
    let end = if title.trim().chars().count() > TITLE { "…" } else { "" };
    format!("\"{}{end}\"", start.trim_end())
}
