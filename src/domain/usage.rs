//! What a call used: the server's own numbers beside ours, and money in millionths of a dollar.
//! Not for: estimating (`tokens`, `plan`).

use super::hash::Hash;
use super::ids::RunId;
use serde::{Deserialize, Serialize};

/// Tokens as a server reported them; what it did not say stays `None`, never invented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt: Option<u32>,
    /// Tokens of the answer, reasoning included.
    pub completion: Option<u32>,
    /// Tokens thought aloud.
    pub reasoning: Option<u32>,
    /// Prompt tokens that the server had cached.
    pub cached_read: Option<u32>,
    /// Prompt tokens that it put into its cache.
    pub cache_write: Option<u32>,
}

impl Usage {
    /// Whether the server said anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The account of one call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UsageReport {
    /// The call.
    pub run: RunId,
    /// Its plan.
    pub plan: Hash,
    /// The profile that was asked.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// What the plan estimated.
    pub est_prompt: u32,
    /// The estimate, section by section.
    pub est_by_section: Vec<(String, u32)>,
    /// What the server said.
    pub usage: Usage,
    /// (actual − estimate) / estimate, in percent, where the server said anything.
    pub est_error_pct: Option<f64>,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// Milliseconds to the first event.
    pub ttft_ms: Option<u64>,
    /// Milliseconds in all.
    pub total_ms: u64,
    /// How many POSTs it took.
    pub attempts: u32,
    /// Cost in millionths of a dollar, where prices are known.
    pub cost_micro: Option<u64>,
    /// Milliseconds since 1970.
    pub at: i64,
}
