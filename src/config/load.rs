//! Finds the settings that hold: built in, the person's file, the folder's file, environment, command line.
//! Not for: changing them (`save`) or choosing a profile (`start`).

use super::error::{ConfigError, Place, nearest};
use super::layer::{Layer, merge};
use super::models::ModelTable;
use super::paths::{Paths, expand};
use super::policies;
use super::settings::{AUTO, CallOverrides, EmbedderKind, Settings};
use super::themes;
use crate::domain::mode::Mode;
use crate::domain::model::{Backend, ModelInfo, Profile};
use crate::domain::policy::PolicySpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of a folder's own file.
pub const FOLDER_FILE: &str = ".pleach.toml";

/// What a folder's own file may set. Places to ask, keys, tools, trust, the store and the log are the person's alone.
const FOLDER_MAY: [&str; 9] =
    ["model", "mode", "policy", "layout", "budget", "state_block", "personality", "system", "screen"];

/// The environment, as far as anybody asks for it. An empty variable counts as none.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// The process's own.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }

    /// A made one.
    #[must_use]
    pub fn of<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let map: BTreeMap<String, String> = pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Self(Arc::new(move |name| map.get(name).cloned()))
    }

    /// A variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(…)")
    }
}

/// What the settings are found from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The environment.
    pub env: Environment,
    /// The folder in which the program runs.
    pub workspace: PathBuf,
    /// `--store`.
    pub store: Option<PathBuf>,
    /// The other flags.
    pub overrides: CallOverrides,
}

/// Everything that holds for this run of the program.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// Where things are.
    pub paths: Paths,
    /// Policies by name.
    pub policies: BTreeMap<String, PolicySpec>,
    /// What is known of models.
    pub models: ModelTable,
    /// The command line's choices; they stand above a branch's own.
    pub overrides: CallOverrides,
    /// The folder in which the program runs.
    pub workspace: PathBuf,
    /// The environment, for keys.
    pub env: Environment,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Things to know that stop nobody.
    pub notes: Vec<String>,
}

/// Finds the settings.
pub fn load(sources: Sources) -> Result<Config, ConfigError> {
    let mut paths = Paths::find(&sources.env)?;
    let mut notes = Vec::new();
    let layers = read_layers(&paths, &sources.workspace, &mut notes)?;
    let mut table = toml::Table::new();
    for layer in &layers {
        merge(&mut table, &layer.table);
    }
    let mut settings: Settings = table.try_into().map_err(|error: toml::de::Error| ConfigError::Unreadable {
        file: "the settings together".into(),
        why: error.message().to_owned(),
    })?;
    for (name, profile) in &mut settings.profiles {
        profile.name.clone_from(name);
    }
    let policies = policies::load(&paths.policies_dir())?;
    check(&settings, &policies, &layers)?;
    check_theme(&settings, &paths, &layers)?;
    apply_env(&mut settings, &sources.env)?;
    check_given(&settings, &policies, &sources)?;
    if !settings.store.path.is_empty() {
        paths.store = expand(&settings.store.path, &sources.env);
    }
    if let Some(store) = &sources.store {
        paths.store.clone_from(store);
    }
    Ok(Config {
        models: ModelTable::new(settings.models.clone()),
        files: layers.iter().skip(1).map(|layer| PathBuf::from(&layer.origin)).collect(),
        settings,
        paths,
        policies,
        overrides: sources.overrides,
        workspace: sources.workspace,
        env: sources.env,
        notes,
    })
}

impl Config {
    /// What a reading of the same files begins with. The store stays the one that is open.
    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources {
            env: self.env.clone(),
            workspace: self.workspace.clone(),
            store: None,
            overrides: self.overrides.clone(),
        }
    }

    /// What is known of a model at a profile.
    #[must_use]
    pub fn model_info(&self, name: &str, profile: &str) -> ModelInfo {
        self.models.info(name, self.settings.profiles.get(profile))
    }

    /// A profile by name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.settings.profiles.get(name)
    }
}

fn read_layers(paths: &Paths, workspace: &Path, notes: &mut Vec<String>) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = vec![Layer::parse::<Settings>("the built-in settings", super::DEFAULT)?];
    let user = paths.user_file();
    if let Some(layer) = Layer::read::<Settings>(&user)? {
        if may_hold_secrets(&layer.table) {
            notes.extend(loose_mode(&user));
        }
        layers.push(layer);
    }
    let folder = workspace.join(FOLDER_FILE);
    if let Some(layer) = Layer::read::<Settings>(&folder)? {
        for key in layer.table.keys() {
            if !FOLDER_MAY.contains(&key.as_str()) {
                let place = layer.place(&[key]).unwrap_or(Place { line: 1, column: 1 });
                return Err(ConfigError::NotHere { file: layer.origin.clone(), place, key: key.clone() });
            }
        }
        let keys: Vec<&str> = layer.table.keys().map(String::as_str).collect();
        if !keys.is_empty() {
            notes.push(format!("{} sets {}.", layer.origin, keys.join(", ")));
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Keys are never written in the settings, but headers and an address's user part may be as secret.
fn may_hold_secrets(table: &toml::Table) -> bool {
    let servers = table.get("mcpServers").and_then(toml::Value::as_table);
    let given = |server: &toml::Value| server.get("env").is_some() || server.get("headers").is_some();
    if servers.is_some_and(|servers| servers.values().any(given)) {
        return true;
    }
    let profiles = table.get("profiles").and_then(toml::Value::as_table);
    profiles.into_iter().flat_map(|profiles| profiles.values()).any(|profile| {
        let address = profile.get("base_url").and_then(toml::Value::as_str).unwrap_or_default();
        profile.get("headers").is_some() || address.contains('@')
    })
}

#[cfg(unix)]
fn loose_mode(file: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0)
        .then(|| format!("{} can be read by others (mode {mode:o}); chmod 600 mends it.", file.display()))
}

#[cfg(not(unix))]
fn loose_mode(_: &Path) -> Option<String> {
    None
}

/// A fault, in the highest layer that holds the key.
fn faulty(layers: &[Layer], path: &[&str], what: String, nearest: Option<String>) -> ConfigError {
    let found = layers.iter().rev().find_map(|layer| layer.place(path).map(|place| (layer, place)));
    let (file, place) = found.map_or_else(
        || ("the settings".to_owned(), Place { line: 1, column: 1 }),
        |(layer, place)| (layer.origin.clone(), place),
    );
    ConfigError::Faulty { file, place, key: path.join("."), what, nearest }
}

/// The theme is there.
fn check_theme(settings: &Settings, paths: &Paths, layers: &[Layer]) -> Result<(), ConfigError> {
    let wanted = settings.screen.theme.as_str();
    let (all, _) = themes::load(&paths.themes_dir());
    let names: Vec<String> = std::iter::once(AUTO.to_owned()).chain(all.into_iter().map(|theme| theme.name)).collect();
    if names.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let near = nearest(wanted, names.iter().map(String::as_str));
    Err(faulty(layers, &["screen", "theme"], unknown("theme", wanted, names.iter()), near))
}

/// What the types cannot say.
fn check(settings: &Settings, policies: &BTreeMap<String, PolicySpec>, layers: &[Layer]) -> Result<(), ConfigError> {
    let fault = |path: &[&str], what: String, nearest: Option<String>| Err(faulty(layers, path, what, nearest));
    if !policies.contains_key(&settings.policy) {
        let near = nearest(&settings.policy, policies.keys().map(String::as_str));
        return fault(&["policy"], unknown("policy", &settings.policy, policies.keys()), near);
    }
    if !settings.profile.is_empty() && !settings.profiles.contains_key(&settings.profile) {
        let near = nearest(&settings.profile, settings.profiles.keys().map(String::as_str));
        return fault(&["profile"], unknown("profile", &settings.profile, settings.profiles.keys()), near);
    }
    if !(1..=100).contains(&settings.tools.rounds) {
        return fault(&["tools", "rounds"], "must be from 1 to 100".into(), None);
    }
    for (name, server) in &settings.mcp_servers {
        if let Err((key, what)) = super::servers::check(server) {
            let whole: &[&str] = &["mcpServers", name];
            let named: &[&str] = &["mcpServers", name, key];
            let there = layers.iter().any(|layer| layer.place(named).is_some());
            return fault(if there { named } else { whole }, what, None);
        }
    }
    if let Some((key, what)) = embedder_fault(settings) {
        let named = layers.iter().skip(1).any(|layer| layer.place(&["embedder", key]).is_some());
        let near = (key == "profile")
            .then(|| nearest(&settings.embedder.profile, settings.profiles.keys().map(String::as_str)))
            .flatten();
        return fault(&["embedder", if named { key } else { "kind" }], what, near);
    }
    for (name, profile) in &settings.profiles {
        let address = profile.base_url.as_str();
        if profile.backend == Backend::Openai && host(address).is_none() {
            let what = format!("{address:?} is no address like https://host/v1");
            let key = if address.is_empty() { &["profiles", name][..] } else { &["profiles", name, "base_url"][..] };
            return fault(key, what, None);
        }
        if profile.attempts == 0 {
            return fault(&["profiles", name, "attempts"], "must be at least 1".into(), None);
        }
        if !["system", "developer", "user"].contains(&profile.dialect.instruction_role.as_str()) {
            let what = "must be system, developer or user".to_owned();
            return fault(&["profiles", name, "dialect", "instruction_role"], what, None);
        }
    }
    Ok(())
}

/// The key of the embedder's that is wrong, and why.
fn embedder_fault(settings: &Settings) -> Option<(&'static str, String)> {
    let set = &settings.embedder;
    match set.kind {
        EmbedderKind::None => None,
        EmbedderKind::Directory => {
            set.path.trim().is_empty().then(|| ("path", "a directory needs its `path`".to_owned()))
        }
        EmbedderKind::Server => match settings.profiles.get(&set.profile) {
            None => Some(("profile", unknown("profile", &set.profile, settings.profiles.keys()))),
            Some(profile) if profile.backend != Backend::Openai => {
                Some(("profile", format!("the profile {} has no server", set.profile)))
            }
            Some(_) if set.model.trim().is_empty() => {
                Some(("model", "a server needs the `model` that is asked there".to_owned()))
            }
            Some(_) => None,
        },
    }
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    format!("there is no {kind} {name:?}; there are {}", known.join(", "))
}

fn apply_env(settings: &mut Settings, env: &Environment) -> Result<(), ConfigError> {
    if let Some(store) = env.get("PLEACH_STORE") {
        settings.store.path = store;
    }
    if let Some(profile) = env.get("PLEACH_PROFILE") {
        settings.profile = profile;
    }
    if let Some(model) = env.get("PLEACH_MODEL") {
        settings.model = model;
    }
    if let Some(value) = env.get("PLEACH_MODE") {
        settings.mode = Mode::from_name(&value).ok_or_else(|| ConfigError::Given {
            name: "PLEACH_MODE".into(),
            nearest: nearest(&value, Mode::ALL.map(Mode::title)).map(|near| near.to_lowercase()),
            value,
            what: "must be off, light or heavy".into(),
        })?;
    }
    if env.get("NO_COLOR").is_some() {
        "mono".clone_into(&mut settings.screen.theme);
    }
    // No convention has won yet; these two are met with.
    if env.get("NO_MOTION").or_else(|| env.get("REDUCE_MOTION")).is_some_and(|value| value != "0") {
        settings.screen.reduced_motion = true;
    }
    if let Some(address) = env.get("OPENAI_BASE_URL") {
        let Some(host) = host(&address) else {
            return Err(ConfigError::Given {
                name: "OPENAI_BASE_URL".into(),
                value: super::start::without_userinfo(&address),
                what: "must be an address like https://host/v1".into(),
                nearest: None,
            });
        };
        if let Some(profile) = settings.profiles.get_mut("openai") {
            address.trim_end_matches('/').clone_into(&mut profile.base_url);
            if host != "openai.com" && !host.ends_with(".openai.com") {
                profile.needs_key = false;
                // Servers that follow OpenAI's older form know this name; one that wants the newer one says so.
                if profile.dialect.limit_field == "max_completion_tokens" {
                    profile.dialect.limit_field = "max_tokens".into();
                }
            }
        }
    }
    Ok(())
}

/// The environment's and the command line's names of policies and profiles.
fn check_given(
    settings: &Settings,
    policies: &BTreeMap<String, PolicySpec>,
    sources: &Sources,
) -> Result<(), ConfigError> {
    let given = |name: &str, value: &str, kind: &str, known: Vec<&String>| {
        Err(ConfigError::Given {
            name: name.into(),
            value: value.into(),
            nearest: nearest(value, known.iter().map(|name| name.as_str())),
            what: unknown(kind, value, known.into_iter()),
        })
    };
    if !settings.profile.is_empty() && !settings.profiles.contains_key(&settings.profile) {
        return given("PLEACH_PROFILE", &settings.profile, "profile", settings.profiles.keys().collect());
    }
    if let Some(name) = sources.overrides.profile.as_ref().filter(|name| !settings.profiles.contains_key(*name)) {
        return given("--profile", name, "profile", settings.profiles.keys().collect());
    }
    if let Some(name) = sources.overrides.policy.as_ref().filter(|name| !policies.contains_key(*name)) {
        return given("--policy", name, "policy", policies.keys().collect());
    }
    Ok(())
}

/// The host of an http(s) address.
#[must_use]
pub fn host(address: &str) -> Option<String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let after = authority.rsplit('@').next().unwrap_or_default();
    let host = match after.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => after.split(':').next().unwrap_or_default(),
    };
    (!host.is_empty() && !host.contains(char::is_whitespace)).then(|| host.to_lowercase())
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
