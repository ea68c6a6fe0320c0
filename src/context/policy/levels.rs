//! Defines the budgets of the priority levels, and decides the order in which turns leave them.
//! Not for: ages and mentions (`engine`). Permanent items and pins never leave because of a level.

use super::{Costs, Score};
use crate::context::admission::window::CLOSED_RESULT;
use crate::domain::planning::{Form, Levels, TaskRelation, TurnFacts};

/// Returns the recency in thousandths: `1 / (1 + minutes)`, computed from seconds and rounded.
pub fn recency(age: u64) -> i32 {
    let below = 60 + u128::from(age);
    i32::try_from((60_000 + below / 2) / below).unwrap_or(0)
}

/// Returns the references in thousandths: later mentions / all mentions; 0 without mentions.
pub fn references(later: u32, all: u32) -> i32 {
    if all == 0 {
        return 0;
    }
    i32::try_from((u64::from(later.min(all)) * 1_000 + u64::from(all) / 2) / u64::from(all)).unwrap_or(0)
}

/// The largest parts among the turns of a conversation. Each part of a score is divided by its maximum, so that a
/// weight has the same effect regardless of the part's own scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LargestParts {
    recency: i32,
    references: i32,
    likeness: i32,
}

impl LargestParts {
    /// Returns the maxima over these turns.
    pub fn of<'a>(turns: impl IntoIterator<Item = &'a TurnFacts>) -> Self {
        turns.into_iter().fold(Self::default(), |most, facts| {
            let own = Self::parts(facts);
            Self {
                recency: most.recency.max(own.recency),
                references: most.references.max(own.references),
                likeness: most.likeness.max(own.likeness),
            }
        })
    }

    fn parts(facts: &TurnFacts) -> Self {
        Self {
            recency: recency(facts.age),
            references: references(facts.mentions.0, facts.mentions.1),
            likeness: facts.similarity.unwrap_or(0).clamp(0, 1_000),
        }
    }

    /// Returns a turn's parts in thousandths of the maxima, rounded. References count only if some turn resembles the
    /// message: the oldest turns have the most later mentions, so otherwise they would displace newer ones.
    fn shares(self, facts: &TurnFacts) -> Self {
        let own = Self::parts(facts);
        let share = |part: i32, largest: i32| if largest > 0 { (part * 1_000 + largest / 2) / largest } else { 0 };
        Self {
            recency: share(own.recency, self.recency),
            references: if self.likeness > 0 { share(own.references, self.references) } else { 0 },
            likeness: share(own.likeness, self.likeness),
        }
    }
}

/// Returns a turn's priority: the weighted sum of recency, references, and similarity to the message (at least 0), each
/// relative to its maximum, and of whether it is pinned. Turns at the start or end of a person's task get an additional
/// part.
pub fn priority(facts: &TurnFacts, largest: LargestParts, explicit: bool, spec: &Levels) -> Score {
    let own = largest.shares(facts);
    let mut parts = vec![
        ("recency", spec.recency.of(own.recency)),
        ("references", spec.references.of(own.references)),
        ("task", spec.task.of(own.likeness)),
        ("explicit", if explicit { spec.explicit.0 } else { 0 }),
    ];
    match facts.part {
        TaskRelation::None => {}
        TaskRelation::Running => parts.push(("task_running", spec.running.0)),
        TaskRelation::Done => parts.push(("task_done", spec.done.0)),
    }
    Score::of(parts)
}

/// Returns whether the levels must be emptied: `used` is more than `percent` of `total`.
fn triggered(used: u64, total: u64, percent: u32) -> bool {
    used * 100 > total * u64::from(percent)
}

/// A closed turn that no summary covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnsummarizedTurn {
    /// Its tokens in full.
    pub tokens: u32,
    /// Its age in seconds, by the conversation's own time.
    pub age: u64,
    /// Whether the levels left it out of the last request.
    pub left_out: bool,
}

/// A summary that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueSummary {
    /// Tokens of all levels together.
    pub used: u64,
    /// Index of the first turn that stays; the summary covers the turns before it.
    pub upto: usize,
    /// Whether it is due only because turns were left out without a summary.
    pub lost: bool,
}

/// Returns the summary that the oldest turns of the working level need, if any. `turns` are oldest first; `fixed` is
/// the number of tokens that precede them. Above the trigger, or above the budgets of the first three levels, turns are
/// taken oldest first until at most `refill_percent` of the total (of those budgets if they were full; at most the
/// trigger) would be used, so that one summary does not trigger the next. The newest turn is never taken; turns younger
/// than their level's minimum age are taken only if those budgets are full. Low scores leave first only in the plan,
/// since a summary covers consecutive turns: a summary is also due, regardless of the tokens in the levels, once turns
/// were left out without a summary; it covers the turns up to the newest of these.
pub fn due(
    turns: &[UnsummarizedTurn],
    fixed: u32,
    total: u32,
    refill_percent: u32,
    spec: &Levels,
) -> Option<DueSummary> {
    let used = turns.iter().fold(u64::from(fixed), |sum, turn| sum + u64::from(turn.tokens));
    let first_three = budgets(total, spec).iter().map(|budget| u64::from(*budget)).sum();
    let full = used > first_three;
    let over = full || triggered(used, total.into(), spec.trigger_percent);
    let older = &turns[..turns.len().saturating_sub(1)];
    let lost = older.iter().rposition(|turn| turn.left_out).map_or(0, |at| at + 1);
    if !over && lost == 0 {
        return None;
    }
    let goal = refill_percent.min(spec.trigger_percent);
    let least = if full { 0 } else { least_age(Stage::Summarize, spec) };
    let too_much =
        |left: u64| triggered(left, total.into(), goal) || full && triggered(left, first_three, refill_percent);
    let mut left = used;
    let mut upto = 0;
    for (at, turn) in older.iter().enumerate() {
        if at >= lost && (turn.age < least || !over || !too_much(left)) {
            break;
        }
        left -= u64::from(turn.tokens);
        upto += 1;
    }
    (upto > 0).then_some(DueSummary { used, upto, lost: !over })
}

/// Returns the budgets of levels 1 to 3, as shares of a total that may be smaller than the policy's.
pub fn budgets(total: u32, spec: &Levels) -> [u32; 3] {
    let whole = u64::from(spec.total.max(1));
    let share = |of: u32| {
        let scaled = u64::from(of) * u64::from(total.min(spec.total)) / whole;
        u32::try_from(scaled).unwrap_or(u32::MAX)
    };
    [spec.permanent, spec.session, spec.working].map(share)
}

/// The stages in which levels are emptied, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Stage {
    /// Level 4: tool results and other bodies are cut.
    Volatile,
    /// Level 3: a turn's tool calls are replaced by a line.
    Degrade,
    /// Level 3: a turn leaves, to be summarized.
    Summarize,
}

/// An item that may leave a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvictionCandidate {
    pub stage: Stage,
    /// The caller's index; older items have smaller ones.
    pub index: usize,
    /// Whether it is one of the newest, which leave after all others, oldest first.
    pub newest: bool,
    /// Tokens that this frees.
    pub frees: u32,
    /// Its raw score.
    pub score: i32,
    /// Its own priority.
    pub priority: u8,
    /// Age in seconds.
    pub age: u64,
}

/// The evictions. If `freed` is less than required, nothing more may leave, and the caller must report that.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Eviction {
    /// In the order in which they left.
    pub left: Vec<(Stage, usize)>,
    /// Freed tokens.
    pub freed: u32,
}

/// Evicts candidates until `over` tokens are freed or nothing old enough is left: stage by stage, lowest score first,
/// then lowest own priority, then oldest; the newest turns after all others. Each candidate is considered once.
pub fn empty(mut candidates: Vec<EvictionCandidate>, over: u32, spec: &Levels) -> Eviction {
    let rank = |one: &EvictionCandidate| if one.newest { (0, 0) } else { (one.score, one.priority) };
    candidates.sort_by_key(|one| (one.stage, one.newest, rank(one), one.index));
    let mut emptied = Eviction::default();
    for one in candidates {
        if emptied.freed >= over {
            break;
        }
        if one.frees > 0 && one.age >= least_age(one.stage, spec) {
            emptied.freed = emptied.freed.saturating_add(one.frees);
            emptied.left.push((one.stage, one.index));
        }
    }
    emptied
}

/// Returns the minimum age in seconds of evictions in a stage; 0 for volatile items.
fn least_age(stage: Stage, spec: &Levels) -> u64 {
    match stage {
        Stage::Volatile => 0,
        Stage::Degrade | Stage::Summarize => named_or_default(spec.working_seconds, spec),
    }
}

/// Returns whether a summary or another item of the session level is old enough to leave.
pub fn session_may_leave(age: u64, spec: &Levels) -> bool {
    age >= named_or_default(spec.session_seconds, spec)
}

fn named_or_default(seconds: u32, spec: &Levels) -> u64 {
    u64::from(if seconds == 0 { spec.default_seconds } else { seconds })
}

/// A closed turn, as input for the levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelTurn {
    /// Its cost. The cost with cut results belongs to the working level, the rest to the volatile level.
    pub costs: Costs,
    /// Age in seconds.
    pub age: u64,
    /// Raw priority score.
    pub score: i32,
    /// Its own priority, 0 to 100.
    pub priority: u8,
}

/// Tokens before any closed turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FixedTokens {
    /// Level 1.
    pub permanent: u32,
    /// Level 2.
    pub session: u32,
    /// Level 3: the open turn and the items that are sent with it.
    pub working: u32,
    /// Level 4: retrieved items.
    pub volatile: u32,
}

impl FixedTokens {
    fn sum(self) -> u32 {
        [self.permanent, self.session, self.working, self.volatile].into_iter().fold(0, u32::saturating_add)
    }
}

/// Why a turn left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvictionReason {
    /// The working level's own budget is full.
    Full {
        /// That budget, in tokens.
        budget: u32,
    },
    /// All levels together exceeded the trigger.
    Triggered,
}

/// For each turn: its form, or why it left.
pub type TurnOutcomes = Vec<Result<Form, EvictionReason>>;

/// The contents of the levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What happened to each turn.
    pub turns: TurnOutcomes,
    /// Tokens used in levels 1 to 4.
    pub used: [u32; 4],
    /// Budgets of levels 1 to 4: the third includes the tokens that the first two leave, and the fourth is the rest of
    /// the total.
    pub budgets: [u32; 4],
    /// Tokens that should have left but are too young.
    pub cannot: Option<u32>,
}

/// Decides by levels which turns are sent, and in which form. `total` is the maximum of all levels in tokens; `turns`
/// are oldest first. The first three levels share their budgets: tokens that the permanent and session levels do not
/// spend are added to the working level, and tokens that they overspend are taken from it. The newest turns that fit
/// into a share of the working level leave after all others; the very newest leaves only by age and trigger.
pub fn decide(turns: &[LevelTurn], fixed: FixedTokens, total: u32, spec: &Levels) -> Decision {
    let below = fixed.permanent.saturating_add(fixed.session);
    let working = working_budget(fixed, total, spec);
    // A turn that cannot be sent at all takes no room from others, even if it is the newest.
    let most = total.saturating_sub(fixed.sum());
    let fits = |turn: &LevelTurn| turn.costs.elided <= most;
    let begin = |turn| if fits(turn) { Ok(Form::Full) } else { Err(EvictionReason::Full { budget: working }) };
    let mut state = State::new(turns, turns.iter().map(begin).collect(), working.saturating_sub(fixed.working), spec);
    if spec.eager {
        state.shorten_old(least_age(Stage::Degrade, spec));
    }
    let any_age = Levels { default_seconds: 0, working_seconds: 0, ..*spec };
    let over = state.working(fixed).saturating_sub(working);
    state.empty(&[Stage::Degrade, Stage::Summarize], over, &any_age, true, EvictionReason::Full { budget: working });
    let volatile = total.saturating_sub(below.saturating_add(state.working(fixed)));
    let over = state.volatile(fixed).saturating_sub(volatile);
    state.empty(&[Stage::Volatile], over, spec, false, EvictionReason::Triggered);
    let used = below.saturating_add(state.working(fixed)).saturating_add(state.volatile(fixed));
    let mut cannot = None;
    let trigger_tokens = trigger_tokens(total, spec);
    if triggered(used.into(), total.into(), spec.trigger_percent) {
        let over = used.saturating_sub(trigger_tokens);
        let stages = [Stage::Volatile, Stage::Degrade, Stage::Summarize];
        let freed = state.empty(&stages, over, spec, false, EvictionReason::Triggered);
        cannot = Some(over.saturating_sub(freed)).filter(|left| *left > 0);
    }
    state.settled((fixed, total), cannot, spec)
}

/// Extends an earlier decision after the fixed cost has shrunk: the turns it kept stay, and turns that fit now are
/// added.
pub fn add(turns: &[LevelTurn], earlier: TurnOutcomes, (fixed, total): (FixedTokens, u32), spec: &Levels) -> Decision {
    let working = working_budget(fixed, total, spec).saturating_sub(fixed.working);
    let state = State::new(turns, earlier, working, spec);
    let used = [fixed.permanent, fixed.session, state.working(fixed), state.volatile(fixed)];
    let over = used.into_iter().fold(0, u32::saturating_add).saturating_sub(trigger_tokens(total, spec));
    state.settled((fixed, total), Some(over).filter(|over| *over > 0), spec)
}

/// Repeats an earlier decision.
pub fn repeat(turns: &[LevelTurn], earlier: TurnOutcomes, levels: (FixedTokens, u32), spec: &Levels) -> Decision {
    State::new(turns, earlier, 0, spec).decision(levels, None, spec)
}

/// Returns the tokens of the first three levels' budgets that the permanent and session levels leave.
fn working_budget(fixed: FixedTokens, total: u32, spec: &Levels) -> u32 {
    let first_three = budgets(total, spec).iter().fold(0_u32, |sum, budget| sum.saturating_add(*budget));
    first_three.saturating_sub(fixed.permanent.saturating_add(fixed.session))
}

/// Returns the tokens above which the levels are emptied.
pub fn trigger_tokens(total: u32, spec: &Levels) -> u32 {
    let trigger_tokens = u64::from(total) * u64::from(spec.trigger_percent) / 100;
    u32::try_from(trigger_tokens).unwrap_or(u32::MAX)
}

/// Returns the index of the first of the newest turns that together fit into `tokens` with cut results; the very newest
/// always counts.
fn newest(turns: &[LevelTurn], tokens: u32) -> usize {
    let mut left = tokens;
    let mut first = turns.len().saturating_sub(1);
    for (at, turn) in turns.iter().enumerate().rev() {
        let text_tokens = turn.costs.cut.min(turn.costs.full);
        if text_tokens > left {
            break;
        }
        (left, first) = (left - text_tokens, at);
    }
    first
}

struct State<'a> {
    turns: &'a [LevelTurn],
    /// Index of the first of the newest turns, which leave last.
    newest: usize,
    forms: TurnOutcomes,
}

impl<'a> State<'a> {
    /// Creates a state with `working` tokens for turns with cut results.
    fn new(turns: &'a [LevelTurn], forms: TurnOutcomes, working: u32, spec: &Levels) -> Self {
        Self { turns, newest: newest(turns, spec.recent_share.share(working)), forms }
    }

    /// Returns the decision, after restoring turns that still fit.
    fn settled(mut self, (fixed, total): (FixedTokens, u32), cannot: Option<u32>, spec: &Levels) -> Decision {
        let working = working_budget(fixed, total, spec);
        self.restore(working.saturating_sub(fixed.working), trigger_tokens(total, spec).saturating_sub(fixed.sum()));
        self.decision((fixed, total), cannot, spec)
    }

    fn decision(self, (fixed, total): (FixedTokens, u32), cannot: Option<u32>, spec: &Levels) -> Decision {
        let working = working_budget(fixed, total, spec);
        let levels = [fixed.permanent, fixed.session, self.working(fixed)];
        let rest = total.saturating_sub(levels.iter().fold(0_u32, |sum, used| sum.saturating_add(*used)));
        let used = [levels[0], levels[1], levels[2], self.volatile(fixed)];
        let [permanent, session, _] = budgets(total, spec);
        Decision { used, budgets: [permanent, session, working, rest], cannot, turns: self.forms }
    }

    /// Returns the tokens of the working level.
    fn working(&self, fixed: FixedTokens) -> u32 {
        let text_tokens =
            self.each(|costs, form| if form == Form::Elided { costs.elided } else { costs.cut.min(costs.full) });
        fixed.working.saturating_add(text_tokens)
    }

    /// Returns the tokens of the volatile level: full results, and retrieved items.
    fn volatile(&self, fixed: FixedTokens) -> u32 {
        let bodies = self.each(|costs, form| if form == Form::Full { costs.full.saturating_sub(costs.cut) } else { 0 });
        fixed.volatile.saturating_add(bodies)
    }

    fn each(&self, cost: impl Fn(&Costs, Form) -> u32) -> u32 {
        let sent = self.turns.iter().zip(&self.forms).filter_map(|(turn, form)| Some((turn, form.ok()?)));
        sent.fold(0_u32, |sum, (turn, form)| sum.saturating_add(cost(&turn.costs, form)))
    }

    /// Shortens turns that are old enough.
    fn shorten_old(&mut self, least: u64) {
        for (turn, form) in self.turns.iter().zip(&mut self.forms) {
            if form.is_ok() && turn.age >= least && turn.costs.elided < turn.costs.full {
                *form = Ok(Form::Elided);
            }
        }
    }

    /// Empties stage after stage; each stage sees the result of the previous one. Returns the freed tokens.
    fn empty(&mut self, stages: &[Stage], over: u32, spec: &Levels, own: bool, why: EvictionReason) -> u32 {
        let mut freed = 0_u32;
        for stage in stages {
            let candidates = (0..self.turns.len()).filter_map(|at| self.candidate(*stage, at, own)).collect();
            let emptied = empty(candidates, over.saturating_sub(freed), spec);
            for (stage, at) in emptied.left {
                self.forms[at] = match stage {
                    Stage::Volatile => Ok(Form::Cut(CLOSED_RESULT)),
                    Stage::Degrade => Ok(Form::Elided),
                    Stage::Summarize => Err(why),
                };
            }
            freed = freed.saturating_add(emptied.freed);
        }
        freed
    }

    /// Restores turns that still fit, newest first and then by score: up to `working` tokens with cut results and `all`
    /// tokens of turns.
    fn restore(&mut self, working: u32, all: u32) {
        let none = FixedTokens::default();
        let mut text_tokens = working.saturating_sub(self.working(none));
        let mut left = all.saturating_sub(self.working(none).saturating_add(self.volatile(none)));
        let mut removed: Vec<usize> = (0..self.turns.len()).filter(|at| self.forms[*at].is_err()).collect();
        let rank = |at: usize| if at >= self.newest { (0, 0) } else { (self.turns[at].score, self.turns[at].priority) };
        removed.sort_by_key(|at| std::cmp::Reverse((*at >= self.newest, rank(*at), *at)));
        for at in removed {
            let Costs { full, cut, elided } = self.turns[at].costs;
            let forms = [
                (Form::Full, full, cut.min(full)),
                (Form::Cut(CLOSED_RESULT), cut, cut),
                (Form::Elided, elided, elided),
            ];
            let fits = forms.into_iter().find(|(_, cost, words_cost)| *cost <= left && *words_cost <= text_tokens);
            if let Some((form, cost, words_cost)) = fits {
                self.forms[at] = Ok(form);
                (left, text_tokens) = (left - cost, text_tokens - words_cost);
            } else if elided <= text_tokens {
                self.forms[at] = Err(EvictionReason::Triggered);
            }
        }
    }

    /// Returns the tokens that evicting a turn in this stage would free; with `own`, counts only the working level and
    /// never evicts the newest turn.
    fn candidate(&self, stage: Stage, at: usize, own: bool) -> Option<EvictionCandidate> {
        let turn = &self.turns[at];
        let form = self.forms[at].ok()?;
        let costs = &turn.costs;
        let cost = if form == Form::Elided {
            costs.elided
        } else if form == Form::Full && !own {
            costs.full
        } else {
            costs.cut.min(costs.full)
        };
        let last = own && at + 1 == self.turns.len();
        let then = match stage {
            Stage::Volatile => Some(costs.cut).filter(|_| form == Form::Full),
            Stage::Degrade => Some(costs.elided),
            Stage::Summarize => Some(0).filter(|_| !last),
        };
        let frees = cost.saturating_sub(then?);
        let LevelTurn { score, priority, age, .. } = *turn;
        Some(EvictionCandidate { stage, index: at, newest: at >= self.newest, frees, score, priority, age })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::planning::tuning::Milli;
    use proptest::prelude::*;

    fn spec() -> Levels {
        Levels::default()
    }

    /// The permanent and session levels are full.
    fn full() -> FixedTokens {
        FixedTokens { permanent: 2_000, session: 4_000, working: 0, volatile: 0 }
    }

    fn facts(age: u64, mentions: (u32, u32), similarity: i32) -> TurnFacts {
        TurnFacts { age, mentions, similarity: Some(similarity), ..TurnFacts::default() }
    }

    #[test]
    fn recency_is_one_over_one_and_the_minutes() {
        assert_eq!([0, 60, 240, 540, 3_600].map(recency), [1_000, 500, 200, 100, 16]);
        assert_eq!(recency(u64::MAX), 0);
    }

    #[test]
    fn no_references_without_mentions() {
        assert_eq!(
            [(0, 0), (0, 4), (1, 4), (2, 3), (4, 4)].map(|(later, all)| references(later, all)),
            [0, 0, 250, 667, 1_000]
        );
    }

    #[test]
    fn priority_follows_its_formula() {
        let whole = LargestParts { recency: 1_000, references: 1_000, likeness: 1_000 };
        let priority = |facts: &TurnFacts, explicit| priority(facts, whole, explicit, &spec());
        let all = priority(&facts(0, (1, 1), 1_000), true);
        assert_eq!((all.raw, all.shown()), (1_000, 1_000));
        let score = priority(&facts(240, (1, 4), 500), false);
        assert_eq!(score.parts, [("recency", 60), ("references", 50), ("task", 200), ("explicit", 0)]);
        assert_eq!(score.raw, 310);
        assert_eq!(priority(&facts(3_600, (0, 0), 0), true).raw, 105, "explicit alone is little");
        assert_eq!(priority(&facts(0, (0, 0), -400), false).raw, 300);
    }

    #[test]
    fn parts_are_relative_to_their_maximum() {
        let turns = [facts(540, (1, 4), 200), facts(60, (1, 8), 100), facts(3_600, (0, 0), 0)];
        let largest = LargestParts::of(&turns);
        assert_eq!(largest, LargestParts { recency: 500, references: 250, likeness: 200 });
        let parts =
            |turn: &TurnFacts| priority(turn, largest, false, &spec()).parts.iter().map(|part| part.1).collect();
        let found: [Vec<i32>; 3] = [0, 1, 2].map(|at| parts(&turns[at]));
        assert_eq!(found, [[60, 200, 400, 0], [300, 100, 200, 0], [10, 0, 0, 0]]);
        let unlike = LargestParts::of(&[facts(540, (4, 4), 0), facts(60, (0, 4), 0)]);
        let score = |age, later| priority(&facts(age, (later, 4), 0), unlike, false, &spec()).raw;
        assert!(score(540, 4) < score(60, 0), "references alone keep no old turn");
        let none = LargestParts::of([]);
        assert_eq!(priority(&turns[0], none, false, &spec()).raw, 0, "nothing to compare with");
    }

    #[test]
    fn the_trigger_is_exact() {
        assert!(!triggered(12_800, 16_000, 80) && triggered(12_801, 16_000, 80));
        assert!(!triggered(4, 5, 80) && triggered(801, 1_001, 80), "no percent is cut off");
        assert!(triggered(u64::from(u32::MAX), 1, 100));
    }

    fn unsummed(tokens: u32, age: u64) -> UnsummarizedTurn {
        UnsummarizedTurn { tokens, age, left_out: false }
    }

    #[test]
    fn the_oldest_turns_are_summarized_when_levels_are_full() {
        let turns = [unsummed(2_000, 900), unsummed(2_000, 600), unsummed(2_000, 300), unsummed(2_000, 0)];
        assert_eq!(due(&turns, 4_800, 16_000, 70, &spec()), None, "12,800 are not more than 80%");
        assert_eq!(
            due(&turns, 4_801, 16_000, 70, &spec()),
            Some(DueSummary { used: 12_801, upto: 1, lost: false }),
            "10,801 are left"
        );
        assert_eq!(due(&turns, 5_201, 16_000, 70, &spec()).map(|due| due.upto), Some(2), "11,201 are more than 70%");
        assert_eq!(due(&turns, 9_000, 16_000, 70, &spec()).map(|due| due.upto), Some(3), "the newest stays");
        let young = turns.map(|turn| UnsummarizedTurn { age: 299, ..turn });
        assert_eq!(due(&young, 6_000, 16_000, 70, &spec()), None, "14,000 are within the first three budgets");
        assert_eq!(due(&young, 6_001, 16_000, 70, &spec()).map(|due| due.upto), Some(3), "turns leave at any age");
        let small = Levels { working: 2_000, ..spec() };
        assert_eq!(due(&turns, 0, 16_000, 70, &small), None, "8,000 of 8,000");
        assert_eq!(due(&turns, 1, 16_000, 70, &small).map(|due| due.upto), Some(2), "below 80%, but 5,600 is the goal");
        assert_eq!(due(&turns[3..], 16_000, 16_000, 70, &spec()), None, "nothing but the newest");
        let mut out = turns.map(|turn| UnsummarizedTurn { age: 0, ..turn });
        out[1].left_out = true;
        let lost = Some(DueSummary { used: 8_000, upto: 2, lost: true });
        assert_eq!(due(&out, 0, 16_000, 70, &spec()), lost, "a turn was left out, however young and empty the levels");
        out[1].left_out = false;
        out[3].left_out = true;
        assert_eq!(due(&out, 0, 16_000, 70, &spec()), None, "the newest turn is never summarized");
        assert_eq!(due(&turns, 4_801, 16_000, 95, &spec()).map(|due| due.upto), Some(1), "at least below the trigger");
    }

    proptest! {
        /// A summary is due exactly above the trigger, covers no more turns than needed and none that is too young, and
        /// is not due again after it was made.
        #[test]
        fn a_due_summary_covers_no_more_than_needed(
            sizes in prop::collection::vec((0_u32..3_000, 0_u64..900), 0..40),
            fixed in 0_u32..9_000,
            refill in 10_u32..=100,
        ) {
            let mut turns: Vec<UnsummarizedTurn> = sizes.into_iter().map(|(tokens, age)| unsummed(tokens, age)).collect();
            turns.sort_by_key(|turn| std::cmp::Reverse(turn.age));
            let used = |turns: &[UnsummarizedTurn]| u64::from(fixed) + turns.iter().map(|t| u64::from(t.tokens)).sum::<u64>();
            let goal = refill.min(80);
            let full = used(&turns) > 14_000;
            let least = if full { 0 } else { 300 };
            let most = |used: u64| triggered(used, 16_000, goal) || full && triggered(used, 14_000, refill);
            match due(&turns, fixed, 16_000, refill, &spec()) {
                None => {
                    let first = turns.first().is_some_and(|turn| turn.age >= least) && turns.len() > 1;
                    prop_assert!(!triggered(used(&turns), 16_000, 80) || !first);
                }
                Some(found) => {
                    prop_assert_eq!(found.used, used(&turns));
                    prop_assert!(triggered(found.used, 16_000, 80) && found.upto < turns.len());
                    prop_assert!(turns[..found.upto].iter().all(|turn| turn.age >= least));
                    prop_assert!(most(used(&turns[found.upto - 1..])), "no turn more than needed");
                    let rest = &turns[found.upto..];
                    let again = due(rest, fixed, 16_000, refill, &spec());
                    prop_assert!(again.is_none(), "what is left is below the goal, too young or the newest");
                }
            }
        }
    }

    #[test]
    fn small_totals_share_the_levels() {
        assert_eq!(budgets(16_000, &spec()), [2_000, 4_000, 8_000]);
        assert_eq!(budgets(4_000, &spec()), [500, 1_000, 2_000]);
        assert_eq!(budgets(64_000, &spec()), [2_000, 4_000, 8_000]);
    }

    fn turn(text_tokens: u32, body: u32, minutes: u64, score: i32) -> LevelTurn {
        let costs = Costs { full: text_tokens + body, cut: text_tokens, elided: text_tokens };
        LevelTurn { costs, age: minutes * 60, score, priority: 50 }
    }

    fn out(decision: &Decision) -> Vec<usize> {
        decision.turns.iter().enumerate().filter(|(_, turn)| turn.is_err()).map(|(at, _)| at).collect()
    }

    /// The volatile level gets the tokens that the others leave instead of a fixed share.
    #[test]
    fn the_volatile_level_gets_what_the_others_leave() {
        let fixed = FixedTokens { permanent: 1_850, session: 3_200, working: 500, volatile: 0 };
        let decision = decide(&[turn(6_000, 4_000, 1, 0)], fixed, 16_000, &spec());
        assert_eq!(decision.budgets, [2_000, 4_000, 8_950, 4_450], "the third gets what the first two leave, too");
        let fits = decide(&[turn(6_000, 700, 1, 0)], fixed, 16_000, &spec());
        assert_eq!(fits.used, [1_850, 3_200, 6_500, 700]);
        assert_eq!((fits.turns[0], fits.cannot), (Ok(Form::Full), None));
    }

    #[test]
    fn the_working_level_keeps_its_budget_by_priority() {
        let turns = [turn(3_000, 0, 60, 100), turn(3_000, 0, 50, 20), turn(3_000, 0, 1, 300)];
        let full = full();
        let decision = decide(&turns, full, 16_000, &spec());
        assert_eq!(out(&decision), [1]);
        assert_eq!(decision.turns[1], Err(EvictionReason::Full { budget: 8_000 }));
        let young = turns.map(|turn| LevelTurn { age: 0, ..turn });
        assert_eq!(out(&decide(&young, full, 16_000, &spec())), [1], "a level's own budget has no age");
        let less = FixedTokens { permanent: 1_500, session: 2_000, working: 0, volatile: 0 };
        assert_eq!(out(&decide(&turns, less, 16_000, &spec())), [] as [usize; 0], "what other levels leave is its own");
        let one = decide(&[turn(9_000, 0, 60, 0)], FixedTokens::default(), 16_000, &spec());
        assert_eq!(out(&one), [] as [usize; 0], "the newest stays");
    }

    #[test]
    fn equal_scores_leave_by_their_own_priority_then_by_age() {
        let mut turns = [turn(3_000, 0, 60, 100); 4];
        turns[2].priority = 10;
        assert_eq!(out(&decide(&turns, full(), 16_000, &spec())), [0, 2]);
        let left = empty(
            [(0, 50), (1, 10), (2, 50)]
                .map(|(index, priority)| EvictionCandidate {
                    stage: Stage::Summarize,
                    index,
                    newest: false,
                    frees: 1,
                    score: 7,
                    priority,
                    age: 900,
                })
                .to_vec(),
            3,
            &spec(),
        );
        assert_eq!(left.left.iter().map(|(_, index)| *index).collect::<Vec<_>>(), [1, 0, 2]);
    }

    #[test]
    fn volatile_bodies_leave_before_text() {
        let fixed = FixedTokens { permanent: 2_000, session: 4_000, working: 500, volatile: 0 };
        let turns = [turn(2_000, 1_000, 60, 0), turn(2_000, 2_000, 40, 500), turn(2_000, 1_000, 1, 900)];
        let decision = decide(&turns, fixed, 16_000, &spec());
        assert_eq!(decision.turns, [Ok(Form::Cut(300)); 3], "down to 80%, however young");
        assert_eq!(decision.used, [2_000, 4_000, 6_500, 0]);
        let less = Levels { trigger_percent: 70, ..spec() };
        let decision = decide(&turns, fixed, 16_000, &less);
        assert_eq!(decision.turns, [Err(EvictionReason::Triggered), Ok(Form::Cut(300)), Ok(Form::Cut(300))]);
    }

    #[test]
    fn calls_are_elided_before_turns_leave() {
        let costs = Costs { full: 5_000, cut: 4_000, elided: 1_000 };
        let old = LevelTurn { costs, age: 900, score: 0, priority: 50 };
        let turns = [old, LevelTurn { score: 5, ..old }, LevelTurn { age: 10, score: 9, ..old }];
        let decision = decide(&turns, full(), 16_000, &spec());
        assert_eq!(decision.turns[..2], [Ok(Form::Elided), Ok(Form::Elided)]);
        assert!(decision.cannot.is_none());
    }

    /// Eviction ends and reports what is missing when nothing is old enough.
    #[test]
    fn unfreeable_tokens_are_reported() {
        let turns = [turn(2_500, 0, 1, 0), turn(2_500, 0, 2, 0), turn(2_500, 0, 0, 0)];
        let fixed = FixedTokens { permanent: 2_000, session: 4_000, working: 400, volatile: 0 };
        let decision = decide(&turns, fixed, 16_000, &spec());
        assert_eq!((decision.cannot, out(&decision)), (Some(1_100), Vec::new()), "13,900 used, 12,800 wanted");
        let old = turns.map(|turn| LevelTurn { age: 300, ..turn });
        let decision = decide(&old, fixed, 16_000, &spec());
        assert_eq!((decision.cannot, out(&decision)), (None, vec![0]));
    }

    #[test]
    fn age_alone_changes_nothing_unless_eager() {
        let costs = Costs { full: 500, cut: 300, elided: 100 };
        let old = [LevelTurn { costs, age: 1 << 40, score: 0, priority: 50 }];
        assert_eq!(decide(&old, FixedTokens::default(), 16_000, &spec()).turns, [Ok(Form::Full)]);
        let eager = Levels { eager: true, ..spec() };
        assert_eq!(decide(&old, FixedTokens::default(), 16_000, &eager).turns, [Ok(Form::Elided)]);
        let unnamed = Levels { working_seconds: 0, eager: true, ..spec() };
        let at = |age: u64| decide(&[LevelTurn { age, ..old[0] }], FixedTokens::default(), 16_000, &unnamed).turns[0];
        assert_eq!((at(599), at(600)), (Ok(Form::Full), Ok(Form::Elided)), "a level without an age takes the default");
    }

    /// The newest turns that fit into the share leave after all others, oldest first.
    #[test]
    fn the_newest_turns_leave_last() {
        let all: Vec<LevelTurn> = (0..6).map(|at| turn(2_000, 0, 60, if at < 4 { 500 } else { 0 })).collect();
        assert_eq!(newest(&all, 4_000), 4);
        assert_eq!((newest(&all, 3_999), newest(&all, 100), newest(&[], 100)), (5, 5, 0), "the newest always");
        let whole = Levels { trigger_percent: 100, ..spec() };
        assert_eq!(out(&decide(&all, full(), 16_000, &whole)), [0, 1], "of 8,000 half is for the newest");
        let none = Levels { recent_share: Milli(0), ..whole };
        assert_eq!(out(&decide(&all, full(), 16_000, &none)), [0, 4], "by score alone, but for the newest");
        let small = [turn(1_000, 0, 60, 900), turn(4_000, 0, 60, 0), turn(4_000, 0, 60, 0)];
        let found = decide(&small, FixedTokens::default(), 8_000, &whole);
        assert_eq!(out(&found), [1], "the newest alone is larger than its share of 7,000");
    }

    #[test]
    fn overspending_reduces_the_working_level() {
        let turns = [turn(3_000, 0, 60, 100), turn(3_000, 0, 50, 20), turn(3_000, 0, 1, 300)];
        let least = |permanent, session| {
            let fixed = FixedTokens { permanent, session, working: 0, volatile: 0 };
            out(&decide(&turns, fixed, 16_000, &Levels { trigger_percent: 100, ..spec() }))
        };
        assert_eq!(least(2_000, 3_000), [] as [usize; 0], "9,000 of 9,000");
        assert_eq!(least(2_001, 3_000), [1]);
        assert_eq!(least(5_001, 3_000), [0, 1], "5,999 left");
    }

    #[test]
    fn retrieved_items_are_volatile() {
        let fixed = FixedTokens { volatile: 9_000, ..full() };
        let decision = decide(&[turn(500, 600, 60, 0)], fixed, 16_000, &Levels { trigger_percent: 100, ..spec() });
        assert_eq!((decision.turns[0], decision.used[3]), (Ok(Form::Cut(300)), 9_000), "results make room for it");
        assert_eq!(decision.cannot, None);
    }

    #[test]
    fn the_session_level_has_an_age_of_its_own() {
        let may = |age, spec: &Levels| session_may_leave(age, spec);
        assert!(!may(1_799, &spec()) && may(1_800, &spec()));
        let unnamed = Levels { session_seconds: 0, ..spec() };
        assert!(!may(599, &unnamed) && may(600, &unnamed));
    }

    proptest! {
        /// The sums are exact regardless of which turns leave, and either the trigger is met or the shortfall is
        /// reported.
        #[test]
        fn sums_are_exact(turns in prop::collection::vec((0_u32..4_000, 0_u32..4_000, 0_u64..60, -50_i32..900), 0..30), total in 0_u32..20_000) {
            let turns: Vec<LevelTurn> = turns.into_iter().map(|(text_tokens, body, age, score)| turn(text_tokens, body, age, score)).collect();
            let fixed = FixedTokens { permanent: 100, session: 50, working: 30, volatile: 20 };
            let decision = decide(&turns, fixed, total, &spec());
            let sent: u32 = turns.iter().zip(&decision.turns).map(|(turn, form)| match form {
                Ok(Form::Full) => turn.costs.full,
                Ok(_) => turn.costs.cut,
                Err(_) => 0,
            }).sum();
            let used: u32 = decision.used.iter().sum();
            prop_assert_eq!(used, sent + 200);
            let trigger_tokens = total * 80 / 100;
            for (turn, _) in turns.iter().zip(&decision.turns).filter(|(_, form)| form.is_err()) {
                let text_tokens = decision.used[..3].iter().sum::<u32>() + turn.costs.cut;
                let all = budgets(total, &spec()).iter().sum::<u32>();
                prop_assert!(used + turn.costs.elided > trigger_tokens || text_tokens > all, "{turn:?} would fit: {decision:?}");
            }
            prop_assert_eq!(decision.cannot, Some(used.saturating_sub(trigger_tokens)).filter(|over| *over > 0 && triggered(used.into(), total.into(), 80)));
        }
    }
}
