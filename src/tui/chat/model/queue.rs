//! Messages that wait for the open turn of their branch to end, in the order in which they will be sent.
//! Not for: sending them (`update::queueing`).

use crate::domain::base::ids::BranchId;
use crate::domain::planning::draft::Draft;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a queued message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueState {
    /// It waits for the arriving answer.
    Waiting,
    /// It is being sent.
    Sending,
    /// It waits for the user's decision, because the previous answer failed or was stopped.
    Held,
}

/// A queued message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The message.
    pub draft: Draft,
    /// Its state.
    pub standing: QueueState,
}

/// The queued messages, by branch.
#[derive(Clone, Debug, Default)]
pub struct Queue(BTreeMap<BranchId, Vec<Queued>>);

impl Queue {
    /// The queue of a branch, the next message first.
    #[must_use]
    pub fn of(&self, branch: BranchId) -> &[Queued] {
        self.0.get(&branch).map_or(&[], Vec::as_slice)
    }

    /// Adds a message.
    pub fn push(&mut self, branch: BranchId, draft: Draft) {
        self.0.entry(branch).or_default().push(Queued { draft, standing: QueueState::Waiting });
    }

    /// Removes the newest message from the queue, unless it is being sent.
    pub fn unqueue_last(&mut self, branch: BranchId) -> Option<Draft> {
        let list = self.0.get_mut(&branch)?;
        let taken = list.pop_if(|last| last.standing != QueueState::Sending).map(|last| last.draft);
        if list.is_empty() {
            self.0.remove(&branch);
        }
        taken
    }

    /// The next message to send, if any; it counts as being sent. Held messages are sent only if `released`.
    pub fn next(&mut self, branch: BranchId, released: bool) -> Option<Draft> {
        let list = self.0.get_mut(&branch)?;
        if released {
            list.iter_mut().filter(|q| q.standing == QueueState::Held).for_each(|q| q.standing = QueueState::Waiting);
        }
        let first = list.first_mut().filter(|first| first.standing == QueueState::Waiting)?;
        first.standing = QueueState::Sending;
        Some(first.draft.clone())
    }

    /// Whether this message is being sent.
    #[must_use]
    pub fn is_sending(&self, branch: BranchId, draft: &Draft) -> bool {
        self.of(branch).first().is_some_and(|first| first.standing == QueueState::Sending && same(&first.draft, draft))
    }

    /// The message was sent and leaves the queue. False if it was not in the queue.
    pub fn went(&mut self, branch: BranchId, draft: &Draft) -> bool {
        let sent = self.is_sending(branch, draft);
        let Some(list) = self.0.get_mut(&branch) else { return false };
        if sent {
            list.remove(0);
        }
        if list.is_empty() {
            self.0.remove(&branch);
        }
        sent
    }

    /// Holds all messages of a branch for the user's decision. True if there are any.
    pub fn hold(&mut self, branch: BranchId) -> bool {
        let list = self.0.get_mut(&branch);
        list.is_some_and(|list| {
            for queued in list.iter_mut() {
                queued.standing = QueueState::Held;
            }
            !list.is_empty()
        })
    }

    /// Whether messages are held for the user's decision.
    #[must_use]
    pub fn held(&self, branch: BranchId) -> bool {
        self.of(branch).iter().any(|queued| queued.standing == QueueState::Held)
    }

    /// The text of all queued messages of a branch.
    #[must_use]
    pub fn words(&self, branch: BranchId) -> Arc<str> {
        match self.of(branch) {
            [] => Arc::from(""),
            [one] => one.draft.text.clone(),
            all => Arc::from(all.iter().map(|queued| &*queued.draft.text).collect::<Vec<_>>().join("\n\n")),
        }
    }
}

fn same(a: &Draft, b: &Draft) -> bool {
    a.text == b.text && a.kind == b.kind
}

/// When the draft of a branch is to be saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DraftSaveTime {
    /// The branch of the draft.
    pub branch: Option<BranchId>,
    /// The time in milliseconds; `None` if the saved text is current.
    pub due: Option<u64>,
}

/// Queued text and draft text, as saved across a restart.
#[must_use]
pub fn joined(line: &Arc<str>, written: &Arc<str>) -> Arc<str> {
    match (line.is_empty(), written.is_empty()) {
        (true, _) => written.clone(),
        (_, true) => line.clone(),
        (false, false) => Arc::from(format!("{line}\n\n{written}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft { text: text.into(), ..Draft::default() }
    }

    #[test]
    fn they_go_in_order_and_come_back_newest_first() {
        let branch = BranchId(uuid::Uuid::from_u128(1));
        let mut queue = Queue::default();
        for text in ["one", "two", "three"] {
            queue.push(branch, draft(text));
        }
        assert_eq!(queue.unqueue_last(branch), Some(draft("three")));
        assert_eq!(queue.next(branch, false), Some(draft("one")));
        assert_eq!(queue.next(branch, false), None, "one at a time");
        assert!(!queue.went(branch, &draft("two")));
        assert!(queue.went(branch, &draft("one")));
        assert!(queue.hold(branch) && queue.held(branch));
        assert_eq!(queue.next(branch, false), None);
        assert_eq!(&*queue.words(branch), "two");
        assert_eq!(queue.next(branch, true), Some(draft("two")));
        assert_eq!(queue.unqueue_last(branch), None, "it is on its way");
        assert!(queue.went(branch, &draft("two")) && queue.of(branch).is_empty());
    }
}
