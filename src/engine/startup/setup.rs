//! The values that the engine is started with.
//! Not for: reading configuration files (`config`), or the rules of a branch (`rules`).

use crate::config::settings::Titles;
use crate::domain::base::{Failure, Hash};
use crate::domain::call::{CountTokens, Embed, EmbedError, Limits, ModelInfo, Profile, Provider, ProviderError};
use crate::domain::code::CodeSettings;
use crate::domain::conversation::Overrides;
use crate::domain::planning::{PolicySpec, StateBlock};
use crate::domain::tool::{ConfiguredServers, FolderSettings, Rule, RunTools, ToolServers};
use crate::store::Store;
use crate::tools::locked_folder::LockedFolder;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Texts that are sent with every call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prompts {
    /// The instructions.
    pub system: String,
    /// How to read the history.
    pub guidelines: String,
    /// The request to keep a state block.
    pub state_request: String,
    /// The request to continue a cut-off answer.
    pub go_on: String,
    /// The personality, unless the branch sets one.
    pub personality: String,
}

/// Creates providers and accesses their servers: the interface between the engine and the network.
pub trait Servers: Send + Sync {
    /// Returns a provider that can be called for this profile. The failure names the missing part.
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure>;
    /// Checks without a call whether the profile can be called, for example whether it has a key.
    fn ready(&self, profile: &Profile) -> Result<(), Failure>;
    /// Returns the models that a profile's server offers.
    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError>;
    /// Checks whether a server answers, and returns the number of models that it lists.
    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError>;
}

/// Looks up a model for a profile.
pub type ModelLookup = Arc<dyn Fn(&str, &Profile) -> ModelInfo + Send + Sync>;

/// Opens the embedder. May be slow, so it never runs on a thread that a person waits for.
pub type OpenEmbedder = Arc<dyn Fn() -> Result<Arc<dyn Embed>, EmbedError> + Send + Sync>;

/// Which rules and skills of the workspace are used.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectSetup {
    /// Whether rules files are sent.
    pub rules: bool,
    /// Whether the names of skills are sent.
    pub skills: bool,
    /// Rules files that are left out, as patterns of their paths.
    pub off: Vec<String>,
    /// The maximum size of a rules file that is sent, in bytes.
    pub limit: u32,
    /// The folder of the person's own rules.
    pub own: Option<PathBuf>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
}

/// The settings that a reload of the configuration changes.
#[derive(Clone)]
pub struct ReloadableSettings {
    pub profiles: BTreeMap<String, Profile>,
    /// The profile for branches that name none.
    pub profile: String,
    /// The model for branches that name none.
    pub model: Option<String>,
    pub policies: BTreeMap<String, PolicySpec>,
    /// Configured defaults for mode, policy, layout, budget, and window.
    pub defaults: Overrides,
    /// Overrides the policies' setting for the state block.
    pub state_block: Option<StateBlock>,
    /// The texts of every call.
    pub prompts: Arc<Prompts>,
    /// The workspace's tools, if any.
    pub tools: Option<Arc<dyn RunTools>>,
    /// Reads the configured tool servers again; `None` starts none.
    pub named: Option<Arc<dyn Fn() -> ConfiguredServers + Send + Sync>>,
    /// The maximum size of a tool server's results, in bytes.
    pub output_limit: usize,
    /// How calls use the workspace's code.
    pub code: CodeSettings,
    /// Rules for tool calls from the configuration.
    pub tool_rules: Vec<Rule>,
    /// The maximum number of rounds in a turn.
    pub rounds: u32,
    /// Default limits of a branch in a race.
    pub race: Limits,
    /// How sessions without a title are named.
    pub titles: Titles,
    /// Which rules and skills of the workspace are used.
    pub project: ProjectSetup,
    /// Whether the workspace folder is trusted.
    pub trusted: bool,
    /// Looks up models.
    pub models: ModelLookup,
}

/// The result of reading the configuration again.
pub struct Reloaded {
    /// The settings as they are now.
    pub settings: ReloadableSettings,
    /// Settings that changed.
    pub changed: Vec<String>,
    /// The names of settings that apply only after a restart.
    pub later: Vec<String>,
}

/// The folder's own settings file, as read by the configuration.
#[derive(Clone)]
pub struct FolderFile {
    /// Reads its current state.
    pub look: Arc<dyn Fn() -> Option<FolderSettings> + Send + Sync>,
    /// Stores a person's decision on the settings with this digest; returns false if the file has changed.
    pub say: Arc<dyn Fn(Hash, bool) -> Result<bool, Failure> + Send + Sync>,
}

/// Reads the configuration again; fails if it is invalid.
pub type ReadAgain = Arc<dyn Fn() -> Result<Reloaded, Failure> + Send + Sync>;

/// The configured embedder.
#[derive(Clone)]
pub struct EmbedderSetup {
    /// A description in words.
    pub what: String,
    pub open: OpenEmbedder,
}

/// Everything that the engine needs to start.
pub struct Setup {
    pub store: Store,
    /// The number of backups that are kept.
    pub backups: usize,
    /// Sentences about how the store was opened.
    pub notices: Vec<String>,
    /// The settings that a reload changes.
    pub settings: ReloadableSettings,
    /// The folder of the person's own policies; `None` if nothing is saved.
    pub policies_dir: Option<PathBuf>,
    /// Overrides from the command line, above all others.
    pub call: Overrides,
    pub foreign: Arc<dyn ToolServers>,
    /// The workspace folder.
    pub workspace: String,
    /// Stores whether the folder is trusted.
    pub save_trust: Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>,
    /// The folder's own settings file; `None` if nothing is stored.
    pub folder: Option<FolderFile>,
    /// Creates providers and accesses their servers.
    pub servers: Arc<dyn Servers>,
    pub counter: Arc<dyn CountTokens>,
    /// The embedder, if one is configured.
    pub embedder: Option<EmbedderSetup>,
    /// Whether plans wait until older messages are indexed and their stored vectors are read (for single commands; a
    /// screen never waits).
    pub patient: bool,
    /// The folder of code indexes; `None` keeps them in memory only.
    pub code: Option<PathBuf>,
    /// A conversation to import at the start (the demo).
    pub reading: Option<crate::domain::conversation::record::ImportedFile>,
    /// A folder that is removed at the end (the demo's store).
    pub temporary: Option<LockedFolder>,
    /// Reads the configuration again; `None` if there is none to read.
    pub read_again: Option<ReadAgain>,
    /// Returns the current time in milliseconds since 1970.
    pub now: Arc<dyn Fn() -> i64 + Send + Sync>,
}
