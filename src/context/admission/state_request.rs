//! Decides whether the model is asked to keep a state block, for policies that leave this decision to the plan: from
//! the first request that leaves out a turn which is neither excluded nor covered by a summary. A summary alone never
//! causes it: if all turns would be sent without the accepted summaries, the model is not asked.
//! Not for: the text of the request, or policies that always or never ask (`engine::plans`).

use super::admit::{self, Admitted, AllowanceUse};
use super::coverage::SummaryCoverage;
use super::position::RowPosition;
use crate::domain::planning::input::{Block, OmittedItem, PlanInput, TurnInput};
use crate::domain::planning::plan::{Blocked, Reason};
use std::borrow::Cow;

/// The remedy: a person writes the first state block, and the model keeps it from then on.
const WRITE_ONE: (&str, &str) = ("show-state", "opens the state block: write one, and the model keeps it up to date");

/// Returns the input, with the request for a state block added if turns are left out. The request never blocks a call
/// and never displaces the last turn: if there is no room for it, a row of the plan says so.
pub(in crate::context) fn with_state_request(input: &PlanInput) -> Result<Cow<'_, PlanInput>, Box<Blocked>> {
    let Some(request) = &input.state_request else { return Ok(Cow::Borrowed(input)) };
    let without = admit::admit(input)?;
    if !leaves_out_turns(&without) || (!input.summaries.is_empty() && fits_without_summaries(input)) {
        return Ok(Cow::Borrowed(input));
    }
    let mut decided = asking(input, request);
    let sends_turns = |admitted: &Admitted<'_>| admitted.places.iter().any(|place| place.is_sent());
    let free = match admit::admit(&decided) {
        Ok(with) => (sends_turns(&without) && !sends_turns(&with)).then(|| without.free()),
        Err(blocked) => {
            let other_tokens = blocked.needed.saturating_sub(request.tokens);
            Some(input.budget.prompt.saturating_sub(other_tokens).min(without.free()))
        }
    };
    if let Some(free) = free {
        decided.blocks.pop();
        let remedy = (WRITE_ONE.0.to_owned(), WRITE_ONE.1.to_owned());
        decided.near.push(OmittedItem::of(request, Reason::Budget { free }, remedy));
    }
    Ok(Cow::Owned(decided))
}

/// Returns the input with the request for a state block.
pub(super) fn asking(input: &PlanInput, request: &Block) -> PlanInput {
    let mut asking = PlanInput { state_request: None, ..input.clone() };
    asking.blocks.push(request.clone());
    asking
}

/// Returns whether all turns would be sent without accepted summaries.
fn fits_without_summaries(input: &PlanInput) -> bool {
    let admitted = admit::admit_with(input, SummaryCoverage::new(input, Vec::new()), AllowanceUse::Offered, None);
    admitted.is_ok_and(|admitted| !leaves_out_turns(&admitted))
}

/// Returns whether the request leaves out a turn that no person, lane, or summary keeps out.
pub(super) fn leaves_out_turns(admitted: &Admitted<'_>) -> bool {
    let input = admitted.input;
    let is_lost = |(at, turn): (usize, &TurnInput)| {
        let place = admitted.places[at];
        let is_left_out = matches!(place, RowPosition::Outside | RowPosition::NoLease { .. });
        let in_other_lane = matches!(admitted.choice.reason(at), Some(Reason::OtherLane | Reason::OutsideLane));
        let kept_out = admitted.summed.by[at].is_some() || in_other_lane;
        is_left_out && !kept_out && turn.messages.iter().any(|message| message.bar.is_none())
    };
    input.gaps.iter().any(|gap| !gap.elsewhere && admitted.summed.gap(gap).is_none())
        || input.turns.iter().enumerate().any(is_lost)
}
