//! The thread that compares stored calls: two calls, an item over the calls of a branch, two branches. It works on
//! copies of the sessions from the time of the request. A request about an item's newest calls is replaced by the next
//! such request, whether it waits or is in progress; all others are answered in order. The queue is bounded: a request
//! that does not fit is refused as busy.
//! Not for: the comparisons themselves (`plan_diff`, `branches::compare`).

use super::plan_diff::{PlanWithCall, StoredPlans};
use crate::domain::base::{BranchId, Failure, FailureKind, SessionId};
use crate::domain::conversation::{Atom, Operation};
use crate::engine::api::{Answer, CallSelector, Event, Ticket};
use crate::engine::jobs::{self, guarded};
use crate::engine::sessions::session::SessionSnapshot;
use crate::store::Store;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of requests that wait.
const MOST: usize = 64;

/// A call to compare.
pub(crate) enum WantedCall {
    /// The drawn plan, which was not sent.
    Drawn(Box<PlanWithCall>),
    /// A call that was made.
    Stored(CallSelector),
}

/// A comparison to make.
pub(crate) enum DiffRequest {
    /// The differences between two calls; without the first, between the second and the previous call.
    Diff(Option<Box<WantedCall>>, Box<WantedCall>),
    /// An item over this many of the newest calls of a branch, or over all; with its title if no call contains it.
    Item(BranchId, (Atom, String), Option<u32>),
    /// Two branches side by side.
    Both(BranchId, BranchId),
    /// Reports that it is in progress, and waits until a test releases it.
    #[cfg(test)]
    Held { started: Sender<()>, until: Receiver<()> },
}

struct DiffQuestion {
    ticket: Ticket,
    request: DiffRequest,
    sessions: Vec<SessionSnapshot>,
    current: Option<SessionId>,
}

/// An entry of the queue.
enum Queued {
    Question(DiffQuestion),
    /// The position in the queue of the newest replaceable request, which is stored outside the queue.
    Newest,
}

/// The state that the thread and its handle share.
#[derive(Default)]
struct Shared {
    /// The newest request about an item's newest calls, while it waits.
    newest: Mutex<Option<DiffQuestion>>,
    closed: AtomicBool,
    forget: AtomicBool,
}

impl Shared {
    fn newest(&self) -> MutexGuard<'_, Option<DiffQuestion>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle to the thread, which ends when this is dropped.
pub(crate) struct DiffWorker {
    shared: Arc<Shared>,
    events: Sender<Event>,
    queue: SyncSender<Queued>,
}

impl DiffWorker {
    pub(crate) fn start(store: Store, events: Sender<Event>) -> Result<Self, Failure> {
        let (queue, inbox) = sync_channel(MOST);
        let shared = Arc::<Shared>::default();
        let worker = Worker { store, events: events.clone(), shared: shared.clone() };
        jobs::service("diff", move || worker.run(&inbox))?;
        Ok(Self { shared, events, queue })
    }

    /// Makes the thread clear its cached plans before its next work, because messages or branches were removed.
    pub(crate) fn forget(&self) {
        self.shared.forget.store(true, Ordering::SeqCst);
    }

    /// Queues a comparison, which is answered by an event.
    ///
    /// # Errors
    /// Fails if too many comparisons wait; the ticket is then not answered by an event.
    pub(crate) fn compare(
        &self,
        ticket: Ticket,
        request: DiffRequest,
        sessions: Vec<SessionSnapshot>,
        current: Option<SessionId>,
    ) -> Result<(), Failure> {
        let is_replaceable = matches!(request, DiffRequest::Item(_, _, Some(_)));
        let question = DiffQuestion { ticket, request, sessions, current };
        if !is_replaceable {
            return self.queue.try_send(Queued::Question(question)).map_err(|_| busy());
        }
        // A request that replaces a waiting one keeps its place in the queue.
        let mut newest = self.shared.newest();
        if newest.is_none() {
            self.queue.try_send(Queued::Newest).map_err(|_| busy())?;
        }
        if let Some(replaced) = newest.replace(question) {
            let _ = self.events.send(Event::Answer { ticket: replaced.ticket, result: Err(stale()) });
        }
        Ok(())
    }
}

impl Drop for DiffWorker {
    fn drop(&mut self) {
        // The comparison in progress is aborted.
        self.shared.closed.store(true, Ordering::SeqCst);
    }
}

struct Worker {
    store: Store,
    events: Sender<Event>,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(self, inbox: &Receiver<Queued>) {
        let mut plans = StoredPlans::default();
        for queued in inbox {
            let (question, is_replaceable) = match queued {
                Queued::Question(question) => (Some(question), false),
                Queued::Newest => (self.shared.newest().take(), true),
            };
            let Some(question) = question else { continue };
            if self.shared.forget.swap(false, Ordering::SeqCst) {
                plans.clear();
            }
            let ticket = question.ticket;
            let result = guarded("the comparison", || self.handle(question, is_replaceable, &mut plans));
            if self.events.send(Event::Answer { ticket, result }).is_err() {
                return;
            }
        }
    }

    fn handle(&self, question: DiffQuestion, is_replaceable: bool, plans: &mut StoredPlans) -> Result<Answer, Failure> {
        let DiffQuestion { request, sessions, current, .. } = question;
        let is_stale =
            || self.shared.closed.load(Ordering::SeqCst) || (is_replaceable && self.shared.newest().is_some());
        if is_stale() {
            return Err(stale());
        }
        let mut context = DiffContext {
            store: &self.store,
            stored_plans: plans,
            sessions: &sessions,
            current,
            stale: &is_stale,
            operations: RefCell::default(),
        };
        match request {
            DiffRequest::Diff(before, after) => context.diff_plans(before.as_deref(), &after),
            DiffRequest::Item(branch, item, most) => context.why(branch, item, most),
            DiffRequest::Both(a, b) => context.compared(a, b),
            #[cfg(test)]
            DiffRequest::Held { started, until } => {
                let _ = started.send(());
                until.recv().map_err(|_| stale())?;
                Ok(Answer::Done("dropped".into()))
            }
        }
    }
}

/// The data that a comparison uses.
pub(crate) struct DiffContext<'a> {
    pub(crate) store: &'a Store,
    pub(crate) stored_plans: &'a mut StoredPlans,
    sessions: &'a [SessionSnapshot],
    current: Option<SessionId>,
    /// Whether the request was replaced.
    pub(crate) stale: &'a dyn Fn() -> bool,
    /// The operations of the sessions, once they are read.
    operations: RefCell<HashMap<SessionId, Rc<[Operation]>>>,
}

impl<'a> DiffContext<'a> {
    /// Returns a session that was open at the time of the request.
    pub(crate) fn by_id(&self, id: SessionId) -> Option<&'a SessionSnapshot> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// Returns all operations of a session, oldest first. They are read once per comparison.
    pub(crate) fn operations(&self, session: SessionId) -> Result<Rc<[Operation]>, Failure> {
        let mut known = self.operations.borrow_mut();
        if let Some(operations) = known.get(&session) {
            return Ok(operations.clone());
        }
        let operations: Rc<[Operation]> = self.store.ops(session)?.into();
        known.insert(session, operations.clone());
        Ok(operations)
    }

    /// Returns the session for requests that name no branch.
    pub(crate) fn session(&self) -> Result<&'a SessionSnapshot, Failure> {
        self.current.and_then(|id| self.by_id(id)).ok_or_else(Failure::no_open_session)
    }

    /// Returns the session that contains a branch.
    pub(crate) fn session_of(&self, branch: BranchId) -> Result<&'a SessionSnapshot, Failure> {
        let holds = |session: &&SessionSnapshot| session.branches.iter().any(|b| b.id == branch);
        self.sessions.iter().find(holds).ok_or_else(Failure::branch_gone)
    }
}

/// The failure of a request that a newer one replaced.
pub(crate) fn stale() -> Failure {
    Failure::new(FailureKind::Stale, "A newer comparison replaced this comparison.")
}

fn busy() -> Failure {
    Failure::new(FailureKind::Busy, "Too many comparisons are waiting.")
        .todo("Try again when one of them has finished.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use std::sync::mpsc::channel;
    use uuid::Uuid;

    const BRANCH: BranchId = BranchId(Uuid::nil());

    fn store_in(folder: &std::path::Path) -> Store {
        Store::open(&crate::store::OpenOptions { path: folder.join("s.db"), read_only: false }).unwrap().store
    }

    /// Starts the thread, which then waits in the request of ticket 1 until something is sent to the returned sender.
    fn held_worker(folder: &std::path::Path) -> (DiffWorker, Receiver<Event>, Sender<()>) {
        let (events, answers) = channel();
        let worker = DiffWorker::start(store_in(folder), events).expect("the thread starts");
        let (go, until) = channel();
        let (started, is_started) = channel();
        worker.compare(Ticket(1), DiffRequest::Held { started, until }, Vec::new(), None).unwrap();
        is_started.recv().unwrap();
        (worker, answers, go)
    }

    fn replaceable() -> DiffRequest {
        DiffRequest::Item(BRANCH, (Atom::Message { node: Hash::default() }, String::new()), Some(3))
    }

    fn answered(answers: &Receiver<Event>, count: usize) -> Vec<(u64, Option<FailureKind>)> {
        let one = |event| match event {
            Event::Answer { ticket, result } => (ticket.0, result.err().map(|failure| failure.kind)),
            other => panic!("{other:?}"),
        };
        answers.iter().take(count).map(one).collect()
    }

    #[test]
    fn a_comparison_reads_the_operations_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        let context = DiffContext {
            store: &store,
            stored_plans: &mut StoredPlans::default(),
            sessions: &[],
            current: None,
            stale: &|| false,
            operations: RefCell::default(),
        };
        let before = Store::reads_of_this_thread();
        for _ in 0..3 {
            assert!(context.operations(SessionId(Uuid::nil())).unwrap().is_empty());
        }
        assert_eq!(Store::reads_of_this_thread(), before + 1);
    }

    #[test]
    fn only_the_newest_replaceable_request_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, answers, go) = held_worker(folder.path());
        for ticket in 2..5 {
            worker.compare(Ticket(ticket), replaceable(), Vec::new(), None).unwrap();
        }
        worker.compare(Ticket(5), DiffRequest::Both(BRANCH, BRANCH), Vec::new(), None).unwrap();
        let (stale, none) = (Some(FailureKind::Stale), Some(FailureKind::User));
        assert_eq!(answered(&answers, 2), [(2, stale), (3, stale)], "replaced requests are answered at once");
        assert!(answers.try_recv().is_err(), "the first one is held");
        go.send(()).unwrap();
        assert_eq!(answered(&answers, 3), [(1, None), (4, none), (5, none)], "a request of another kind replaces none");
    }

    #[test]
    fn requests_that_do_not_fit_are_refused_and_all_others_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, answers, go) = held_worker(folder.path());
        let fits = u64::try_from(MOST).unwrap();
        let ask = |ticket, request| worker.compare(Ticket(ticket), request, Vec::new(), None).map_err(|f| f.kind);
        for ticket in 2..2 + fits {
            assert_eq!(ask(ticket, DiffRequest::Both(BRANCH, BRANCH)), Ok(()));
        }
        assert_eq!(ask(90, DiffRequest::Both(BRANCH, BRANCH)), Err(FailureKind::Busy));
        assert_eq!([91, 92].map(|ticket| ask(ticket, replaceable())), [Err(FailureKind::Busy); 2]);
        go.send(()).unwrap();
        let tickets: Vec<u64> = answered(&answers, MOST + 1).into_iter().map(|(ticket, _)| ticket).collect();
        assert_eq!(tickets, (1..2 + fits).collect::<Vec<_>>());
        assert_eq!(ask(93, replaceable()), Ok(()), "there is room again");
        assert_eq!(answered(&answers, 1), [(93, Some(FailureKind::User))]);
    }
}
