//! Decides which accepted summaries are sent and which turns they replace, and makes the rows of the others. A summary
//! is sent if the request is no larger with it than without it and keeps a person's leases, the newest turn, and every
//! turn that has room beside it. A summary of another lane that the question names takes free room otherwise.
//! Not for: collecting accepted summaries (`engine`) or the window itself (`window`).

use super::admit::{Admitted, AllowanceUse, admit_with, admit_with_choice};
use super::choose;
use super::coverage::SummaryCoverage;
use super::forms::{Marks, turn_cost};
use super::position::RowPosition;
use super::state_request;
use super::window::{self, Costs, Window};
use crate::context::explain;
use crate::context::policy::levels;
use crate::domain::base::Hash;
use crate::domain::conversation::{Actor, Atom};
use crate::domain::planning::{Block, Form, PlanInput, SummaryInput, TurnInput, TurnSelection};
use crate::domain::planning::{Blocked, Reason};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// How often a plan is solved again in a smaller budget until a summary makes it no larger.
const TRIES: usize = 8;
/// The tokens of other turns that may leave for a summary, as a multiple of its own.
const MOST_DISPLACED: u32 = 3;

/// Returns the turns that a summary replaces, by the keys of their user messages.
fn turns_covered_by(input: &PlanInput, by: Hash) -> HashSet<Hash> {
    input.covered.iter().filter(|covered| covered.by == by).map(|covered| covered.user).collect()
}

/// Decides which summaries are sent, one after the other in the order of their acceptance, and admits everything else.
pub(in crate::context) fn admit(input: &PlanInput, allowance_use: AllowanceUse) -> Result<Admitted<'_>, Box<Blocked>> {
    let solve = |used: Vec<Hash>| admit_with(input, SummaryCoverage::new(input, used), allowance_use, None);
    // Summaries of the last call stay: their turns are no longer in the window, so their savings cannot be computed.
    let kept: Vec<Hash> =
        window::retained_summaries(input).filter(|by| input.summaries.iter().any(|one| one.by == *by)).collect();
    let mut best = if kept.is_empty() { solve(kept)? } else { solve(kept).or_else(|_| solve(Vec::new()))? };
    if input.summaries.is_empty() {
        return Ok(best);
    }
    let (mut out, mut most) = (HashMap::new(), u32::MAX);
    let ceiling = Ceiling::new(&best, allowance_use);
    // The request's size with all its quotations: no further summary may make it larger.
    let mut whole = with_quotations(&best, None, allowance_use);
    for summary in &input.summaries {
        if best.summed.used.contains(&summary.by) {
            continue;
        }
        match with_summary(&best, summary, allowance_use, &ceiling) {
            Ok(next) => {
                let replaced = input.summaries.iter().filter(|one| best.summed.used.contains(&one.by));
                let replaced = replaced.filter(|one| !next.summed.used.contains(&one.by));
                out.extend(replaced.map(|one| (one.text, Reason::Duplicate)));
                most = explain::size(&best).min(ceiling.of(&next));
                most = if takes_free_room(input, summary) { most.max(explain::size(&next)) } else { most };
                whole = with_quotations(&next, Some(most), allowance_use);
                best = next;
            }
            Err(reason) => drop(out.insert(summary.text, reason)),
        }
    }
    best = whole.unwrap_or(best);
    best = without_oldest(best, allowance_use, &mut out);
    let again = with_turns_that_fit_again(&best, most, allowance_use);
    best = again.filter(|next| explain::size(next) <= ceiling.of(next)).unwrap_or(best);
    best.summed.out = out;
    Ok(best)
}

/// The size of the request without further summaries if the model is asked for a state block, as it is when turns are
/// left out. With the summaries it may not be asked; the request must not grow in that case either.
struct Ceiling<'a> {
    input: &'a PlanInput,
    used: Vec<Hash>,
    allowance_use: AllowanceUse,
    /// Whether the model may be asked without further summaries.
    may_ask: bool,
    /// Computed when it is needed for the first time.
    tokens: OnceCell<u32>,
}

impl<'a> Ceiling<'a> {
    fn new(best: &Admitted<'a>, allowance_use: AllowanceUse) -> Self {
        let (used, may_ask) = (best.summed.used.clone(), state_request::may_ask(best));
        Self { input: best.input, used, allowance_use, may_ask, tokens: OnceCell::new() }
    }

    /// Returns the limit of a plan with further summaries; none if the model is asked in both plans or in neither.
    fn of(&self, next: &Admitted<'_>) -> u32 {
        let Some(request) = self.input.state_request.as_ref().filter(|_| self.may_ask) else {
            return u32::MAX;
        };
        if state_request::may_ask(next) {
            return u32::MAX;
        }
        *self.tokens.get_or_init(|| {
            let asking = state_request::asking(self.input, request);
            let summed = SummaryCoverage::new(&asking, self.used.clone());
            admit_with(&asking, summed, self.allowance_use, None).map_or(u32::MAX, |admitted| explain::size(&admitted))
        })
    }
}

/// Returns the plan with turns that a longer summary had displaced and that fit again with its shorter replacement. The
/// plan takes at most `most` tokens. `None` if nothing fits again.
fn with_turns_that_fit_again<'a>(best: &Admitted<'a>, most: u32, allowance_use: AllowanceUse) -> Option<Admitted<'a>> {
    let spare = most.saturating_sub(explain::size(best));
    let room = best.most?.saturating_add(Some(spare).filter(|spare| *spare > 0)?);
    let next = admit_with(best.input, best.summed.clone(), allowance_use, Some(room)).ok()?;
    (explain::size(&next) <= most).then_some(next)
}

/// Returns the plan with one more summary, or the reason why the summary is not sent.
fn with_summary<'a>(
    best: &Admitted<'a>,
    summary: &SummaryInput,
    allowance_use: AllowanceUse,
    ceiling: &Ceiling<'_>,
) -> Result<Admitted<'a>, Reason> {
    let input = best.input;
    let (used, lost) = used_with(best, summary).ok_or(Reason::Duplicate)?;
    if let Some(budget) = choose::session_overfull(input, &SummaryCoverage::new(input, used.clone())) {
        return Err(Reason::SessionFull { budget });
    }
    let replaced = in_place_of_turns(best, summary, (&used, lost), allowance_use, ceiling);
    match replaced {
        Err(_) if takes_free_room(input, summary) => {
            in_free_room(best, summary, SummaryCoverage::new(input, used), allowance_use)
        }
        replaced => replaced,
    }
}

/// Returns the plan with one more summary, which makes the request no larger. `lost` tells whether turns that it covers
/// were left out without it.
fn in_place_of_turns<'a>(
    best: &Admitted<'a>,
    summary: &SummaryInput,
    (used, lost): (&[Hash], bool),
    allowance_use: AllowanceUse,
    ceiling: &Ceiling<'_>,
) -> Result<Admitted<'a>, Reason> {
    let input = best.input;
    let (mut most, mut why) = (None, Reason::SavesNothing);
    for attempt in 0..TRIES {
        let next = match admit_with(input, SummaryCoverage::new(input, used.to_vec()), allowance_use, most) {
            Ok(next) => next,
            Err(blocked) if attempt == 0 => return Err(no_room(input, summary, blocked.needed)),
            Err(_) => break,
        };
        let limit = explain::size(best).min(ceiling.of(&next));
        let over = explain::size(&next).saturating_sub(limit);
        let displaces = displaces_newest(best, &next) || displaces_lease(best, &next);
        if over == 0 && !displaces {
            let costly = || costlier_turn(best, &next, summary);
            let Some(turn) = displaced_turn(best, &next, lost).or_else(costly) else { return Ok(next) };
            // In a later attempt, the turn leaves only so that the request is no larger.
            if attempt == 0 {
                why = Reason::DisplacesTurn { turn };
            }
        }
        if !lost && input.policy.choose == TurnSelection::Relevance {
            return with_same_turns(best, used, allowance_use, ceiling).ok_or(why);
        }
        let Window { start, shortened, form, .. } = next.window;
        most = Some(next.costs.total(start, shortened, form).saturating_sub(over));
        if over == 0 || displaces || start == input.turns.len() || !(lost || sends_other(best, &next)) {
            break;
        }
    }
    Err(why)
}

/// Returns the plan with these summaries and the turns that the policy had chosen by relevance without them, and more
/// turns if the request is then no larger.
fn with_same_turns<'a>(
    best: &Admitted<'a>,
    used: &[Hash],
    allowance_use: AllowanceUse,
    ceiling: &Ceiling<'_>,
) -> Option<Admitted<'a>> {
    let plan =
        |more| admit_with_choice(best, SummaryCoverage::new(best.input, used.to_vec()), allowance_use, more).ok();
    let keeps = |next: &Admitted<'_>| {
        let limit = explain::size(best).min(ceiling.of(next));
        explain::size(next) <= limit && !displaces_lease(best, next) && displaced_turn(best, next, false).is_none()
    };
    plan(true).filter(keeps).or_else(|| plan(false).filter(keeps))
}

/// Returns whether a plan sends turns that another one does not send.
fn sends_other(before: &Admitted<'_>, after: &Admitted<'_>) -> bool {
    before.places.iter().zip(&after.places).any(|(old, new)| !old.is_sent() && new.is_sent())
}

/// Returns the summaries in use with one more, and whether turns that it covers were left out without it; `None` if
/// others cover all of its turns.
fn used_with(best: &Admitted<'_>, summary: &SummaryInput) -> Option<(Vec<Hash>, bool)> {
    let input = best.input;
    let turns = turns_covered_by(input, summary.by);
    let covered: HashSet<Hash> = best.summed.used.iter().flat_map(|by| turns_covered_by(input, *by)).collect();
    if !turns.is_empty() && turns.is_subset(&covered) {
        return None;
    }
    let is_unaffected = |user: &Hash| {
        let at = input.turns.iter().position(|turn| turn.messages.first().is_some_and(|first| first.key == *user));
        at.is_some_and(|at| best.places[at].is_sent() || best.places[at].is_excluded())
    };
    // An older summary is dropped if everything else that it covers is marked and sent.
    let replaces = |by: &Hash| {
        let other = turns_covered_by(input, *by);
        let mut rest = other.difference(&turns);
        other.iter().any(|user| turns.contains(user)) && rest.all(|user| is_unaffected(user) && is_marked(best, user))
    };
    let mut used: Vec<Hash> = best.summed.used.iter().filter(|by| !replaces(by)).copied().collect();
    used.push(summary.by);
    Some((used, !turns.iter().all(is_unaffected)))
}

/// Returns whether a summary that the question names is sent even if the request is then larger: it belongs to another
/// lane or covers no turn of the input.
fn takes_free_room(input: &PlanInput, summary: &SummaryInput) -> bool {
    summary.named && (summary.elsewhere || input.covered.iter().all(|covered| covered.by != summary.by))
}

/// Returns the plan with a summary that the question names, in room that no other turn and no lease takes.
fn in_free_room<'a>(
    best: &Admitted<'a>,
    summary: &SummaryInput,
    summed: SummaryCoverage,
    allowance_use: AllowanceUse,
) -> Result<Admitted<'a>, Reason> {
    let by_relevance = best.input.policy.choose == TurnSelection::Relevance;
    let next = if by_relevance {
        admit_with_choice(best, summed, allowance_use, false)
    } else {
        admit_with(best.input, summed, allowance_use, None)
    };
    let block = best.input.blocks.iter().find(|block| block.text == summary.text);
    let tokens = block.map_or(0, |block| block.tokens);
    let keeps = |next: &Admitted<'_>| !displaces_lease(best, next) && displaced_turn(best, next, false).is_none();
    let no_room = match best.input.policy.choose {
        TurnSelection::Levels => Reason::SavesNothing,
        TurnSelection::Recent | TurnSelection::Lane | TurnSelection::Relevance => {
            Reason::Budget { free: best.free().min(tokens.saturating_sub(1)) }
        }
    };
    next.ok().filter(keeps).ok_or(no_room)
}

/// Returns the number of a turn that adding a summary drops although it does not cover it. If turns that it covers were
/// left out (`lost`), others may leave for it, but only if the policy or the budget has no room for them beside it.
fn displaced_turn(before: &Admitted<'_>, after: &Admitted<'_>, lost: bool) -> Option<u32> {
    let gone = |at: &usize| before.places[*at].is_sent() && is_uncovered_and_out(after, *at);
    let displaced = (0..after.places.len()).find(|at| gone(at) && (!lost || has_room(after, *at)));
    displaced.map(|at| after.input.turns[at].number)
}

/// Returns the number of the newest turn that leaves for a summary although it does not cover it, if the turns that leave
/// so take more than `MOST_DISPLACED` times the tokens of the summary.
fn costlier_turn(before: &Admitted<'_>, after: &Admitted<'_>, summary: &SummaryInput) -> Option<u32> {
    let gone = |at: &usize| before.places[*at].is_sent() && is_uncovered_and_out(after, *at);
    let cost = |at: usize| turn_cost(&before.input.turns[at], window::shortest_form(before.input), &before.marks);
    let left = (0..after.places.len()).filter(gone).fold(0_u32, |sum, at| sum.saturating_add(cost(at)));
    let block = before.input.blocks.iter().find(|block| block.text == summary.text);
    let most = block.map_or(u32::MAX, |block| block.tokens.saturating_mul(MOST_DISPLACED));
    let newest = (0..after.places.len()).rfind(gone).filter(|_| left > most);
    newest.map(|at| after.input.turns[at].number)
}

/// Returns whether a turn is left out that no summary covers.
fn is_uncovered_and_out(plan: &Admitted<'_>, at: usize) -> bool {
    !plan.places[at].is_sent() && !plan.summed.covers(at)
}

/// Returns whether the policy and the budget have room for a turn, and for the newer turns that are left out if only a
/// window without gaps may contain it.
fn has_room(plan: &Admitted<'_>, at: usize) -> bool {
    let form = window::shortest_form(plan.input);
    let last = match plan.input.policy.choose {
        TurnSelection::Recent | TurnSelection::Lane => plan.window.start.max(at + 1),
        TurnSelection::Relevance | TurnSelection::Levels => at + 1,
    };
    let is_out = |turn: &usize| {
        let place = plan.places[*turn];
        !place.is_sent() && !place.is_excluded() && plan.choice.takes_itself(*turn)
    };
    let cost = |turn: usize| turn_cost(&plan.input.turns[turn], form, &plan.marks);
    let needed = (at..last).filter(is_out).fold(0_u32, |sum, turn| sum.saturating_add(cost(turn)));
    plan.choice.takes_itself(at) && needed <= plan.free()
}

/// Returns the number of one of these turns that a plan leaves out although no summary covers it and there is room for
/// it.
pub(in crate::context) fn left_out_turn(plan: &Admitted<'_>, sent: &HashSet<Atom>) -> Option<u32> {
    let mut turns = plan.input.turns.iter().enumerate().filter(|(_, turn)| sent.contains(&turn.atom));
    turns.find(|(at, _)| is_uncovered_and_out(plan, *at) && has_room(plan, *at)).map(|(_, turn)| turn.number)
}

/// Returns whether a mark sends the turn of a user message.
fn is_marked(plan: &Admitted<'_>, user: &Hash) -> bool {
    let turn = plan.input.turns.iter().find(|turn| turn.messages.first().is_some_and(|first| first.key == *user));
    turn.is_some_and(|turn| plan.marks.turn(turn).is_some_and(|mark| !mark.kind.excludes()))
}

/// Returns whether adding a summary drops the newest turn, which the summary does not cover.
fn displaces_newest(before: &Admitted<'_>, after: &Admitted<'_>) -> bool {
    let sent = before.costs.newest().filter(|newest| before.places[*newest].is_sent());
    sent.is_some_and(|newest| !after.places[newest].is_sent() && after.summed.by[newest].is_none())
}

/// Returns whether a person's lease is left out.
pub(super) fn leaves_out_lease(plan: &Admitted<'_>) -> bool {
    let is_left_out = |place: RowPosition| matches!(place, RowPosition::NoLease { .. });
    let blocks = plan.input.blocks.iter().zip(&plan.leases);
    let mut blocks = blocks.filter(|(block, _)| matches!(block.reason, Reason::Leased { engine: false, .. }));
    let turns = plan.input.turns.iter().zip(&plan.places);
    let mut turns = turns.filter(|(turn, _)| plan.marks.turn(turn).is_some_and(|mark| mark.by != Actor::Engine));
    blocks.any(|(_, place)| place.is_some_and(is_left_out)) || turns.any(|(_, place)| is_left_out(*place))
}

/// Returns whether an addition (`after`) drops a person's lease.
pub(super) fn displaces_lease(before: &Admitted<'_>, after: &Admitted<'_>) -> bool {
    let input = before.input;
    let is_card = |place: RowPosition| matches!(place, RowPosition::Card(_));
    let blocks = input.blocks.iter().zip(before.leases.iter().zip(&after.leases));
    let mut blocks = blocks.filter(|(block, _)| matches!(block.reason, Reason::Leased { engine: false, .. }));
    let is_leased =
        |turn: &TurnInput| before.marks.turn(turn).is_some_and(|mark| mark.by != Actor::Engine && mark.kind.includes());
    let turns = input.turns.iter().zip(before.places.iter().zip(&after.places));
    let mut turns = turns.filter(|(turn, _)| is_leased(turn));
    blocks.any(|(_, (old, new))| old.is_some_and(is_card) && !new.is_some_and(is_card))
        || turns.any(|(_, (old, new))| old.is_sent() && !new.is_sent())
}

/// Returns the plan without its oldest summaries, removed one after the other while the levels are too full and
/// everything else that may leave has left. Keeps summaries that the question names, that are younger than their
/// level's minimum age, or whose removal would make the plan larger.
fn without_oldest<'a>(
    mut best: Admitted<'a>,
    allowance_use: AllowanceUse,
    out: &mut HashMap<Hash, Reason>,
) -> Admitted<'a> {
    let input = best.input;
    let spec = &input.policy.levels;
    let mut old: Vec<(u64, &SummaryInput)> = input.summaries.iter().map(|one| (age(input, one.by), one)).collect();
    old.retain(|(age, one)| levels::session_may_leave(*age, spec) && !one.named);
    old.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    for (_, oldest) in old {
        if best.choice.over == 0 {
            break;
        }
        let used: Vec<Hash> = best.summed.used.iter().copied().filter(|by| *by != oldest.by).collect();
        if used.len() == best.summed.used.len() {
            continue;
        }
        let next = admit_with(input, SummaryCoverage::new(input, used), allowance_use, best.most);
        if let Ok(next) = next
            && explain::size(&next) < explain::size(&best)
        {
            out.insert(oldest.text, Reason::LevelsOver { percent: spec.trigger_percent });
            best = next;
        }
    }
    best
}

/// Returns the age in seconds of the newest turn that a summary covers; `u64::MAX` if none of its turns is in the
/// input.
fn age(input: &PlanInput, by: Hash) -> u64 {
    let turns = turns_covered_by(input, by);
    let covered = input.turns.iter().filter(|turn| turn.messages.first().is_some_and(|one| turns.contains(&one.key)));
    covered.map(|turn| turn.facts.age).min().unwrap_or(u64::MAX)
}

/// Returns the reason, with the tokens that were free for a summary after all required items.
fn no_room(input: &PlanInput, summary: &SummaryInput, needed: u32) -> Reason {
    let block = input.blocks.iter().find(|block| block.text == summary.text);
    let other_tokens = needed.saturating_sub(block.map_or(0, |block| block.tokens));
    Reason::Budget { free: input.budget.prompt.saturating_sub(other_tokens) }
}

/// Returns the plan with quotations of covered turns, if the question names what their summary lacks; otherwise `None`.
/// The plan takes no more than `limit`, or without a limit no more than the request would take with the covered turns
/// in place of their summaries.
fn with_quotations<'a>(best: &Admitted<'a>, limit: Option<u32>, allowance_use: AllowanceUse) -> Option<Admitted<'a>> {
    let input = best.input;
    let used = || input.summaries.iter().filter(|one| best.summed.used.contains(&one.by));
    if !used().any(|one| one.lacks) {
        return None;
    }
    let now = explain::size(best);
    let saved = || {
        let marks = Marks::new(&input.marks);
        let turns = input.turns.iter().zip(&best.summed.by).filter(|(_, by)| by.is_some());
        let turns = turns.fold(0_u32, |sum, (turn, _)| sum.saturating_add(turn_cost(turn, Form::Full, &marks)));
        let own = |block: &&Block| used().any(|one| one.text == block.text);
        let texts: u32 = input.blocks.iter().filter(own).map(|block| block.tokens).sum();
        now.saturating_add(turns.saturating_sub(texts))
    };
    let limit = limit.unwrap_or_else(saved);
    let summed = SummaryCoverage { spare: limit.saturating_sub(now), ..best.summed.clone() };
    let next = admit_with(input, summed, allowance_use, best.most).ok()?;
    (explain::size(&next) <= limit && displaced_turn(best, &next, true).is_none()).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::admission::laws_tests::{input, key, mark};
    use crate::domain::conversation::mark::MarkKind;
    use crate::domain::planning::RowKind;
    use crate::domain::planning::input::CoveredTurn;
    use crate::domain::planning::policy::{PolicySpec, Section};

    /// The first summary covers turns 1 to 3, the second one turns 2 to 4. With the first turn marked and sent, the second
    /// one replaces the first. A lease without room as a card keeps its turn in the window, and the first summary out.
    #[test]
    fn an_older_summary_leaves_only_if_its_other_turns_are_marked_and_sent() {
        let (excluded, pinned, included) = (MarkKind::Exclude, MarkKind::Sticky, MarkKind::IncludeOnce);
        for (kind, cap, leaves) in [
            (None, 500, false),
            (Some(pinned), 500, true),
            (Some(included), 500, true),
            (Some(MarkKind::leased(2)), 500, true),
            (Some(MarkKind::leased(2)), 0, true),
            (Some(MarkKind::leased(0)), 500, false),
            (Some(excluded), 500, false),
        ] {
            let policy = PolicySpec { leased_cap_tokens: cap, ..PolicySpec::default() };
            let mut input = input(&[[100; 3]; 4], policy, 2_000);
            input.marks = kind.map(|kind| mark(input.turns[0].atom, kind)).into_iter().collect();
            let one = |at: usize| (key(400, at), key(401, at));
            for at in 0..2 {
                let (by, text) = one(at);
                input.summaries.push(SummaryInput {
                    by,
                    text,
                    named: false,
                    elsewhere: false,
                    lacks: false,
                    older: false,
                    turns: None,
                });
                let covered =
                    (at..at + 3).map(|turn| CoveredTurn { user: key(turn, 0), tip: key(turn, 2), by, lacks: false });
                input.covered.extend(covered);
                let block = (Section::SessionSummary, RowKind::Summary, (text, 20), "summary", Reason::Summary);
                input.blocks.push(Block::new(block.0, block.1, block.2, block.3, block.4));
            }
            let admitted = admit(&input, AllowanceUse::Offered).ok().unwrap();
            let expected = if leaves { vec![one(1).0] } else { vec![one(0).0, one(1).0] };
            assert_eq!(admitted.summed.used, expected, "{kind:?} with a cap of {cap}");
        }
    }

    /// A summary that saves nothing, and another one that was sent with the last call and is no longer accepted.
    #[test]
    fn only_accepted_summaries_of_the_last_call_stay() {
        let mut input = input(&[[10; 3]; 3], PolicySpec { anchored: true, ..PolicySpec::default() }, 1_000);
        let (by, gone, text) = (key(400, 0), key(400, 1), key(401, 0));
        input.summaries =
            vec![SummaryInput { by, text, named: false, elsewhere: false, lacks: false, older: false, turns: None }];
        input.covered = vec![CoveredTurn { user: key(0, 0), tip: key(0, 2), by, lacks: false }];
        input.blocks =
            vec![Block::new(Section::SessionSummary, RowKind::Summary, (text, 500), "summary", Reason::Summary)];
        let window = Window { start: 1, shortened: 0, form: Form::Full, floor: 1, refilled: false };
        for (sent, stays) in [(vec![], vec![]), (vec![by], vec![by]), (vec![gone], vec![]), (vec![gone, by], vec![by])]
        {
            input.anchor = window::anchor(&input, window, &sent);
            let admitted = admit(&input, AllowanceUse::Offered).ok().unwrap();
            assert_eq!(admitted.summed.used, stays, "{sent:?}");
        }
    }
}
