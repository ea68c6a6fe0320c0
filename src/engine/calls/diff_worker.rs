//! The thread that compares stored calls: two calls, an item over the calls of a branch, two branches. It works on
//! copies of the sessions from the time of the request. A request about an item's newest calls is replaced by the next
//! such request; all others are answered in order.
//! Not for: the comparisons themselves (`plan_diff`, `branches::compare`).

use super::plan_diff::{PlanWithCall, StoredPlans};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::engine::api::{Answer, CallSelector, Event, Ticket};
use crate::engine::jobs::{self, guarded};
use crate::engine::sessions::session::SessionSnapshot;
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A call to compare.
pub(crate) enum WantedCall {
    /// The plan that is drawn, which was not sent.
    Drawn(Box<PlanWithCall>),
    /// A call that was made.
    Stored(CallSelector),
}

/// A comparison to make.
pub(crate) enum DiffRequest {
    /// The differences between two calls; without the first, between the second and the call before it.
    Diff(Option<Box<WantedCall>>, Box<WantedCall>),
    /// An item over this many of the newest calls of a branch, or over all; with its title if no call contains it.
    Item(BranchId, (Atom, String), Option<u32>),
    /// Two branches side by side.
    Both(BranchId, BranchId),
    /// Waits until a test releases it.
    #[cfg(test)]
    Held(Receiver<()>),
}

struct DiffQuestion {
    ticket: Ticket,
    request: DiffRequest,
    sessions: Vec<SessionSnapshot>,
    current: Option<SessionId>,
    /// The number of a replaceable request.
    number: Option<u64>,
}

/// A handle to the thread, which ends when this is dropped.
pub(crate) struct DiffWorker {
    passing: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
    forget: Arc<AtomicBool>,
    to: Sender<DiffQuestion>,
}

impl DiffWorker {
    pub(crate) fn start(store: Store, events: Sender<Event>) -> Result<Self, Failure> {
        let (to, from) = channel();
        let (passing, closed, forget) = <(Arc<AtomicU64>, Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let worker = Worker { store, events, passing: passing.clone(), closed: closed.clone(), forget: forget.clone() };
        jobs::service("diff", move || worker.run(&from))?;
        Ok(Self { passing, closed, forget, to })
    }

    /// Makes the thread clear its cached plans before its next work, because messages or branches were removed.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::SeqCst);
    }

    pub(crate) fn compare(
        &self,
        ticket: Ticket,
        request: DiffRequest,
        sessions: Vec<SessionSnapshot>,
        current: Option<SessionId>,
    ) {
        let passing = matches!(request, DiffRequest::Item(_, _, Some(_)));
        let number = passing.then(|| self.passing.fetch_add(1, Ordering::SeqCst) + 1);
        let _ = self.to.send(DiffQuestion { ticket, request, sessions, current, number });
    }
}

impl Drop for DiffWorker {
    fn drop(&mut self) {
        // The comparison under way is aborted.
        self.closed.store(true, Ordering::SeqCst);
    }
}

struct Worker {
    store: Store,
    events: Sender<Event>,
    passing: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
    forget: Arc<AtomicBool>,
}

impl Worker {
    fn run(self, inbox: &Receiver<DiffQuestion>) {
        let mut plans = StoredPlans::default();
        for asked in inbox {
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            if self.forget.swap(false, Ordering::SeqCst) {
                plans.clear();
            }
            let ticket = asked.ticket;
            let result = guarded("the comparison", || self.handle(asked, &mut plans));
            if self.events.send(Event::Answer { ticket, result }).is_err() {
                return;
            }
        }
    }

    fn handle(&self, asked: DiffQuestion, plans: &mut StoredPlans) -> Result<Answer, Failure> {
        let DiffQuestion { request, sessions, current, number, .. } = asked;
        let newer = |number: u64| self.passing.load(Ordering::SeqCst) != number;
        let over = || self.closed.load(Ordering::SeqCst) || number.is_some_and(newer);
        if over() {
            return Err(stale());
        }
        let mut context =
            DiffContext { store: &self.store, stored_plans: plans, sessions: &sessions, current, stale: &over };
        match request {
            DiffRequest::Diff(before, after) => context.diff_plans(before.as_deref(), &after),
            DiffRequest::Item(branch, item, most) => context.why(branch, item, most),
            DiffRequest::Both(a, b) => context.compared(a, b),
            #[cfg(test)]
            DiffRequest::Held(until) => {
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
}

impl<'a> DiffContext<'a> {
    /// Returns a session that was open at the time of the request.
    pub(crate) fn by_id(&self, id: SessionId) -> Option<&'a SessionSnapshot> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// Returns the session that requests without a branch mean.
    pub(crate) fn session(&self) -> Result<&'a SessionSnapshot, Failure> {
        self.current.and_then(|id| self.by_id(id)).ok_or_else(|| Failure::user("No session is open."))
    }

    /// Returns the session that contains a branch.
    pub(crate) fn session_of(&self, branch: BranchId) -> Result<&'a SessionSnapshot, Failure> {
        let holds = |session: &&SessionSnapshot| session.branches.iter().any(|b| b.id == branch);
        self.sessions.iter().find(holds).ok_or_else(|| Failure::user("That branch no longer exists."))
    }
}

/// The failure of a request that a newer one replaced.
pub(crate) fn stale() -> Failure {
    Failure::new(FailureKind::Stale, "A newer comparison replaced this one.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use uuid::Uuid;

    #[test]
    fn only_the_newest_replaceable_request_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let options = crate::store::OpenOptions { path: folder.path().join("s.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let (events, heard) = channel();
        let diff_worker = DiffWorker::start(store, events).expect("the thread starts");
        let (go, held) = channel();
        let branch = BranchId(Uuid::nil());
        let passing = || DiffRequest::Item(branch, (Atom::Message { node: Hash::default() }, String::new()), Some(3));
        diff_worker.compare(Ticket(1), DiffRequest::Held(held), Vec::new(), None);
        for ticket in 2..5 {
            diff_worker.compare(Ticket(ticket), passing(), Vec::new(), None);
        }
        diff_worker.compare(Ticket(5), DiffRequest::Both(branch, branch), Vec::new(), None);
        assert!(heard.try_recv().is_err(), "the first one is held");
        go.send(()).unwrap();
        let answers = heard.iter().take(5).map(|event| match event {
            Event::Answer { ticket, result } => (ticket.0, result.err().map(|failure| failure.kind)),
            other => panic!("{other:?}"),
        });
        let (stale, none) = (Some(FailureKind::Stale), Some(FailureKind::User));
        assert_eq!(
            answers.collect::<Vec<_>>(),
            [(1, None), (2, stale), (3, stale), (4, none), (5, none)],
            "of the looks in passing the newest is worked on; a look of another kind takes nothing from it"
        );
    }
}
