//! The messages to the engine's thread: requests, and reports of other threads.
//! Not for: handling them (`dispatch`).

use super::api::{Answer, Request, Ticket};
use super::branches::state_block::WrittenState;
use super::calls::race_work::RaceWork;
use super::jobs::{CancelToken, Jobs};
use super::plans::results::{EditedBody, PreviewWork, PreviousRequest, WhatIfWork};
use super::plans::worker::WorkerEvent;
use super::sessions::state::TitleResult;
use super::summaries::state::{DraftResult, DueResult, ModuleResult};
use super::turns::state::RerunEvent;
use super::turns::stream::Report;
use crate::domain::base::{BranchId, Failure, RunId};
use crate::domain::call::{ModelInfo, Profile};
use crate::store::file::claims::Claim;

/// A message to the engine's thread.
pub(crate) enum Inbox {
    /// A request arrived.
    Request(Ticket, Box<Request>),
    /// Another thread answered a request.
    Answer(Ticket, Box<Result<Answer, Failure>>),
    /// The planner's thread reports a result.
    Plan(PlanReport),
    /// A call or a tool reports progress, or a claim was granted.
    Turn(TurnReport),
    /// A summary was written or is due.
    Summary(SummaryReport),
    /// The model wrote a session's title, or failed to.
    Title(Box<TitleResult>),
    /// The model wrote a state block, or failed to.
    State(Box<WrittenState>),
    /// Something outside the engine's thread may have changed.
    Changed(OutsideChange),
    /// The engine stops.
    Stop,
}

/// A result of the planner's thread.
pub(crate) enum PlanReport {
    /// A plan, or the progress of indexing.
    Worker(Box<WorkerEvent>),
    /// The plans of a what-if comparison.
    WhatIf(Box<WhatIfWork>),
    /// The plan that would follow from an act.
    Preview(Box<PreviewWork>),
    /// The plans of a race, or why it cannot start.
    Race(Box<RaceWork>),
    /// The token count of a request that was edited by hand.
    EditedBody(Box<EditedBody>),
    /// The last request of a branch, read from the store; `None` if it could not be read.
    PreviousRequest(BranchId, RunId, Option<PreviousRequest>),
}

/// Progress of calls.
pub(crate) enum TurnReport {
    /// Progress of a call or a tool in a branch's turn.
    Call(BranchId, Box<Report>),
    /// Progress of the call of a side question.
    Aside(Box<Report>),
    /// Progress of a tool call that a person repeats.
    Rerun(Box<RerunEvent>),
    /// A claim on a branch, for the request that waited for it.
    Claimed(Ticket, BranchId, Box<Claim>),
}

/// A result of work on summaries.
pub(crate) enum SummaryReport {
    /// A draft, or the reason why there is none.
    Draft(Box<DraftResult>),
    /// Whether a summary is due on a branch.
    Due(Box<DueResult>),
    /// A module summary, or the reason why there is none.
    Module(Box<ModuleResult>),
}

/// A change outside the engine's thread.
pub(crate) enum OutsideChange {
    /// A tool server changed its state or its tools.
    Servers,
    /// The workspace's code or its map changed.
    Code,
    /// Rules or skills of the project changed.
    Project,
    /// All models that servers listed, each with the profile that was used to ask its server.
    Models(Vec<(Profile, ModelInfo)>),
    /// Another window may have written to the store.
    Store,
}

impl Jobs<Inbox> {
    /// Computes an answer on a separate thread. The ticket is always answered, even if the work panics. Work that was
    /// canceled before it began is not done; longer work checks its token.
    pub(crate) fn answer(
        &self,
        name: &str,
        ticket: Ticket,
        work: impl FnOnce(&CancelToken) -> Result<Answer, Failure> + Send + 'static,
    ) {
        self.report(
            name,
            move |failure| Inbox::Answer(ticket, Box::new(Err(failure))),
            move |cancel| Inbox::Answer(ticket, Box::new(cancel.check().and_then(|()| work(cancel)))),
        );
    }
}
