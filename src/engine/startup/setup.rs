//! What the engine is started with, and which rules hold for a branch.
//! Not for: reading configuration files (`config`).

use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::call::embedding::{Embed, EmbedError};
use crate::domain::call::model::{ModelInfo, Profile, Quirk};
use crate::domain::call::provider::{Provider, ProviderError};
use crate::domain::call::race::Limits;
use crate::domain::call::tokens::{CountTokens, Encoding};
use crate::domain::code::settings::CodeSettings;
use crate::domain::conversation::branch::{Branch, Overrides};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::Budget;
use crate::domain::planning::policy::{Layout, PolicySpec, StateBlock};
use crate::domain::summary::draft::Compaction;
use crate::domain::tool::folder_settings::FolderSettings;
use crate::domain::tool::mcp::{ConfiguredServers, Offered, ToolServers};
use crate::domain::tool::trace::{RunTools, ToolSpec};
use crate::store::Store;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Texts that go with every call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prompts {
    /// Instructions.
    pub system: String,
    /// How to read history.
    pub guidelines: String,
    /// The duty to keep a state block.
    pub state_request: String,
    /// Asks to go on where an answer was cut.
    pub go_on: String,
    /// How to be, unless the branch says otherwise.
    pub personality: String,
}

/// Makes providers and knows servers; the outside world of models behind one trait.
pub trait Servers: Send + Sync {
    /// Something that can be called for this profile; a failure says what is missing.
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure>;
    /// Whether it could be called, without calling: is the key there?
    fn ready(&self, profile: &Profile) -> Result<(), Failure>;
    /// The models that a profile's server offers.
    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError>;
    /// Whether a server answers at all: how many models it names.
    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError>;
}

/// What is known of a model for a profile.
pub type ModelLookup = Arc<dyn Fn(&str, &Profile) -> ModelInfo + Send + Sync>;

/// Makes the embedder; may take a while, so never on a thread that somebody waits for.
pub type OpenEmbedder = Arc<dyn Fn() -> Result<Arc<dyn Embed>, EmbedError> + Send + Sync>;

/// What of a project is looked at beside its code.
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

/// What a reading of the configuration changes while the engine runs.
pub struct ReloadedSettings {
    /// All profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The profile used where a branch names none.
    pub profile: String,
    /// The model used where a branch names none.
    pub model: Option<String>,
    /// All policies by name.
    pub policies: BTreeMap<String, PolicySpec>,
    /// What configuration says of mode, policy, layout, budget and window.
    pub defaults: Overrides,
    /// Overrides the policies' wish for a state block.
    pub state_block: Option<StateBlock>,
    /// Texts.
    pub prompts: Arc<Prompts>,
    /// Tools, where there are any.
    pub tools: Option<Arc<dyn RunTools>>,
    /// Which servers of tools are named, read anew.
    pub named: Arc<dyn Fn() -> ConfiguredServers + Send + Sync>,
    /// Most bytes of a result of theirs.
    pub output_limit: usize,
    /// What goes of the workspace's code into calls.
    pub orient: CodeSettings,
    /// Rules of the configuration about calls to tools.
    pub tool_rules: Vec<crate::domain::tool::consent::Rule>,
    /// Tool rounds in a turn.
    pub rounds: u32,
    /// What of a project is looked at.
    pub project: ProjectSetup,
    /// Whether the workspace folder is trusted.
    pub trusted: bool,
    /// Model table.
    pub models: ModelLookup,
    /// Settings that are others now.
    pub changed: Vec<String>,
    /// Of these the ones that hold only from the next start on.
    pub later: Vec<String>,
}

/// The folder's own settings file, as the configuration knows it.
#[derive(Clone)]
pub struct FolderFile {
    /// How it stands now.
    pub look: Arc<dyn Fn() -> Option<FolderSettings> + Send + Sync>,
    /// Keeps what a person said to the settings with this digest; false where the file holds others by now.
    pub say: Arc<dyn Fn(Hash, bool) -> Result<bool, Failure> + Send + Sync>,
}

/// Reads the configuration again.
pub type ReadAgain = Arc<dyn Fn() -> Result<ReloadedSettings, Failure> + Send + Sync>;

/// The embedder that is set.
#[derive(Clone)]
pub struct EmbedderSetup {
    /// What it is, in words.
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
    /// The profile used where a branch names none.
    pub profile: String,
    /// The model used where a branch names none.
    pub model: Option<String>,
    /// All policies by name.
    pub policies: BTreeMap<String, PolicySpec>,
    /// Where the person's own policies are kept; none where nothing is saved.
    pub policies_dir: Option<std::path::PathBuf>,
    /// What configuration says of mode, policy, layout, budget and window.
    pub defaults: Overrides,
    /// What this one command line says; above everything else.
    pub call: Overrides,
    /// Overrides the policies' wish for a state block.
    pub state_block: Option<StateBlock>,
    /// Texts.
    pub prompts: Arc<Prompts>,
    /// Tools, where there are any.
    pub tools: Option<Arc<dyn RunTools>>,
    /// Servers of tools that other people wrote.
    pub foreign: Arc<dyn ToolServers>,
    /// Which of them are named, read anew; none starts any.
    pub named: Option<Arc<dyn Fn() -> ConfiguredServers + Send + Sync>>,
    /// Most bytes of a result of theirs.
    pub output_limit: usize,
    /// What goes of the workspace's code into calls.
    pub orient: CodeSettings,
    /// Rules about calls to tools that the settings give.
    pub tool_rules: Vec<crate::domain::tool::consent::Rule>,
    /// Tool rounds in a turn.
    pub rounds: u32,
    /// How much a branch of a race may take, where the race itself does not say.
    pub race: Limits,
    /// What of a project is looked at.
    pub project: ProjectSetup,
    /// What sessions are called that nobody named.
    pub titles: crate::config::settings::Titles,
    /// The workspace folder.
    pub workspace: String,
    /// Whether it is trusted.
    pub trusted: bool,
    /// Remembers trust.
    pub save_trust: Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>,
    /// The folder's own settings file; none where nothing is kept.
    pub folder: Option<FolderFile>,
    /// Model table.
    pub models: ModelLookup,
    /// Servers.
    pub servers: Arc<dyn Servers>,
    /// Token counter.
    pub counter: Arc<dyn CountTokens>,
    /// Where vectors come from, where one is set.
    pub embedder: Option<EmbedderSetup>,
    /// Plans wait until older messages are indexed and their stored vectors read (for single commands; a screen never
    /// waits).
    pub patient: bool,
    /// Where the indexes of workspaces' code are kept; none keeps them in memory only.
    pub code: Option<std::path::PathBuf>,
    /// Conversations to start with (the demo).
    pub reading: Option<crate::domain::conversation::record::Reading>,
    /// A folder to delete at the end (the demo's store).
    pub temporary: Option<std::path::PathBuf>,
    /// Reads the configuration again, where there is one.
    pub read_again: Option<ReadAgain>,
    /// Milliseconds since 1970.
    pub now: Arc<dyn Fn() -> i64 + Send + Sync>,
}

/// The rules that hold for a branch at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules {
    pub(crate) profile: Profile,
    pub(crate) model: ModelInfo,
    pub(crate) policy: PolicySpec,
    pub(crate) window_turns: u32,
    pub(crate) mode: Mode,
    pub(crate) layout: Layout,
    pub(crate) budget: Budget,
    pub(crate) personality: String,
    /// Texts that go with every call; says nothing about the wire.
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) tools: Vec<ToolSpec>,
    /// Tools that are switched off, each with its place among all.
    pub(crate) tools_off: Vec<(usize, ToolSpec)>,
    /// What plans may take of the workspace's code; none where it is not trusted, or none is wanted.
    pub(crate) code: Option<crate::engine::plans::sources::code::CodeRules>,
    /// Summaries that are made by themselves; says nothing about a request.
    pub(crate) compaction: Compaction,
}

impl Rules {
    /// The limit asked for the answer.
    pub(crate) fn max_output(&self) -> Option<u32> {
        Some(self.profile.max_output).filter(|limit| *limit > 0)
    }
}

/// What was learned while running: quirks of servers, windows that servers told.
#[derive(Default)]
pub(crate) struct LearnedSettings {
    /// By profile and model.
    pub(crate) quirks: HashMap<(String, String), Vec<Quirk>>,
    pub(crate) models: HashMap<(String, String), ModelInfo>,
    /// Tools of servers that are there and approved.
    pub(crate) offered: Arc<Vec<Offered>>,
    /// The workspace's code.
    pub(crate) code: Option<crate::engine::indexing::code_workspace::CodeWorkspace>,
}

impl LearnedSettings {
    /// Whether the model is offered tools for code.
    pub(crate) fn offers_code(&self, setup: &Setup) -> bool {
        let wanted = setup.orient.enabled && setup.orient.tools;
        wanted && self.code.as_ref().is_some_and(crate::engine::indexing::code_workspace::CodeWorkspace::holds_code)
    }

    /// The program's own tools, those for code among them where there is code.
    pub(crate) fn own_specs(&self, setup: &Setup, own: &dyn RunTools) -> Vec<ToolSpec> {
        let mut all = own.specs();
        if self.offers_code(setup) {
            all.extend(crate::engine::tools::code::specs());
        }
        all
    }
}

/// Works out the rules: command line above branch above configuration above policy.
pub(crate) fn rules(
    setup: &Setup,
    learned: &LearnedSettings,
    branch: &Branch,
    trusted: bool,
) -> Result<Rules, Failure> {
    let pick = |get: &dyn Fn(&Overrides) -> Option<String>| {
        get(&setup.call).or_else(|| get(&branch.overrides)).or_else(|| get(&setup.defaults))
    };
    let name = pick(&|o| o.profile.clone()).unwrap_or_else(|| setup.profile.clone());
    let mut profile = setup.profiles.get(&name).cloned().ok_or_else(|| unknown("profile", &name, setup))?;
    let model = model_name(setup, branch, &profile);
    for quirk in learned.quirks.get(&(name, model.clone())).into_iter().flatten() {
        quirk.apply(&mut profile.dialect);
    }
    let set = (setup.models)(&model, &profile);
    // How tokens are counted is what the settings say now, not what they said when the server told its window.
    let counted = |told: ModelInfo| ModelInfo { encoding: set.encoding, exact_encoding: set.exact_encoding, ..told };
    let model = learned.models.get(&(profile.name.clone(), model)).cloned().map_or_else(|| set.clone(), counted);
    let policy_name = pick(&|o| o.policy.clone()).unwrap_or_else(|| "layered".into());
    let mut policy = setup.policies.get(&policy_name).cloned().ok_or_else(|| unknown("policy", &policy_name, setup))?;
    if let Some(wish) = setup.state_block {
        policy.state_block = wish;
    }
    let layers = [&setup.call, &branch.overrides, &setup.defaults];
    let layout = pick(&|o| o.layout.clone()).unwrap_or_else(|| policy.layout.name().into());
    let layout = Layout::from_name(&layout).ok_or_else(|| {
        Failure::new(FailureKind::Config, format!("There is no layout {layout:?}."))
            .todo("Use classic or cache_friendly.")
    })?;
    let cap = layers.iter().find_map(|o| o.budget).or(Some(policy.user_cap).filter(|cap| *cap > 0));
    let asked = Some(profile.max_output).filter(|limit| *limit > 0);
    let own = setup.tools.as_ref().filter(|_| trusted && profile.dialect.tools);
    let (tools, tools_off) = own.map_or_else(Default::default, |own| {
        crate::engine::tools::switches::switched(
            learned.own_specs(setup, &**own),
            &learned.offered,
            &branch.overrides.tools_off,
        )
    });
    Ok(Rules {
        budget: Budget::work_out(model.context_window, model.input_limit, asked, cap),
        window_turns: layers.iter().find_map(|o| o.window).unwrap_or(policy.window_turns),
        mode: layers.iter().find_map(|o| o.mode).unwrap_or_default(),
        personality: pick(&|o| o.personality.clone()).unwrap_or_else(|| setup.prompts.personality.clone()),
        prompts: setup.prompts.clone(),
        tools,
        tools_off,
        code: (setup.orient.enabled && trusted).then(|| crate::engine::plans::sources::code::CodeRules {
            orienting: setup.orient,
            focus: branch.overrides.focus.clone(),
            sight: crate::domain::tool::visibility::FileVisibility::default(),
        }),
        compaction: policy.compaction.under(layers.iter().find_map(|o| o.compaction)),
        profile,
        model,
        policy,
        layout,
    })
}

fn unknown(what: &str, name: &str, setup: &Setup) -> Failure {
    let known: Vec<&str> = match what {
        "policy" => setup.policies.keys().map(String::as_str).collect(),
        _ => setup.profiles.keys().map(String::as_str).collect(),
    };
    Failure::new(FailureKind::Config, format!("There is no {what} {name:?}."))
        .todo(format!("Available: {}.", known.join(", ")))
}

/// A model chosen for one profile does not follow to another: the nearest layer that names a model wins, unless a nearer
/// one names the profile.
fn model_name(setup: &Setup, branch: &Branch, profile: &Profile) -> String {
    for layer in [&setup.call, &branch.overrides] {
        if let Some(model) = &layer.model {
            return model.clone();
        }
        if layer.profile.is_some() {
            return profile.model.clone();
        }
    }
    setup.model.clone().filter(|_| profile.name == setup.profile).unwrap_or_else(|| profile.model.clone())
}

/// How tokens are counted where no branch is open: by what the command line and the settings name.
pub(crate) fn encoding(setup: &Setup) -> Encoding {
    let layers = [&setup.call, &setup.defaults];
    let named = |get: &dyn Fn(&Overrides) -> Option<String>| layers.iter().find_map(|layer| get(layer));
    let name = named(&|layer| layer.profile.clone()).unwrap_or_else(|| setup.profile.clone());
    let Some(profile) = setup.profiles.get(&name) else { return Encoding::Approximate };
    let model = named(&|layer| layer.model.clone()).or_else(|| setup.model.clone().filter(|_| name == setup.profile));
    (setup.models)(&model.unwrap_or_else(|| profile.model.clone()), profile).encoding
}

/// The digest of everything that shapes the request beside its texts.
pub(crate) fn wire_digest(rules: &Rules, state_block: StateBlock) -> Hash {
    Fields::new("wire")
        .text(&rules.profile.name)
        .text(&rules.model.name)
        .json(&rules.profile.dialect)
        .json(&rules.profile.temperature)
        .json(&rules.tools)
        .json(&rules.policy)
        .json(&state_block)
        .json(&rules.layout)
        .json(&rules.mode)
        .json(&rules.budget)
        .number(u64::from(rules.window_turns))
        .finish()
}
