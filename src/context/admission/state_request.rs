//! Decides whether the model is asked to keep a state block: with every request, or from the first request that leaves
//! out a turn which is neither excluded nor covered by a summary. A summary alone never causes it: if all turns would be
//! sent without the accepted summaries, the model is not asked. The newest turn and a person's leases go before it.
//! Not for: the text of the request, or whether the policy asks at all (`engine::plans`).

use super::accepted_summaries;
use super::admit::{self, Admitted, AllowanceUse};
use super::coverage::SummaryCoverage;
use super::forms::{Marks, turn_cost};
use super::position::RowPosition;
use super::window::{self, CLOSED_RESULT};
use crate::context::explain;
use crate::domain::conversation::MarkKind;
use crate::domain::planning::{Block, Form, LeftOutTurns, OmittedItem, PlanInput, StateRequestOutcome, TurnInput};
use crate::domain::planning::{Blocked, Reason, Remedy};

/// Admits everything, with the request for a state block if turns are left out, and returns what `read` makes of the
/// result. The request never blocks a call and displaces neither a person's lease nor the last turn that is not
/// required: if there is no room for it, an omitted item of the admitted input says so.
pub(in crate::context) fn admit<T>(
    input: &PlanInput,
    read: impl FnOnce(&Admitted<'_>) -> T,
) -> Result<T, Box<Blocked>> {
    if let Some(asking) = certainly_asking(input)
        && let Ok(with) = admit::admit(&asking)
        && keeps_room(&with)
        && (asking.summaries.is_empty() || unsummed(&asking).is_ok_and(|bare| keeps_room(&bare)))
    {
        return Ok(read(&with));
    }
    let without = admit::admit(input)?;
    let leaves_out = || leaves_out_turns(&without) && (input.summaries.is_empty() || !fits_without_summaries(input));
    let may_ask = || input.always_asks || leaves_out();
    let Some(request) = input.state_request.as_ref().filter(|_| may_ask()) else { return Ok(read(&without)) };
    let mut decided = asking(input, request);
    let reason = match admit::admit(&decided) {
        Ok(with) => {
            // Summaries do not decide whether the model is asked, so that one more never makes the request larger.
            let summed = !input.summaries.is_empty();
            let bare = summed.then(|| unsummed(input)).transpose()?;
            let bare_with = if summed { unsummed(&decided).ok() } else { None };
            let other = bare.as_ref().unwrap_or(&without);
            let asked = if summed { bare_with.as_ref() } else { Some(&with) };
            let last = newest_sent(other);
            let keeps_lease = asked.is_some_and(|asked| !accepted_summaries::displaces_lease(other, asked));
            let keeps_last = last.is_none_or(|turn| asked.is_some_and(|asked| asked.places[turn].is_sent()));
            if keeps_last && keeps_lease {
                return Ok(read(&with));
            }
            // The request leaves neither the last turn nor a summary of it. Both are sent if that takes no more tokens
            // than the last turn without the summary.
            let has_lost_summary = keeps_lease && with.summed.used.is_empty() && !without.summed.used.is_empty();
            let both = || admit::admit_with(&decided, without.summed.clone(), AllowanceUse::Offered, without.most).ok();
            let both = has_lost_summary.then(both).flatten();
            if let Some(both) = both.filter(|both| explain::size(both) <= explain::size(other)) {
                return Ok(read(&both));
            }
            // The policy may have no room for both, although the budget has.
            let by_policy = last.zip(asked).and_then(|(turn, asked)| asked.choice.reason(turn)).cloned();
            let saved = explain::size(other).saturating_sub(explain::size(&without));
            let room = if summed { saved } else { u32::MAX }.min(request.tokens.saturating_sub(1));
            by_policy.filter(|_| keeps_lease).unwrap_or(Reason::Budget { free: without.free().min(room) })
        }
        Err(blocked) => {
            let other_tokens = blocked.needed.saturating_sub(request.tokens);
            Reason::Budget { free: input.budget.prompt.saturating_sub(other_tokens).min(without.free()) }
        }
    };
    decided.blocks.pop();
    let remedy = Remedy::write_state();
    decided.near.push(OmittedItem::of(request, reason, (remedy.action, remedy.does)));
    admit::admit(&decided).map(|admitted| read(&admitted))
}

/// Returns whether an admitted input asks for a state block; `None` if `offered`, the input that it was admitted from, has
/// no such request.
pub(in crate::context) fn outcome(offered: &PlanInput, admitted: &Admitted<'_>) -> Option<StateRequestOutcome> {
    let input = admitted.input;
    if input.blocks.iter().any(|block| matches!(block.reason, Reason::StateRequested { .. })) {
        return Some(StateRequestOutcome::Asked);
    }
    let tokens = offered.state_request.as_ref()?.tokens;
    if input.state_request.is_none() {
        return Some(StateRequestOutcome::NoRoom);
    }
    let mut turns = input.turns.iter().zip(&admitted.places).filter(|(turn, _)| has_content(turn));
    let turns = if leaves_out_turns(admitted) {
        LeftOutTurns::ForSummaries
    } else if !input.gaps.is_empty() || turns.any(|(_, place)| !place.is_sent()) {
        LeftOutTurns::KeptOut
    } else {
        LeftOutTurns::NoTurn
    };
    Some(StateRequestOutcome::NotNeeded { turns, tokens })
}

/// Returns whether the newest turn and a person's leases are sent.
fn keeps_room(asked: &Admitted<'_>) -> bool {
    sends_newest(asked) && !accepted_summaries::leaves_out_lease(asked)
}

/// Returns the input with the request for a state block, if it is certain without admission that the model is asked: it
/// always is, or the turns that no mark and no lane keeps in or out exceed the budget in their shortest forms.
pub(in crate::context) fn certainly_asking(input: &PlanInput) -> Option<PlanInput> {
    let request = input.state_request.as_ref().filter(|_| input.always_asks || input.summaries.is_empty())?;
    if input.always_asks {
        return Some(asking(input, request));
    }
    let marks = Marks::new(&input.marks);
    let shortest = |turn: &TurnInput| {
        let full = turn_cost(turn, Form::Full, &marks);
        let cut = || turn_cost(turn, Form::Cut(CLOSED_RESULT), &marks).min(turn_cost(turn, Form::Elided, &marks));
        if input.policy.shorten_tools { full.min(cut()) } else { full }
    };
    let turns = input.turns.iter().enumerate();
    let turns = turns.filter(|(at, turn)| !window::in_other_lane(input, *at) && marks.turn(turn).is_none());
    let tokens = turns.fold(0_u32, |sum, (_, turn)| sum.saturating_add(shortest(turn)));
    (tokens > input.budget.prompt).then(|| asking(input, request))
}

/// Returns whether a message of a turn can be sent.
fn has_content(turn: &TurnInput) -> bool {
    turn.messages.iter().any(|message| message.bar.is_none())
}

/// Returns the newest turn that is sent and not required. A required turn is sent beside the request in any case.
fn newest_sent(admitted: &Admitted<'_>) -> Option<usize> {
    let mut turns = admitted.input.turns.iter().zip(&admitted.places);
    turns.rposition(|(turn, place)| place.is_sent() && !is_required(admitted, turn))
}

/// Returns whether a person requires a turn. A lease does not.
fn is_required(admitted: &Admitted<'_>, turn: &TurnInput) -> bool {
    let kind = admitted.marks.turn(turn).map(|mark| mark.kind);
    matches!(kind, Some(MarkKind::Sticky | MarkKind::IncludeOnce))
}

/// Returns whether the newest turn is sent that is not required and that no person and no lane keeps out.
pub(in crate::context) fn sends_newest(admitted: &Admitted<'_>) -> bool {
    let turns = admitted.input.turns.iter().enumerate();
    let mut newest = turns.rev().filter(|(at, turn)| {
        let in_other_lane = matches!(admitted.choice.reason(*at), Some(Reason::OtherLane | Reason::OutsideLane));
        has_content(turn) && !in_other_lane && !admitted.places[*at].is_excluded() && !is_required(admitted, turn)
    });
    newest.next().is_some_and(|(at, _)| admitted.places[at].is_sent())
}

/// Returns the input with the request for a state block.
pub(super) fn asking(input: &PlanInput, request: &Block) -> PlanInput {
    let mut asking = PlanInput { state_request: None, ..input.clone() };
    asking.blocks.push(request.clone());
    asking
}

/// Returns whether all turns would be sent without accepted summaries.
fn fits_without_summaries(input: &PlanInput) -> bool {
    unsummed(input).is_ok_and(|admitted| !leaves_out_turns(&admitted))
}

/// Admits everything except accepted summaries.
fn unsummed(input: &PlanInput) -> Result<Admitted<'_>, Box<Blocked>> {
    admit::admit_with(input, SummaryCoverage::new(input, Vec::new()), AllowanceUse::Offered, None)
}

/// Returns whether the model may be asked for a state block.
pub(in crate::context) fn may_ask(admitted: &Admitted<'_>) -> bool {
    let input = admitted.input;
    input.state_request.is_some() && (input.always_asks || leaves_out_turns(admitted))
}

/// Returns whether the request leaves out a turn that no person, lane, or summary keeps out.
fn leaves_out_turns(admitted: &Admitted<'_>) -> bool {
    let input = admitted.input;
    let is_lost = |(at, turn): (usize, &TurnInput)| {
        let place = admitted.places[at];
        let is_left_out = matches!(place, RowPosition::Outside | RowPosition::NoLease { .. });
        let in_other_lane = matches!(admitted.choice.reason(at), Some(Reason::OtherLane | Reason::OutsideLane));
        let kept_out = admitted.summed.by[at].is_some() || in_other_lane;
        is_left_out && !kept_out && has_content(turn)
    };
    input.gaps.iter().any(|gap| !gap.elsewhere && admitted.summed.gap(gap).is_none())
        || input.turns.iter().enumerate().any(is_lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, key, mark};
    use crate::domain::planning::RowKind;
    use crate::domain::planning::input::{CoveredTurn, SummaryInput};
    use crate::domain::planning::policy::{PolicySpec, Section};
    use crate::domain::planning::tuning::{Adaptive, Milli, TurnSelection};

    fn request() -> Block {
        let reason = Reason::StateRequested { older: true, has_state: None, optional: None, by_policy: false };
        Block::new(Section::System, RowKind::Text, (key(9, 9), 20), "state", reason)
    }

    /// The last turn takes 28 of the 55 tokens and the rest of the request 21, so that the request for a state block
    /// displaces the turn. A summary of the turn stays: with the request only if both take less than the turn alone.
    #[test]
    fn a_request_displaces_no_summary_of_the_last_turn() {
        for (tokens, omitted) in [(20, vec![Reason::Budget { free: 5 }]), (5, Vec::new())] {
            let policy = PolicySpec { shorten_tools: false, ..PolicySpec::default() };
            let mut input = input(&[[500, 1, 1], [1, 1, 1]], policy, 55);
            let (by, text) = (key(8, 0), key(8, 1));
            input.summaries = vec![SummaryInput {
                by,
                text,
                named: false,
                elsewhere: false,
                lacks: false,
                older: false,
                turns: None,
            }];
            input.covered = vec![CoveredTurn { user: key(1, 0), tip: key(1, 2), by, lacks: false }];
            let summary = (Section::SessionSummary, RowKind::Summary, (text, tokens));
            input.blocks = vec![Block::new(summary.0, summary.1, summary.2, "summary", Reason::Summary)];
            input.state_request = Some(request());
            let read = |admitted: &Admitted<'_>| {
                let near = admitted.input.near.iter().map(|omitted| omitted.reason.clone());
                (admitted.summed.used.clone(), near.collect::<Vec<_>>(), admitted.input.blocks.len())
            };
            let blocks = if omitted.is_empty() { 2 } else { 1 };
            assert_eq!(admit(&input, read).ok().unwrap(), (vec![by], omitted, blocks), "a summary of {tokens} tokens");
        }
    }

    /// The policy's target holds the last turn (49 tokens in all) but not the request as well; the budget holds both. A
    /// pin on an older turn does not change that.
    #[test]
    fn a_request_without_room_in_the_policy_names_its_limit_and_not_the_budget() {
        let adaptive =
            Adaptive { base: 60, lowest: Milli(1_000), highest: Milli(1_000), step: Milli(0), ..Adaptive::default() };
        let choose = TurnSelection::Relevance;
        let policy = PolicySpec { choose, adaptive, shorten_tools: false, ..PolicySpec::default() };
        let mut input = input(&[[500, 1, 1], [400, 1, 1], [1, 1, 1]], policy, 1_000);
        input.state_request = Some(request());
        let read = |admitted: &Admitted<'_>| {
            let sent: Vec<bool> = admitted.places.iter().map(|place| place.is_sent()).collect();
            (sent, admitted.input.near.iter().map(|omitted| omitted.reason.clone()).collect::<Vec<_>>())
        };
        for (marks, older) in [(Vec::new(), false), (vec![mark(input.turns[1].atom, MarkKind::Sticky)], true)] {
            input.marks = marks;
            let (sent, omitted) = admit(&input, read).ok().unwrap();
            assert_eq!((sent, omitted), (vec![false, older, true], vec![Reason::SoftTarget { tokens: 60 }]));
        }
    }

    /// Returns the outcome for an input that offers the request, with 21 tokens beside the turns.
    fn outcome_of(input: &PlanInput) -> Option<StateRequestOutcome> {
        admit(input, |admitted| outcome(input, admitted)).ok().unwrap()
    }

    #[test]
    fn every_outcome_of_the_request_is_told() {
        let not_needed = |turns| Some(StateRequestOutcome::NotNeeded { turns, tokens: 20 });
        let policy = PolicySpec { shorten_tools: false, ..PolicySpec::default() };
        let mut input = input(&[[500, 1, 1], [1, 1, 1]], policy, 2_000);
        assert_eq!(outcome_of(&input), None, "without a request");
        input.state_request = Some(request());
        assert_eq!(outcome_of(&input), not_needed(LeftOutTurns::NoTurn));
        input.marks = vec![mark(input.turns[0].atom, MarkKind::Exclude)];
        assert_eq!(outcome_of(&input), not_needed(LeftOutTurns::KeptOut), "excluded");
        input.always_asks = true;
        assert_eq!(outcome_of(&input), Some(StateRequestOutcome::Asked), "always");
        (input.always_asks, input.marks) = (false, Vec::new());
        for (prompt, outcome) in [(100, StateRequestOutcome::Asked), (55, StateRequestOutcome::NoRoom)] {
            input.budget.prompt = prompt;
            assert_eq!(outcome_of(&input), Some(outcome), "{prompt} tokens");
        }
        input.state_request = None;
        input.blocks = vec![request()];
        input.budget.prompt = 100;
        assert_eq!(outcome_of(&input), Some(StateRequestOutcome::Asked), "a later round repeats the request");
    }

    /// A summary that replaces the first turn, and a larger one for which another turn leaves.
    #[test]
    fn a_summary_causes_no_request() {
        let policy = PolicySpec { shorten_tools: false, ..PolicySpec::default() };
        for (tokens, prompt, turns) in [(5, 2_000, LeftOutTurns::KeptOut), (60, 145, LeftOutTurns::ForSummaries)] {
            let mut input = input(&[[20, 1, 1], [20, 1, 1], [1, 1, 1]], policy.clone(), prompt);
            let (by, text) = (key(8, 0), key(8, 1));
            input.summaries = vec![SummaryInput {
                by,
                text,
                named: false,
                lacks: false,
                older: false,
                elsewhere: false,
                turns: None,
            }];
            input.covered = vec![CoveredTurn { user: key(0, 0), tip: key(0, 2), by, lacks: false }];
            let block = Block::new(Section::SessionSummary, RowKind::Summary, (text, tokens), "s", Reason::Summary);
            (input.blocks, input.state_request) = (vec![block], Some(request()));
            let coverage = SummaryCoverage::new(&input, vec![by]);
            let admitted = admit::admit_with(&input, coverage, AllowanceUse::Offered, None).ok().unwrap();
            let outcome = outcome(&input, &admitted);
            assert_eq!(outcome, Some(StateRequestOutcome::NotNeeded { turns, tokens: 20 }), "{tokens} tokens");
        }
    }
}
