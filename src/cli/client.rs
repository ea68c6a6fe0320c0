//! Sends requests to the engine, one at a time, and handles the events that arrive meanwhile.
//! Not for: the requests themselves (the commands).

use super::output::{Io, in_commands};
use super::stop::Stop;
use crate::domain::base::{Failure, FailureKind};
use crate::domain::planning::Blocked;
use crate::domain::tool::{RerunState, Rule};
use crate::engine::api::{
    Answer, Draft, Event, Events, IndexingEvent, NameOrId, PlanAnswer, PlanRequest, Planned, ProgramEvent, Request,
    RequestSender, SessionAnswer, SessionRequest, SessionView, SummaryEvent, Ticket, ToolEvent, ToolRequest, TraceAct,
    TurnEvent, TurnRequest,
};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The interval of checks for Ctrl+C while no event arrives.
const TICK: Duration = Duration::from_millis(50);

/// A command's connection to the engine.
pub(super) struct Client<'a> {
    sender: &'a dyn RequestSender,
    events: &'a Events,
    next: u64,
    /// The approval rules from the command line.
    rules: Vec<Rule>,
    blocked: Option<Arc<Blocked>>,
    /// Whether the last line of an answer is still open.
    line_open: bool,
    /// Notices that wait until that line ends.
    waiting: Vec<String>,
}

impl<'a> Client<'a> {
    /// Connects to the engine behind `sender`.
    pub(super) fn new(sender: &'a dyn RequestSender, events: &'a Events, rules: Vec<Rule>) -> Self {
        Self { sender, events, next: 1, rules, blocked: None, line_open: false, waiting: Vec::new() }
    }

    /// Makes a second client of the same engine, for a command within a longer run. Tickets must not collide:
    /// afterward, pass its next ticket to [`Client::continue_from`].
    #[must_use]
    pub(super) fn nested(&self) -> Self {
        Self { next: self.next, ..Self::new(self.sender, self.events, self.rules.clone()) }
    }

    pub(super) fn next_ticket(&self) -> u64 {
        self.next
    }

    /// Continues with this ticket, after another client's tickets.
    pub(super) fn continue_from(&mut self, ticket: u64) {
        self.next = self.next.max(ticket);
    }

    /// Marks the answer's line as open or ended. Notices wait until the line ends.
    pub(super) fn line(&mut self, open: bool, io: &mut Io<'_>) {
        self.line_open = open;
        if !open {
            self.waiting.drain(..).for_each(|text| io.note(&text));
        }
    }

    /// Sends a request without waiting.
    pub(super) fn send(&mut self, request: impl Into<Request>) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.sender.send(ticket, request.into());
        ticket
    }

    /// Sends a request and waits for the answer.
    pub(super) fn call(&mut self, request: impl Into<Request>, io: &mut Io<'_>) -> Result<Answer, Stop> {
        let ticket = self.send(request);
        loop {
            if let Some(Event::Answer { ticket: whose, result }) = self.next(io)?
                && whose == ticket
            {
                return result.map_err(|failure| self.failure_of(failure));
            }
        }
    }

    /// Sends a long request and waits for the answer. Ctrl+C sends `stop` and waits on; a second Ctrl+C ends the
    /// command immediately.
    pub(super) fn stoppable(&mut self, request: Request, stop: Request, io: &mut Io<'_>) -> Result<Answer, Stop> {
        let pressed = (io.interrupts)();
        let ticket = self.send(request);
        let mut stop = Some(stop);
        loop {
            if (io.interrupts)() > pressed {
                match stop.take() {
                    Some(stop) => drop(self.send(stop)),
                    None if (io.interrupts)() > pressed + 1 => return Err(Stop::Interrupted),
                    None => {}
                }
            }
            if let Some(Event::Answer { ticket: whose, result }) = self.next(io)?
                && whose == ticket
            {
                return match (result, stop) {
                    (Err(failure), None) => Err(Stop::Stopped(failure)),
                    (result, _) => result.map_err(|failure| self.failure_of(failure)),
                };
            }
        }
    }

    /// Returns the next event, or None if none arrived for a moment. Prints notices and warnings.
    pub(super) fn next(&mut self, io: &mut Io<'_>) -> Result<Option<Event>, Stop> {
        let event = match self.events.recv_timeout(TICK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let what = "The engine stopped before it answered the request.";
                return Err(Failure::new(FailureKind::Internal, what)
                    .kept("Committed changes are in the store.")
                    .into());
            }
        };
        self.handle(&event, io);
        Ok(Some(event))
    }

    /// Handles the events that all commands treat the same way. The waiting command handles the others.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle(&mut self, event: &Event, io: &mut Io<'_>) {
        match event {
            Event::Planned { planned: Planned::Blocked(blocked), .. } => self.blocked = Some(Arc::clone(blocked)),
            Event::Turn(TurnEvent::Retrying { attempt, wait_ms, why, .. }) => {
                let seconds = wait_ms.div_ceil(1_000);
                let why = why.trim_end_matches('.');
                io.note(&format!("{why}. Attempt {attempt} starts in {seconds} s."));
            }
            Event::Tool(event) => self.handle_tool(event, io),
            Event::Summary(event) => handle_summary(event, io),
            Event::Indexing(event) => handle_indexing(event, io),
            Event::Program(event) => self.handle_program(event, io),
            Event::Answer { .. } | Event::Planned { .. } | Event::Session(_) | Event::Turn(_) => {}
        }
    }

    /// Answers a call that waits for approval: by the rules of the command line, or else by asking the person.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle_tool(&mut self, event: &ToolEvent, io: &mut Io<'_>) {
        match event {
            ToolEvent::Approval { branch, pending: Some(asking) } => {
                if let Some(consent) = super::consent::approve(io, &self.rules, asking) {
                    let (branch, index) = (*branch, asking.index);
                    self.send(TurnRequest::Consent { branch, index, consent, always: None });
                }
            }
            ToolEvent::Rerun(view) => {
                if let RerunState::Asks(asking) = &view.state
                    && let Some(consent) = super::consent::approve(io, &self.rules, asking)
                {
                    self.send(ToolRequest::Traces(TraceAct::Word { consent, always: None }));
                }
            }
            ToolEvent::Approval { pending: None, .. }
            | ToolEvent::Trace(_)
            | ToolEvent::Output { .. }
            | ToolEvent::ServersChanged => {}
        }
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle_program(&mut self, event: &ProgramEvent, io: &mut Io<'_>) {
        match event {
            ProgramEvent::Notice(text) if self.line_open => self.waiting.push(in_commands(text)),
            ProgramEvent::Notice(text) => io.note(&in_commands(text)),
            ProgramEvent::StorageFailure(None) => {
                io.note("disk space is available again: pending changes are in the store");
            }
            ProgramEvent::Alarm(text) | ProgramEvent::StorageFailure(Some(text)) => {
                io.note(&format!("warning: {text}"));
            }
        }
    }

    /// Returns the reason for a failed request. If the budget was too small, includes the choices that arrived as an
    /// event.
    pub(super) fn failure_of(&mut self, failure: Failure) -> Stop {
        match self.blocked.take() {
            Some(blocked) if failure.kind == FailureKind::Blocked => Stop::Unsent(blocked),
            _ => Stop::Failed(failure),
        }
    }

    /// Opens the session and the branch with these names.
    pub(super) fn open(
        &mut self,
        session: &NameOrId,
        branch: &NameOrId,
        create: bool,
        io: &mut Io<'_>,
    ) -> Result<Arc<SessionView>, Stop> {
        let (session, branch) = (session.clone(), branch.clone());
        self.open_by(SessionRequest::Open { session, branch, create }, io)
    }

    /// Opens the session that a request names.
    pub(super) fn open_by(&mut self, request: SessionRequest, io: &mut Io<'_>) -> Result<Arc<SessionView>, Stop> {
        match self.call(request, io)? {
            Answer::Session(SessionAnswer::Opened(view)) => {
                for line in &view.recovered {
                    io.note(&in_commands(line));
                }
                Ok(view)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Plans a draft on the open branch.
    pub(super) fn plan(&mut self, view: &SessionView, draft: Draft, io: &mut Io<'_>) -> Result<Planned, Stop> {
        match self.call(PlanRequest::Replan { branch: view.current, generation: 1, draft }, io)? {
            Answer::Plan(PlanAnswer::Planned(Planned::Blocked(blocked))) => Err(Stop::Blocked(blocked)),
            Answer::Plan(PlanAnswer::Planned(planned)) => Ok(planned),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the exact request body of the open branch's last plan.
    pub(super) fn wire(&mut self, view: &SessionView, io: &mut Io<'_>) -> Result<String, Stop> {
        match self.call(PlanRequest::WireText { branch: view.current }, io)? {
            Answer::Text(body) => Ok(body),
            other => Err(unexpected(&other)),
        }
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
fn handle_summary(event: &SummaryEvent, io: &mut Io<'_>) {
    match event {
        SummaryEvent::ModuleProgress { path, files: (done, of), tokens, .. } => {
            io.progress(&match (done == of, tokens) {
                (false, _) => format!("{path}: read {done} of {of} files"),
                (true, 0) => format!("{path}: read {of} files, writing the summary"),
                (true, tokens) => format!("{path}: {tokens} tokens written"),
            });
        }
        SummaryEvent::Progress { .. } | SummaryEvent::Draft { .. } => {}
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
fn handle_indexing(event: &IndexingEvent, io: &mut Io<'_>) {
    match event {
        IndexingEvent::Vectors { made, total } => io.progress(&format!("embedded {made} of {total} texts")),
        IndexingEvent::Code { done, files, symbols } => {
            io.progress(&format!("read {done} of {files} files, {symbols} symbols"));
        }
        IndexingEvent::Messages { .. } => {}
    }
}

/// Sends a request and returns the content of the answer of this kind. If the request fails or another answer arrives,
/// returns from the function with the failure.
macro_rules! expect_answer {
    ($run:expr, $family:ident($kind:ident::$variant:ident), $request:expr) => {
        match $run.call($request)? {
            $crate::engine::api::Answer::$family($kind::$variant(content)) => content,
            other => return Err($crate::cli::client::unexpected(&other)),
        }
    };
}
pub(super) use expect_answer;

/// Returns the failure for an answer of an unexpected kind.
pub(super) fn unexpected(answer: &Answer) -> Stop {
    let kind = format!("{answer:?}");
    let kind = kind.split(['(', '{', ' ']).next().unwrap_or_default();
    Failure::new(FailureKind::Internal, format!("The engine returned an unexpected answer ({kind}).")).into()
}
