//! Two branches side by side: the message at which they part, and what each says, used and cost after it.
//! Not for: working it out (`engine`) or what differs between two plans (`diff`).

use super::mark::Atom;
use super::message::Role;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::planning::diff::{CallRef, PlanDiff};
use serde::Serialize;

/// A message as it is compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ComparedMessage {
    /// The message.
    pub node: NodeId,
    /// Who.
    pub role: Role,
    /// Its words, unsanitised; long ones are cut.
    pub text: String,
}

/// A turn of one side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Turn {
    /// Its number on the side's path, from 1; 0 for what stands before the first question.
    pub number: u32,
    /// It, as plans and marks name it.
    pub atom: Atom,
    /// Its messages after the common ancestor.
    pub messages: Vec<ComparedMessage>,
    /// It is no turn but a text that is pinned on this side only: its words, unsanitised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// One of the two branches, after the common ancestor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Side {
    /// The branch.
    pub branch: BranchId,
    /// Its name, unsanitised.
    pub name: String,
    /// Its turns, oldest first; then what is pinned on this side only.
    pub turns: Vec<Turn>,
    /// Turns that are not told, because there are more than are compared.
    pub more: u32,
    /// Calls made for them.
    pub calls: u32,
    /// Tokens of the prompts, as servers reported them, else estimated.
    pub prompt: u64,
    /// Tokens of the answers, as servers reported them.
    pub answer: u64,
    /// Millionths of a dollar; none where no price is known.
    pub cost_micro: Option<u64>,
    /// Tools that were called, by name, with how often.
    pub tools: Vec<(String, u32)>,
    /// Models that were asked.
    pub models: Vec<String>,
    /// The branch's last call.
    pub last: Option<CallRef>,
}

impl Side {
    /// How many turns it has of its own, told or not.
    #[must_use]
    pub fn count(&self) -> usize {
        self.turns.iter().filter(|turn| turn.pin.is_none()).count() + self.more as usize
    }
}

/// Where two branches part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ancestor {
    /// The last message that both have.
    pub node: NodeId,
    /// Its turn.
    pub turn: u32,
    /// First words of its question, unsanitised.
    pub title: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Two branches side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The last message that both have; none where they share nothing.
    pub ancestor: Option<Ancestor>,
    /// Both.
    pub sides: [Side; 2],
    /// What differs between the plans of their last calls, where both made one.
    pub plans: Option<Box<PlanDiff>>,
}
