//! State of the side question's pane.
//! Not for: asking the question (`update`).

use crate::domain::base::{BranchId, Failure, RunId};
use crate::domain::call::RunCard;
use crate::tui::model::list::Scroll;

/// A side question and its answer, next to the chat.
#[derive(Clone, Debug, Default)]
pub struct AsidePane {
    /// The branch whose context is sent with the question.
    pub branch: BranchId,
    /// The question, not sanitized.
    pub question: String,
    /// Ticket of the request.
    pub ticket: u64,
    /// The run of the call, once it is made.
    pub run: Option<RunId>,
    /// The answer so far, not sanitized, including its state block.
    pub text: String,
    /// Estimated tokens of the answer so far.
    pub tokens: u32,
    /// Cost so far, in millionths of a dollar.
    pub cost: Option<u64>,
    /// The finished run.
    pub card: Option<Box<RunCard>>,
    /// Why the call failed.
    pub failure: Option<Failure>,
    /// The scroll position.
    pub scroll: Scroll,
}

impl AsidePane {
    /// Creates the pane for a question that is being sent.
    pub fn new(branch: BranchId, question: &str, ticket: u64) -> Self {
        Self { branch, question: question.to_owned(), ticket, ..Self::default() }
    }
}
