//! The only entry to the engine: requests in, events out. The screen and the command line both use it.
//! Not for: carrying out requests (the rest of the engine).
//!
//! Every request carries a [`Ticket`] and is answered by exactly one [`Event::Answer`] with that ticket. Everything
//! that happens without a request (streams, plans, changes by other windows) arrives as other events. Each event names
//! its session, branch, or run.

mod acts;
mod answer;
mod draft;
mod event;
mod marks;
mod project;
mod request;
mod servers;
mod traces;

pub use crate::domain::base::finding::Finding;
pub use crate::domain::call::request::{RawPart, RawRequest};
pub use crate::domain::call::sent_request::SentRequest;
pub use crate::domain::planning::draft::{Draft, DraftKind, Planned};
pub use crate::domain::planning::settings::Settings;
pub use acts::{
    Act, CallSelector, CodeAct, EditableAct, Exact, FileAct, FolderAct, MemoryAct, MemoryScope, RuleAct, SummaryAct,
    TagAct, TaskAct,
};
pub use answer::{
    Answer, BodyCount, BranchAnswer, CallAnswer, EditableAnswer, FileList, MemoryAnswer, PlanAnswer, ProgramAnswer,
    ReplayedCall, Retrieved, SessionAnswer, SessionView, SummaryAnswer, ToolAnswer, TransitionReport,
};
pub use draft::{ItemName, NameOrId, Ticket};
pub use event::{
    AsideView, Event, Events, IndexingEvent, ProgramEvent, RequestSender, SessionEvent, SummaryEvent, ToolEvent,
    TurnEvent,
};
pub use marks::{marks, memory_scope};
pub use project::{ModuleAct, ProjectAct};
pub(crate) use request::ServerUse;
pub use request::{
    BranchRequest, CallRequest, MemoryRequest, PlanRequest, ProgramRequest, Request, SessionRequest, ToolRequest,
    TurnRequest,
};
pub use servers::ServerAct;
pub use traces::{TraceAct, TraceWhole};
