//! Starts all threads of the engine. A *job* is work with an end: it has a name, is counted, can be canceled, and
//! always reports, even if its thread cannot be started or its work panics. A *service* works until its queue closes. A
//! service answers a ticket even if its work panics ([`guarded`]). `tests/architecture.rs` rejects threads that other
//! files of the engine start.
//! Not for: the work of jobs, their start, or how often their work checks for cancellation.

use crate::domain::base::{Failure, FailureKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The maximum number of jobs that run at the same time. Ordinary use needs a handful; more means that jobs hang.
const MOST: usize = 64;

/// Starts jobs, which report to the engine's thread by messages `M`.
pub(crate) struct Jobs<M> {
    inbox: Sender<M>,
    running: Running,
    most: usize,
}

/// Cancels a job. The job's work has one copy and checks it; the starter keeps another. A canceled job still reports.
#[derive(Clone, Default)]
pub(crate) struct CancelToken(pub(crate) Arc<AtomicBool>);

impl CancelToken {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails if the job was canceled.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_canceled() { Err(Failure::user("The operation was stopped before it finished.")) } else { Ok(()) }
    }
}

/// The tokens of the running jobs, and a signal for each job that ends.
#[derive(Clone, Default)]
struct Running(Arc<(Mutex<Vec<CancelToken>>, Condvar)>);

impl Running {
    fn tokens(&self) -> MutexGuard<'_, Vec<CancelToken>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, ended: &CancelToken) {
        self.tokens().retain(|token| !Arc::ptr_eq(&token.0, &ended.0));
        self.0.1.notify_all();
    }
}

impl<M: Send + 'static> Jobs<M> {
    /// Returns a starter of jobs that report to the engine's thread through `inbox`.
    pub(crate) fn new(inbox: Sender<M>) -> Self {
        Self { inbox, running: Running::default(), most: MOST }
    }

    /// Runs work on a separate thread and returns the token that cancels it. Calls `lost` if the thread cannot be
    /// started, if too many jobs run, or if the work panics.
    pub(crate) fn run(
        &self,
        name: &str,
        work: impl FnOnce(&CancelToken) + Send + 'static,
        lost: impl FnOnce(Failure) + Send + 'static,
    ) -> CancelToken {
        let cancel = CancelToken::default();
        let mut job = Job { running: self.running.clone(), cancel: cancel.clone(), lost: Some(lost), why: NOT_STARTED };
        let count = {
            let mut running = self.running.tokens();
            running.push(cancel.clone());
            running.len()
        };
        if count > self.most {
            job.why = TOO_MANY;
            return cancel;
        }
        // If the thread cannot be started, the closure is dropped together with the job.
        let body = move || {
            let mut job = job;
            job.why = PANICKED;
            work(&job.cancel);
            job.lost = None;
        };
        if let Err(error) = std::thread::Builder::new().name(format!("pleach-{name}")).spawn(body) {
            tracing::error!(%error, name, "a thread could not be started");
        }
        cancel
    }

    /// Cancels all running jobs.
    pub(crate) fn cancel_all(&self) {
        self.running.tokens().iter().for_each(CancelToken::cancel);
    }

    /// Waits until no job runs, at most until `until`. The reports of the jobs are sent by then.
    pub(crate) fn wait_until_idle(&self, until: Instant) {
        let mut tokens = self.running.tokens();
        while !tokens.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(jobs = tokens.len(), "jobs still run at the end of the program");
                return;
            }
            tokens = self.running.0.1.wait_timeout(tokens, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs work that ends with one message to the engine's thread. If the work does not produce the message, `lost`
    /// does.
    pub(crate) fn report(
        &self,
        name: &str,
        lost: impl FnOnce(Failure) -> M + Send + 'static,
        work: impl FnOnce(&CancelToken) -> M + Send + 'static,
    ) -> CancelToken {
        let (inbox, otherwise) = (self.inbox.clone(), self.inbox.clone());
        let work = move |cancel: &CancelToken| drop(inbox.send(work(cancel)));
        self.run(name, work, move |failure| drop(otherwise.send(lost(failure))))
    }
}

const NOT_STARTED: &str = "The system did not start another thread.";
const TOO_MANY: &str = "Too many background jobs are running.";
const PANICKED: &str = "An internal error stopped the operation.";

/// A counted job. If it is dropped before its work is done, it reports the reason.
struct Job<L: FnOnce(Failure)> {
    running: Running,
    cancel: CancelToken,
    lost: Option<L>,
    why: &'static str,
}

impl<L: FnOnce(Failure)> Drop for Job<L> {
    fn drop(&mut self) {
        self.running.remove(&self.cancel);
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
        jobs.answer("test", Ticket(7), |_| Ok(Answer::Done("made".into())));
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, matches!(result, Ok(Answer::Done(notice)) if notice == "made")), (Ticket(7), true));
    }

    #[test]
    fn a_panic_answers_the_ticket_and_frees_its_place() {
        let (jobs, out) = jobs(1);
        for ticket in [1, 2] {
            jobs.answer("test", Ticket(ticket), |_| panic!("planted by the test"));
            let (answered, result) = answered(&out);
            assert_eq!(answered, Ticket(ticket));
            assert_eq!(result.err().map(|failure| failure.what).as_deref(), Some(PANICKED));
        }
    }

    #[test]
    fn a_job_beyond_the_maximum_is_refused_until_another_has_ended() {
        let (jobs, out) = jobs(1);
        let (go, wait) = channel::<()>();
        jobs.answer("test", Ticket(1), move |_| {
            let _ = wait.recv();
            Ok(Answer::Done(String::new()))
        });
        jobs.answer("test", Ticket(2), |_| Ok(Answer::Done(String::new())));
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, result.err().map(|failure| failure.kind)), (Ticket(2), Some(FailureKind::Busy)));
        drop(go);
        assert!(answered(&out).1.is_ok());
        while !jobs.running.tokens().is_empty() {
            std::thread::yield_now();
        }
        jobs.answer("test", Ticket(3), |_| Ok(Answer::Done(String::new())));
        assert!(answered(&out).1.is_ok());
    }

    /// Starts a job that ends only when it is canceled, and then answers or panics.
    fn endless(jobs: &Jobs<Inbox>, ticket: u64, panics: bool) -> CancelToken {
        let answer = move |result| Inbox::Answer(Ticket(ticket), Box::new(result));
        jobs.report(
            "test",
            move |failure| answer(Err(failure)),
            move |cancel| {
                while !cancel.is_canceled() {
                    std::thread::yield_now();
                }
                assert!(!panics, "planted by the test");
                answer(Ok(Answer::Done(String::new())))
            },
        )
    }

    #[test]
    fn a_canceled_job_answers_its_ticket_and_cancels_no_other() {
        let (jobs, out) = jobs(2);
        let (first, second) = (endless(&jobs, 1, false), endless(&jobs, 2, true));
        first.cancel();
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, result.is_ok(), second.is_canceled()), (Ticket(1), true, false));
        second.cancel();
        let (ticket, result) = answered(&out);
        assert_eq!((ticket, result.err().map(|failure| failure.what)), (Ticket(2), Some(PANICKED.to_owned())));
    }

    #[test]
    fn all_running_jobs_are_canceled_together_and_each_answers() {
        let (jobs, out) = jobs(3);
        let tokens = [1, 2, 3].map(|ticket| endless(&jobs, ticket, false));
        jobs.cancel_all();
        assert!(tokens.iter().all(CancelToken::is_canceled));
        let mut tickets = [1, 2, 3].map(|_| answered(&out).0.0);
        tickets.sort_unstable();
        assert_eq!(tickets, [1, 2, 3]);
    }

    #[test]
    fn the_work_for_an_answer_sees_that_it_was_canceled() {
        let (jobs, out) = jobs(1);
        let (started, has_started) = channel();
        jobs.answer("test", Ticket(1), move |cancel| {
            drop(started);
            while !cancel.is_canceled() {
                std::thread::yield_now();
            }
            cancel.check().map(|()| Answer::Done(String::new()))
        });
        let _: Result<(), _> = has_started.recv();
        jobs.cancel_all();
        let failure = answered(&out).1.err();
        assert_eq!(
            failure.map(|failure| failure.what).as_deref(),
            Some("The operation was stopped before it finished.")
        );
    }

    #[test]
    fn after_the_wait_no_job_runs_and_each_has_reported() {
        let (jobs, out) = jobs(3);
        for ticket in [1, 2, 3] {
            endless(&jobs, ticket, ticket == 2);
        }
        jobs.wait_until_idle(Instant::now());
        assert!(!jobs.running.tokens().is_empty(), "it does not wait longer than it may");
        jobs.cancel_all();
        jobs.wait_until_idle(Instant::now() + std::time::Duration::from_mins(10));
        assert!(jobs.running.tokens().is_empty());
        assert!(out.try_iter().count() >= 2, "the report of the job that panicked may follow");
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
