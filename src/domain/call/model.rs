//! Model servers as data: profiles, dialects, quirks, prices, and the known facts about a model.
//! Not for: talking to them (`llm`) or reading configuration files (`config`).

use super::tokens::Encoding;
use super::usage::Usage;
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a server expects requests to be written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dialect {
    /// The role that carries instructions: `system`, `developer`, or `user`.
    pub instruction_role: String,
    /// Whether adjacent messages of the same role must be joined.
    pub strict_alternation: bool,
    /// The field that limits the answer: `max_tokens`, `max_completion_tokens`, or empty for no field.
    pub limit_field: String,
    /// Whether to ask for usage in the stream.
    pub stream_options: bool,
    /// Whether to send tool schemas.
    pub tools: bool,
    /// Whether to send a temperature if one is set.
    pub temperature: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            instruction_role: "system".into(),
            strict_alternation: false,
            limit_field: "max_tokens".into(),
            stream_options: true,
            tools: true,
            temperature: true,
        }
    }
}

named_enum! {
    /// A change of dialect learned from a server's refusal of a request.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub enum Quirk {
        /// The server requires `max_completion_tokens`.
        MaxCompletionTokens = "max_completion_tokens" => "expects max_completion_tokens instead of max_tokens",
        /// The server requires `max_tokens`.
        MaxTokens = "max_tokens" => "expects max_tokens instead of max_completion_tokens",
        /// The server rejects `stream_options`.
        NoStreamOptions = "no_stream_options" => "rejects stream_options, so it may not report usage",
        /// The server rejects tools.
        NoTools = "no_tools" => "rejects tools",
        /// The server rejects a temperature.
        NoTemperature = "no_temperature" => "rejects a temperature",
        /// The server rejects the role `system`; instructions are sent in the first user message.
        NoSystemRole = "no_system_role" => "has no system role, so the instructions are sent in a user message",
        /// The server requires `developer` in place of `system`.
        DeveloperRole = "developer_role" => "expects the role developer for instructions",
        /// The server requires roles to alternate.
        StrictAlternation = "strict_alternation" => "expects user and assistant to alternate",
    }
    /// Returns the change as the end of a sentence that begins with the server.
    pub fn sentence
}

impl Quirk {
    /// Applies the change to a dialect.
    pub fn apply(self, dialect: &mut Dialect) {
        match self {
            Self::MaxCompletionTokens => dialect.limit_field = "max_completion_tokens".into(),
            Self::MaxTokens => dialect.limit_field = "max_tokens".into(),
            Self::NoStreamOptions => dialect.stream_options = false,
            Self::NoTools => dialect.tools = false,
            Self::NoTemperature => dialect.temperature = false,
            Self::NoSystemRole => dialect.instruction_role = "user".into(),
            Self::DeveloperRole => dialect.instruction_role = "developer".into(),
            Self::StrictAlternation => dialect.strict_alternation = true,
        }
    }

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|quirk| quirk.name() == name)
    }

    /// Returns whether the request contains what this quirk would change. The refusal of any other request is not
    /// evidence for the quirk.
    pub fn applies_to(self, request: &Value) -> bool {
        let has = |field: &str| request.get(field).is_some();
        let messages = request.get("messages").and_then(Value::as_array);
        let roles = || messages.into_iter().flatten().filter_map(|message| message.get("role").and_then(Value::as_str));
        match self {
            Self::MaxCompletionTokens => has("max_tokens"),
            Self::MaxTokens => has("max_completion_tokens"),
            Self::NoStreamOptions => has("stream_options"),
            Self::NoTools => has("tools"),
            Self::NoTemperature => has("temperature"),
            Self::NoSystemRole => roles().any(|role| matches!(role, "system" | "developer")),
            Self::DeveloperRole => roles().any(|role| role == "system"),
            Self::StrictAlternation => {
                let conversation: Vec<&str> =
                    roles().skip_while(|role| matches!(*role, "system" | "developer")).collect();
                let neighbors = |two: &[&str]| two[0] == two[1] && two[0] != "tool";
                conversation.first() == Some(&"assistant")
                    || conversation.windows(2).any(neighbors)
                    || conversation.iter().any(|role| matches!(*role, "system" | "developer"))
            }
        }
    }
}

/// The backend that answers requests: a server, or a built-in model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// An OpenAI-compatible server.
    #[default]
    Openai,
    /// The built-in offline model: a placeholder that quotes its context.
    Offline,
    /// Replays a recording.
    Scripted,
}

/// A configured place to send requests to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The name (the key of its table).
    #[serde(skip_deserializing)]
    pub name: String,
    /// The backend that answers requests.
    pub backend: Backend,
    /// Base address, such as `https://host/v1`.
    pub base_url: String,
    /// Environment variable that contains the key.
    pub api_key_env: String,
    /// Command whose first output line is the key.
    pub api_key_cmd: String,
    /// Whether a key is required; without one the profile is not offered.
    pub needs_key: bool,
    /// The default model.
    pub model: String,
    /// Context window in tokens, used if the server does not report it; 0 means unknown.
    pub context_window: u32,
    /// Maximum tokens of the answer; with 0, the program chooses.
    pub max_output: u32,
    /// Temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// Extra headers.
    pub headers: std::collections::BTreeMap<String, String>,
    /// How requests are written.
    pub dialect: Dialect,
    /// Seconds without data after which a call is aborted.
    pub idle_timeout: u32,
    /// Timeout for connecting, in seconds.
    pub connect_timeout: u32,
    /// Maximum attempts before the first event; 1 means no retry.
    pub attempts: u32,
    /// The recording that a scripted profile replays.
    pub recording: String,
    /// The `tokenizer.json` of its models; empty if there is none.
    pub tokenizer: String,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: String::new(),
            backend: Backend::Openai,
            base_url: String::new(),
            api_key_env: String::new(),
            api_key_cmd: String::new(),
            needs_key: false,
            model: String::new(),
            context_window: 0,
            max_output: 0,
            temperature: None,
            headers: std::collections::BTreeMap::new(),
            dialect: Dialect::default(),
            idle_timeout: 90,
            connect_timeout: 10,
            attempts: 4,
            recording: String::new(),
            tokenizer: String::new(),
        }
    }
}

/// Prices in dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Price of the prompt.
    pub input: f64,
    /// Price of the answer.
    pub output: f64,
    /// Price of prompt tokens read from the cache; default: `input`.
    pub cached: Option<f64>,
    /// Price of prompt tokens written to the cache; default: `input`.
    pub cache_write: Option<f64>,
    /// Price of reasoning tokens; default: `output`.
    pub reasoning: Option<f64>,
}

impl Price {
    /// Returns the cost of a call in millionths of a dollar. `cached` tokens are part of `prompt`.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices and counts are small and not negative"
    )]
    pub fn micro(&self, prompt: u32, cached: u32, completion: u32) -> u64 {
        let fresh = f64::from(prompt.saturating_sub(cached)) * self.input;
        let reused = f64::from(cached.min(prompt)) * self.cached.unwrap_or(self.input);
        (fresh + reused + f64::from(completion) * self.output).round().max(0.0) as u64
    }

    /// Returns the cost so far of a call in progress, in millionths of a dollar: the cost of its prompt plus
    /// `completion` tokens of its answer.
    pub fn so_far(&self, prompt_micro: u64, completion: u32) -> u64 {
        prompt_micro + self.micro(0, 0, completion)
    }

    /// Returns the cost of a call by the server's own numbers, in millionths of a dollar; `None` if the server reported
    /// no prompt or no answer tokens.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices and counts are small and not negative"
    )]
    pub fn bill(&self, usage: &Usage) -> Option<u64> {
        let (prompt, completion) = (usage.whole_prompt()?, usage.completion?);
        let (read, written) = (usage.cached_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
        let fresh = prompt.saturating_sub(read.saturating_add(written));
        let reasoning_tokens = usage.reasoning.unwrap_or(0);
        // If there are more reasoning tokens than answer tokens, the number of answer tokens excludes them.
        let answer_tokens = if reasoning_tokens > completion { completion } else { completion - reasoning_tokens };
        let parts = [
            (fresh, self.input),
            (read, self.cached.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (answer_tokens, self.output),
            (reasoning_tokens, self.reasoning.unwrap_or(self.output)),
        ];
        let sum: f64 = parts.iter().map(|(tokens, price)| f64::from(*tokens) * price).sum();
        Some(sum.round().max(0.0) as u64)
    }
}

/// The known facts about a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The server's name for the model.
    pub name: String,
    /// Context window in tokens.
    pub context_window: u32,
    /// Limit of the prompt alone in tokens, if there is one.
    pub input_limit: Option<u32>,
    /// Limit of the answer in tokens, if known.
    pub max_output: Option<u32>,
    /// The encoding of its tokens.
    pub encoding: Encoding,
    /// Whether the encoding is the model's own; otherwise counts are rougher estimates.
    pub exact_encoding: bool,
    /// Prices, if known.
    pub price: Option<Price>,
    /// The source of the window: `server`, `table`, `profile`, or `assumed`.
    pub source: String,
    /// The features that the model supports, according to its server or the model table.
    #[serde(skip)]
    pub supports: Supports,
}

/// The features that a model supports; `None` if neither its server nor the model table says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Supports {
    /// Whether it accepts tools.
    pub tools: Option<bool>,
    /// Whether it can think before it answers.
    pub reasoning: Option<bool>,
}

impl Supports {
    /// Returns these features, and those of `other` that are not known here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { tools: self.tools.or(other.tools), reasoning: self.reasoning.or(other.reasoning) }
    }

    /// Returns the features as text, such as `tools, reasoning`; empty if nothing is known.
    pub fn to_text(self) -> String {
        let tools = self.tools.map(|tools| if tools { "tools" } else { "no tools" });
        let reasoning = self.reasoning.filter(|reasons| *reasons).map(|_| "reasoning");
        tools.into_iter().chain(reasoning).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_billed_by_the_servers_numbers() {
        let price = Price { input: 2.0, output: 8.0, cached: Some(0.5), cache_write: Some(2.5), reasoning: Some(10.0) };
        let plain = Usage { prompt: Some(1_000), completion: Some(100), ..Usage::default() };
        assert_eq!(price.bill(&plain), Some(2_800));
        assert_eq!(price.so_far(price.micro(1_000, 0, 0), 100), 2_800);
        let cached = Usage { cached_read: Some(600), ..plain };
        assert_eq!(price.bill(&cached), Some(400 * 2 + 300 + 800));
        let beside = Usage { prompt: Some(400), cached_read: Some(600), ..plain };
        assert_eq!(price.bill(&beside), price.bill(&cached), "cached tokens reported beside the prompt");
        let written = Usage { cached_read: Some(600), cache_write: Some(100), ..plain };
        assert_eq!(price.bill(&written), Some(300 * 2 + 300 + 250 + 800));
        let reasoning_tokens = Usage { reasoning: Some(40), ..plain };
        assert_eq!(price.bill(&reasoning_tokens), Some(2_000 + 60 * 8 + 40 * 10));
        let apart = Usage { reasoning: Some(140), ..plain };
        assert_eq!(price.bill(&apart), Some(2_000 + 100 * 8 + 140 * 10), "thoughts reported beside the answer");
        let bare = Price { cached: None, cache_write: None, reasoning: None, ..price };
        assert_eq!(bare.bill(&Usage { reasoning: Some(40), ..written }), Some(2_800));
        assert_eq!(price.bill(&Usage { completion: None, ..plain }), None, "half a bill is none");
        assert_eq!(price.bill(&Usage::default()), None);
    }

    #[test]
    fn every_quirk_has_its_own_sentence() {
        let sentences: std::collections::BTreeSet<&str> = Quirk::ALL.map(Quirk::sentence).into();
        assert!(sentences.len() == Quirk::ALL.len() && sentences.iter().all(|sentence| !sentence.is_empty()));
    }
}
