//! Scores messages and turns by relevance, and fills a window by that score: newest first, whole turns, skipping those
//! that do not fit.
//! Not for: the size of the window (`adaptive`).

use super::{Costs, Score};
use crate::context::admission::window::CLOSED_RESULT;
use crate::domain::conversation::Role;
use crate::domain::planning::{Flag, Form, MessageFacts, Relevance, TurnFacts};

/// Age in half-lives (or time constants) beyond which recency is 0.
const LONG_AGO: u64 = 64;

/// Returns the recency in thousandths: `0.5^(age / half-life)`, or `exp(-age / constant)` if the policy says so; `age`
/// in seconds. Uses only additions and multiplications, which give the same result on every machine.
pub fn recency(age: u64, spec: &Relevance) -> i32 {
    let unit = u64::from(spec.half_life_hours.max(1)) * 3_600;
    if age / unit >= LONG_AGO {
        return 0;
    }
    let log = if spec.time_constant { 1.0 } else { std::f64::consts::LN_2 };
    let part = (age % unit) as f64 / unit as f64;
    let mut value = exp_negative(part * log);
    for _ in 0..age / unit {
        value *= exp_negative(log);
    }
    #[allow(clippy::cast_possible_truncation, reason = "it is between 0 and 1000")]
    let thousandths = (value * 1_000.0).round() as i32;
    thousandths
}

/// Returns `exp(-x)` for x from 0 to 1, by its power series.
fn exp_negative(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..=20_u32 {
        term *= -x / f64::from(n);
        sum += term;
    }
    sum
}

/// Returns a message's relevance: the weighted sum of recency, flags, source, and similarity (in thousandths).
pub fn message(facts: &MessageFacts, similarity: Option<i32>, spec: &Relevance) -> Score {
    let weight = |flag: &Flag| match flag {
        Flag::Error => spec.error.0,
        Flag::Code => spec.code.0,
        Flag::Question => spec.question.0,
        Flag::Solution => spec.solution.0,
        Flag::Long | Flag::Technical => 0,
    };
    let source = match facts.role {
        Role::User => spec.from_user,
        Role::Assistant => spec.from_assistant,
        Role::Tool if facts.flags.contains(&Flag::Error) => spec.from_error,
        Role::Tool => spec.from_file,
        Role::System => spec.from_system,
    };
    let flags = facts.flags.iter().map(weight).fold(0_i32, i32::saturating_add);
    let mut parts =
        vec![("recency", spec.recency.of(recency(facts.age, spec))), ("flags", flags), ("source", source.0)];
    parts.extend(similarity.map(|likeness| ("similarity", spec.similarity.of(likeness))));
    Score::of(parts)
}

/// Returns the relevance of a turn, which is the relevance of its most relevant message (the first among equals).
pub fn turn(facts: &TurnFacts, spec: &Relevance) -> Score {
    let scores = facts.messages.iter().map(|one| message(one, facts.similarity, spec));
    let mut best: Option<Score> = None;
    for score in scores {
        if best.as_ref().is_none_or(|best| score.raw > best.raw) {
            best = Some(score);
        }
    }
    best.unwrap_or_default()
}

/// A turn that may be in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Candidate {
    pub costs: Costs,
    pub messages: u32,
    /// Its raw score.
    pub score: i32,
}

/// The limits of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowRoom {
    /// Maximum tokens.
    pub tokens: u32,
    /// Maximum messages of the turns that are chosen for their age; the room alone limits the others.
    pub messages: u32,
    /// Tokens that the newest turns fill before the score decides.
    pub recent: u32,
    /// Whether a turn that does not fit in full may be sent with shortened tool results.
    pub shorten: bool,
}

/// A turn in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChosenTurn {
    pub form: Form,
    /// Whether the turn was chosen for its relevance rather than its age.
    pub relevant: bool,
}

/// Returns for each turn its place in the window, or `None` if it is left out; `turns` are oldest first. Turns in
/// `kept` stay. First the newest turn is added; then the newest that fit into the recent part; then the others by
/// score, newer first among equals. Turns that do not fit are skipped, and smaller ones may still be added.
pub fn fill(turns: &[Candidate], kept: &[Option<ChosenTurn>], room: WindowRoom) -> Vec<Option<ChosenTurn>> {
    let mut taken = kept.to_vec();
    taken.resize(turns.len(), None);
    let chosen_turns = || turns.iter().zip(&taken).filter_map(|(turn, chosen)| Some((turn, chosen.as_ref()?)));
    let mut tokens =
        chosen_turns().fold(0_u32, |sum, (turn, chosen)| sum.saturating_add(turn.costs.in_form(chosen.form)));
    let newest = chosen_turns().filter(|(_, chosen)| !chosen.relevant);
    let mut messages = newest.fold(0_u32, |sum, (turn, _)| sum.saturating_add(turn.messages));
    let mut take = |at: usize, most: u32, relevant: bool, taken: &mut Vec<Option<ChosenTurn>>| -> bool {
        if taken[at].is_some() {
            return true;
        }
        let turn = &turns[at];
        let form = fitting(&turn.costs, most.saturating_sub(tokens), room.shorten);
        let is_unlimited = relevant || at + 1 == turns.len();
        let fits = form.is_some() && (is_unlimited || messages.saturating_add(turn.messages) <= room.messages);
        if let Some((form, cost)) = form.filter(|_| fits) {
            taken[at] = Some(ChosenTurn { form, relevant });
            tokens += cost;
            messages += if relevant { 0 } else { turn.messages };
        }
        fits
    };
    let mut next = turns.len();
    if next > 0 {
        take(next - 1, room.tokens, false, &mut taken);
        next -= 1;
    }
    while next > 0 && take(next - 1, room.recent, false, &mut taken) {
        next -= 1;
    }
    let mut rest: Vec<usize> = (0..next).collect();
    rest.sort_by_key(|at| (std::cmp::Reverse(turns[*at].score), std::cmp::Reverse(*at)));
    for at in rest {
        take(at, room.tokens, true, &mut taken);
    }
    taken
}

/// Returns the best form that fits, with its cost.
fn fitting(costs: &Costs, free: u32, shorten: bool) -> Option<(Form, u32)> {
    let forms = [(Form::Full, costs.full), (Form::Cut(CLOSED_RESULT), costs.cut), (Form::Elided, costs.elided)];
    let forms = if shorten { &forms[..] } else { &forms[..1] };
    forms.iter().copied().find(|(_, cost)| *cost <= free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::planning::tuning::Milli;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600;

    fn message_facts(role: Role, hours: u64, flags: &[Flag]) -> MessageFacts {
        MessageFacts { role, age: hours * HOUR, flags: flags.to_vec() }
    }

    fn raw(role: Role, hours: u64, flags: &[Flag]) -> i32 {
        message(&message_facts(role, hours, flags), None, &Relevance::default()).raw
    }

    /// The half-life is a half-life, not a time constant.
    #[test]
    fn recency_halves_in_a_day() {
        let half = Relevance::default();
        assert_eq!([0, 12, 24, 48, 240].map(|h| recency(h * HOUR, &half)), [1_000, 707, 500, 250, 1]);
        let literal = Relevance { time_constant: true, ..half };
        assert_eq!([0, 12, 24, 48].map(|h| recency(h * HOUR, &literal)), [1_000, 607, 368, 135]);
        assert_eq!(recency(59_911, &literal), 500, "the literal formula's half life is 16.64 hours");
        assert_eq!(recency(u64::MAX, &half), 0);
    }

    #[test]
    fn weights_follow_their_formula() {
        assert_eq!(raw(Role::User, 0, &[]), 600);
        assert_eq!(raw(Role::User, 0, &[Flag::Error, Flag::Code]), 1_600);
        assert_eq!(raw(Role::Assistant, 500, &[Flag::Error, Flag::Code]), 1_200);
        assert_eq!(raw(Role::Tool, 1_000, &[]), 100);
        assert_eq!(raw(Role::Tool, 1_000, &[Flag::Error]), 1_000, "a tool's error is a source of its own");
        assert_eq!(raw(Role::User, 24, &[Flag::Question, Flag::Solution]), 1_650);
        let like = |cosine| message(&message_facts(Role::User, 0, &[]), Some(cosine), &Relevance::default()).raw;
        assert_eq!((like(500), like(-500)), (800, 400), "a likeness may be negative");
    }

    /// Scores above 1.0 are ranked by their raw sums.
    #[test]
    fn high_scores_rank_by_raw_sums_and_display_as_one() {
        let (new, old) = (
            message_facts(Role::User, 0, &[Flag::Error, Flag::Code]),
            message_facts(Role::Assistant, 500, &[Flag::Error, Flag::Code]),
        );
        let score = |facts| message(facts, None, &Relevance::default());
        assert_eq!((score(&new).shown(), score(&old).shown()), (1_000, 1_000));
        assert!(score(&new).raw > score(&old).raw);
    }

    #[test]
    fn a_turn_is_as_relevant_as_its_best_message() {
        let facts = TurnFacts {
            messages: vec![
                message_facts(Role::User, 1_000, &[]),
                message_facts(Role::Assistant, 1_000, &[Flag::Solution]),
            ],
            similarity: Some(250),
            ..TurnFacts::default()
        };
        let score = turn(&facts, &Relevance::default());
        assert_eq!(score.parts, [("recency", 0), ("flags", 700), ("source", 200), ("similarity", 100)]);
        let light = Relevance { solution: Milli(0), ..Relevance::default() };
        assert_eq!(turn(&facts, &light).parts[2], ("source", 300));
        assert_eq!(turn(&TurnFacts::default(), &light), Score::default());
    }

    fn plain(tokens: u32, score: i32) -> Candidate {
        Candidate { costs: Costs { full: tokens, cut: tokens, elided: tokens }, messages: 2, score }
    }

    fn room(tokens: u32) -> WindowRoom {
        WindowRoom { tokens, messages: 100, recent: tokens / 2, shorten: false }
    }

    fn kept(turns: &[Candidate], room: WindowRoom) -> Vec<usize> {
        fill(turns, &[], room).iter().enumerate().filter(|(_, form)| form.is_some()).map(|(at, _)| at).collect()
    }

    /// Turns are taken from the newest, and one that does not fit does not end the selection.
    #[test]
    fn the_newest_come_first_and_misfits_are_skipped() {
        let same = vec![plain(400, 600); 20];
        assert_eq!(kept(&same, room(4_000)), (10..20).collect::<Vec<_>>());
        assert_eq!(kept(&[plain(50, 0), plain(3_950, 0), plain(50, 0)], room(3_000)), [0, 2]);
    }

    #[test]
    fn recent_turns_stay_when_the_newest_does_not_fit() {
        let filled = fill(&[plain(100, 0), plain(100, 9), plain(5_000, 0)], &[], room(1_000));
        let relevant: Vec<_> = filled.iter().map(|chosen| chosen.map(|chosen| chosen.relevant)).collect();
        assert_eq!(relevant, [Some(false), Some(false), None]);
    }

    /// The newest turn is never the first to leave.
    #[test]
    fn the_newest_turn_stays_however_little_it_scores() {
        let turns = [plain(900, 2_000), plain(900, 2_000), plain(900, -2_000)];
        assert_eq!(kept(&turns, room(1_000)), [2]);
        assert_eq!(kept(&turns, room(1_800)), [1, 2], "of equals the newer");
    }

    /// An item larger than the window does not empty it.
    #[test]
    fn an_oversized_item_evicts_nothing() {
        let huge = Candidate { costs: Costs { full: 9_000, cut: 9_000, elided: 9_000 }, ..plain(0, 5_000) };
        assert_eq!(kept(&[plain(300, 0), huge, plain(300, 0)], room(8_000)), [0, 2]);
        assert_eq!(kept(&[plain(300, 0), plain(300, 0), huge], room(8_000)), [0, 1]);
        let tools = Candidate { costs: Costs { full: 9_000, cut: 500, elided: 90 }, ..huge };
        let short = WindowRoom { shorten: true, ..room(8_000) };
        let forms: Vec<Option<Form>> =
            fill(&[plain(300, 0), tools], &[], short).iter().map(|t| t.map(|t| t.form)).collect();
        assert_eq!(forms, [Some(Form::Full), Some(Form::Cut(300))]);
    }

    #[test]
    fn beyond_the_recent_half_relevance_decides() {
        let turns = [plain(100, 900), plain(100, 100), plain(100, 800), plain(100, 0), plain(100, 0), plain(100, 0)];
        assert_eq!(kept(&turns, room(600)), [0, 1, 2, 3, 4, 5]);
        let few = WindowRoom { recent: 200, ..room(400) };
        assert_eq!(kept(&turns, few), [0, 2, 4, 5]);
        let relevant: Vec<bool> = fill(&turns, &[], few).iter().flatten().map(|taken| taken.relevant).collect();
        assert_eq!(relevant, [true, true, false, false]);
        // Of six messages, the newest three turns; the room alone limits the others.
        let limited = |tokens| kept(&turns, WindowRoom { messages: 6, recent: 500, ..room(tokens) });
        assert_eq!((limited(600), limited(500)), (vec![0, 1, 2, 3, 4, 5], vec![0, 2, 3, 4, 5]));
    }

    proptest! {
        /// Turns are never split, the limits hold at every size, and nothing that would still fit is left out.
        #[test]
        fn the_room_is_kept_and_used(sizes in prop::collection::vec((1_u32..500, -500_i32..2_000), 0..40), tokens in 0_u32..4_000) {
            let turns: Vec<Candidate> = sizes.iter().map(|(size, score)| plain(*size, *score)).collect();
            let taken = fill(&turns, &[], room(tokens));
            let cost: u32 = turns.iter().zip(&taken).filter(|(_, form)| form.is_some()).map(|(turn, _)| turn.costs.full).sum();
            let recent = taken.iter().flatten().filter(|chosen| !chosen.relevant).count();
            prop_assert!(cost <= tokens && 2 * recent <= 100);
            for (turn, form) in turns.iter().zip(&taken) {
                prop_assert!(form.is_some() || cost + turn.costs.full > tokens);
            }
        }
    }
}
