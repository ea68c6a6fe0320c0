//! The engine's setup.
//! Not for: reading configuration files (`config`), or the rules of a branch (`rules`).

use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::call::embedding::{Embed, EmbedError};
use crate::domain::call::model::{ModelInfo, Profile};
use crate::domain::call::provider::{Provider, ProviderError};
use crate::domain::call::race::Limits;
use crate::domain::call::tokens::CountTokens;
use crate::domain::code::settings::CodeSettings;
use crate::domain::conversation::branch::Overrides;
use crate::domain::planning::policy::{PolicySpec, StateBlock};
use crate::domain::tool::folder_settings::FolderSettings;
use crate::domain::tool::mcp::{ConfiguredServers, ToolServers};
use crate::domain::tool::trace::RunTools;
use crate::store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts that are part of every request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prompts {
    /// Instructions.
    pub system: String,
    /// How to read history.
    pub guidelines: String,
    /// The request to keep a state block.
    pub state_request: String,
    /// The request to continue a cut-off answer.
    pub go_on: String,
    /// The personality, unless the branch sets one.
    pub personality: String,
}

/// Creates providers and knows servers: the external models behind one trait.
pub trait Servers: Send + Sync {
    /// A callable provider for this profile; a failure says what is missing.
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure>;
    /// Whether it could be called, without calling: is the key there?
    fn ready(&self, profile: &Profile) -> Result<(), Failure>;
    /// The models that a profile's server offers.
    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError>;
    /// Whether a server answers at all: how many models it names.
    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError>;
}

/// Looks up the facts about a model of a profile.
pub type ModelLookup = Arc<dyn Fn(&str, &Profile) -> ModelInfo + Send + Sync>;

/// Makes the embedder. May be slow, so it never runs on a thread that someone waits for.
pub type OpenEmbedder = Arc<dyn Fn() -> Result<Arc<dyn Embed>, EmbedError> + Send + Sync>;

/// Which rules and skills of the workspace are used.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectSetup {
    /// Files with rules go.
    pub rules: bool,
    /// Names of skills go.
    pub skills: bool,
    /// Files with rules that stay out, by patterns of their paths.
    pub off: Vec<String>,
    /// Bytes of one file that go.
    pub limit: u32,
    /// The folder of the person's own rules.
    pub own: Option<std::path::PathBuf>,
    /// The person's home.
    pub home: Option<std::path::PathBuf>,
}

/// The settings that a reload of the configuration changes.
pub struct ReloadedSettings {
    /// All profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The profile for branches that name none.
    pub profile: String,
    /// The model for branches that name none.
    pub model: Option<String>,
    /// All policies by name.
    pub policies: BTreeMap<String, PolicySpec>,
    /// Configured defaults for mode, policy, layout, budget and window.
    pub defaults: Overrides,
    /// Overrides the policies' setting for the state block.
    pub state_block: Option<StateBlock>,
    /// Texts.
    pub prompts: Arc<Prompts>,
    /// Tools, if any.
    pub tools: Option<Arc<dyn RunTools>>,
    /// Reads the configured tool servers again.
    pub named: Arc<dyn Fn() -> ConfiguredServers + Send + Sync>,
    /// The maximum bytes of their results.
    pub output_limit: usize,
    /// How calls use the workspace's code.
    pub orient: CodeSettings,
    /// Rules of the configuration about calls to tools.
    pub tool_rules: Vec<crate::domain::tool::consent::Rule>,
    /// Tool rounds in a turn.
    pub rounds: u32,
    /// Which rules and skills of the workspace are used.
    pub project: ProjectSetup,
    /// Whether the workspace folder is trusted.
    pub trusted: bool,
    /// Model table.
    pub models: ModelLookup,
    /// Settings that changed.
    pub changed: Vec<String>,
    /// Those of them that apply only after a restart.
    pub later: Vec<String>,
}

/// The folder's own settings file, as the configuration knows it.
#[derive(Clone)]
pub struct FolderFile {
    /// Reads its present state.
    pub look: Arc<dyn Fn() -> Option<FolderSettings> + Send + Sync>,
    /// Stores a person's decision on the settings with this digest; returns false if the file has changed.
    pub say: Arc<dyn Fn(Hash, bool) -> Result<bool, Failure> + Send + Sync>,
}

/// Reads the configuration again.
pub type ReadAgain = Arc<dyn Fn() -> Result<ReloadedSettings, Failure> + Send + Sync>;

/// The embedder that is set.
#[derive(Clone)]
pub struct EmbedderSetup {
    /// Its description.
    pub what: String,
    /// Makes it.
    pub open: OpenEmbedder,
}

/// Everything that the engine needs.
pub struct Setup {
    /// The store.
    pub store: Store,
    /// How many backups of it are kept.
    pub backups: usize,
    /// Sentences about how the store was opened.
    pub notices: Vec<String>,
    /// All profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The profile for branches that name none.
    pub profile: String,
    /// The model for branches that name none.
    pub model: Option<String>,
    /// All policies by name.
    pub policies: BTreeMap<String, PolicySpec>,
    /// The folder of the person's own policies; `None` if nothing is saved.
    pub policies_dir: Option<std::path::PathBuf>,
    /// Configured defaults for mode, policy, layout, budget and window.
    pub defaults: Overrides,
    /// Overrides from the command line, above all others.
    pub call: Overrides,
    /// Overrides the policies' setting for the state block.
    pub state_block: Option<StateBlock>,
    /// Texts.
    pub prompts: Arc<Prompts>,
    /// Tools, if any.
    pub tools: Option<Arc<dyn RunTools>>,
    /// Tool servers.
    pub foreign: Arc<dyn ToolServers>,
    /// Reads the configured tool servers again; `None` starts none.
    pub named: Option<Arc<dyn Fn() -> ConfiguredServers + Send + Sync>>,
    /// The maximum bytes of their results.
    pub output_limit: usize,
    /// How calls use the workspace's code.
    pub orient: CodeSettings,
    /// Rules about calls to tools that the settings give.
    pub tool_rules: Vec<crate::domain::tool::consent::Rule>,
    /// Tool rounds in a turn.
    pub rounds: u32,
    /// Default limits of a branch in a race.
    pub race: Limits,
    /// Which rules and skills of the workspace are used.
    pub project: ProjectSetup,
    /// How sessions without a title are named.
    pub titles: crate::config::settings::Titles,
    /// The workspace folder.
    pub workspace: String,
    /// Whether it is trusted.
    pub trusted: bool,
    /// Remembers trust.
    pub save_trust: Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>,
    /// The folder's own settings file; `None` if decisions are not stored.
    pub folder: Option<FolderFile>,
    /// Model table.
    pub models: ModelLookup,
    /// Servers.
    pub servers: Arc<dyn Servers>,
    /// Token counter.
    pub counter: Arc<dyn CountTokens>,
    /// The embedder, if one is set.
    pub embedder: Option<EmbedderSetup>,
    /// Plans wait until older messages are indexed and their stored vectors read (for single commands; a screen never
    /// waits).
    pub patient: bool,
    /// The folder of code indexes; `None` keeps them in memory only.
    pub code: Option<std::path::PathBuf>,
    /// Conversations to start with (the demo).
    pub reading: Option<crate::domain::conversation::record::ImportedFile>,
    /// A folder to delete at the end (the demo's store).
    pub temporary: Option<std::path::PathBuf>,
    /// Reads the configuration again, if there is one.
    pub read_again: Option<ReadAgain>,
    /// Milliseconds since 1970.
    pub now: Arc<dyn Fn() -> i64 + Send + Sync>,
}
