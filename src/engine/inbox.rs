//! Messages to the engine's thread: requests, and reports of other threads.
//! Not for: handling them (`dispatch`).

use super::api::{Answer, Request, Ticket};
use super::jobs::Jobs;
use super::plans::results::{EditedBody, PreviewWork, PreviousRequest, Trials};
use super::plans::worker::WorkerEvent;
use super::sessions::state::TitleResult;
use super::summaries::state::{DraftResult, DueResult, ModuleResult};
use super::turns::state::RerunEvent;
use super::turns::stream::Report;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::model::ModelInfo;
use crate::store::file::claims::Claim;

/// A message to the engine's thread.
pub(crate) enum Inbox {
    /// A request arrived.
    Request(Ticket, Box<Request>),
    /// A request was answered on another thread.
    Answer(Ticket, Box<Result<Answer, Failure>>),
    /// The planner's thread did some work.
    Plan(PlanReport),
    /// A call or a tool reports, or a claim was granted.
    Turn(TurnReport),
    /// A summary was written, or found to be due.
    Summary(SummaryReport),
    /// The model wrote a session's title, or could not.
    Title(Box<TitleResult>),
    /// Something outside this thread may have changed.
    Changed(OutsideChange),
    /// The door was closed.
    Stop,
}

/// Work of the planner's thread.
pub(crate) enum PlanReport {
    /// A plan, or how far indexing is.
    Worker(Box<WorkerEvent>),
    /// The plans of a what-if comparison.
    Trials(Box<Trials>),
    /// The plan that an act would give.
    Preview(Box<PreviewWork>),
    /// The tokens of a request that was edited by hand.
    EditedBody(Box<EditedBody>),
    /// The last request of a branch, read from the store; `None` if it could not be read.
    PreviousRequest(BranchId, RunId, Option<PreviousRequest>),
}

/// The course of calls.
pub(crate) enum TurnReport {
    /// A call or a tool of a branch's turn.
    Call(BranchId, Box<Report>),
    /// The call of a side question.
    Aside(Box<Report>),
    /// A tool call that a person runs again.
    Rerun(Box<RerunEvent>),
    /// The claim on a branch that a request waited for.
    Claimed(Ticket, BranchId, Box<Claim>),
}

/// Work on summaries.
pub(crate) enum SummaryReport {
    /// A draft, or why there is none.
    Draft(Box<DraftResult>),
    /// Whether a summary is due on a branch.
    Due(Box<DueResult>),
    /// A module summary, or why there is none.
    Module(Box<ModuleResult>),
}

/// A change outside the engine's thread.
pub(crate) enum OutsideChange {
    /// A tool server changed its state or its tools.
    Servers,
    /// The workspace's code, or the map of it, changed.
    Code,
    /// Rules or skills of the project changed.
    Project,
    /// A server reported its models, each with its profile.
    Models(Vec<(String, ModelInfo)>),
    /// Another window may have written to the store: time to check.
    Store,
}

impl Jobs<Inbox> {
    /// Computes an answer on a separate thread. The ticket is answered in every case.
    pub(crate) fn answer(
        &self,
        name: &str,
        ticket: Ticket,
        work: impl FnOnce() -> Result<Answer, Failure> + Send + 'static,
    ) {
        self.report(
            name,
            move |failure| Inbox::Answer(ticket, Box::new(Err(failure))),
            move || Inbox::Answer(ticket, Box::new(work())),
        );
    }
}
