//! Messages that wait for the open turn of their branch to end, in sending order.
//! Not for: sending them (`update::queueing`).

use crate::domain::base::BranchId;
use crate::domain::planning::Draft;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a queued message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueState {
    /// It waits for the current answer.
    Waiting,
    /// It is being sent.
    Sending,
    /// It waits for a person, because the answer before it failed or was stopped.
    Held,
}

/// A queued message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The draft to send.
    pub draft: Draft,
    pub state: QueueState,
}

/// The queued messages, by branch.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    lists: BTreeMap<BranchId, Vec<Queued>>,
    /// Why the messages of a branch were held last, as a clause: `the previous call failed`.
    reasons: BTreeMap<BranchId, String>,
}

impl Queue {
    /// The queued messages of a branch, in sending order.
    pub fn of(&self, branch: BranchId) -> &[Queued] {
        self.lists.get(&branch).map_or(&[], Vec::as_slice)
    }

    /// Appends a message.
    pub fn push(&mut self, branch: BranchId, draft: Draft) {
        self.lists.entry(branch).or_default().push(Queued { draft, state: QueueState::Waiting });
    }

    /// Puts a message before all others and holds them all, because its call failed while another text was typed.
    pub fn put_back(&mut self, branch: BranchId, draft: Draft, why: &str) {
        self.lists.entry(branch).or_default().insert(0, Queued { draft, state: QueueState::Held });
        self.hold(branch, why);
    }

    /// Removes the newest message, unless it is being sent.
    pub fn unqueue_last(&mut self, branch: BranchId) -> Option<Draft> {
        let list = self.lists.get_mut(&branch)?;
        let taken = list.pop_if(|last| last.state != QueueState::Sending).map(|last| last.draft);
        if list.is_empty() {
            self.lists.remove(&branch);
        }
        taken
    }

    /// Marks the first message as being sent and returns it; None if none may be sent. With `released`, held messages
    /// may be sent too.
    pub fn next(&mut self, branch: BranchId, released: bool) -> Option<Draft> {
        let list = self.lists.get_mut(&branch)?;
        if released {
            list.iter_mut().filter(|q| q.state == QueueState::Held).for_each(|q| q.state = QueueState::Waiting);
        }
        let first = list.first_mut().filter(|first| first.state == QueueState::Waiting)?;
        first.state = QueueState::Sending;
        Some(first.draft.clone())
    }

    /// Whether this message is being sent.
    pub fn is_sending(&self, branch: BranchId, draft: &Draft) -> bool {
        self.of(branch).first().is_some_and(|first| first.state == QueueState::Sending && same(&first.draft, draft))
    }

    /// Removes the message that was being sent, since its turn began. Returns false if another message was sent.
    pub fn remove_sent(&mut self, branch: BranchId, draft: &Draft) -> bool {
        let sent = self.is_sending(branch, draft);
        let Some(list) = self.lists.get_mut(&branch) else { return false };
        if sent {
            list.remove(0);
        }
        if list.is_empty() {
            self.lists.remove(&branch);
        }
        sent
    }

    /// Holds all messages of a branch until a person releases them. `why` is a clause that says why they were not sent.
    /// Does nothing if there are none.
    pub fn hold(&mut self, branch: BranchId, why: &str) {
        let Some(list) = self.lists.get_mut(&branch) else { return };
        for queued in list.iter_mut() {
            queued.state = QueueState::Held;
        }
        self.reasons.insert(branch, why.to_owned());
    }

    /// Why messages of a branch are held, as a clause; None if none is held.
    pub fn held(&self, branch: BranchId) -> Option<&str> {
        let held = self.of(branch).iter().any(|queued| queued.state == QueueState::Held);
        held.then(|| self.reasons.get(&branch).map_or("", String::as_str))
    }
}

fn same(a: &Draft, b: &Draft) -> bool {
    a.text == b.text && a.kind == b.kind
}

/// When to save the draft of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DraftSaveTime {
    /// The branch whose draft is in the composer.
    pub branch: Option<BranchId>,
    /// When to save it, in milliseconds of the model's clock; None if the store has it.
    pub due: Option<u64>,
}

/// Joins queued messages and the draft by an empty line.
pub fn joined(line: &Arc<str>, written: &Arc<str>) -> Arc<str> {
    match (line.is_empty(), written.is_empty()) {
        (true, _) => written.clone(),
        (_, true) => line.clone(),
        // After another text, no second slash has to say that the text is no command.
        (false, false) => Arc::from(format!("{line}\n\n{}", &written[usize::from(written.starts_with("//"))..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft { text: text.into(), ..Draft::default() }
    }

    #[test]
    fn messages_are_sent_in_order_and_taken_back_newest_first() {
        let branch = BranchId(uuid::Uuid::from_u128(1));
        let mut queue = Queue::default();
        for text in ["one", "two", "three"] {
            queue.push(branch, draft(text));
        }
        assert_eq!(queue.unqueue_last(branch), Some(draft("three")));
        assert_eq!(queue.next(branch, false), Some(draft("one")));
        assert_eq!(queue.next(branch, false), None, "one at a time");
        assert!(!queue.remove_sent(branch, &draft("two")));
        assert!(queue.remove_sent(branch, &draft("one")));
        queue.hold(branch, "the call failed");
        assert_eq!(queue.held(branch), Some("the call failed"));
        assert_eq!(queue.next(branch, false), None);
        assert_eq!(queue.of(branch).len(), 1);
        assert_eq!(queue.next(branch, true), Some(draft("two")));
        assert_eq!(queue.unqueue_last(branch), None, "it is on its way");
        assert_eq!(queue.held(branch), None);
        queue.put_back(branch, draft("zero"), "the call failed");
        assert_eq!((queue.of(branch).len(), queue.held(branch)), (2, Some("the call failed")));
        assert_eq!(queue.next(branch, true), Some(draft("zero")));
        assert!(queue.remove_sent(branch, &draft("zero")));
        assert_eq!(queue.next(branch, false), Some(draft("two")), "the others follow");
        assert!(queue.remove_sent(branch, &draft("two")) && queue.of(branch).is_empty());
        queue.hold(branch, "the call failed");
        assert_eq!(queue.held(branch), None, "nothing waits");
    }
}
