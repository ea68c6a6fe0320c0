//! Starts all threads of the engine. A *job* is work with an end: it has a name, is counted, and always reports, even
//! if its thread cannot be started or its work panics. A *service* works until its queue closes.
//! A service answers a ticket also when the work for it panics ([`guarded`]).
//! `tests/architecture.rs` rejects threads that other files of the engine start.
//! Not for: what jobs do and when they start; canceling a job, which carries its own flag for that.

use crate::domain::base::failure::{Failure, FailureKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// The maximum number of jobs that run at the same time. Ordinary use needs a handful; more means that jobs hang.
const MOST: usize = 64;

/// Starts jobs, which report to the engine's thread by messages `M`.
pub(crate) struct Jobs<M> {
    inbox: Sender<M>,
    running: Arc<AtomicUsize>,
    most: usize,
}

impl<M: Send + 'static> Jobs<M> {
    /// Returns a starter of jobs that report to the engine's thread through `inbox`.
    pub(crate) fn new(inbox: Sender<M>) -> Self {
        Self { inbox, running: Arc::default(), most: MOST }
    }

    /// Runs work on a thread of its own. Calls `lost` if the thread cannot be started, if too many jobs run, or if the
    /// work panics.
    pub(crate) fn run(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
        lost: impl FnOnce(Failure) + Send + 'static,
    ) {
        let others = self.running.fetch_add(1, Ordering::SeqCst);
        let mut job = Job { running: Arc::clone(&self.running), lost: Some(lost), why: NOT_STARTED };
        if others >= self.most {
            job.why = TOO_MANY;
            return;
        }
        // If the thread cannot be started, the closure is dropped and the job with it.
        let body = move || {
            let mut job = job;
            job.why = PANICKED;
            work();
            job.lost = None;
        };
        if let Err(error) = std::thread::Builder::new().name(format!("pleach-{name}")).spawn(body) {
            tracing::error!(%error, name, "a thread could not be started");
        }
    }

    /// Runs work that ends in one message to the engine's thread. If the work fails to produce it, `lost` does.
    pub(crate) fn report(
        &self,
        name: &str,
        lost: impl FnOnce(Failure) -> M + Send + 'static,
        work: impl FnOnce() -> M + Send + 'static,
    ) {
        let (inbox, otherwise) = (self.inbox.clone(), self.inbox.clone());
        self.run(name, move || drop(inbox.send(work())), move |failure| drop(otherwise.send(lost(failure))));
    }
}

const NOT_STARTED: &str = "The system did not start another thread.";
const TOO_MANY: &str = "Too many background jobs are running.";
const PANICKED: &str = "An internal error stopped this.";

/// A counted job. If it is dropped before its work is done, it reports the reason.
struct Job<L: FnOnce(Failure)> {
    running: Arc<AtomicUsize>,
    lost: Option<L>,
    why: &'static str,
}

impl<L: FnOnce(Failure)> Drop for Job<L> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
        if let Some(lost) = self.lost.take() {
            let (kind, todo) = match self.why {
                PANICKED => (FailureKind::Internal, "Please report it with the log."),
                TOO_MANY => (FailureKind::Busy, "Try again when one of them has finished."),
                _ => (FailureKind::Internal, "Close some programs and try again."),
            };
            lost(Failure::new(kind, self.why).todo(todo));
        }
    }
}

/// Starts a thread that works until its queue is closed.
///
/// # Errors
/// Fails if the system cannot start the thread. The engine does not start without its services.
pub(crate) fn service(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Failure> {
    let started = std::thread::Builder::new().name(format!("pleach-{name}")).spawn(work);
    started.map_err(|error| {
        let what = format!("{NOT_STARTED} ({error})");
        Failure::new(FailureKind::Internal, what).todo("Close some programs and try again.")
    })
}

/// Runs a part of a service's work, named as in "An internal error stopped the search.". A panic becomes a failure, and
/// the service goes on.
///
/// # Errors
/// Fails as the work does, or if it panics.
pub(crate) fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::new(FailureKind::Internal, format!("An internal error stopped {name}."))
            .kept("Nothing was sent and nothing was changed.")
            .todo("Please report it with the log."))
    })
}

/// A part of the work that [`together`] runs.
pub(crate) type Part<T> = Box<dyn FnOnce() -> T + Send>;

/// Runs parts of a job in parallel and waits for all of them. A part that could not be started or panicked gives
/// `None`.
pub(crate) fn together<T: Send>(parts: Vec<Part<T>>) -> Vec<Option<T>> {
    std::thread::scope(|scope| {
        let start = |part| std::thread::Builder::new().name("pleach-part".into()).spawn_scoped(scope, part).ok();
        let threads: Vec<_> = parts.into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread?.join().ok()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::api::{Answer, Ticket};
    use crate::engine::inbox::Inbox;
    use std::sync::mpsc::{Receiver, channel};

    fn jobs(most: usize) -> (Jobs<Inbox>, Receiver<Inbox>) {
        let (inbox, out) = channel();
        (Jobs { most, ..Jobs::new(inbox) }, out)
    }

    fn answered(out: &Receiver<Inbox>) -> (Ticket, Result<Answer, Failure>) {
        match out.recv() {
            Ok(Inbox::Answer(ticket, result)) => (ticket, *result),
            _ => panic!("no answer"),
        }
    }

    #[test]
    fn a_ticket_is_answered_with_the_result_of_the_work() {
        let (jobs, out) = jobs(1);
        jobs.answer("test", Ticket(7), || Ok(Answer::Done("made".into())));
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, matches!(result, Ok(Answer::Done(said)) if said == "made")), (Ticket(7), true));
    }

    #[test]
    fn a_panic_answers_the_ticket_and_frees_its_place() {
        let (jobs, out) = jobs(1);
        for ticket in [1, 2] {
            jobs.answer("test", Ticket(ticket), || panic!("planted by the test"));
            let (answered, result) = answered(&out);
            assert_eq!(answered, Ticket(ticket));
            assert_eq!(result.err().map(|failure| failure.what).as_deref(), Some(PANICKED));
        }
    }

    #[test]
    fn a_job_beyond_the_maximum_is_refused_until_another_has_ended() {
        let (jobs, out) = jobs(1);
        let (go, wait) = channel::<()>();
        jobs.answer("test", Ticket(1), move || {
            let _ = wait.recv();
            Ok(Answer::Done(String::new()))
        });
        jobs.answer("test", Ticket(2), || Ok(Answer::Done(String::new())));
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, result.err().map(|failure| failure.kind)), (Ticket(2), Some(FailureKind::Busy)));
        drop(go);
        assert!(answered(&out).1.is_ok());
        while jobs.running.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        jobs.answer("test", Ticket(3), || Ok(Answer::Done(String::new())));
        assert!(answered(&out).1.is_ok());
    }

    #[test]
    fn a_panic_in_guarded_work_names_what_it_stopped() {
        assert_eq!(guarded("the test", || Ok(1)).ok(), Some(1));
        let failure = guarded::<u32>("the test", || panic!("planted by the test")).unwrap_err();
        assert_eq!(
            (failure.kind, failure.what.as_str()),
            (FailureKind::Internal, "An internal error stopped the test.")
        );
    }

    #[test]
    fn parts_run_in_parallel_and_a_panic_affects_no_other_part() {
        let parts: Vec<Part<u32>> = vec![Box::new(|| 1), Box::new(|| panic!("planted by the test")), Box::new(|| 3)];
        assert_eq!(together(parts), [Some(1), None, Some(3)]);
    }
}
