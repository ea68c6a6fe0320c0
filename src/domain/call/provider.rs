//! The port to a model: posts bytes, delivers deltas, and ends in one of four ways.
//! Not for: any protocol (`llm`) or the contents of the bytes (`context::render`).

use super::model::Quirk;
use super::usage::Usage;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::RunId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A rendered request: the exact bytes that are posted, and their hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    /// The body.
    pub bytes: Arc<[u8]>,
    /// BLAKE3 hash of the body: the request digest.
    pub digest: Hash,
}

impl Wire {
    /// Creates a rendered request from a body, which is hashed.
    pub fn new(bytes: Vec<u8>) -> Self {
        let digest = Hash::of(&bytes);
        Self { bytes: bytes.into(), digest }
    }
}

/// An event during a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// Nothing new arrived. Sent at least every 50 ms, so that the receiver can stop the call.
    Tick,
    /// The server accepted the request; no part of the answer has arrived.
    Accepted,
    /// Text of the answer.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// A piece of a tool call. Pieces with the same `index` belong together.
    Call {
        /// Index of the call in the answer.
        index: u32,
        /// The call's id; present at least in the first piece.
        id: Option<String>,
        /// The tool's name or a piece of it.
        name: Option<String>,
        /// A piece of the arguments.
        args: String,
    },
    /// The usage that the server reports.
    Usage(Usage),
    /// Received data that could not be used as received.
    Diagnostic(Diagnostic),
    /// The attempt failed before its first event, and another attempt follows.
    Retry {
        /// Number of the next attempt, from 2.
        attempt: u32,
        /// Milliseconds until that attempt.
        wait_ms: u64,
        /// Why the attempt failed, as a sentence.
        why: String,
    },
}

/// A part of an answer that could not be used as received. It is stored with the run, so that nothing is dropped
/// silently.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A sentence for people that describes the problem.
    pub what: String,
    /// The beginning of the bytes in question, without keys, unsanitized. Bytes that are not text are written as
    /// `\\xNN`. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub raw: String,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallEnd {
    /// A finish reason or `[DONE]` was received.
    #[default]
    Complete,
    /// The stream stopped without either of these, or at the output limit.
    Truncated,
    /// The call failed.
    Errored,
    /// The receiver stopped the call.
    Cancelled,
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProviderErrorKind {
    /// No connection could be made: refused, DNS, TLS, timeout.
    Connect,
    /// The key is missing or wrong.
    Auth,
    /// The server does not know the model.
    Model,
    /// The server received too many requests.
    RateLimit,
    /// The account has no money or quota left; a retry would fail too.
    Quota,
    /// The prompt exceeds the model's window.
    TooLong,
    /// The server expects the request to be written differently.
    Body(Quirk),
    /// The request was refused for another reason.
    Refused,
    /// The server failed (5xx).
    Server,
    /// The answer is not an event stream, or cannot be read.
    Protocol,
    /// Nothing was received for too long.
    Idle,
}

/// The start of the sentence about a server to which no connection was made.
pub const UNREACHED: &str = "no connection to ";

/// A failed call: one sentence about the problem and one about the next step. Contains no keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderError {
    pub kind: ProviderErrorKind,
    /// The problem, with the server's own words if there were any (at most 400 characters, unsanitized).
    pub what: String,
    /// The next step.
    pub hint: String,
    /// The HTTP status; `None` if there was no response.
    pub status: Option<u16>,
}

/// The outcome of a call. The text of the answer went to the sink.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: CallEnd,
    /// Whether any part of an answer arrived.
    pub any: bool,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// The usage that the server reports.
    pub usage: Usage,
    /// The failure, if it failed.
    pub error: Option<ProviderError>,
    /// Number of POSTs made.
    pub attempts: u32,
    /// Milliseconds to the first event; `None` if there was none.
    pub ttft_ms: Option<u64>,
    /// Milliseconds in total.
    pub total_ms: u64,
}

impl Outcome {
    /// Returns the outcome of one POST that ended in this way before anything arrived.
    pub fn of(end: CallEnd) -> Self {
        Self {
            end,
            any: false,
            finish_reason: None,
            usage: Usage::default(),
            error: None,
            attempts: 1,
            ttft_ms: None,
            total_ms: 0,
        }
    }
}

/// A model that can be called.
pub trait Provider: Send + Sync {
    /// Posts the bytes unchanged and passes events to `sink` until the end. Blocks, so it must run on its own thread.
    /// Stops within 100 ms after `sink` returns false. Retries only before the first event, and reports each retry to
    /// the sink.
    fn post(&self, run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome;
}
