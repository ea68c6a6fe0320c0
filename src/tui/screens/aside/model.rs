//! A side question and its answer, beside the chat.
//! Not for: sending it (`update`).

use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::run::RunCard;

/// The state of a side question.
#[derive(Clone, Debug)]
pub struct AsidePane {
    /// The branch whose context it uses.
    pub branch: BranchId,
    /// The question, unsanitized.
    pub question: String,
    /// The ticket of its request.
    pub ticket: u64,
    /// Its call, once it was made.
    pub run: Option<RunId>,
    /// The answer so far, unsanitized, state block included.
    pub text: String,
    /// Tokens so far.
    pub tokens: u32,
    /// Millionths of a dollar so far.
    pub cost: Option<u64>,
    /// Its call's card, once it has ended.
    pub card: Option<Box<RunCard>>,
    /// Its failure, if it failed.
    pub failure: Option<Failure>,
    /// Scrolled rows.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
}

impl AsidePane {
    /// A question that is about to be sent.
    #[must_use]
    pub fn new(branch: BranchId, question: &str, ticket: u64) -> Self {
        Self {
            branch,
            question: question.to_owned(),
            ticket,
            run: None,
            text: String::new(),
            tokens: 0,
            cost: None,
            card: None,
            failure: None,
            scroll: 0,
            seen: (0, 1),
        }
    }

    /// Scrolls.
    pub fn step(&mut self, by: i64) {
        let last = i64::try_from(self.seen.0.saturating_sub(self.seen.1)).unwrap_or(i64::MAX);
        let here = i64::try_from(self.scroll).unwrap_or(0).saturating_add(by).clamp(0, last);
        self.scroll = usize::try_from(here).unwrap_or(0);
    }
}
