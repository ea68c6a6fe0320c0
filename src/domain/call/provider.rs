//! The port to a model: bytes in, deltas out, one of four ends.
//! Not for: any protocol (`llm`) or what the bytes say (`context::render`).

use super::model::Quirk;
use super::usage::Usage;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::RunId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A rendered request: the very bytes that are posted, and their hash.
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

/// One thing that arrived (or did not) while a call runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// Nothing new; lets the receiver stop the call. Comes at least every 50 ms.
    Tick,
    /// The server took the request; nothing of the answer is here yet.
    Accepted,
    /// Words of the answer.
    Text(String),
    /// Words thought aloud.
    Reasoning(String),
    /// A piece of a tool call. Pieces with one `index` belong together.
    Call {
        /// Which call of the answer.
        index: u32,
        /// Its id, in the first piece at least.
        id: Option<String>,
        /// The tool's name or a piece of it.
        name: Option<String>,
        /// A piece of the arguments.
        args: String,
    },
    /// What the server says it used.
    Usage(Usage),
    /// Something came that could not be taken as it was.
    Diagnostic(Diagnostic),
    /// Before the first event only: the attempt failed and another follows.
    Retry {
        /// Which attempt comes next, from 2.
        attempt: u32,
        /// In how many milliseconds.
        wait_ms: u64,
        /// Why, in a sentence.
        why: String,
    },
}

/// Something in an answer that could not be taken as it came. It is kept with the run, so that nothing is dropped in silence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What happened, in a sentence for people.
    pub what: String,
    /// The beginning of the bytes in question, free of keys, unsanitised. Bytes that are no text stand as `\xNN`. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub raw: String,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    /// A finish reason or `[DONE]` came.
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
    /// The model is unknown there.
    Model,
    /// Too many requests.
    RateLimit,
    /// No money or quota left; no use trying again.
    Quota,
    /// The prompt is longer than the model reads.
    TooLong,
    /// The server wants another body.
    Body(Quirk),
    /// The request was refused for another reason.
    Refused,
    /// The server failed (5xx).
    Server,
    /// The answer is no event stream, or cannot be read.
    Protocol,
    /// Nothing came for too long.
    Idle,
}

/// A failed call, for people: a sentence each for what happened and what to do. Already free of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderError {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// What happened, with the server's own words where it had any (at most 400 characters, unsanitised).
    pub what: String,
    /// What to do.
    pub hint: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
}

/// What became of a call. The text itself went through the sink.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: CallEnd,
    /// Whether anything of an answer came.
    pub any: bool,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// What the server says it used.
    pub usage: Usage,
    /// The failure, when it failed.
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
    /// Posts the bytes as they are and feeds `sink` until the end. Blocks; meant for a thread of its own. Stops within
    /// 100 ms after `sink` returned false. Retries only before the first event, and tells the sink of each.
    fn post(&self, run: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome;
}
