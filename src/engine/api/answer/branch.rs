//! Answers about one branch: its head and its messages.
//! Not for: the content of a call (`plan`).

use crate::domain::conversation::{Actor, Branch, Comparison, ItemState, NodeHead, Transition};

/// An answer about a branch.
#[derive(Clone, PartialEq, Debug)]
pub enum BranchAnswer {
    /// The branch that was made or switched to.
    Branch(Box<Branch>),
    /// Two branches side by side.
    Compared(Box<Comparison>),
    /// State changes of items, oldest first.
    Steps(Vec<TransitionReport>),
    /// The appended message.
    Added(Box<NodeHead>),
}

/// A state change with a description of its item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionReport {
    /// The state change.
    pub step: Transition,
    /// First words of the item, or the memory's text; not sanitized.
    pub title: String,
    /// The item's turn on the branch's path, from 1.
    pub turn: Option<u32>,
    /// The turn at whose end the change happened, from 1.
    pub at_turn: Option<u32>,
}

impl TransitionReport {
    /// Returns a sentence such as `turn 12: leased by the program, referred to in 2 of the last 5 turns`.
    pub fn sentence(&self) -> String {
        let by = match self.step.by {
            Actor::User => "you",
            Actor::Engine => "pleach",
            Actor::Model => "the model",
        };
        let at = self.at_turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let to = match (self.step.from, self.step.to) {
            (ItemState::Leased, ItemState::Leased) => "renewed",
            (_, ItemState::None) => "removed",
            (_, ItemState::Ephemeral) if self.step.by == Actor::User => "included once",
            (_, ItemState::Ephemeral) => "kept for one turn",
            (_, ItemState::Sticky) => "pinned",
            (_, to) => to.name(),
        };
        // `by` already says that a person decided.
        let why = match self.step.reason.as_str() {
            "" | "decided by the person" => String::new(),
            why => format!(", {why}"),
        };
        format!("{at}{to} by {by}{why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::Hash;
    use crate::domain::conversation::Atom;
    use crate::domain::conversation::transition::Subject;

    #[test]
    fn steps_become_sentences() {
        use ItemState::{Excluded, Leased, None as Free};
        let text = |(from, to), by, reason: &str, at_turn| {
            let item = Subject::Item(Atom::Message { node: Hash::default() });
            let step = Transition { item, from, to, reason: reason.into(), turn: None, branch: None, by, at: 0 };
            TransitionReport { step, title: String::new(), turn: None, at_turn }.sentence()
        };
        for (found, expected) in [
            (text((Free, Leased), Actor::Engine, "named again", Some(12)), "turn 12: leased by pleach, named again"),
            (text((Leased, Leased), Actor::Model, "", None), "renewed by the model"),
            (text((Leased, Free), Actor::User, "decided by the person", Some(3)), "turn 3: removed by you"),
            (text((Free, Excluded), Actor::User, "", None), "excluded by you"),
        ] {
            assert_eq!(found, expected);
        }
    }
}
