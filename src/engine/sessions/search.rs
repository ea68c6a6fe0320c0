//! The thread that searches all sessions; a newer search replaces an older one.
//! Not for: retrieval into requests (`indexing::messages`).

use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::conversation::search::{FoundMessages, SearchFilter};
use crate::engine::api::{Answer, Event, Ticket};
use crate::engine::jobs::{self, guarded};
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The maximum number of messages that one search returns.
const MOST: usize = 500;

struct Search {
    number: u64,
    ticket: Ticket,
    line: String,
    limit: usize,
}

/// A handle to the thread, which ends when this is dropped.
pub(crate) struct SearchWorker {
    newest: Arc<AtomicU64>,
    to: Sender<Search>,
}

impl SearchWorker {
    pub(crate) fn start(store: Store, events: Sender<Event>) -> Result<Self, Failure> {
        let (to, from) = channel();
        let newest = Arc::new(AtomicU64::new(0));
        let seen = newest.clone();
        jobs::service("find", move || seek(&store, &events, &from, &seen))?;
        Ok(Self { newest, to })
    }

    /// Searches for the typed text. An older search is answered as stale.
    pub(crate) fn look(&self, ticket: Ticket, line: String, limit: usize) {
        let number = self.newest.fetch_add(1, Ordering::SeqCst) + 1;
        let _ = self.to.send(Search { number, ticket, line, limit: limit.min(MOST) });
    }
}

impl Drop for SearchWorker {
    fn drop(&mut self) {
        // The search under way is aborted.
        self.newest.fetch_add(1, Ordering::SeqCst);
    }
}

fn seek(store: &Store, events: &Sender<Event>, from: &Receiver<Search>, newest: &AtomicU64) {
    for search in from {
        let stale = || newest.load(Ordering::SeqCst) != search.number;
        let look = || if stale() { Ok(FoundMessages::default()) } else { found(store, &search, &stale) };
        let found = guarded("the search", look);
        let result = match found {
            _ if stale() => Err(Failure::new(FailureKind::Stale, "A newer search replaced this one.")),
            found => found.map(|found| Answer::Found(Box::new(found))),
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
