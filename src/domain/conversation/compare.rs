//! Two branches side by side: the message after which they diverge, and the messages, tools, tokens, and cost of each
//! after it.
//! Not for: computing it (`engine`) or the differences between two plans (`planning::diff`).

use super::mark::Atom;
use super::message::Role;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::planning::diff::{CallRef, PlanDiff};
use serde::Serialize;

/// A message of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ComparedMessage {
    pub node: NodeId,
    pub role: Role,
    /// The text, unsanitized; long texts are cut.
    pub text: String,
}

/// A turn of one side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Turn {
    /// The number on the side's path, from 1; 0 for the preamble.
    pub number: u32,
    /// The atom that identifies the turn in plans and marks.
    pub atom: Atom,
    /// The messages after the common ancestor.
    pub messages: Vec<ComparedMessage>,
    /// For a text that is pinned on this side only, in place of a turn: the text, unsanitized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// One of the two branches, after the common ancestor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Side {
    pub branch: BranchId,
    /// The name, unsanitized.
    pub name: String,
    /// The turns, oldest first; then the texts that are pinned on this side only.
    pub turns: Vec<Turn>,
    /// Number of other turns, which are not listed.
    pub more: u32,
    /// Number of calls made for the turns.
    pub calls: u32,
    /// Prompt tokens as reported by servers, estimated where they are not reported.
    pub prompt: u64,
    /// Answer tokens as reported by servers.
    pub answer: u64,
    /// Millionths of a dollar; `None` if no price is known.
    pub cost_micro: Option<u64>,
    /// The tools that were called, by name, with the number of calls.
    pub tools: Vec<(String, u32)>,
    /// Models that were called.
    pub models: Vec<String>,
    /// The branch's last call with an answer that is part of its text.
    pub last: Option<CallRef>,
}

impl Side {
    /// Returns the number of the branch's own turns, including unlisted turns.
    pub fn count(&self) -> usize {
        self.turns.iter().filter(|turn| turn.pin.is_none()).count() + self.more as usize
    }
}

/// The last common message of two branches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ancestor {
    /// The message.
    pub node: NodeId,
    /// The number of its turn, from 1.
    pub turn: u32,
    /// The first words of that turn's user message, unsanitized.
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
    /// The differences between the plans of these calls, if both sides have one.
    pub plans: Option<Box<PlanDiff>>,
}
