//! Whether the model is asked to keep a state block, where the policy leaves that to the plan: from the first request on that
//! leaves out a turn which nobody excluded and no summary stands for. A summary alone never brings the request: where all turns
//! would go without the accepted summaries, nothing is asked.
//! Not for: the text of the request, or policies that always ask or never do (`engine::plans`).

use super::admit::{self, Admitted, LookedUp, RowPosition};
use super::summaries::Summed;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::input::{Block, NotSent, PlanInput};
use crate::domain::planning::plan::{Blocked, Reason};
use std::borrow::Cow;

/// The remedy: a state block that exists is kept from then on.
const WRITE_ONE: (&str, &str) = ("show-state", "opens the state block: write one, and the model keeps it");

/// The input, with the request for a state block among its blocks where turns are left out. It never blocks a call: where
/// there is no room for it, a row says so.
pub(super) fn decided(input: &PlanInput) -> Result<Cow<'_, PlanInput>, Box<Blocked>> {
    let Some(request) = &input.state_request else { return Ok(Cow::Borrowed(input)) };
    let without = admit::admit(input)?;
    if !leaves_out_turns(&without) || (!input.summaries.is_empty() && goes_whole_without_summaries(input)) {
        return Ok(Cow::Borrowed(input));
    }
    let mut decided = PlanInput { state_request: None, ..input.clone() };
    decided.blocks.push(request.clone());
    if let Err(blocked) = admit::admit(&decided) {
        decided.blocks.pop();
        let beside = blocked.needed.saturating_sub(request.tokens);
        let free = input.budget.prompt.saturating_sub(beside).min(without.free());
        decided.near.push(left_out(request, free));
    }
    Ok(Cow::Owned(decided))
}

/// Whether the request would leave out no turn if no summary were accepted.
fn goes_whole_without_summaries(input: &PlanInput) -> bool {
    let bare = admit::admit_with(input, Summed::new(input, Vec::new()), LookedUp::Offered, None);
    bare.is_ok_and(|bare| !leaves_out_turns(&bare))
}

/// Whether something was said that the request leaves out, though no person, lane or summary keeps it out.
fn leaves_out_turns(admitted: &Admitted<'_>) -> bool {
    let input = admitted.input;
    let lost = |(at, turn): (usize, &crate::domain::planning::input::TurnInput)| {
        let place = admitted.places[at];
        let left = matches!(place, RowPosition::Outside | RowPosition::NoLease { .. });
        let kept_out = admitted.summed.by[at].is_some() || admitted.choice.reason(at) == Some(&Reason::OtherLane);
        left && !kept_out && turn.messages.iter().any(|message| message.bar.is_none())
    };
    input.gaps.iter().any(|gap| admitted.summed.gap(gap).is_none()) || input.turns.iter().enumerate().any(lost)
}

fn left_out(request: &Block, free: u32) -> NotSent {
    NotSent {
        atom: Atom::Section { text: request.text },
        kind: request.kind,
        reason: Reason::Budget { free },
        title: request.title.clone(),
        tokens: request.tokens,
        source: request.source.clone(),
        remedy: (WRITE_ONE.0.to_owned(), WRITE_ONE.1.to_owned()),
        scores: request.scores.clone(),
    }
}
