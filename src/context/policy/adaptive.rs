//! Computes the adaptive size of the window from complexity and task, within bounds and in steps. The plan announces a
//! change with a warning.
//! Not for: filling the window (`relevance`). The target is soft and never above the budget.

use crate::domain::conversation::Role;
use crate::domain::planning::{Adaptive, Flag, MessageFacts, Milli, Task, TurnFacts};

/// Number of recent turns over which the size is replayed, starting from the base: enough to get from one bound to the
/// other.
const REPLAYED: usize = 48;

/// The complexity of some messages: the indicators found, and the number of indicators that counts as full complexity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Complexity {
    /// Indicators found, at most `most`.
    pub found: u32,
    /// Messages times the policy's indicators for full complexity; at least 1.
    pub most: u32,
}

impl Complexity {
    /// Returns the complexity in thousandths, for display.
    pub fn shown(self) -> Milli {
        Milli(i32::try_from(u64::from(self.found) * 1_000 / u64::from(self.most)).unwrap_or(1_000))
    }
}

/// A target size and its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowTarget {
    /// Tokens of the whole request.
    pub target: u32,
    /// The target of the previous turn.
    pub before: u32,
    /// The complexity of the last messages.
    pub complexity: Complexity,
    /// The kind of work that the conversation is about.
    pub task: Task,
    /// Whether the step limit kept the target from reaching the computed size.
    pub limited: bool,
}

/// Returns the complexity of the newest messages: `min(found / (messages × full), 1)`, where code, errors, length,
/// technical words, and questions count at most once per message. 0 without messages.
pub fn complexity<'a>(newest_first: impl Iterator<Item = &'a MessageFacts>, spec: &Adaptive) -> Complexity {
    let indicates =
        |flag: &&Flag| matches!(flag, Flag::Code | Flag::Error | Flag::Long | Flag::Technical | Flag::Question);
    let (mut found, mut items) = (0_u32, 0_u32);
    for facts in newest_first.take(spec.items as usize) {
        found = found.saturating_add(u32::try_from(facts.flags.iter().filter(indicates).count()).unwrap_or(0));
        items += 1;
    }
    let most = items.saturating_mul(spec.full_marks).max(1);
    Complexity { found: found.min(most), most }
}

/// Returns the size in tokens for a complexity and a task: `base × task × (flat + slope × complexity)`, within the
/// bounds.
pub fn wanted(complexity: Complexity, task: Task, spec: &Adaptive) -> u32 {
    let positive = |value: Milli| u128::try_from(value.0).unwrap_or(0);
    let most = u128::from(complexity.most);
    let slope = positive(spec.flat) * most + positive(spec.slope) * u128::from(complexity.found);
    let size = u128::from(spec.base) * positive(spec.tasks.of(task)) * slope / (most * 1_000_000);
    let (low, high) = (spec.lowest.share(spec.base), spec.highest.share(spec.base));
    u32::try_from(size).unwrap_or(u32::MAX).min(high).max(low)
}

/// Returns one step from a size toward another, by at most the policy's share of the base. Also returns whether that
/// share limited it.
pub fn step(from: u32, to: u32, spec: &Adaptive) -> (u32, bool) {
    let most = spec.step.share(spec.base);
    let next = to.clamp(from.saturating_sub(most), from.saturating_add(most));
    (next, next != to)
}

/// Returns the target for the next call, replayed turn by turn from the base: the same path gives the same size on
/// every branch and after every undo.
pub fn replay(turns: &[&TurnFacts], spec: &Adaptive) -> WindowTarget {
    let recent = &turns[turns.len().saturating_sub(REPLAYED)..];
    let none = Complexity { found: 0, most: 1 };
    let mut size =
        WindowTarget { target: spec.base, before: spec.base, complexity: none, task: Task::General, limited: false };
    for (at, turn) in recent.iter().enumerate() {
        let newest = recent[..=at].iter().rev().flat_map(|turn| turn.messages.iter().rev());
        let complexity = complexity(newest.filter(|facts| facts.role != Role::System), spec);
        let (target, limited) = step(size.target, wanted(complexity, turn.task, spec), spec);
        size = WindowTarget { target, before: size.target, complexity, task: turn.task, limited };
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::planning::Warning;
    use proptest::prelude::*;

    fn found(found: u32, most: u32) -> Complexity {
        Complexity { found, most }
    }

    fn message_with(flags: &[Flag]) -> MessageFacts {
        MessageFacts { role: Role::User, age: 0, flags: flags.to_vec() }
    }

    fn turn(task: Task, flags: &[Flag]) -> TurnFacts {
        TurnFacts { task, messages: vec![message_with(flags), message_with(flags)], ..TurnFacts::default() }
    }

    #[test]
    fn complexity_follows_its_formula() {
        let spec = Adaptive::default();
        let of = |messages: &[MessageFacts]| complexity(messages.iter().rev(), &spec);
        assert_eq!(of(&[]), found(0, 1));
        assert_eq!(of(&[message_with(&[Flag::Code]), message_with(&[])]), found(1, 4));
        let all = [Flag::Error, Flag::Code, Flag::Question, Flag::Long, Flag::Technical];
        assert_eq!(of(&[message_with(&all)]), found(2, 2), "never above 1");
        assert_eq!(of(&[message_with(&[Flag::Solution])]), found(0, 2), "a solution is no sign of complexity");
        let mut many = vec![message_with(&all); 30];
        many.extend(vec![message_with(&[]); 10]);
        assert_eq!(of(&many), found(0, 20), "only the last ten count");
    }

    #[test]
    fn sizes_follow_their_formula() {
        let spec = Adaptive::default();
        let size = |part: u32, task| wanted(found(part, 10), task, &spec);
        assert_eq!([0, 2, 5, 10].map(|part| size(part, Task::General)), [4_000, 8_000, 14_000, 24_000]);
        assert_eq!([0, 5].map(|part| size(part, Task::Coding)), [6_000, 21_000]);
        assert_eq!(size(6, Task::Debugging), 32_000);
        assert_eq!(size(5, Task::Research), 18_200);
        assert_eq!(size(10, Task::ComplexAnalysis), 32_000, "four times the base at the most");
        assert_eq!(wanted(found(1, 3), Task::General, &spec), 10_666, "as int() of the prototype");
        let small = Adaptive { flat: Milli(0), ..spec };
        assert_eq!(wanted(found(0, 10), Task::General, &small), 4_000, "half the base at the least");
    }

    #[test]
    fn steps_are_a_quarter_of_the_base() {
        let spec = Adaptive::default();
        assert_eq!(step(8_000, 32_000, &spec), (10_000, true));
        assert_eq!(step(8_000, 4_000, &spec), (6_000, true));
        assert_eq!(step(8_000, 9_500, &spec), (9_500, false));
        let mut size = 8_000;
        let steps = (0..).take_while(|_| {
            size = step(size, 32_000, &spec).0;
            size < 32_000
        });
        assert_eq!(steps.count() + 1, 12, "from the base to the highest in twelve turns");
    }

    #[test]
    fn the_size_depends_only_on_the_path() {
        let spec = Adaptive::default();
        let busy = [Flag::Error, Flag::Code];
        let turns: Vec<TurnFacts> = (0..60).map(|n| turn(Task::Debugging, if n < 40 { &busy } else { &[] })).collect();
        let sizes: Vec<WindowTarget> =
            (0..=turns.len()).map(|n| replay(&turns[..n].iter().collect::<Vec<_>>(), &spec)).collect();
        assert_eq!((sizes[0].target, sizes[1].target, sizes[1].limited), (8_000, 10_000, true));
        assert_eq!((sizes[12].target, sizes[40].target), (32_000, 32_000));
        assert_eq!(sizes[60].target, 8_000, "shrinks again: debugging × 2.0 without complexity");
        for pair in sizes.windows(2) {
            assert!(pair[0].target.abs_diff(pair[1].target) <= 2_000);
            assert!((4_000..=32_000).contains(&pair[1].target));
        }
        assert_eq!(sizes[7], replay(&turns[..7].iter().collect::<Vec<_>>(), &spec));
    }

    #[test]
    fn the_sentence_names_its_parts() {
        let warning = Warning::WindowAdjusted {
            tokens: 10_000,
            complexity: found(6, 10).shown(),
            task: Task::Debugging,
            times: Milli(2_000),
            limited: true,
        };
        assert_eq!(
            warning.sentence(),
            "Adjusted context window to 10,000 tokens (complexity: 0.6, debugging × 2.0, at most one step per turn)."
        );
    }

    proptest! {
        #[test]
        fn sizes_stay_within_their_bounds(part in 0_u32..50, most in 1_u32..50, base in 0_u32..2_000_000, task in 0_usize..5) {
            let spec = Adaptive { base, ..Adaptive::default() };
            let task = [Task::General, Task::Coding, Task::Debugging, Task::Research, Task::ComplexAnalysis][task];
            let size = wanted(found(part.min(most), most), task, &spec);
            prop_assert!((base / 2..=base * 4).contains(&size));
        }
    }
}
