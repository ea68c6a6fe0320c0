//! Describes a call whose required parts do not fit: these parts and the remedies. Not for: detecting that a call is
//! blocked (`admission`).

use crate::context::admission::forms::{Marks, cost_of, turn_cost};
use crate::context::admission::window::OPEN_OLDER;
use crate::context::explain::{self, excluded};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::planning::input::{MESSAGE_FRAMING, PlanInput};
use crate::domain::planning::plan::{Blocked, BlockedRemedy, Form, Reason};
use crate::domain::planning::policy::Section;

/// Makes the report of a call that needs `needed` tokens, more than the budget, with the open turn in the forms `open`.
pub(in crate::context) fn blocked(input: &PlanInput, marks: &Marks<'_>, needed: u32, open: &[Form]) -> Box<Blocked> {
    let larger = input.budget.cap_for(needed).map(|at_least| BlockedRemedy::LargerBudget { at_least });
    let mut choices: Vec<BlockedRemedy> = larger.into_iter().chain([BlockedRemedy::OtherModel]).collect();
    let pinned = pinned(input, marks);
    if !pinned.is_empty() {
        let frees = pinned.iter().fold(0_u32, |sum, (_, tokens)| sum.saturating_add(*tokens));
        choices.push(BlockedRemedy::Unpin { atoms: pinned.into_iter().map(|(atom, _)| atom).collect(), frees });
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
    let rows = explain::required_rows(input, marks, open);
    let left_out = excluded::without_room(input, marks, &rows);
    Box::new(Blocked { basis: input.basis, needed, budget: input.budget, choices, rows, left_out })
}

/// Returns the items that a person's marks require, and their tokens.
fn pinned(input: &PlanInput, marks: &Marks<'_>) -> Vec<(Atom, u32)> {
    let turns = input.turns.iter().filter_map(|turn| {
        let mark = marks.turn(turn).filter(|mark| matches!(mark.kind, MarkKind::Sticky | MarkKind::IncludeOnce))?;
        turn.card.map(|(_, tokens)| (mark.target, tokens.saturating_add(MESSAGE_FRAMING)))
    });
    let required = input.blocks.iter().filter(|block| !matches!(block.reason, Reason::Leased { .. }));
    let pins = required.filter(|block| matches!(block.section, Section::StickyPins | Section::LeasedPins));
    let notes = pins.filter_map(|block| block.atom.map(|atom| (atom, block.tokens)));
    turns.chain(notes).collect()
}
