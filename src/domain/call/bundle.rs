//! Bundles: a conversation with its recorded calls in one file, masked and hashed.
//! Not for: collecting a bundle (`engine`), writing one (`export`), reading one (`import`), or its hashes
//! (`base::record_chain`).

use super::item_use::CallUses;
use super::run::RunCard;
use super::usage::{Usage, UsageReport};
use crate::domain::base::hash::Hash;
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::record::{Skipped, Transcript};
use crate::domain::tool::trace::ToolTrace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The version of the format.
pub const VERSION: u64 = 1;

/// The field with a message's key in the records of messages.
pub const KEY_FIELD: &str = "key";

named_enum! {
    /// The kind of a record. Records follow each other in this order.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub enum RecordKind {
        /// The version, and the session.
        Header = "header",
        /// A message, as in JSON lines, with its key.
        Message = "message",
        /// A branch with its head.
        Branch = "branch",
        /// A stored plan.
        Plan = "plan",
        /// A search of older messages or of the code.
        Search = "search",
        /// A call.
        Call = "call",
        /// The trace of a tool call.
        ToolCall = "tool_call",
        /// The number of records of each kind.
        End = "end",
    }
}

impl RecordKind {
    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A conversation with its calls, as stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bundle {
    pub transcript: Transcript,
    /// The keys of the messages, by which plans name them, in the transcript's order.
    pub keys: Vec<Hash>,
    /// The branch, if the bundle contains only its path.
    pub branch: Option<String>,
    /// The stored plans of the calls, each once.
    pub plans: Vec<Value>,
    /// The retrieval sets of the plans, each once.
    pub searches: Vec<Value>,
    /// The calls, oldest first.
    pub calls: Vec<BundledCall>,
    /// The traces of the tool calls, oldest first.
    pub tool_calls: Vec<ToolTrace>,
}

/// A call of a bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct BundledCall {
    pub card: RunCard,
    /// The number of the turn on its path, from 1.
    pub turn: Option<u32>,
    /// The id of its question among the messages of the bundle.
    pub question: Option<String>,
    /// The id of its answer among the messages of the bundle.
    pub answer: Option<String>,
    /// The reported usage.
    pub usage: Option<UsageReport>,
    /// How the answer used the items.
    pub uses: Option<CallUses>,
    /// The exact body that was posted, or why it is not available.
    pub request: Result<Arc<str>, String>,
}

/// The text of a bundle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenBundle {
    pub text: String,
    /// The hash of the last record, which depends on every byte.
    pub digest: Hash,
    /// The number of secrets that were masked.
    pub masked: usize,
}

/// The number of records of each kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BundleCounts {
    pub messages: u64,
    pub branches: u64,
    pub plans: u64,
    pub searches: u64,
    pub calls: u64,
    pub tool_calls: u64,
}

impl BundleCounts {
    /// Counts a record.
    pub fn add(&mut self, kind: RecordKind) {
        match kind {
            RecordKind::Message => self.messages += 1,
            RecordKind::Branch => self.branches += 1,
            RecordKind::Plan => self.plans += 1,
            RecordKind::Search => self.searches += 1,
            RecordKind::Call => self.calls += 1,
            RecordKind::ToolCall => self.tool_calls += 1,
            RecordKind::Header | RecordKind::End => {}
        }
    }
}

/// The result of checking a bundle.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BundleReport {
    /// The program that wrote it.
    pub program: String,
    /// The session's title.
    pub title: String,
    /// The number of records.
    pub records: u64,
    #[serde(flatten)]
    pub counts: BundleCounts,
    /// The number of calls whose request is in the bundle and has the digest of what was sent.
    pub requests_matched: u64,
    /// The number of calls whose request is not in the bundle, so that its digest can't be compared.
    pub requests_left_out: u64,
    /// The number of secrets that were masked.
    pub masked: u64,
    /// The hash of the last record.
    pub digest: Option<Hash>,
    /// What is wrong.
    pub problems: Vec<Skipped>,
}

/// A call as recorded in a bundle.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecordedCall {
    pub run_id: String,
    pub plan_id: String,
    pub model: String,
    pub status: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub est_total: u32,
    pub usage: Usage,
    /// The digest of what was sent.
    pub sent_digest: Hash,
    /// The exact body, if the bundle contains it.
    pub request: Option<String>,
    /// Why the bundle does not contain the body.
    pub request_left_out: Option<String>,
    /// The text of the recorded answer.
    pub answer: Option<String>,
}

/// A call, and the result of checking the bundle that contains it.
pub type CheckedCall = (RecordedCall, BundleReport);
