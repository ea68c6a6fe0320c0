//! Computes the difference between two texts as hunks of lines.
//! Not for: displaying it (`domain::tool::consent`).

use crate::domain::tool::{FileChange, Hunk};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to search for the shortest difference. After that, a longer difference is used, which is also correct.
const TIME_LIMIT: Duration = Duration::from_millis(300);

/// Makes a file change with its hunks.
pub(crate) fn change(path: &str, before: Option<Arc<str>>, after: &str) -> FileChange {
    let hunks = hunks(before.as_deref().unwrap_or_default(), after);
    FileChange { path: path.to_owned(), before, after: Some(after.into()), hunks }
}

fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let deadline = Instant::now() + TIME_LIMIT;
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline)).into_iter();
    // A replacement is a single step, not a deletion and an insertion.
    let differs = steps.filter(|step| !matches!(step, DiffOp::Equal { .. }));
    differs.map(|step| Hunk { old: step.old_range(), new: step.new_range() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hunks_are_separated_by_unchanged_lines() {
        let change = change("f", Some("a\nb\nc\nd".into()), "a\nB\nB2\nc\nd\n");
        assert_eq!(change.hunks, [Hunk { old: 1..2, new: 1..3 }, Hunk { old: 3..4, new: 4..5 }]);
        assert_eq!(change.with(&[true, false]), "a\nB\nB2\nc\nd", "the missing line end is kept");
    }

    /// Two texts whose shortest difference takes long to find: the deadline ends the search, and the result is still
    /// correct.
    #[test]
    fn deadline_ends_slow_differences() {
        let text = |salt: u64| {
            let mut state = salt;
            let mut line = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{}\n", (state >> 33) % 7)
            };
            (0..100_000).map(|_| line()).collect::<String>()
        };
        let (before, after) = (text(1), text(2));
        let change = change("f", Some(before.as_str().into()), &after);
        assert_eq!(change.with(&[]), after);
        assert_eq!(change.with(&vec![false; change.hunks.len()]), before);
        assert!(
            change.hunks.windows(2).all(|pair| pair[0].old.end < pair[1].old.start),
            "unchanged lines are between the hunks"
        );
    }

    proptest! {
        #[test]
        fn any_choice_of_hunks_is_a_mixture(
            before in "[ab\r\n]{0,40}", after in "[ab\r\n]{0,40}", taken in prop::collection::vec(any::<bool>(), 0..12),
        ) {
            let change = change("f", Some(before.as_str().into()), &after);
            prop_assert_eq!(change.with(&[]), after.clone());
            let none = vec![false; change.hunks.len()];
            prop_assert_eq!(change.with(&none), before);
            let some = change.with(&taken);
            prop_assert_eq!(some.lines().count() > 0, !some.is_empty());
            for pair in change.hunks.windows(2) {
                prop_assert!(pair[0].old.end < pair[1].old.start && pair[0].new.end < pair[1].new.start);
            }
        }
    }
}
