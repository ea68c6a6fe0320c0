//! The engine: the only module that orchestrates the others. All requests come in through [`api`].
//!
//! One thread owns the state (`core`). Planning (`plans::worker`), calls (`turns::stream`), and tools
//! (`turns::tool_calls`) run on other threads, which send their results to it (`inbox`). A pure state machine makes the
//! decisions of a turn ([`turns::machine`]). Every change is written to the store first and shown afterward.
//! The queues to this thread and to the screen have no bound: no sender may wait, because the engine's thread sends to
//! both and receives from the first, and a waiting call could then never be stopped.
//! Not for: work of a single module (`context`, `store`, `llm`, …), or display.

pub mod api;
mod branches;
mod calls;
mod core;
mod dispatch;
mod inbox;
mod indexing;
mod jobs;
mod plans;
mod sessions;
pub mod startup;
mod summaries;
mod tools;
pub mod turns;
mod workers;

use self::core::Core;
use self::inbox::{Inbox, OutsideChange, PlanReport};
use self::indexing::code_indexer::CodeIndexer;
use self::indexing::vectors::Vectors;
use self::plans::input_builder::InputBuilder;
use self::plans::worker::Planner;
use self::startup::setup::Setup;
use self::tools::workspace::Project;
use crate::domain::base::Failure;
use crate::store::Store;
use api::{Event, Events, ProgramEvent, Request, RequestSender, Ticket};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the engine checks whether another window wrote to the store. A check reads one number.
const STORE_CHECK_INTERVAL: Duration = Duration::from_millis(700);

/// A running engine. Dropping it cancels all jobs and saves the text that has arrived.
pub struct Engine {
    inbox: Sender<Inbox>,
    thread: Option<JoinHandle<()>>,
}

/// A cheap handle that sends requests to the engine. Handles may be cloned and sent to other threads.
#[derive(Clone)]
pub struct EngineSender(Sender<Inbox>);

impl RequestSender for EngineSender {
    fn send(&self, ticket: Ticket, request: Request) {
        let _ = self.0.send(Inbox::Request(ticket, Box::new(request)));
    }
}

impl Engine {
    /// Starts the engine's threads.
    pub fn start(setup: Setup) -> Result<(Self, Events), Failure> {
        let (inbox, receiver) = mpsc::channel();
        let (events, out) = mpsc::channel::<Event>();
        watch_store(&setup.store, &events);
        let store_and_events = (setup.store.clone(), events.clone());
        let project = Project::new(&setup);
        let mut builder = InputBuilder::new(setup.store.clone(), setup.counter.clone());
        builder.project = Some(project.clone());
        let open = setup.embedder.as_ref().map(|embedder| embedder.open.clone());
        let vectors = open.map(|open| Vectors::start(setup.store.clone(), events.clone(), open, setup.patient));
        let vectors = vectors.transpose()?;
        builder.finder.vectors.clone_from(&vectors);
        let changed = inbox.clone();
        let code_indexer = CodeIndexer::start(&setup, events.clone(), move || {
            drop(changed.send(Inbox::Changed(OutsideChange::Code)));
        })?;
        builder.code = Some(code_indexer.workspace());
        let planner = Planner::start(builder, inbox.clone(), |event| Inbox::Plan(PlanReport::Worker(Box::new(event))))?;
        let polled = project.clone();
        let core = Core::new(setup, project, (planner, vectors, code_indexer), inbox.clone(), events)?;
        let thread = Some(jobs::service("engine", move || core.run(&receiver))?);
        let to_engine = inbox.clone();
        let watch = move || {
            let (store, events) = store_and_events;
            let mut last_failure = None;
            while to_engine.send(Inbox::Changed(OutsideChange::Store)).is_ok() {
                if polled.poll() && to_engine.send(Inbox::Changed(OutsideChange::Project)).is_err() {
                    break;
                }
                report_storage_failure(&mut last_failure, store.post_delay(), &events);
                std::thread::sleep(STORE_CHECK_INTERVAL);
            }
        };
        jobs::service("store-watch", watch)?;
        Ok((Self { inbox, thread }, out))
    }

    /// Returns a handle for sending requests.
    pub fn sender(&self) -> EngineSender {
        EngineSender(self.inbox.clone())
    }

    /// Stops the engine and waits until everything is saved.
    pub fn stop(self) {
        drop(self);
    }
}

/// Starts two background tasks of the store: an integrity check of the file if the last process ended without closing
/// it, and the conversion of plans that older versions stored.
fn watch_store(store: &Store, events: &Sender<Event>) {
    let events = events.clone();
    let notices = events.clone();
    store.check_after_crash(move |sentence| drop(events.send(Event::Program(ProgramEvent::Alarm(sentence)))));
    store.start_conversion(move |sentence| drop(notices.send(Event::Program(ProgramEvent::Notice(sentence)))));
}

/// Reports when pieces of an answer can no longer be saved, and when they can be saved again.
fn report_storage_failure(before: &mut Option<String>, now: Option<String>, events: &Sender<Event>) {
    match (&before, &now) {
        (None, Some(why)) => {
            let sentence = format!(
                "The store can't be written ({why}). New messages stay in memory, and pleach tries to save them every \
                    second. Free some disk space."
            );
            drop(events.send(Event::Program(ProgramEvent::StorageFailure(Some(sentence)))));
        }
        (Some(_), None) => drop(events.send(Event::Program(ProgramEvent::StorageFailure(None)))),
        (None, None) | (Some(_), Some(_)) => {}
    }
    *before = now;
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.inbox.send(Inbox::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
