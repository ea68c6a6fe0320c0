//! The settings as types. Every one of them stands with its comment in `config/default.toml`.
//! Not for: reading files (`layer`), or finding the settings that hold (`load`).

pub use super::mcp::{McpKind, McpServer};
use crate::domain::call::model::{Price, Profile};
use crate::domain::call::race::Limits;
use crate::domain::call::tokens::Encoding;
use crate::domain::code::settings::Orienting;
use crate::domain::planning::mode::Mode;
use crate::domain::planning::policy::{Layout, StateBlock};
use crate::domain::summary::draft::Compacting;
use crate::domain::tool::consent::Rule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All settings.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The profile asked; empty chooses one at start.
    pub profile: String,
    /// The model asked; empty is the profile's own.
    pub model: String,
    /// Context mode.
    pub mode: Mode,
    /// Policy.
    pub policy: String,
    /// Order of the sections.
    pub layout: Layout,
    /// Cap on the prompt in tokens; 0 is the policy's.
    pub budget: u32,
    /// State block, where it is not the policy's choice.
    pub state_block: StateBlockChoice,
    /// Whether summaries are made by themselves.
    pub compaction: CompactionChoice,
    /// How the model should be.
    pub personality: String,
    /// What sessions are called that nobody named.
    pub titles: Titles,
    /// Folders in which tools may be offered.
    pub trusted_folders: Vec<String>,
    /// System prompt.
    pub system: SystemPrompt,
    /// Tools.
    pub tools: Tools,
    /// What a project says of itself: rules and skills.
    pub project: Project,
    /// Code of the workspace.
    pub code: Orienting,
    /// Races.
    pub race: Race,
    /// The screen.
    pub screen: Screen,
    /// The store.
    pub store: Store,
    /// The log file.
    pub log: Log,
    /// Where vectors of texts come from.
    pub embedder: Embedder,
    /// Places to ask, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// What a person knows better about models, by name or beginning of a name.
    pub models: BTreeMap<String, ModelEntry>,
    /// Servers of tools, by name.
    #[serde(rename = "mcpServers")]
    pub mcp_servers: BTreeMap<String, McpServer>,
}

impl Settings {
    /// The system prompt that holds: the built-in one or its replacement, with what is added.
    #[must_use]
    pub fn system_prompt(&self) -> String {
        let own = self.system.replace.trim();
        let base = if own.is_empty() { super::prompts::SYSTEM.trim() } else { own };
        let more = self.system.extend.trim();
        if more.is_empty() { base.to_owned() } else { format!("{base}\n\n{more}") }
    }

    /// The names of the settings (of the tables, where they stand in one) that are others in `next`.
    #[must_use]
    pub fn differences(&self, next: &Self) -> Vec<String> {
        let table = |settings: &Self| toml::Table::try_from(settings).unwrap_or_default();
        let (a, b) = (table(self), table(next));
        let mut names: Vec<String> =
            b.iter().filter(|(name, value)| a.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// The cap on the prompt, where one is set.
    #[must_use]
    pub fn cap(&self) -> Option<u32> {
        (self.budget > 0).then_some(self.budget)
    }
}

/// Whether the model is asked for a state block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateBlockChoice {
    /// As the policy says.
    #[default]
    Policy,
    /// Always asked for.
    Required,
    /// Asked for; a missing one is not mentioned.
    Optional,
    /// Never.
    Off,
}

impl StateBlockChoice {
    /// What holds under a policy.
    #[must_use]
    pub fn over(self, policy: StateBlock) -> StateBlock {
        match self {
            Self::Policy => policy,
            Self::Required => StateBlock::Required,
            Self::Optional => StateBlock::Optional,
            Self::Off => StateBlock::Off,
        }
    }
}

/// Whether summaries are made by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionChoice {
    /// As the policy says.
    #[default]
    Policy,
    /// Never.
    Off,
    /// They wait for a person.
    Ask,
    /// They are used at once.
    #[serde(rename = "self")]
    Own,
}

impl CompactionChoice {
    /// The wish that stands above the policy, if any.
    #[must_use]
    pub fn wish(self) -> Option<Compacting> {
        match self {
            Self::Policy => None,
            Self::Off => Some(Compacting::Off),
            Self::Ask => Some(Compacting::Ask),
            Self::Own => Some(Compacting::Own),
        }
    }
}

/// System prompt.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SystemPrompt {
    /// In place of the built-in one.
    pub replace: String,
    /// Added after it.
    pub extend: String,
}

/// Tools.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Offered in trusted folders.
    pub enabled: bool,
    /// Rounds of calls in one turn.
    pub rounds: u32,
    /// Most characters of one result.
    pub output_limit: u32,
    /// What may be done without asking, what is asked about, what is refused.
    pub rules: Vec<Rule>,
    /// Commands may use the network.
    pub network: bool,
    /// Seconds after which a command is stopped, where the call names none; it may name more, up to ten times as many.
    pub seconds: u32,
    /// Most characters of a command's output that are kept in the store, where the model reads less; 0 keeps nothing more.
    pub keep_output: u32,
    /// Folders in the home folder that commands may read, beyond the workspace and toolchains.
    pub readable: Vec<PathBuf>,
    /// Folders beyond the workspace in which commands may write.
    pub writable: Vec<PathBuf>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            enabled: true,
            rounds: 8,
            output_limit: 100_000,
            rules: Vec::new(),
            network: false,
            seconds: 120,
            keep_output: 2_000_000,
            readable: Vec::new(),
            writable: Vec::new(),
        }
    }
}

/// What a project says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    /// Files with rules go.
    pub rules: bool,
    /// Files with rules that stay out, by path; `*` is any run of characters.
    pub off: Vec<String>,
    /// Bytes of one file that go.
    pub limit: u32,
    /// Names of skills go, and the model may load them.
    pub skills: bool,
}

impl Default for Project {
    fn default() -> Self {
        Self { rules: true, off: Vec::new(), limit: 32_768, skills: true }
    }
}

/// What sessions are called that nobody named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Titles {
    /// When they were made.
    Date,
    /// The first words of the first question.
    #[default]
    Words,
    /// What the model makes of the first turn; until then as with [`Self::Words`].
    Model,
}

/// How much each branch of a race may take; 0 is no limit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Race {
    /// Tokens of its answer, over all rounds of tools.
    pub max_tokens: u32,
    /// Dollars, over all its calls.
    pub max_cost: f64,
    /// Seconds.
    pub max_seconds: u32,
}

impl Race {
    /// The limits that are set.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what an integer holds")]
    pub fn limits(&self) -> Limits {
        let micro = (self.max_cost * 1e6).round().clamp(0.0, 9e15) as u64;
        Limits { tokens: Some(self.max_tokens), cost_micro: Some(micro), seconds: Some(self.max_seconds) }.set()
    }
}

/// How the end of a long run is told while the terminal has no focus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// Not at all.
    Off,
    /// By the terminal's bell.
    #[default]
    Bell,
    /// By a desktop notification, as iTerm2, kitty, `WezTerm`, Ghostty and Windows Terminal know it.
    Osc9,
    /// By a desktop notification, as urxvt, foot and `WezTerm` know it.
    Osc777,
}

/// Whether addresses are given to the terminal as such.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinksWish {
    /// Where the terminal is known to handle them.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The screen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Screen {
    /// The theme's name, or `auto`.
    pub theme: String,
    /// ASCII only.
    pub ascii: bool,
    /// Mouse capture.
    pub mouse: bool,
    /// Milliseconds after the first key of several until it is shown which may follow.
    pub hints_after: u32,
    /// Whether the terminal's title says what is open.
    pub title: bool,
    /// How the end of a long run is told.
    pub notify: Notify,
    /// From how many seconds on a run is long.
    pub notify_after: u32,
    /// Nothing moves by itself.
    pub reduced_motion: bool,
    /// Addresses as links of the terminal.
    pub links: LinksWish,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            theme: AUTO.to_owned(),
            ascii: false,
            mouse: false,
            hints_after: 300,
            title: true,
            notify: Notify::Bell,
            notify_after: 10,
            reduced_motion: false,
            links: LinksWish::Auto,
        }
    }
}

/// The theme that is chosen by the terminal's ground.
pub const AUTO: &str = "auto";

/// The store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The file; empty is the usual place.
    pub path: String,
    /// How many backups are kept, one a day at most; 0 keeps none.
    pub backups: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self { path: String::new(), backups: 3 }
    }
}

/// How much is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Errors.
    Error,
    /// And warnings.
    #[default]
    Warn,
    /// And what was done.
    Info,
    /// And how.
    Debug,
    /// And every step.
    Trace,
}

impl LogLevel {
    /// Its name in configuration and filters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The log file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How much.
    pub level: LogLevel,
}

/// Where vectors come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderKind {
    /// Nowhere.
    #[default]
    None,
    /// An OpenAI-compatible server.
    Server,
    /// A model directory on this machine.
    Directory,
}

/// Where vectors of texts come from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    /// From what.
    pub kind: EmbedderKind,
    /// The directory.
    pub path: String,
    /// The profile whose server is asked.
    pub profile: String,
    /// The model asked for there.
    pub model: String,
    /// Dimensions asked for; 0 takes the model's own.
    pub dimensions: u32,
    /// Put before every question.
    pub query_prefix: String,
    /// Put before every passage.
    pub passage_prefix: String,
}

/// What is known of a model. What is not said falls to the next source.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelEntry {
    /// Window in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    /// Limit on the prompt alone; 0 says that there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<u32>,
    /// Limit on the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// Vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether that is the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<bool>,
    /// The model's own `tokenizer.json`, above any vocabulary; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Choices for one call of the program, from its command line. They stand above a branch's own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallOverrides {
    /// Context mode.
    pub mode: Option<Mode>,
    /// Policy.
    pub policy: Option<String>,
    /// Cap on the prompt in tokens.
    pub budget: Option<u32>,
    /// Model.
    pub model: Option<String>,
    /// Profile.
    pub profile: Option<String>,
    /// Layout.
    pub layout: Option<Layout>,
}
