//! The settings as types. `config/default.toml` lists every setting with its built-in value and a comment; `Default` here
//! gives empty values, which that file overrides.
//! Not for: reading files (`layer`), or finding the effective settings (`load`).

pub use super::choices::{LayoutChoice, SummariesChoice};
pub use super::mcp::{McpKind, McpServer};
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::{Encoding, Limits, Price, Profile};
use crate::domain::code::CodeSettings;
use crate::domain::planning::{Mode, StateBlock};
use crate::domain::tool::Rule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All settings.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The profile; empty chooses a profile at start.
    pub profile: String,
    /// The model; empty is the profile's model.
    pub model: String,
    /// Context mode.
    pub mode: Mode,
    pub policy: String,
    /// Order of the sections.
    pub layout: LayoutChoice,
    /// Limit on the prompt in tokens; 0 is the policy's limit.
    pub budget: u32,
    /// Whether the model is asked for a state block.
    pub state_block: StateBlockChoice,
    /// Automatic summaries; formerly `compaction`.
    #[serde(alias = "compaction")]
    pub summaries: SummariesChoice,
    /// The personality of the model.
    pub personality: String,
    /// Titles of unnamed sessions.
    pub titles: Titles,
    /// Trusted folders, in which the model can use tools.
    pub trusted_folders: Vec<String>,
    pub system: SystemPrompt,
    pub tools: Tools,
    /// Project rules and skills.
    pub project: Project,
    /// Code of the workspace.
    pub code: CodeSettings,
    pub race: Race,
    pub screen: Screen,
    pub store: Store,
    /// The log file.
    pub log: Log,
    /// The source of embeddings.
    pub embedder: Embedder,
    /// Model servers, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The user's entries about models, by name or prefix of a name.
    pub models: BTreeMap<String, ModelEntry>,
    #[serde(rename = "mcpServers")]
    pub mcp_servers: BTreeMap<String, McpServer>,
}

impl Settings {
    /// Returns the effective system prompt: the built-in prompt or its replacement, followed by the extension.
    pub fn system_prompt(&self) -> String {
        let own = self.system.replace.trim();
        let base = if own.is_empty() { super::prompts::SYSTEM.trim() } else { own };
        let more = self.system.extend.trim();
        if more.is_empty() { base.to_owned() } else { format!("{base}\n\n{more}") }
    }

    /// Returns the names of the top-level settings and tables that differ in `next`.
    pub fn differences(&self, next: &Self) -> Vec<String> {
        let table = |settings: &Self| toml::Table::try_from(settings).unwrap_or_default();
        let (a, b) = (table(self), table(next));
        let mut names: Vec<String> =
            b.iter().filter(|(name, value)| a.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// Returns the limit on the prompt in tokens, or None if it is not set.
    pub fn cap(&self) -> Option<u32> {
        (self.budget > 0).then_some(self.budget)
    }
}

/// Whether the model is asked to keep a state block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateBlockChoice {
    /// As the policy says.
    #[default]
    Policy,
    /// Requested from the first request on that leaves out turns.
    Auto,
    /// Requested with every answer; also written "required".
    #[serde(alias = "required")]
    On,
    /// Requested; a missing state block is not reported.
    Optional,
    /// Never.
    Off,
}

impl StateBlockChoice {
    /// Returns the effective choice under a policy.
    pub fn over(self, policy: StateBlock) -> StateBlock {
        match self {
            Self::Policy => policy,
            Self::Auto => StateBlock::Auto,
            Self::On => StateBlock::Required,
            Self::Optional => StateBlock::Optional,
            Self::Off => StateBlock::Off,
        }
    }
}

/// System prompt.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SystemPrompt {
    /// Replaces the built-in system prompt.
    pub replace: String,
    /// Text added after the system prompt.
    pub extend: String,
}

/// Tools.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Offer tools in trusted folders.
    pub enabled: bool,
    /// Maximum rounds of tool calls per turn.
    pub rounds: u32,
    /// Maximum characters of a result.
    pub output_limit: u32,
    /// Rules that approve, ask about, or deny tool calls.
    pub rules: Vec<Rule>,
    /// Commands can use the network.
    pub network: bool,
    /// Default timeout of commands in seconds; a call can request up to ten times as many.
    pub seconds: u32,
    /// Maximum characters of a command's output kept in the store beyond the model's limit; 0 keeps none.
    pub keep_output: u32,
    /// Additional folders that commands can read.
    pub readable: Vec<PathBuf>,
    /// Additional folders that commands can write.
    pub writable: Vec<PathBuf>,
}

/// Project rules and skills.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    /// Include rules files in requests.
    pub rules: bool,
    /// Excluded rules files, by path; `*` matches any characters.
    pub off: Vec<String>,
    /// Maximum bytes per rules file.
    pub limit: u32,
    /// Include the list of skills; the model can load a skill.
    pub skills: bool,
}

/// Titles of unnamed sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Titles {
    /// The creation date.
    Date,
    /// The first words of the first question.
    #[default]
    Words,
    /// A title by the model from the first turn; until then as with [`Self::Words`].
    Model,
}

/// Limits for each branch of a race; 0 means no limit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Race {
    /// Maximum tokens of the answer, over all rounds of tool calls.
    pub max_tokens: u32,
    /// Maximum cost in dollars, over all calls.
    pub max_cost: f64,
    /// Maximum seconds.
    pub max_seconds: u32,
}

impl Race {
    /// Returns the limits that are set.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of the integer")]
    pub fn limits(&self) -> Limits {
        let micro = (self.max_cost * 1e6).round().clamp(0.0, 9e15) as u64;
        Limits { tokens: Some(self.max_tokens), cost_micro: Some(micro), seconds: Some(self.max_seconds) }
            .without_zeros()
    }
}

/// The notification at the end of a long run, if the terminal is not focused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// None.
    Off,
    /// The terminal's bell.
    #[default]
    Bell,
    /// A desktop notification for iTerm2, kitty, `WezTerm`, Ghostty, and Windows Terminal.
    Osc9,
    /// A desktop notification for urxvt, foot, and `WezTerm`.
    Osc777,
}

/// Whether addresses are terminal hyperlinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinksChoice {
    /// If the terminal is known to support hyperlinks.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The screen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Screen {
    /// The theme's name, or `auto`.
    pub theme: String,
    /// ASCII only.
    pub ascii: bool,
    /// Mouse capture.
    pub mouse: bool,
    /// Milliseconds after the first key of a sequence until the possible next keys are shown.
    pub hints_after: u32,
    /// Whether the terminal's title shows the session and branch.
    pub title: bool,
    /// The notification at the end of a long run.
    pub notify: Notify,
    /// The minimum seconds of a long run.
    pub notify_after: u32,
    /// No animations.
    pub reduced_motion: bool,
    /// Terminal hyperlinks.
    pub links: LinksChoice,
}

/// The theme name that selects a theme by the terminal's background.
pub const AUTO: &str = "auto";

/// The store.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The file; empty is the default path.
    pub path: String,
    /// The number of backups, at most one per day, each a copy of all texts; 0 keeps none.
    pub backups: u32,
}

named_enum! {
    /// The log level.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    pub enum LogLevel {
        /// Nothing.
        Off = "off",
        /// Errors only.
        Error = "error",
        /// Also warnings.
        #[default]
        Warn = "warn",
        /// Also actions.
        Info = "info",
        /// Also details.
        Debug = "debug",
        /// Also every step.
        Trace = "trace",
    }
}

/// The log file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub level: LogLevel,
}

/// Where embeddings come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderKind {
    /// No embeddings.
    #[default]
    None,
    /// An OpenAI-compatible server.
    Server,
    /// A model directory on this machine.
    Directory,
}

/// The source of embeddings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    pub kind: EmbedderKind,
    /// The path of the model directory.
    pub path: String,
    /// The profile of the server.
    pub profile: String,
    /// The embedding model.
    pub model: String,
    /// Requested dimensions; 0 is the model's default.
    pub dimensions: u32,
    pub query_prefix: String,
    pub passage_prefix: String,
}

/// Properties of a model. Missing fields come from the next source.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelEntry {
    /// Context window in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    /// Limit on the prompt in tokens; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<u32>,
    /// Limit on the answer in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// Vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether the vocabulary is the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<bool>,
    /// The path of the model's `tokenizer.json`, which overrides the vocabulary; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether the model accepts tools, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether the model can think before it answers, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
}
