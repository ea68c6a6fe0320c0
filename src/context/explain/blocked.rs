//! Describes a call whose required parts do not fit: these parts and the remedies.
//! Not for: detecting that a call is blocked (`admission`).

use crate::context::admission::forms::{Marks, cost_of, turn_cost};
use crate::context::admission::window::{OPEN_OLDER, Window};
use crate::context::explain::{self, excluded};
use crate::domain::conversation::{Atom, MarkKind, Role};
use crate::domain::planning::plan::{Blocked, BlockedRemedy, Reason};
use crate::domain::planning::{Form, PlanInput, Section};

/// Maximum number of characters of a title in a remedy.
const TITLE: usize = 30;

/// The smallest request.
pub(in crate::context) struct Required {
    /// Its tokens.
    pub(in crate::context) needed: u32,
    /// The tokens that its closed turns take, with framing: nothing without pinned turns.
    pub(in crate::context) turns: u32,
    /// Its window. Pinned turns before the window are cards.
    pub(in crate::context) window: Window,
    /// The forms of the open turn's messages.
    pub(in crate::context) open: Vec<Form>,
}

/// Makes the report of a call whose smallest request exceeds the budget.
pub(in crate::context) fn blocked(input: &PlanInput, marks: &Marks<'_>, required: &Required) -> Box<Blocked> {
    let Required { needed, turns, window, open } = required;
    let needed = *needed;
    let mut choices = vec![BlockedRemedy::more_room(&input.budget, needed)];
    let pinned = pinned(input, marks);
    if !pinned.is_empty() {
        let frees = pinned.iter().fold(*turns, |sum, item| sum.saturating_add(item.tokens));
        let acts = pinned.iter().map(|item| item.act.clone()).collect();
        choices.push(BlockedRemedy::Unpin { atoms: pinned.iter().map(|item| item.atom).collect(), frees, acts });
    }
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

/// An item that a person's mark requires.
struct Pinned {
    atom: Atom,
    /// Its tokens; 0 for a turn, whose tokens are counted with the other turns.
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
        turn.card.map(|_| Pinned::new(mark.target, 0, mark.kind == MarkKind::Sticky, &name))
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
