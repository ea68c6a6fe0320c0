//! Marks: decisions of a person or the program about an item on a branch: pins, leases, exclusions, include once.
//! Not for: the effect of a mark on a plan (`context`) or undo (`operation`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::code::symbols::{CodeRef, is_zero};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

/// The smallest thing that a plan includes or leaves out, identified by keys (never by row ids).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(tag = "atom", rename_all = "lowercase")]
pub enum Atom {
    /// Everything before the first user message.
    Preamble {
        /// First node.
        first: Hash,
    },
    /// A user message and everything before the next one. Two answers to one question are two turns.
    Turn {
        /// The user message.
        user: Hash,
        /// The last node.
        tip: Hash,
    },
    /// An assistant message with its tool calls and all their results.
    Episode {
        /// The calling message.
        call: Hash,
        /// The last result.
        tip: Hash,
    },
    /// One message inside a turn.
    Message { node: Hash },
    /// A text that belongs to no message: instructions, state, a note, and so on.
    Section { text: Hash },
    /// Adjacent turns that share one verdict.
    Range {
        /// Key of the first turn's first node.
        first: Hash,
        /// Key of the last turn's last node.
        last: Hash,
    },
}

impl Atom {
    /// Returns the atom of the map of the workspace's code.
    pub fn code_map() -> Self {
        Self::Section { text: Hash::of(b"map of the code") }
    }

    /// Returns the atom of the heading over code that was found, and of the row that says why none was.
    pub fn code_search() -> Self {
        Self::Section { text: Hash::of(b"search of the code") }
    }

    /// Returns a hash that identifies the atom.
    pub fn key(&self) -> Hash {
        Fields::new("atom").json(self).finish()
    }

    /// Returns the keys of the atom's first and last message; `None` for texts.
    pub fn ends(&self) -> Option<(Hash, Hash)> {
        match *self {
            Self::Turn { user, tip } => Some((user, tip)),
            Self::Episode { call, tip } => Some((call, tip)),
            Self::Message { node } | Self::Preamble { first: node } => Some((node, node)),
            Self::Range { first, last } => Some((first, last)),
            Self::Section { .. } => None,
        }
    }
}

/// Who made a mark or a change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// The person.
    User,
    /// The program.
    Engine,
    Model,
}

/// The turns that a lease has left. Stored as a number: 0 is a lease that has ended, and the largest number one that lasts
/// until the running task ends. Earlier versions count that one down.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub enum LeaseTurns {
    /// This many turns.
    Left(NonZeroU32),
    /// The lease has ended and has no effect.
    Ended,
}

impl LeaseTurns {
    /// A lease that lasts until the running task ends.
    pub const TASK: Self = Self::Left(NonZeroU32::MAX);

    /// Returns how long the lease still lasts, such as `for 3 more turns`.
    pub fn duration(self) -> String {
        match self {
            Self::TASK => "until the task ends".to_owned(),
            Self::Left(NonZeroU32::MIN) => "for 1 more turn".to_owned(),
            Self::Left(_) | Self::Ended => format!("for {self} more turns"),
        }
    }

    /// Returns the same in a few words, such as `3 turns left`.
    pub fn label(self) -> String {
        match self {
            Self::TASK => "until the task ends".to_owned(),
            Self::Left(NonZeroU32::MIN) => "1 turn left".to_owned(),
            Self::Left(_) | Self::Ended => format!("{self} turns left"),
        }
    }
}

impl From<u32> for LeaseTurns {
    fn from(turns: u32) -> Self {
        NonZeroU32::new(turns).map_or(Self::Ended, Self::Left)
    }
}

impl From<LeaseTurns> for u32 {
    fn from(turns: LeaseTurns) -> Self {
        match turns {
            LeaseTurns::Left(turns) => turns.get(),
            LeaseTurns::Ended => 0,
        }
    }
}

impl fmt::Display for LeaseTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::TASK { f.write_str("task") } else { u32::from(*self).fmt(f) }
    }
}

/// The kind of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MarkKind {
    /// A permanent pin: stays until a person removes it, and is never dropped silently.
    Sticky,
    /// A lease: stays for a number of turns, or until the running task ends.
    Leased {
        /// Turns left.
        turns: LeaseTurns,
    },
    /// Excludes the item until removed.
    Exclude,
    /// Excludes the item from the next completed turn's calls only.
    ExcludeOnce,
    /// Includes the item in the next completed turn's calls only.
    IncludeOnce,
    /// Made by the program: includes the item in the next completed turn's calls only, within the cap of leases and the
    /// budget.
    Ephemeral,
}

impl MarkKind {
    /// Returns a lease of `turns` turns.
    pub fn leased(turns: u32) -> Self {
        Self::Leased { turns: turns.into() }
    }

    /// Returns whether the mark is a pin of any kind, even an ended lease.
    pub fn pins(self) -> bool {
        matches!(self, Self::Sticky | Self::Leased { .. } | Self::Ephemeral)
    }

    /// Returns whether the mark excludes its item.
    pub fn excludes(self) -> bool {
        matches!(self, Self::Exclude | Self::ExcludeOnce)
    }

    /// Returns whether the mark includes an item that would not be sent otherwise. An ended lease does not.
    pub fn includes(self) -> bool {
        match self {
            Self::Sticky | Self::IncludeOnce | Self::Ephemeral => true,
            Self::Leased { turns } => turns != LeaseTurns::Ended,
            Self::Exclude | Self::ExcludeOnce => false,
        }
    }

    /// Returns whether the mark is removed when a turn completes.
    pub fn once(self) -> bool {
        matches!(self, Self::ExcludeOnce | Self::IncludeOnce | Self::Ephemeral)
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sticky => "pinned",
            Self::Leased { .. } => "leased",
            Self::Exclude => "excluded",
            Self::ExcludeOnce => "excluded from the next request",
            Self::IncludeOnce => "included in the next request",
            Self::Ephemeral => "ephemeral",
        }
    }
}

/// A decision about one atom on one branch. An atom has at most one mark on a branch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    pub target: Atom,
    pub kind: MarkKind,
    /// Who made it.
    pub by: Actor,
    /// The text of a free note, if the target is a person's own section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The name of the branch that a fork copied the mark from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    /// Incremented with every change, so that undo can tell whether it still applies.
    pub revision: u64,
    /// The key of the last user message that counted the lease down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Hash>,
    /// Number of times that the program renewed the lease.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renewals: u32,
    /// The origin of a text that was picked or merged from another branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The symbol, for a mark on the workspace's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<CodeRef>>,
}

/// The origin of a text whose messages are not on the branch's path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    pub branch: BranchId,
    /// The branch's name at that time.
    pub name: String,
    /// The first turn on that branch's path, from 1.
    pub turn: Option<u32>,
    pub turns: u32,
    /// The first message.
    pub node: NodeId,
    /// Keys of all messages of the text, in order.
    pub sources: Vec<Hash>,
    /// Key of the branch's head at that time.
    pub head: Hash,
    /// Whether the text is the branch's result rather than a picked part. A result is stale once the branch grows.
    pub result: bool,
}

impl Origin {
    /// Returns whether the branch has grown since its result was merged. `head` is the key of the branch's current
    /// head.
    pub fn stale(&self, head: Option<Hash>) -> bool {
        self.result && head != Some(self.head)
    }

    /// Returns the origin as text, such as `Turns 3 to 5 of branch "alt"`.
    pub fn to_text(&self) -> String {
        let what = match (self.turn, self.turns) {
            (Some(turn), 0 | 1) => format!("Turn {turn}"),
            (Some(turn), turns) => format!("Turns {turn} to {}", turn + turns - 1),
            (None, _) => "A part".to_owned(),
        };
        if self.result {
            format!("The result of branch {:?} ({})", self.name, what.to_lowercase())
        } else {
            format!("{what} of branch {:?}", self.name)
        }
    }
}

impl Mark {
    /// Returns whether a person decided about the item by this mark. An ended lease no longer decides anything.
    pub fn is_decision(&self) -> bool {
        self.by != Actor::Engine && (self.kind.includes() || self.kind.excludes())
    }

    /// Returns whether the mark includes the message with this key, which would not be sent otherwise.
    pub fn includes_message(&self, key: Hash) -> bool {
        let targets_it =
            matches!(self.target, Atom::Message { node } | Atom::Episode { call: node, .. } if node == key);
        targets_it && self.kind.includes()
    }

    /// Returns the mark after the end of a turn: `None` if it is unchanged, `Some(None)` if it is removed. A mark for
    /// one call and an ended lease of the program are removed; a lease that was `sent` loses one turn per user message
    /// (`user` is the key of the turn's user message).
    pub fn after_turn(&self, user: Option<Hash>, sent: bool) -> Option<Option<Self>> {
        match self.kind {
            kind if kind.once() => Some(None),
            MarkKind::Leased { turns: LeaseTurns::Ended } if self.by == Actor::Engine => Some(None),
            MarkKind::Leased { turns: turns @ LeaseTurns::Left(left) }
                if turns != LeaseTurns::TASK && self.counted != user && sent =>
            {
                let kind = MarkKind::leased(left.get() - 1);
                Some(Some(Self { kind, counted: user, revision: self.revision + 1, ..self.clone() }))
            }
            _ => None,
        }
    }
}

/// Returns the digest of a branch's marks, independent of their order.
pub fn marks_digest(marks: &[Mark]) -> Hash {
    let mut keys: Vec<Hash> =
        marks.iter().map(|m| Fields::new("mark").json(&m.target).json(&m.kind).json(&m.note).finish()).collect();
    keys.sort_unstable();
    keys.into_iter().fold(Fields::new("marks"), Fields::hash).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use MarkKind::{Ephemeral, Exclude, ExcludeOnce, IncludeOnce, Sticky};

    fn mark(kind: MarkKind, by: Actor) -> Mark {
        let target = Atom::Preamble { first: Hash::of(b"first") };
        let (note, inherited_from, origin, code) = (None, None, None, None);
        Mark { target, kind, by, note, inherited_from, revision: 7, counted: None, renewals: 1, origin, code }
    }

    /// Earlier versions read it as a lease of that many turns.
    #[test]
    fn a_lease_until_the_task_ends_loses_no_turn() {
        let kind = MarkKind::Leased { turns: LeaseTurns::TASK };
        assert_eq!(serde_json::to_string(&kind).unwrap(), r#"{"kind":"leased","turns":4294967295}"#);
        let lease = mark(kind, Actor::User);
        assert!(kind.includes() && lease.after_turn(Some(Hash::of(b"one")), true).is_none());
        assert_eq!([LeaseTurns::TASK.duration(), LeaseTurns::TASK.label()], ["until the task ends"; 2]);
    }

    #[test]
    fn a_lease_loses_one_turn_per_sent_user_message() {
        let [first, second] = [Some(Hash::of(b"one")), Some(Hash::of(b"two"))];
        for by in [Actor::User, Actor::Engine, Actor::Model] {
            let fresh = mark(MarkKind::leased(2), by);
            assert_eq!(fresh.after_turn(first, false), None, "it was not sent");
            let once = fresh.after_turn(first, true).unwrap().unwrap();
            assert_eq!(once, Mark { kind: MarkKind::leased(1), counted: first, revision: 8, ..fresh });
            assert_eq!(once.after_turn(first, true), None, "another answer to the same message");
            let over = once.after_turn(second, true).unwrap().unwrap();
            assert_eq!((over.kind, over.counted, over.revision), (MarkKind::leased(0), second, 9));
            assert_eq!(over.after_turn(first, true), (by == Actor::Engine).then_some(None));
        }
    }

    /// Stores and exports of earlier versions have marks without later fields; a mark without these fields is written
    /// in the old form.
    #[test]
    fn absent_fields_of_a_mark_are_not_written() {
        let plain = Mark { renewals: 0, ..mark(Sticky, Actor::User) };
        let written = serde_json::to_value(&plain).unwrap();
        let fields: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["target", "kind", "by", "revision"], "{written}");
        assert_eq!(serde_json::from_value::<Mark>(written).unwrap(), plain);
        let renewed = mark(Sticky, Actor::User);
        assert_eq!(serde_json::from_value::<Mark>(serde_json::to_value(&renewed).unwrap()).unwrap(), renewed);
    }

    /// Each kind: pins, excludes, includes, is used up by a turn.
    #[test]
    fn kinds_of_marks() {
        let table = [
            (Sticky, [true, false, true, false]),
            (MarkKind::leased(1), [true, false, true, false]),
            (MarkKind::leased(0), [true, false, false, false]),
            (Exclude, [false, true, false, false]),
            (ExcludeOnce, [false, true, false, true]),
            (IncludeOnce, [false, false, true, true]),
            (Ephemeral, [true, false, true, true]),
        ];
        for (kind, [pins, excludes, includes, once]) in table {
            let found = [kind.pins(), kind.excludes(), kind.includes(), kind.once()];
            assert_eq!(found, [pins, excludes, includes, once], "{kind:?}");
            assert_eq!(mark(kind, Actor::User).after_turn(None, false), once.then_some(None), "{kind:?}");
        }
    }

    /// Stores of all versions contain the number of turns; 0 is an ended lease.
    #[test]
    fn leases_are_stored_as_numbers() {
        for (turns, lease) in [(3, LeaseTurns::Left(NonZeroU32::new(3).unwrap())), (0, LeaseTurns::Ended)] {
            let stored = format!(r#"{{"kind":"leased","turns":{turns}}}"#);
            let kind: MarkKind = serde_json::from_str(&stored).unwrap();
            assert_eq!(kind, MarkKind::Leased { turns: lease });
            assert_eq!((serde_json::to_string(&kind).unwrap(), lease.to_string()), (stored, turns.to_string()));
        }
    }
}
