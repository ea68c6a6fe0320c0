//! Two branches side by side: the message after which they diverge, and what each says, used and cost after it.
//! Not for: computing it (`engine`) or the differences of two plans (`diff`).

use super::mark::Atom;
use super::message::Role;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::planning::diff::{CallRef, PlanDiff};
use serde::Serialize;

/// A message of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ComparedMessage {
    /// The message.
    pub node: NodeId,
    /// Its role.
    pub role: Role,
    /// Its text, unsanitized; long texts are cut.
    pub text: String,
}

/// A turn of one side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Turn {
    /// Its number on the side's path, from 1; 0 for the preamble.
    pub number: u32,
    /// How plans and marks name it.
    pub atom: Atom,
    /// Its messages after the common ancestor.
    pub messages: Vec<ComparedMessage>,
    /// For a text that is pinned on this side only, in place of a turn: the text, unsanitized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// One of the two branches, after the common ancestor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Side {
    /// The branch.
    pub branch: BranchId,
    /// Its name, unsanitized.
    pub name: String,
    /// Its turns, oldest first; then the texts that are pinned on this side only.
    pub turns: Vec<Turn>,
    /// Number of further turns, beyond the maximum.
    pub more: u32,
    /// Number of calls made for them.
    pub calls: u32,
    /// Prompt tokens as reported by servers, otherwise estimated.
    pub prompt: u64,
    /// Answer tokens as reported by servers.
    pub answer: u64,
    /// Millionths of a dollar; `None` if no price is known.
    pub cost_micro: Option<u64>,
    /// Called tools by name, with the number of calls.
    pub tools: Vec<(String, u32)>,
    /// Models that were called.
    pub models: Vec<String>,
    /// The branch's last call.
    pub last: Option<CallRef>,
}

impl Side {
    /// Number of its own turns, including further ones.
    #[must_use]
    pub fn count(&self) -> usize {
        self.turns.iter().filter(|turn| turn.pin.is_none()).count() + self.more as usize
    }
}

/// The last common message of two branches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ancestor {
    /// The message.
    pub node: NodeId,
    /// Its turn.
    pub turn: u32,
    /// First words of its question, unsanitized.
    pub title: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Two branches side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The last common message; `None` if they share nothing.
    pub ancestor: Option<Ancestor>,
    /// Both branches.
    pub sides: [Side; 2],
    /// The differences between the plans of their last calls, if both made one.
    pub plans: Option<Box<PlanDiff>>,
}
