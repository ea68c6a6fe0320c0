//! The thread that searches all sessions; a newer search replaces the older ones, which are answered as stale.
//! Not for: retrieval into requests (`indexing::messages`).

use crate::domain::base::{Failure, FailureKind};
use crate::domain::conversation::{FoundMessages, SearchFilter};
use crate::engine::api::{Answer, Event, SessionAnswer, Ticket};
use crate::engine::jobs::{self, guarded};
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, TrySendError, sync_channel};

/// The maximum number of messages that one search returns.
const MOST: usize = 500;
/// The maximum number of searches that wait. A newer search ends the older ones, so ordinary use has one or two.
const MOST_WAITING: usize = 64;

struct Search {
    number: u64,
    ticket: Ticket,
    line: String,
    limit: usize,
}

/// A handle to the thread, which ends when this is dropped.
pub(crate) struct SearchWorker {
    newest: Arc<AtomicU64>,
    to: SyncSender<Search>,
    events: Sender<Event>,
}

impl SearchWorker {
    pub(crate) fn start(store: Store, events: Sender<Event>) -> Result<Self, Failure> {
        let (to, from) = sync_channel(MOST_WAITING);
        let worker = Self { newest: Arc::default(), to, events };
        let (newest, events) = (worker.newest.clone(), worker.events.clone());
        jobs::service("search", move || seek(&store, &events, from, &newest))?;
        Ok(worker)
    }

    /// Searches for the typed text. Older searches are answered as stale; this one as busy if too many wait.
    pub(crate) fn look(&self, ticket: Ticket, line: String, limit: usize) {
        let number = self.newest.load(Ordering::SeqCst) + 1;
        match self.to.try_send(Search { number, ticket, line, limit: limit.min(MOST) }) {
            Ok(()) => self.newest.store(number, Ordering::SeqCst),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                let busy = Failure::new(FailureKind::Busy, "Too many searches are waiting.");
                let result = Err(busy.todo("Try again in a moment."));
                let _ = self.events.send(Event::Answer { ticket, result });
            }
        }
    }
}

impl Drop for SearchWorker {
    fn drop(&mut self) {
        // The search in progress is aborted, and waiting searches are not started.
        self.newest.store(u64::MAX, Ordering::SeqCst);
    }
}

fn seek(store: &Store, events: &Sender<Event>, from: impl IntoIterator<Item = Search>, newest: &AtomicU64) {
    for search in from {
        let stale = || newest.load(Ordering::SeqCst) > search.number;
        let look = || if stale() { Ok(FoundMessages::default()) } else { found(store, &search, &stale) };
        let found = guarded("the search", look);
        let result = match found {
            _ if stale() => Err(Failure::new(FailureKind::Stale, "A newer search replaced this search.")),
            found => found.map(|found| Answer::Session(SessionAnswer::Found(Box::new(found)))),
        };
        if events.send(Event::Answer { ticket: search.ticket, result }).is_err() {
            return;
        }
    }
}

fn found(store: &Store, search: &Search, stale: &dyn Fn() -> bool) -> Result<FoundMessages, Failure> {
    let offset = jiff::Zoned::now().offset().seconds();
    let mut find = SearchFilter::read(&search.line, offset);
    let problems = std::mem::take(&mut find.problems);
    let mut messages = store.find(&find, search.limit + 1, stale)?;
    let more = messages.len() > search.limit;
    messages.truncate(search.limit);
    Ok(FoundMessages { messages, more, problems })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenOptions;
    use std::sync::mpsc::channel;

    #[test]
    fn every_search_is_answered_and_only_the_newest_with_messages() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions { path: folder.path().join("s.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let (events, heard) = channel();
        let (to, from) = sync_channel(3);
        let worker = SearchWorker { newest: Arc::default(), to, events };
        for ticket in 1..=4 {
            worker.look(Ticket(ticket), "bees".into(), 9);
        }
        // The thread begins only now, so all searches but the refused one waited.
        let (newest, events) = (worker.newest.clone(), worker.events.clone());
        seek(&store, &events, from.try_iter(), &newest);
        worker.look(Ticket(5), "bees".into(), 9);
        drop(worker);
        seek(&store, &events, from.try_iter(), &newest);
        let answers = heard.try_iter().map(|event| match event {
            Event::Answer { ticket, result } => (ticket.0, result.err().map(|failure| failure.kind)),
            other => panic!("{other:?}"),
        });
        let (busy, stale) = (Some(FailureKind::Busy), Some(FailureKind::Stale));
        assert_eq!(answers.collect::<Vec<_>>(), [(4, busy), (1, stale), (2, stale), (3, None), (5, stale)]);
    }
}
