//! Selects the turns that a summary is made from: whole turns from the first on, without the open turn and without
//! pinned or excluded ones.
//! Not for: reading them (`engine`) or deciding when to summarize (policies).

use super::SummaryError;
use crate::domain::summary::{KeepReason, SourceTurn};

/// Messages at the end of a path that are never summarized, rounded up to whole turns.
pub const KEEP_NEWEST: u32 = 10;

/// The turns chosen for a summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceChoice {
    /// Indices of the turns that are read.
    pub covered: Vec<usize>,
    /// Numbers of the turns in between that stay in the window, and why.
    pub stays: Vec<(u32, KeepReason)>,
    /// Number of the first turn of the range.
    pub from: u32,
    /// Number of the last turn of the range.
    pub to: u32,
}

/// Chooses among the closed turns of a path, oldest first. `up_to` is a turn's number; without it, everything but the
/// newest [`KEEP_NEWEST`] messages is chosen. `already` is the last turn that the current summary covers.
pub fn choose(turns: &[SourceTurn], up_to: Option<u32>, already: Option<u32>) -> Result<SourceChoice, SummaryError> {
    let end = match up_to {
        Some(number) => {
            let last = turns.last().map_or(0, |turn| turn.number);
            if number == 0 || number > last {
                return Err(SummaryError::NoSuchTurn { number, last });
            }
            turns.iter().position(|turn| turn.number == number).map_or(0, |at| at + 1)
        }
        None => first_kept(turns),
    };
    let range = &turns[..end];
    let last = range.iter().rposition(|turn| turn.stays.is_none() && turn.number > 0);
    let Some(last) = last else {
        let none = range.iter().all(|turn| turn.number == 0);
        let elsewhere = range.iter().any(|turn| turn.number > 0 && turn.stays == Some(KeepReason::OtherLane));
        return Err(match (none, elsewhere) {
            (true, _) => SummaryError::NothingOld { kept: KEEP_NEWEST },
            (false, true) => SummaryError::OtherLane,
            (false, false) => SummaryError::AllStay,
        });
    };
    let to = turns[last].number;
    if let Some(already) = already.filter(|already| to <= *already) {
        return Err(SummaryError::NothingNew { turn: already });
    }
    let turns_in_range = || range[..=last].iter().enumerate().filter(|(_, turn)| turn.number > 0);
    Ok(SourceChoice {
        covered: turns_in_range().filter(|(_, turn)| turn.stays.is_none()).map(|(at, _)| at).collect(),
        stays: turns_in_range().filter_map(|(_, turn)| turn.stays.map(|why| (turn.number, why))).collect(),
        from: turns_in_range().map(|(_, turn)| turn.number).min().unwrap_or(to),
        to,
    })
}

/// Returns the index of the first turn that always stays.
fn first_kept(turns: &[SourceTurn]) -> usize {
    let mut messages = 0;
    let mut at = turns.len();
    while at > 0 && messages < KEEP_NEWEST {
        at -= 1;
        messages += turns[at].count;
    }
    if messages < KEEP_NEWEST { 0 } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::summary::tests::{message, turn};
    use crate::domain::conversation::message::Role;
    use proptest::prelude::*;

    fn path(stays: &[Option<KeepReason>]) -> Vec<SourceTurn> {
        let both = [message(Role::User, "a"), message(Role::Assistant, "b")];
        (1_u32..).zip(stays).map(|(number, stays)| SourceTurn { stays: *stays, ..turn(number, &both) }).collect()
    }

    #[test]
    fn the_newest_messages_stay() {
        let choice = choose(&path(&[None; 12]), None, None).unwrap();
        assert_eq!((choice.from, choice.to, choice.covered.len()), (1, 7, 7));
        assert_eq!(choose(&path(&[None; 5]), None, None), Err(SummaryError::NothingOld { kept: 10 }));
        assert_eq!(choose(&path(&[None; 12]), None, Some(7)), Err(SummaryError::NothingNew { turn: 7 }));
        assert_eq!(choose(&path(&[None; 3]), Some(4), None), Err(SummaryError::NoSuchTurn { number: 4, last: 3 }));
        assert_eq!(choose(&path(&[Some(KeepReason::Pinned); 3]), Some(3), None), Err(SummaryError::AllStay));
        let elsewhere = [KeepReason::Pinned, KeepReason::OtherLane, KeepReason::OtherLane].map(Some);
        assert_eq!(choose(&path(&elsewhere), Some(3), None), Err(SummaryError::OtherLane));
        assert_eq!(choose(&path(&elsewhere), Some(1), None), Err(SummaryError::AllStay));
    }

    proptest! {
        #[test]
        fn pins_and_exclusions_are_never_read(
            marks in prop::collection::vec(prop::option::weighted(0.3, prop::sample::select(vec![KeepReason::Pinned, KeepReason::Excluded])), 0..40),
            up_to in prop::option::of(1_u32..45),
        ) {
            let turns = path(&marks);
            if let Ok(choice) = choose(&turns, up_to, None) {
                prop_assert!(choice.covered.iter().all(|at| turns[*at].stays.is_none()));
                prop_assert_eq!(choice.covered.last().map(|at| turns[*at].number), Some(choice.to));
                let turns_in_range = choice.covered.len() + choice.stays.len();
                prop_assert_eq!(u32::try_from(turns_in_range).unwrap(), choice.to - choice.from + 1, "no gap, no overlap");
                let raw: u32 = turns.iter().filter(|turn| turn.number > choice.to).map(|turn| turn.count).sum();
                prop_assert!(up_to.is_some() || raw >= KEEP_NEWEST);
            }
        }
    }
}
