//! The port to a model: bytes in, deltas out, one of four ends.
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
    /// BLAKE3 of the body: the request digest.
    pub digest: Hash,
}

impl Wire {
    /// Hashes a body.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let digest = Hash::of(&bytes);
        Self { bytes: bytes.into(), digest }
    }
}

/// An event during a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// Nothing new; lets the receiver stop the call. Sent at least every 50 ms.
    Tick,
    /// The server accepted the request; no part of the answer has arrived.
    Accepted,
    /// Text of the answer.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// A piece of a tool call. Pieces with one `index` belong together.
    Call {
        /// Index of the call in the answer.
        index: u32,
        /// Its id, at least in the first piece.
        id: Option<String>,
        /// The tool's name or a piece of it.
        name: Option<String>,
        /// A piece of the arguments.
        args: String,
    },
    /// The usage that the server reports.
    Usage(Usage),
    /// Received data that could not be used as it was.
    Diagnostic(Diagnostic),
    /// Before the first event only: the attempt failed, and another follows.
    Retry {
        /// Number of the next attempt, from 2.
        attempt: u32,
        /// Milliseconds until then.
        wait_ms: u64,
        /// Why, in a sentence.
        why: String,
    },
}

/// A part of an answer that could not be used as received. It is stored with the run, so that nothing is dropped
/// silently.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What happened, in a sentence for people.
    pub what: String,
    /// The beginning of the bytes in question, without keys, unsanitized. Bytes that are no text are written as
    /// `\\xNN`. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub raw: String,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    /// A finish reason or `[DONE]` was received.
    Complete,
    /// The stream stopped without either, or at the output limit.
    Truncated,
    /// It failed.
    Errored,
    /// The receiver stopped it.
    Cancelled,
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProviderErrorKind {
    /// No connection: refused, DNS, TLS, timeout.
    Connect,
    /// The key is missing or wrong.
    Auth,
    /// The server does not know the model.
    Model,
    /// Too many requests.
    RateLimit,
    /// No money or quota left; retrying is useless.
    Quota,
    /// The prompt exceeds the model's window.
    TooLong,
    /// The server expects another body.
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

/// A failed call as two sentences: what happened and what to do. Contains no keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderError {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// What happened, with the server's own words if there were any (at most 400 characters, unsanitized).
    pub what: String,
    /// What to do.
    pub hint: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
}

/// The outcome of a call. Its text went to the sink.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: CallEnd,
    /// Whether any part of an answer was received.
    pub any: bool,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// The usage that the server reports.
    pub usage: Usage,
    /// The failure, if it failed.
    pub error: Option<ProviderError>,
    /// POSTs made.
    pub attempts: u32,
    /// Milliseconds to the first event.
    pub ttft_ms: Option<u64>,
    /// Milliseconds in all.
    pub total_ms: u64,
}

/// A model that can be called.
pub trait Provider: Send + Sync {
    /// Posts the bytes unchanged and passes events to `sink` until the end. Blocks; meant for a thread of its own.
    /// Stops within 100 ms after `sink` returns false. Retries only before the first event, and reports each retry to
    /// the sink.
    fn post(&self, run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome;
}
