//! Summaries of older turns: which turns a summary is made from, the extractive summarizer, the check for missing
//! facts, kept sentences, and the arithmetic. Pure: texts in, texts out.
//! Not for: reading and masking the sources, asking a model, or storing (`engine`).
//!
//! * [`sources::choose`] selects the turns.
//! * [`extract::extract`] writes a summary of their own sentences; [`parts`] cuts sources for a model and joins its
//!   answers.
//! * [`survive::RequiredFacts`] collects the facts to keep, and finds the facts that a text lacks.
//! * [`keep`] appends such facts verbatim.

mod anchors;
pub mod extract;
pub mod keep;
pub mod parts;
pub mod sources;
pub mod survive;
pub(crate) mod text;

use crate::domain::summary::accepted::ratio_milli;

/// Why no summary can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// The path is too short.
    #[error("nothing is old enough: the newest {kept} messages are never summarized")]
    NothingOld {
        /// Messages that always stay.
        kept: u32,
    },
    /// The current summary covers everything.
    #[error("the current summary already covers everything up to turn {turn}")]
    NothingNew {
        /// Its last turn.
        turn: u32,
    },
    /// Every turn is pinned, excluded, or empty.
    #[error("every turn there is pinned, excluded, or empty, and such turns are never summarized")]
    AllStay,
    /// Every turn that could be summarized is in another lane.
    #[error("the turns there are in another lane, and each lane is summarized separately")]
    OtherLane,
    /// The path has no such closed turn.
    #[error("there is no finished turn {number}; the last finished turn is {last}")]
    NoSuchTurn {
        /// The requested number.
        number: u32,
        /// The last closed turn.
        last: u32,
    },
    /// The summary would be no smaller than its sources.
    #[error("the summary would take {tokens} tokens and its sources take {original}, so it would save no tokens")]
    NotSmaller {
        tokens: u32,
        /// Tokens of the sources.
        original: u32,
    },
    /// The text is empty.
    #[error("the summary is empty")]
    Empty,
    /// No sentence of the sources fits into a summary that is shorter than they are.
    #[error("the turns are too short for a summary of their own sentences: they take {original} tokens (estimated)")]
    TooShort {
        /// Tokens of the sources.
        original: u32,
    },
}

/// The target size of a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Percent of the sources' tokens.
    pub percent: u32,
    /// Maximum tokens.
    pub most: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self { percent: 20, most: 2_000 }
    }
}

impl Size {
    /// Target tokens for a summary of `original` tokens.
    pub fn target(self, original: u32) -> u32 {
        let share = u64::from(original) * u64::from(self.percent.min(100)) / 100;
        u32::try_from(share).unwrap_or(u32::MAX).min(self.most)
    }
}

/// Returns the ratio of sources to summary, times 1,000.
pub fn ratio(original: u32, tokens: u32) -> Result<u32, SummaryError> {
    match tokens {
        0 => Err(SummaryError::Empty),
        tokens if tokens >= original => Err(SummaryError::NotSmaller { tokens, original }),
        tokens => Ok(ratio_milli(original, tokens)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::base::ids::NodeId;
    use crate::domain::call::tokens::approximate;
    use crate::domain::conversation::message::Role;
    use crate::domain::summary::draft::{SourceMessage, SourceTurn};

    pub(crate) fn message(role: Role, text: &str) -> SourceMessage {
        SourceMessage { node: Hash::of(text.as_bytes()), content: Hash::of(text.as_bytes()), role, text: text.into() }
    }

    pub(crate) fn turn(number: u32, messages: &[SourceMessage]) -> SourceTurn {
        let key = |at: usize| messages.get(at).map_or(Hash::default(), |m| m.node);
        SourceTurn {
            user: key(0),
            tip: key(messages.len().saturating_sub(1)),
            number,
            node: NodeId(uuid::Uuid::nil()),
            title: messages.first().map_or(String::new(), |m| m.text.clone()),
            at: i64::from(number),
            count: u32::try_from(messages.len()).unwrap(),
            tokens: messages.iter().map(|m| approximate(&m.text)).sum(),
            stays: None,
            messages: messages.to_vec(),
        }
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(ratio(500, 50), Ok(10_000));
        assert_eq!(ratio(50, 50), Err(SummaryError::NotSmaller { tokens: 50, original: 50 }));
        assert_eq!(ratio(50, 0), Err(SummaryError::Empty));
        assert_eq!(Size::default().target(1_000), 200);
        assert_eq!(Size::default().target(u32::MAX), 2_000);
    }
}
