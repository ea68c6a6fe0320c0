//! Determines the turns that the policy chooses, and their forms, before marks and hard rules apply. A turn that the
//! policy withholds is still sent if a person pins or includes it, and a chosen turn is still left out if there is no
//! room. The choice ignores marks, so that a mark on one turn never moves another; pins are added on top of the target.
//! Not for: the formulas (`policy`), the start of the window (`window`), or the budget (`admit`).

use super::coverage::SummaryCoverage;
use super::forms::{Marks, is_lease, turn_cost};
use super::window::{self, CLOSED_RESULT};
use crate::context::policy::adaptive::WindowTarget;
use crate::context::policy::levels::{self, EvictionReason, FixedTokens, LargestParts, LevelTurn, TurnOutcomes};
use crate::context::policy::relevance::{self, Candidate, ChosenTurn, WindowRoom};
use crate::context::policy::{Costs, Score, adaptive, lanes};
use crate::domain::conversation::{Atom, MarkKind};
use crate::domain::planning::{Block, Form, PlanInput, Row, Section, TurnBefore, TurnInput, TurnSelection};
use crate::domain::planning::{Reason, Warning};
use std::collections::HashMap;

pub(in crate::context) const SESSION_LEVEL: [Section; 5] =
    [Section::State, Section::SessionSummary, Section::LaneSummary, Section::Orientation, Section::LeasedPins];

/// The choice of a policy, turn by turn.
#[derive(Clone)]
pub(in crate::context) struct PolicyChoice {
    /// Why the policy withholds a turn.
    reasons: Vec<Option<Reason>>,
    /// Why the policy takes a turn.
    takes: Vec<Reason>,
    /// The best form that the policy allows a turn.
    forms: Vec<Form>,
    /// Whether a person's mark keeps the turn in.
    marked: Vec<bool>,
    /// Whether a summary replaces the turn, so that no window contains it.
    covered: Vec<bool>,
    /// Empty if the policy scores nothing.
    scores: Vec<Score>,
    /// The budgets of the levels, if the policy has levels.
    pub(in crate::context) levels: Option<[u32; 4]>,
    /// Tokens that should leave the levels but are too young.
    pub(in crate::context) over: u32,
    pub(in crate::context) warnings: Vec<Warning>,
}

impl PolicyChoice {
    /// Returns all turns in full: the choice that decides whether a call is blocked, regardless of the policy's choice.
    pub(in crate::context) fn all(input: &PlanInput, marks: &Marks<'_>, summed: &SummaryCoverage) -> Self {
        let turns = input.turns.len();
        let is_wanted = |turn: &TurnInput| marks.turn(turn).is_some_and(|mark| mark.kind.includes());
        Self {
            reasons: vec![None; turns],
            takes: vec![Reason::Recent; turns],
            forms: vec![Form::Full; turns],
            marked: input.turns.iter().map(is_wanted).collect(),
            covered: (0..turns).map(|turn| summed.covers(turn)).collect(),
            scores: Vec::new(),
            levels: None,
            over: 0,
            warnings: Vec::new(),
        }
    }

    /// Returns whether the policy withholds this turn and no mark brings it back.
    pub(in crate::context) fn withholds(&self, turn: usize) -> bool {
        self.reasons[turn].is_some() && !self.marked[turn]
    }

    /// Returns the same choice with these turns replaced by summaries.
    pub(in crate::context) fn covered_by(&self, summed: &SummaryCoverage) -> Self {
        Self { covered: (0..self.covered.len()).map(|turn| summed.covers(turn)).collect(), ..self.clone() }
    }

    /// Returns whether the policy withholds any turn, ignoring marks.
    pub(in crate::context) fn withholds_any(&self) -> bool {
        self.reasons.iter().any(Option::is_some)
    }

    /// Returns whether no window contains this turn: the policy withholds it, or a summary replaces it.
    pub(in crate::context) fn is_outside(&self, turn: usize) -> bool {
        self.covered[turn] || self.withholds(turn)
    }

    /// Returns whether a summary replaces this turn.
    pub(in crate::context) fn covers(&self, turn: usize) -> bool {
        self.covered[turn]
    }

    /// Returns whether the policy takes this turn, ignoring marks.
    pub(in crate::context) fn takes_itself(&self, turn: usize) -> bool {
        self.reasons[turn].is_none() && !self.covered[turn]
    }

    /// Returns why the policy withholds a turn, ignoring marks.
    pub(in crate::context) fn reason(&self, turn: usize) -> Option<&Reason> {
        self.reasons[turn].as_ref()
    }

    /// Returns why a turn without a mark is in the window.
    pub(in crate::context) fn takes(&self, turn: usize) -> Reason {
        self.takes[turn].clone()
    }

    /// Returns `wanted`, or a shorter form if the policy limits this turn to it.
    pub(in crate::context) fn form(&self, turn: usize, wanted: Form) -> Form {
        if self.marked[turn] { wanted } else { shorter_form(wanted, self.forms[turn]) }
    }
}

fn shorter_form(a: Form, b: Form) -> Form {
    let rank = |form: Form| match form {
        Form::Cut(_) => 1,
        Form::Elided => 2,
        Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Applies the policy. `taken` is the cost of everything except the closed turns (blocks, offers, tools, framing, open
/// turn), and `open` is the cost of the open turn; `offered` returns the tokens that offers take in some sections. With
/// `before`, a choice made in less room, a policy by relevance or levels only adds turns to it. In a later round of a
/// turn, they repeat the choice of the previous round. Ignores the tokens that the turn's own results add to the
/// budget.
pub(in crate::context) fn choose(
    input: &PlanInput,
    marks: &Marks<'_>,
    (taken, open): (u32, u32),
    (summed, before): (&SummaryCoverage, Option<&PolicyChoice>),
    offered: &dyn Fn(&[Section]) -> u32,
) -> PolicyChoice {
    let floor = window::floor(input, summed.floor);
    let results = input.budget.results;
    let (taken, open) = (taken.saturating_sub(results), open.saturating_sub(results));
    let round = input.round_before.as_ref().map(|before| decided_before(input, (marks, summed), before));
    let before = round.as_ref().map_or_else(|| before.map_or(Earlier::Nothing, Earlier::Smaller), Earlier::Round);
    let mut choice = PolicyChoice::all(input, marks, summed);
    match input.policy.choose {
        TurnSelection::Recent | TurnSelection::Lane if !input.policy.anchored && round.is_some() => {
            choice = round.unwrap_or(choice);
        }
        TurnSelection::Recent => {
            if input.policy.lane_window {
                leave_out_other_lanes(input, &mut choice);
            }
            pass_over_too_large(input, &mut choice);
        }
        TurnSelection::Lane => {
            by_lane(input, &mut choice);
            pass_over_too_large(input, &mut choice);
        }
        TurnSelection::Relevance => by_relevance(input, taken, (floor, before), &mut choice),
        TurnSelection::Levels => {
            by_levels(input, fixed(input, summed, (taken, open), offered), (floor, before), &mut choice);
        }
    }
    choice
}

/// An earlier choice, which the new choice is based on.
#[derive(Clone, Copy)]
enum Earlier<'a> {
    Nothing,
    /// A choice made in less room; turns are added to it.
    Smaller(&'a PolicyChoice),
    /// The choice of the previous round, which is repeated.
    Round(&'a PolicyChoice),
}

/// Returns the choice of the previous round. Turns that it did not decide about are withheld.
fn decided_before(
    input: &PlanInput,
    (marks, summed): (&Marks<'_>, &SummaryCoverage),
    before: &[TurnBefore],
) -> PolicyChoice {
    let mut choice = PolicyChoice::all(input, marks, summed);
    let by_atom: HashMap<Atom, &TurnBefore> = before.iter().map(|turn| (turn.atom, turn)).collect();
    for (at, turn) in input.turns.iter().enumerate() {
        match by_atom.get(&turn.atom).map(|before| (&before.sent, before.relevant)) {
            Some((Ok(form), relevant)) => {
                choice.forms[at] = *form;
                choice.takes[at] = if relevant { Reason::Relevant } else { Reason::Recent };
            }
            Some((Err(reason), _)) => choice.reasons[at] = Some(reason.clone()),
            None => choice.reasons[at] = Some(Reason::OutsideWindow),
        }
    }
    choice
}

/// Withholds turns that are not in the lane that a person chose.
fn leave_out_other_lanes(input: &PlanInput, choice: &mut PolicyChoice) {
    for at in 0..input.turns.len() {
        if window::in_other_lane(input, at) && sent(&input.turns[at]) > 0 {
            choice.reasons[at] = Some(other_lane(input));
        }
    }
}

/// Withholds turns that exceed the whole budget even in their shortest form, so that they do not end the window.
fn pass_over_too_large(input: &PlanInput, choice: &mut PolicyChoice) {
    for (at, turn) in input.turns.iter().enumerate() {
        if choice.reasons[at].is_none() && costs(input, turn).elided > input.budget.prompt {
            choice.reasons[at] = Some(Reason::TooLarge);
        }
    }
}

/// Returns why turns of other lanes are left out.
pub(in crate::context) fn other_lane(input: &PlanInput) -> Reason {
    if input.policy.choose == TurnSelection::Lane { Reason::OtherLane } else { Reason::OutsideLane }
}

/// Withholds turns of other lanes, and all but the newest messages of this lane.
fn by_lane(input: &PlanInput, choice: &mut PolicyChoice) {
    let lane = &input.open.facts.lane;
    let (mut own, mut at) = (Vec::new(), Vec::new());
    for (index, turn) in input.turns.iter().enumerate() {
        if turn.facts.lane == *lane {
            own.push(lanes::LaneTurn { messages: sent(turn), tokens: 0 });
            at.push(index);
        } else if sent(turn) > 0 {
            choice.reasons[index] = Some(Reason::OtherLane);
        }
    }
    let messages = input.policy.lanes.messages;
    for index in at.into_iter().take(lanes::recent(&own, messages)) {
        choice.reasons[index] = Some(Reason::LaneCount { messages }).filter(|_| sent(&input.turns[index]) > 0);
    }
}

/// Returns the number of messages that a turn sends.
fn sent(turn: &TurnInput) -> u32 {
    u32::try_from(turn.messages.iter().filter(|message| message.bar.is_none()).count()).unwrap_or(u32::MAX)
}

/// Takes the newest turns, then the most relevant, up to the adaptive target.
fn by_relevance(input: &PlanInput, taken: u32, (floor, earlier): (usize, Earlier<'_>), choice: &mut PolicyChoice) {
    let spec = &input.policy.adaptive;
    let size = size(input);
    let most = input.budget.without_results();
    let (target, before) = (size.target.min(most), size.before.min(most));
    choice.scores = input.turns.iter().map(|turn| relevance::turn(&turn.facts, &input.policy.relevance)).collect();
    let room = window_room(input, target.saturating_sub(taken));
    let candidates = candidates(input, floor, choice);
    let kept = |earlier: &PolicyChoice| -> Vec<Option<ChosenTurn>> {
        let is_sent = |at: usize| earlier.takes_itself(at) && sent(&input.turns[at]) > 0;
        let chosen = |at| ChosenTurn { form: earlier.forms[at], relevant: earlier.takes[at] == Reason::Relevant };
        (floor..input.turns.len()).map(|at| is_sent(at).then(|| chosen(at))).collect()
    };
    let chosen = match earlier {
        Earlier::Nothing => relevance::fill(&candidates, &[], room),
        Earlier::Smaller(earlier) => relevance::fill(&candidates, &kept(earlier), room),
        Earlier::Round(earlier) => kept(earlier),
    };
    for (at, taken) in chosen.into_iter().enumerate() {
        match taken {
            Some(taken) => {
                choice.forms[floor + at] = taken.form;
                choice.takes[floor + at] = if taken.relevant { Reason::Relevant } else { Reason::Recent };
            }
            None if sent(&input.turns[floor + at]) == 0 || choice.covers(floor + at) => {}
            None => {
                choice.reasons[floor + at] = Some(withheld(earlier, floor + at, Reason::SoftTarget { tokens: target }));
            }
        }
    }
    if target != before {
        choice.warnings.push(Warning::WindowAdjusted {
            tokens: target,
            complexity: size.complexity.shown(),
            task: size.task,
            times: spec.tasks.of(size.task),
            limited: size.limited,
        });
    }
}

/// Returns the size of the window under a policy by relevance.
fn size(input: &PlanInput) -> WindowTarget {
    let facts: Vec<_> = input.turns.iter().map(|turn| &turn.facts).collect();
    adaptive::replay(&facts, &input.policy.adaptive)
}

fn window_room(input: &PlanInput, tokens: u32) -> WindowRoom {
    let spec = &input.policy.adaptive;
    let recent = spec.recent_share.share(tokens);
    WindowRoom { tokens, messages: spec.messages, recent, shorten: input.policy.shorten_tools }
}

/// Returns the turns from `floor` on as candidates for the window. A covered turn takes nothing.
fn candidates(input: &PlanInput, floor: usize, choice: &PolicyChoice) -> Vec<Candidate> {
    let one = |at: usize| Candidate {
        costs: uncovered_costs(input, at, choice),
        messages: if choice.covers(at) { 0 } else { sent(&input.turns[at]) },
        score: choice.scores[at].raw,
    };
    (floor..input.turns.len()).map(one).collect()
}

/// Returns the cost of a turn without marks, in each form; nothing for a covered turn.
fn uncovered_costs(input: &PlanInput, turn: usize, choice: &PolicyChoice) -> Costs {
    if choice.covers(turn) { Costs { full: 0, cut: 0, elided: 0 } } else { costs(input, &input.turns[turn]) }
}

/// Returns the choice by relevance with more turns, if some fit into what is left of the target after `total` tokens:
/// the window shortens all its tool results if the budget does not hold them beside leases and pins, which may free
/// more than that takes. The chosen turns from `floor` on, all of which are in the window, stay in the forms that `form`
/// returns. Turns that a mark sends (`is_marked`) need not be chosen.
pub(in crate::context) fn with_more_turns(
    input: &PlanInput,
    (floor, total): (usize, u32),
    choice: &PolicyChoice,
    (form, is_marked): (&dyn Fn(usize) -> Form, &dyn Fn(usize) -> bool),
) -> Option<PolicyChoice> {
    let target = size(input).target.min(input.budget.without_results());
    let most = target.saturating_add(input.budget.results).min(input.budget.prompt);
    let spare = most.checked_sub(total)?;
    let candidates = candidates(input, floor, choice);
    let is_kept = |at: usize| is_marked(at) || choice.takes_itself(at) && sent(&input.turns[at]) > 0;
    let chosen = |at: usize| ChosenTurn { form: form(at), relevant: choice.takes[at] == Reason::Relevant };
    let kept: Vec<_> = (floor..input.turns.len()).map(|at| is_kept(at).then(|| chosen(at))).collect();
    let taken = candidates.iter().zip(&kept).filter_map(|(turn, kept)| Some(turn.costs.in_form((*kept)?.form)));
    let room = window_room(input, taken.fold(spare, u32::saturating_add));
    let filled = relevance::fill(&candidates, &kept, room);
    let mut more = choice.clone();
    let all = filled.iter().enumerate().filter_map(|(at, taken)| Some((floor + at, (*taken)?)));
    for (at, taken) in all.filter(|(at, _)| !is_marked(*at)) {
        more.reasons[at] = None;
        more.forms[at] = taken.form;
        more.takes[at] = if taken.relevant { Reason::Relevant } else { Reason::Recent };
    }
    let count = |turns: &[Option<ChosenTurn>]| turns.iter().flatten().count();
    (count(&filled) > count(&kept)).then_some(more)
}

/// Keeps each level within its budget; the turns with the lowest scores leave.
fn by_levels(input: &PlanInput, fixed: FixedTokens, (floor, earlier): (usize, Earlier<'_>), choice: &mut PolicyChoice) {
    let spec = &input.policy.levels;
    let largest = largest(input);
    choice.scores = input.turns.iter().map(|turn| levels::priority(&turn.facts, largest, false, spec)).collect();
    let turns: Vec<LevelTurn> = (floor..input.turns.len())
        .map(|at| LevelTurn {
            costs: uncovered_costs(input, at, choice),
            age: input.turns[at].facts.age,
            score: choice.scores[at].raw,
            priority: input.turns[at].facts.priority,
        })
        .collect();
    let total = levels_total(input);
    let decision = match earlier {
        Earlier::Nothing => levels::decide(&turns, fixed, total, spec),
        Earlier::Smaller(earlier) => levels::add(&turns, by_level(earlier, floor), (fixed, total), spec),
        Earlier::Round(earlier) => levels::repeat(&turns, by_level(earlier, floor), (fixed, total), spec),
    };
    let [permanent, session, working, volatile] = decision.budgets;
    choice.levels = Some([permanent, session, working.saturating_add(input.budget.results), volatile]);
    for (at, verdict) in decision.turns.into_iter().enumerate() {
        let reason = match verdict {
            Ok(form) => {
                choice.forms[floor + at] = form;
                choice.takes[floor + at] = Reason::WorkingLevel;
                continue;
            }
            Err(EvictionReason::Full { budget }) => Reason::LevelFull { budget },
            Err(EvictionReason::Triggered) => Reason::LevelsOver { percent: spec.trigger_percent },
        };
        let reason = withheld(earlier, floor + at, reason);
        choice.reasons[floor + at] = Some(reason).filter(|_| sent(&input.turns[floor + at]) > 0);
    }
    if let Some(over) = decision.cannot {
        choice.over = over;
        choice.warnings.push(Warning::LevelsCannotFit { over, percent: spec.trigger_percent });
    }
}

/// Returns why a turn is withheld: as in the previous round, otherwise by the policy's own reason.
fn withheld(earlier: Earlier<'_>, turn: usize, reason: Reason) -> Reason {
    match earlier {
        Earlier::Round(before) => before.reasons[turn].clone().unwrap_or(reason),
        Earlier::Nothing | Earlier::Smaller(_) => reason,
    }
}

/// Returns the decisions of an earlier choice by levels about the turns from `floor` on.
fn by_level(earlier: &PolicyChoice, floor: usize) -> TurnOutcomes {
    let one = |at: usize| match &earlier.reasons[at] {
        None => Ok(earlier.forms[at]),
        Some(Reason::LevelFull { budget }) => Err(EvictionReason::Full { budget: *budget }),
        Some(_) => Err(EvictionReason::Triggered),
    };
    (floor..earlier.reasons.len()).map(one).collect()
}

/// Returns the tokens of the levels before any closed turn.
fn fixed(
    input: &PlanInput,
    summed: &SummaryCoverage,
    (taken, open): (u32, u32),
    offered: &dyn Fn(&[Section]) -> u32,
) -> FixedTokens {
    let used = |block: &&Block| !summed.omits(block) && !is_lease(block);
    let sum = |sections: &[Section]| {
        let blocks = input.blocks.iter().filter(used).filter(|block| sections.contains(&block.section));
        blocks.fold(offered(sections), |sum, block| sum.saturating_add(block.tokens))
    };
    let (session, volatile) = (sum(&SESSION_LEVEL), sum(&[Section::Retrieved]));
    let working = sum(&[Section::QuotedReply, Section::UserMessage, Section::DuringTurn]).saturating_add(open);
    let above = session.saturating_add(working).saturating_add(volatile);
    FixedTokens { permanent: taken.saturating_sub(above), session, working, volatile }
}

/// Returns the largest size of offers at which the policy still includes the newest turn, if it includes that turn
/// without offers; no limit otherwise. `beside` is the cost of everything required except the closed turns.
pub(in crate::context) fn most_offered(input: &PlanInput, summed: &SummaryCoverage, beside: u32) -> u32 {
    if input.round_before.is_some() {
        return u32::MAX;
    }
    // Above the trigger, the newest turn stays in the levels as long as it fits.
    let (limit, most) = match input.policy.choose {
        TurnSelection::Recent | TurnSelection::Lane => return u32::MAX,
        TurnSelection::Relevance => {
            let target = size(input).target.min(input.budget.without_results());
            (target, target)
        }
        TurnSelection::Levels => {
            let total = levels_total(input);
            (levels::trigger_tokens(total, &input.policy.levels), total)
        }
    };
    let newest = (window::floor(input, summed.floor)..input.turns.len()).rfind(|turn| !summed.covers(*turn));
    let newest = newest.map(|turn| &input.turns[turn]).filter(|turn| sent(turn) > 0);
    let with_newest =
        newest.map(|turn| beside.saturating_sub(input.budget.results).saturating_add(costs(input, turn).elided));
    with_newest.filter(|tokens| *tokens <= most).map_or(u32::MAX, |tokens| limit.saturating_sub(tokens))
}

/// Returns the maximum of all levels together, in tokens.
pub(in crate::context) fn levels_total(input: &PlanInput) -> u32 {
    input.policy.levels.total.min(input.budget.without_results())
}

fn largest(input: &PlanInput) -> LargestParts {
    LargestParts::of(input.turns.iter().map(|turn| &turn.facts))
}

/// Returns the tokens left in the session level after its blocks and `offered`; no limit without levels.
pub(in crate::context) fn session_room(input: &PlanInput, summed: &SummaryCoverage, offered: u32) -> u32 {
    session(input, summed).map_or(u32::MAX, |(used, budget)| budget.saturating_sub(used.saturating_add(offered)))
}

/// Returns the session level's budget, if its blocks alone exceed it.
pub(in crate::context) fn session_overfull(input: &PlanInput, summed: &SummaryCoverage) -> Option<u32> {
    session(input, summed).filter(|(used, budget)| used > budget).map(|(_, budget)| budget)
}

/// Returns the tokens of the session level's blocks without leases, and its budget; `None` without levels.
fn session(input: &PlanInput, summed: &SummaryCoverage) -> Option<(u32, u32)> {
    if input.policy.choose != TurnSelection::Levels {
        return None;
    }
    let used = input.blocks.iter().filter(|block| !summed.omits(block) && !is_lease(block));
    let used = used.filter(|block| SESSION_LEVEL.contains(&block.section)).map(|block| block.tokens);
    let budget = levels::budgets(levels_total(input), &input.policy.levels)[1];
    Some((used.fold(0, u32::saturating_add), budget))
}

/// Returns the cost of a turn without marks, in each form.
fn costs(input: &PlanInput, turn: &TurnInput) -> Costs {
    let none = Marks::new(&[]);
    let full = turn_cost(turn, Form::Full, &none);
    if !input.policy.shorten_tools {
        return Costs { full, cut: full, elided: full };
    }
    let cut = turn_cost(turn, Form::Cut(CLOSED_RESULT), &none).min(full);
    Costs { full, cut, elided: turn_cost(turn, Form::Elided, &none).min(cut) }
}

/// Writes scores into the rows of turns. A pin's part is added only here, where it does not change the choice.
pub(in crate::context) fn score_rows(rows: &mut [Row], input: &PlanInput, choice: &PolicyChoice) {
    if choice.scores.is_empty() {
        return;
    }
    let by_atom: HashMap<Atom, usize> = input.turns.iter().enumerate().map(|(at, turn)| (turn.atom, at)).collect();
    let largest = largest(input);
    for row in rows {
        let Some(at) = by_atom.get(&row.atom).copied() else { continue };
        let pinned = row.pin == Some(MarkKind::Sticky);
        let score = match input.policy.choose {
            TurnSelection::Levels => levels::priority(&input.turns[at].facts, largest, pinned, &input.policy.levels),
            TurnSelection::Relevance if pinned => {
                let mut parts = choice.scores[at].parts.clone();
                parts.push(("starred", input.policy.relevance.starred.0));
                Score::of(parts)
            }
            TurnSelection::Relevance | TurnSelection::Recent | TurnSelection::Lane => choice.scores[at].clone(),
        };
        row.scores.score = Some(score.shown());
        row.scores.parts = score.parts.iter().map(|(name, part)| ((*name).to_owned(), *part)).collect();
    }
}
