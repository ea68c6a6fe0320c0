//! Looks at stored calls that take a while, on a thread of their own: what differs between two of them, an item over the calls
//! of a branch, two branches side by side. It is given the sessions as they stood when it was asked. What is looked at in
//! passing (an item's newest calls) gives way to the next such look; everything else is answered in order.
//! Not for: what comes out (`plan_diff`, `compare`).

use super::plan_diff::{Called, Shelf};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::engine::api::{Answer, Event, Item, Ticket, Which};
use crate::engine::core::Core;
use crate::engine::sessions::session::Still;
use crate::store::Store;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A call that is to be looked at.
pub(crate) enum Wanted {
    /// The plan that is drawn.
    Drawn(Box<Called>),
    /// One that was made.
    Stored(Which),
}

/// What is to be looked at.
pub(crate) enum Look {
    /// What differs between two calls; without the first, from the call before.
    Diff(Option<Box<Wanted>>, Box<Wanted>),
    /// An item over so many of the newest calls of a branch, or over all.
    Item(BranchId, Atom, Option<u32>),
    /// Two branches side by side.
    Both(BranchId, BranchId),
    /// Waits until it is let go.
    #[cfg(test)]
    Held(Receiver<()>),
}

struct Asked {
    ticket: Ticket,
    look: Look,
    sessions: Vec<Still>,
    current: Option<SessionId>,
    /// Counts the looks in passing.
    number: Option<u64>,
}

/// Takes looks in. The thread ends with it.
pub(crate) struct Looker {
    passing: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
    forget: Arc<AtomicBool>,
    to: Sender<Asked>,
}

impl Looker {
    pub(crate) fn start(store: Store, events: Sender<Event>) -> Self {
        let (to, from) = channel();
        let (passing, closed, forget) = <(Arc<AtomicU64>, Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let worker = Worker { store, events, passing: passing.clone(), closed: closed.clone(), forget: forget.clone() };
        let _ = std::thread::Builder::new().name("pleach-looker".into()).spawn(move || worker.run(&from));
        Self { passing, closed, forget, to }
    }

    /// Messages or branches were removed: no plan that is kept at hand is used again.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::SeqCst);
    }

    fn look(&self, ticket: Ticket, look: Look, sessions: Vec<Still>, current: Option<SessionId>) {
        let passing = matches!(look, Look::Item(_, _, Some(_)));
        let number = passing.then(|| self.passing.fetch_add(1, Ordering::SeqCst) + 1);
        let _ = self.to.send(Asked { ticket, look, sessions, current, number });
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        // A look that is under way is given up.
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
    fn run(self, inbox: &Receiver<Asked>) {
        let mut plans = Shelf::default();
        for asked in inbox {
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            if self.forget.swap(false, Ordering::SeqCst) {
                plans.clear();
            }
            let ticket = asked.ticket;
            let looking = AssertUnwindSafe(|| self.look(asked, &mut plans));
            let result = catch_unwind(looking).unwrap_or_else(|_| Err(broken()));
            if self.events.send(Event::Answer { ticket, result }).is_err() {
                return;
            }
        }
    }

    fn look(&self, asked: Asked, plans: &mut Shelf) -> Result<Answer, Failure> {
        let Asked { look, sessions, current, number, .. } = asked;
        let newer = |number: u64| self.passing.load(Ordering::SeqCst) != number;
        let over = || self.closed.load(Ordering::SeqCst) || number.is_some_and(newer);
        if over() {
            return Err(stale());
        }
        let mut desk = Desk { store: &self.store, shelf: plans, sessions: &sessions, current, stale: &over };
        match look {
            Look::Diff(before, after) => desk.diff_plans(before.as_deref(), &after),
            Look::Item(branch, atom, most) => desk.why(branch, atom, most),
            Look::Both(a, b) => desk.compared(a, b),
            #[cfg(test)]
            Look::Held(until) => {
                until.recv().map_err(|_| stale())?;
                Ok(Answer::Done("let go".into()))
            }
        }
    }
}

/// What a look has at hand.
pub(crate) struct Desk<'a> {
    pub(crate) store: &'a Store,
    pub(crate) shelf: &'a mut Shelf,
    sessions: &'a [Still],
    current: Option<SessionId>,
    /// Whether nobody waits for it any more.
    pub(crate) stale: &'a dyn Fn() -> bool,
}

impl<'a> Desk<'a> {
    /// A session that was open.
    pub(crate) fn by_id(&self, id: SessionId) -> Option<&'a Still> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// The session that requests without a branch mean.
    pub(crate) fn session(&self) -> Result<&'a Still, Failure> {
        self.current.and_then(|id| self.by_id(id)).ok_or_else(|| Failure::user("No session is open."))
    }

    /// The session that holds a branch.
    pub(crate) fn session_of(&self, branch: BranchId) -> Result<&'a Still, Failure> {
        let holds = |session: &&Still| session.branches.iter().any(|b| b.id == branch);
        self.sessions.iter().find(holds).ok_or_else(|| Failure::user("That branch no longer exists."))
    }
}

/// Something newer is looked at.
pub(crate) fn stale() -> Failure {
    Failure::new(FailureKind::Stale, "Something newer is looked at.")
}

fn broken() -> Failure {
    Failure::new(FailureKind::Internal, "Looking at stored calls failed inside the program.")
        .kept("Nothing was changed.")
        .todo("Please report it with the log.")
}

impl Core {
    /// Has two calls laid side by side.
    pub(crate) fn look_at_diff(&self, ticket: Ticket, before: Option<Which>, after: Which) -> Result<(), Failure> {
        let before = before.map(|which| self.wanted(which).map(Box::new)).transpose()?;
        let after = self.wanted(after)?;
        self.look_beside(ticket, Look::Diff(before, Box::new(after)));
        Ok(())
    }

    /// Has an item looked at over the calls of a branch.
    pub(crate) fn look_at_item(
        &self,
        ticket: Ticket,
        id: BranchId,
        item: &Item,
        most: Option<u32>,
    ) -> Result<(), Failure> {
        let branch = self.branch(id)?;
        let atom = match item {
            Item::Atom(atom) => *atom,
            item => self.target(&branch, item)?.0,
        };
        self.look_beside(ticket, Look::Item(id, atom, most));
        Ok(())
    }

    /// Has two branches of a session laid side by side.
    pub(crate) fn look_at_both(&self, ticket: Ticket, a: BranchId, b: BranchId) -> Result<(), Failure> {
        if a == b {
            return Err(Failure::user("A branch is compared with another one.")
                .todo("Choose one on which you do not stand, or name two."));
        }
        self.branch(a).and_then(|_| self.branch(b))?;
        self.look_beside(ticket, Look::Both(a, b));
        Ok(())
    }

    fn wanted(&self, which: Which) -> Result<Wanted, Failure> {
        let Which::Next(branch) = which else { return Ok(Wanted::Stored(which)) };
        let drawn = self.drawn.get(&branch);
        let drawn = drawn.ok_or_else(|| Failure::user("The next call is not planned yet."))?;
        let called = Called { plan: drawn.solved.plan.clone(), run: None, branch: Some(branch) };
        Ok(Wanted::Drawn(Box::new(called)))
    }

    fn look_beside(&self, ticket: Ticket, look: Look) {
        let sessions = self.sessions.values().map(crate::engine::sessions::session::Session::still).collect();
        self.looker.look(ticket, look, sessions, self.current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use uuid::Uuid;

    #[test]
    fn only_the_newest_look_in_passing_is_worked_on() {
        let folder = tempfile::tempdir().unwrap();
        let options = crate::store::OpenOptions { path: folder.path().join("s.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let (events, heard) = channel();
        let looker = Looker::start(store, events);
        let (go, held) = channel();
        let branch = BranchId(Uuid::nil());
        let passing = || Look::Item(branch, Atom::Message { node: Hash::default() }, Some(3));
        looker.look(Ticket(1), Look::Held(held), Vec::new(), None);
        for ticket in 2..5 {
            looker.look(Ticket(ticket), passing(), Vec::new(), None);
        }
        looker.look(Ticket(5), Look::Both(branch, branch), Vec::new(), None);
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
