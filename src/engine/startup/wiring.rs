//! Creates an engine's setup from the configuration: store, models, tools, prompts.
//! Not for: decisions while the engine runs.

use super::setup::{
    FolderFile, ModelLookup, ProjectSetup, Prompts, ReadAgain, ReloadableSettings, Reloaded, Servers, Setup,
};
use crate::config::load::{self, Config, Environment};
use crate::config::paths::expand;
use crate::config::prompts;
use crate::config::settings::StateBlockChoice;
use crate::domain::base::{Damage, Failure, FailureKind, RepairResult, StartWith};
use crate::domain::call::{
    Backend, CountTokens, Encoding, ModelInfo, Profile, Provider, ProviderError, ProviderErrorKind, Supports,
};
use crate::domain::conversation::Overrides;
use crate::domain::planning::StateBlock;
use crate::domain::tool::{ConfiguredServers, RunTools};
use crate::engine::jobs;
use crate::llm;
use crate::llm::counting::tokens::Tokenizers;
use crate::store::file::damage;
use crate::store::types::StoreError;
use crate::store::{OpenOptions, Store};
use crate::tools::locked_folder::{self, LockedFolder};
use crate::tools::{EffectOptions, Workspace};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a server may take to list its models, and to show that it is available.
const LIST: Duration = Duration::from_secs(10);
const PROBE: Duration = Duration::from_millis(1_500);

/// Creates the setup for a configuration, or for the demo if `demo` is set.
pub fn setup(config: &Config, demo: bool) -> Result<Setup, Failure> {
    if demo { tour(config) } else { plain(config) }
}

/// Creates the setup for a screen. If the store is damaged, a person is asked how to repair it.
pub fn setup_or_ask(config: &Config, demo: bool, ask: Ask<'_>) -> Result<Setup, Failure> {
    let failure = match setup(config, demo) {
        Ok(setup) => return Ok(Setup { patient: false, ..setup }),
        Err(failure) => failure,
    };
    let start = damaged(config, false)?.as_ref().and_then(ask).ok_or(failure)?;
    let repaired = repair(config, start)?;
    let mut setup = Setup { patient: false, ..setup(config, demo)? };
    setup.notices.extend(repaired.sentences());
    Ok(setup)
}

/// Asks a person how to repair a damaged store; `None` leaves it unchanged.
pub type Ask<'a> = &'a dyn Fn(&Damage) -> Option<StartWith>;

fn plain(config: &Config) -> Result<Setup, Failure> {
    llm::init();
    let opened = Store::open(&OpenOptions { path: config.paths.store.clone(), read_only: false })
        .map_err(|error| unopened(error, &config.paths.store))?;
    let counter = Arc::new(Tokenizers::new());
    let settings = reloadable(config, &counter);
    warm(config, &counter, settings.models.clone());
    let mut notices = config.notes.clone();
    notices.extend(opened.notices);
    Ok(Setup {
        store: opened.store,
        backups: usize::try_from(config.settings.store.backups).unwrap_or(usize::MAX),
        notices,
        settings,
        policies_dir: Some(config.paths.policies_dir()),
        call: config.overrides.clone(),
        foreign: crate::mcp::servers(),
        workspace: config.workspace.display().to_string(),
        save_trust: save_trust(config),
        folder: Some(folder(config)),
        servers: Arc::new(Network { env: config.env.clone(), counter: counter.clone() }),
        read_again: Some(reload_config(config, counter.clone())),
        counter,
        embedder: super::embedder::of(config)?,
        patient: true,
        code: Some(beside(&config.paths.store)),
        reading: None,
        temporary: None,
        now: Arc::new(|| jiff::Timestamp::now().as_millisecond()),
    })
}

/// Returns the settings that apply without a restart.
fn reloadable(config: &Config, counter: &Arc<Tokenizers>) -> ReloadableSettings {
    let settings = &config.settings;
    ReloadableSettings {
        profiles: settings.profiles.clone(),
        profile: config.start_profile().map_or_else(|| "offline".to_owned(), |profile| profile.name.clone()),
        model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
        policies: config.policies.clone(),
        defaults: defaults(config),
        state_block: state_block(settings.state_block),
        prompts: own_texts(config),
        tools: tools(config),
        named: Some(named(config)),
        output_limit: usize::try_from(settings.tools.output_limit).unwrap_or(usize::MAX),
        code: settings.code,
        tool_rules: settings.tools.rules.clone(),
        rounds: settings.tools.rounds.max(1),
        race: settings.race.limits(),
        titles: settings.titles,
        project: project(config),
        trusted: config.is_trusted(&config.workspace),
        models: models(config, counter),
    }
}

fn own_texts(config: &Config) -> Arc<Prompts> {
    Arc::new(Prompts {
        system: config.settings.system_prompt(),
        guidelines: prompts::GUIDELINES.into(),
        state_request: prompts::STATE_BLOCK.into(),
        go_on: prompts::CONTINUE.into(),
        personality: config.settings.personality.clone(),
    })
}

/// Which rules and skills of the workspace are used.
fn project(config: &Config) -> ProjectSetup {
    let set = &config.settings.project;
    ProjectSetup {
        rules: set.rules,
        skills: set.skills,
        off: set.off.clone(),
        limit: set.limit,
        own: Some(config.paths.config_dir.clone()),
        home: config.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
    }
}

/// Settings that apply only when the program starts.
const AT_START: [&str; 3] = ["store", "log", "embedder"];

/// Returns a function that reads the configuration again and names the settings that changed since the last reading.
fn reload_config(config: &Config, counter: Arc<Tokenizers>) -> ReadAgain {
    let last = Mutex::new(config.clone());
    Arc::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut config = load::load(last.sources()).map_err(|error| error.failure())?;
        // The store that is open stays in use, and tools must not touch it.
        config.paths.store.clone_from(&last.paths.store);
        let mut changed = last.settings.differences(&config.settings);
        if last.policies != config.policies {
            changed.push("policies".into());
        }
        *last = config.clone();
        Ok(Reloaded {
            settings: reloadable(&config, &counter),
            later: changed.iter().filter(|name| AT_START.contains(&name.as_str())).cloned().collect(),
            changed,
        })
    })
}

/// Returns the look-up of models, including the tokenizer file of a model if one is configured.
fn models(config: &Config, counter: &Arc<Tokenizers>) -> ModelLookup {
    let (table, env, counter) = (config.models.clone(), config.env.clone(), counter.clone());
    Arc::new(move |name, profile| {
        let info = table.info(name, Some(profile));
        let Some(path) = table.tokenizer(name, Some(profile)) else { return info };
        let encoding = counter.file(&expand(path, &env), info.encoding);
        ModelInfo { encoding, exact_encoding: true, ..info }
    })
}

/// Loads the vocabulary for counting the first plan in the background.
fn warm(config: &Config, counter: &Arc<Tokenizers>, models: ModelLookup) {
    let counter = counter.clone();
    let profile = config.start_profile().cloned();
    let model = config.settings.model.clone();
    let work = move || {
        if let Some(profile) = profile {
            let model = if model.is_empty() { profile.model.as_str() } else { model.as_str() };
            counter.preload(models(model, &profile).encoding);
        }
        counter.preload(Encoding::O200kBase);
    };
    // Without this thread, the first plan loads the vocabulary itself.
    drop(jobs::service("vocabulary", work));
}

/// Returns the failure for a store that could not be opened; for a damaged store, it names the available backups.
fn unopened(error: StoreError, path: &Path) -> Failure {
    let damaged = matches!(error, StoreError::Corrupt { .. });
    let failure = Failure::from(error);
    match damage::find_damage(path, false) {
        Ok(Some(found)) if damaged => {
            failure.kept(format!("The store was not changed. {}", found.backups_sentence())).todo(REPAIR_HINT)
        }
        _ if damaged => failure.kept("The store was not changed.").todo("Name another store with --store."),
        _ => failure,
    }
}

const REPAIR_HINT: &str = "`pleach doctor --repair` moves the damaged store aside after asking, and starts from the \
    newest backup \
    (with --empty: with an empty store); or name another store with --store.";

/// Returns the damage of the configured store, without opening it for use. `thorough` reads the whole file.
///
/// # Errors
/// Fails if the store cannot be opened for another reason than damage.
pub fn damaged(config: &Config, thorough: bool) -> Result<Option<Damage>, Failure> {
    Ok(damage::find_damage(&config.paths.store, thorough)?)
}

/// Deletes the stored plans that can't be read from a store without other damage. Returns their number.
pub fn drop_unreadable_plans(config: &Config) -> Result<usize, Failure> {
    let path = &config.paths.store;
    if damage::unreadable_plans(path)? == 0 {
        return Ok(0);
    }
    let store = Store::open(&OpenOptions { path: path.clone(), read_only: false })?.store;
    let dropped = store.drop_unreadable_plans()?;
    store.close();
    Ok(dropped)
}

/// Moves a damaged store aside and replaces it by the newest good backup, or by an empty store. Messages that can still
/// be read are exported to a file next to it. The caller has asked the person.
///
/// # Errors
/// Fails, and changes nothing, if the store is not damaged, is open in another program, has no good backup, or cannot
/// be moved.
pub fn repair(config: &Config, start: StartWith) -> Result<RepairResult, Failure> {
    let path = &config.paths.store;
    let repaired = damage::set_aside(path, start)?;
    let found = damage::salvage(Path::new(&repaired.moved));
    let count: u64 = found.iter().map(|transcript| transcript.records.len() as u64).sum();
    if count == 0 {
        return Ok(repaired);
    }
    let lines: String = found.iter().map(|transcript| crate::export::jsonl(transcript, false)).collect();
    let file = damage::keep_salvaged(path, &lines)?;
    Ok(RepairResult { salvaged: Some((file, count)), ..repaired })
}

/// Returns the folder of the code indexes, next to the store's file.
fn beside(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push("-code");
    store.with_file_name(name)
}

/// Creates the setup of the demo: a bundled conversation in a store that is deleted at the end.
fn tour(config: &Config) -> Result<Setup, Failure> {
    locked_folder::clear(DEMO_PREFIX);
    let folder = LockedFolder::new(DEMO_PREFIX).map_err(|error| {
        let failure = Failure::new(FailureKind::Store, format!("The demo's store can't be created: {error}."));
        failure.todo("Is TMPDIR a folder that you can write to?")
    })?;
    let mut config = config.clone();
    config.paths.store = folder.path().join("demo.db");
    // An empty folder, so that the demo is the same wherever it starts.
    config.workspace = folder.path().join("workspace");
    std::fs::create_dir(&config.workspace).map_err(|error| Failure::new(FailureKind::Store, error.to_string()))?;
    config.overrides.profile = Some("offline".into());
    config.overrides.model = None;
    let reading = crate::import::read(DEMO, "demo.jsonl")?;
    let save_trust: SaveTrust = Arc::new(|_| Err("the demo saves nothing".into()));
    let mut setup = plain(&config)?;
    // The offline model is the only one, and a branch may choose between its variants.
    setup.settings.profiles.retain(|name, _| name == "offline");
    (setup.call.profile, setup.settings.model, setup.settings.named) = (None, None, None);
    Ok(Setup { reading: Some(reading), temporary: Some(folder), save_trust, policies_dir: None, folder: None, ..setup })
}

const DEMO_PREFIX: &str = "pleach-demo-";
const DEMO: &[u8] = include_bytes!("../../../assets/demo/session.jsonl");

fn defaults(config: &Config) -> Overrides {
    let settings = &config.settings;
    Overrides {
        mode: Some(settings.mode),
        policy: Some(settings.policy.clone()).filter(|policy| !policy.is_empty()),
        layout: settings.layout.named().map(|layout| layout.name().into()),
        budget: settings.cap(),
        auto_summaries: settings.summaries.over_policy(),
        ..Overrides::default()
    }
}

fn state_block(choice: StateBlockChoice) -> Option<StateBlock> {
    let required = choice.over(StateBlock::Required);
    (required == choice.over(StateBlock::Off)).then_some(required)
}

fn tools(config: &Config) -> Option<Arc<dyn RunTools>> {
    let settings = &config.settings.tools;
    let limit = usize::try_from(settings.output_limit).unwrap_or(usize::MAX);
    let paths = &config.paths;
    let acting = EffectOptions {
        network: settings.network,
        hidden: vec![paths.config_dir.clone(), paths.data_dir.clone(), paths.state_dir.clone(), paths.store.clone()],
        usual: settings.seconds,
        seconds: settings.seconds.saturating_mul(10),
        keep: usize::try_from(settings.keep_output).unwrap_or(0),
        readable: at_home(&settings.readable),
        writable: at_home(&settings.writable),
        ..EffectOptions::default()
    };
    let opened =
        settings.enabled.then(|| Workspace::open_with_effects(&config.workspace, limit, acting).ok()).flatten();
    opened.map(|workspace| Arc::new(workspace) as Arc<dyn RunTools>)
}

/// Returns a function that reads the configured tool servers: the settings as they were read, the folder's file as it
/// is now.
fn named(config: &Config) -> Arc<dyn Fn() -> ConfiguredServers + Send + Sync> {
    let config = config.clone();
    Arc::new(move || config.named_servers())
}

/// Expands `~/` in paths to the home folder.
fn at_home(paths: &[PathBuf]) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    paths.iter().map(|path| path.strip_prefix("~").map_or_else(|_| path.clone(), |rest| home.join(rest))).collect()
}

type SaveTrust = Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>;

fn save_trust(config: &Config) -> SaveTrust {
    let folder = config.workspace.clone();
    let config = Mutex::new(config.clone());
    Arc::new(move |trusted| {
        let mut config = config.lock().unwrap_or_else(PoisonError::into_inner);
        config.save_trusted(&folder, trusted).map_err(|error| error.to_string())
    })
}

fn folder(config: &Config) -> FolderFile {
    let (look, say) = (config.clone(), config.clone());
    FolderFile {
        look: Arc::new(move || look.folder_now()),
        say: Arc::new(move |digest, yes| say.record_folder_answer(digest, yes).map_err(|error| error.failure())),
    }
}

/// Servers on the network, with keys from the environment or a command.
struct Network {
    env: Environment,
    counter: Arc<dyn CountTokens>,
}

impl Network {
    fn key(&self, profile: &Profile) -> Result<Option<secrecy::SecretString>, Failure> {
        llm::key::resolve(profile, &|name| self.env.get(name)).map_err(|error| {
            Failure::new(FailureKind::Provider, format!("{error}.")).todo("Check the profile's key in the settings.")
        })
    }

    fn key_for_provider(&self, profile: &Profile) -> Result<Option<secrecy::SecretString>, ProviderError> {
        self.key(profile).map_err(|failure| ProviderError {
            kind: ProviderErrorKind::Auth,
            what: failure.what,
            hint: failure.todo,
            status: None,
        })
    }
}

impl Servers for Network {
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        let key = if profile.backend == Backend::Openai { self.key(profile)? } else { None };
        llm::provider(profile, key.as_ref(), self.counter.clone()).map_err(|error| {
            Failure::new(FailureKind::Provider, format!("{error}."))
                .kept("Nothing was sent; your draft is kept.")
                .todo("Check the profile in the settings, or choose another model.")
        })
    }

    fn ready(&self, profile: &Profile) -> Result<(), Failure> {
        if profile.backend != Backend::Openai {
            return Ok(());
        }
        let in_env = self.env.get(profile.api_key_env.trim()).is_some_and(|key| !key.trim().is_empty());
        if profile.needs_key && !in_env && profile.api_key_cmd.trim().is_empty() {
            let failure = Failure::new(FailureKind::Provider, format!("Profile {} has no key.", profile.name));
            let how = format!("Set {} in the environment, or api_key_cmd in the settings.", profile.api_key_env);
            return Err(failure.todo(how));
        }
        // No backend has a default address. A model is not required here: a branch or the settings can name one.
        if profile.base_url.trim().is_empty() {
            let failure = Failure::new(FailureKind::Config, format!("Profile {} has no address.", profile.name));
            return Err(failure.todo("Set its base_url in the settings."));
        }
        Ok(())
    }

    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        if profile.backend != Backend::Openai {
            return Ok(own_models(profile));
        }
        llm::models::list(profile, self.key_for_provider(profile)?.as_ref(), LIST)
    }

    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError> {
        if profile.backend != Backend::Openai {
            return Ok(1);
        }
        llm::models::probe(profile, self.key_for_provider(profile)?.as_ref(), PROBE)
    }
}

/// Returns the profile's model; for the offline profile also the other offline model.
fn own_models(profile: &Profile) -> Vec<ModelInfo> {
    let others = llm::offline::OFFLINE_MODELS.into_iter();
    let others = others.filter(|name| profile.backend == Backend::Offline && *name != profile.model);
    std::iter::once(profile.model.as_str()).chain(others).map(|name| own_model(profile, name)).collect()
}

fn own_model(profile: &Profile, name: &str) -> ModelInfo {
    ModelInfo {
        name: name.to_owned(),
        context_window: profile.context_window,
        input_limit: None,
        max_output: None,
        encoding: Encoding::O200kBase,
        exact_encoding: true,
        price: None,
        source: "profile".into(),
        supports: Supports::default(),
    }
}

#[cfg(test)]
#[path = "wiring_tests.rs"]
mod tests;
