//! Finds the effective settings from the built-in values, the user's file, the folder's file, the environment, and the
//! command line.
//! Not for: changing settings (`save`), or choosing a profile (`start`).

use super::error::{ConfigError, Place, nearest, unknown_tool};
use super::layer::{Layer, merge};
use super::models::ModelTable;
use super::paths::{Paths, expand};
use super::settings::{AUTO, EmbedderKind, Settings};
use super::{folder, policies, renamed, themes};
use crate::domain::call::{Backend, Profile, address};
use crate::domain::conversation::Overrides;
use crate::domain::planning::{Mode, PolicySpec};
use crate::domain::tool::FolderSettings;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variables. An empty variable counts as unset.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// Returns the environment of the process.
    pub fn of_process() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }

    /// Makes an environment with these variables.
    pub fn of<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let map: BTreeMap<String, String> = pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Self(Arc::new(move |name| map.get(name).cloned()))
    }

    /// Returns a variable, or None if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(…)")
    }
}

/// The sources of the settings.
#[derive(Clone, Debug)]
pub struct Sources {
    pub env: Environment,
    /// The current folder of the program.
    pub workspace: PathBuf,
    pub store: Option<PathBuf>,
    /// The other flags.
    pub overrides: Overrides,
}

/// The configuration of this run of the program.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    /// The paths of files and folders.
    pub paths: Paths,
    pub policies: BTreeMap<String, PolicySpec>,
    /// The known properties of models.
    pub models: ModelTable,
    /// The command line's choices, which override the branch's settings.
    pub overrides: Overrides,
    /// The current folder of the program.
    pub workspace: PathBuf,
    /// The environment, for keys.
    pub env: Environment,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The folder's own settings file, if any.
    pub folder: Option<FolderSettings>,
    /// The origin of each setting that is not built in, a file or a variable, by its dotted name.
    pub origins: BTreeMap<String, String>,
    /// Notes that are not errors.
    pub notes: Vec<String>,
}

/// Finds the effective settings.
pub fn load(sources: Sources) -> Result<Config, ConfigError> {
    let mut paths = Paths::find(&sources.env)?;
    let mut notes = Vec::new();
    let mut layers = own_layers(&paths, &mut notes)?;
    let policies = policies::load(&paths.policies_dir())?;
    notes.extend(policies::earlier_names(&paths.policies_dir()));
    // The user's own settings must be valid without the folder's settings.
    let own = merged(&layers);
    let mut settings = checked(&own, &policies, &paths, &layers)?;
    let trusted = super::save::is_in_list(&settings.trusted_folders, &sources.workspace);
    let with = |layer: &Layer| {
        let layers = [layers.as_slice(), std::slice::from_ref(layer)].concat();
        checked(&merged(&layers), &policies, &paths, &layers).map(drop)
    };
    let found = folder::find(&paths, &sources.workspace, trusted, &own, with);
    let (report, layer) = found.map_or((None, None), |found| (Some(found.report), found.layer));
    notes.extend(report.as_ref().and_then(FolderSettings::notice));
    if let Some(layer) = layer.filter(|layer| !layer.table.is_empty()) {
        layers.push(layer);
        settings = checked(&merged(&layers), &policies, &paths, &layers)?;
    }
    let unknown_tools = settings.tools.rules.iter().filter_map(|rule| unknown_tool(&rule.tool));
    notes.extend(unknown_tools.map(|what| format!("tools.rules: {what}")));
    let mut origins = origins(&layers);
    apply_env(&mut settings, &sources.env, &mut origins)?;
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
        folder: report,
        origins,
        settings,
        paths,
        policies,
        overrides: sources.overrides,
        workspace: sources.workspace,
        env: sources.env,
        notes,
    })
}

fn merged(layers: &[Layer]) -> toml::Table {
    let mut table = toml::Table::new();
    for layer in layers {
        merge(&mut table, &layer.table);
    }
    table
}

/// Converts a merged table into settings and checks them.
fn checked(
    table: &toml::Table,
    policies: &BTreeMap<String, PolicySpec>,
    paths: &Paths,
    layers: &[Layer],
) -> Result<Settings, ConfigError> {
    let read: Result<Settings, toml::de::Error> = table.clone().try_into();
    let mut settings = read.map_err(|error| ConfigError::Unreadable {
        file: "the combined settings".into(),
        why: error.message().to_owned(),
    })?;
    for (name, profile) in &mut settings.profiles {
        profile.name.clone_from(name);
    }
    check(&settings, policies, layers)?;
    check_theme(&settings, paths, layers)?;
    Ok(settings)
}

/// Returns the file of each setting that is not built in, by the setting's dotted name.
fn origins(layers: &[Layer]) -> BTreeMap<String, String> {
    let each = layers.iter().skip(1);
    each.flat_map(|layer| folder::leaves(&layer.table).into_keys().map(|key| (key, layer.origin.clone()))).collect()
}

impl Config {
    /// Returns the sources for reading the same files again. The store that is open stays the same.
    pub fn sources(&self) -> Sources {
        Sources {
            env: self.env.clone(),
            workspace: self.workspace.clone(),
            store: None,
            overrides: self.overrides.clone(),
        }
    }

    /// Returns a profile by its name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.settings.profiles.get(name)
    }
}

/// Reads the built-in settings and the user's own file.
fn own_layers(paths: &Paths, notes: &mut Vec<String>) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = vec![Layer::parse::<Settings>("the built-in settings", super::DEFAULT)?];
    let user = paths.user_file();
    if let Some(mut layer) = Layer::read::<Settings>(&user)? {
        notes.extend(renamed::update_settings(&layer.origin, &mut layer.table));
        if may_hold_secrets(&layer.table) {
            notes.extend(open_permissions(&user));
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Whether the file can contain secrets. API keys are never in the settings, but headers, variables of servers, and the
/// user part of an address can be just as secret.
fn may_hold_secrets(table: &toml::Table) -> bool {
    let servers = table.get("mcpServers").and_then(toml::Value::as_table);
    let given = |server: &toml::Value| server.get("env").is_some() || server.get("headers").is_some();
    if servers.is_some_and(|servers| servers.values().any(given)) {
        return true;
    }
    let profiles = table.get("profiles").and_then(toml::Value::as_table);
    profiles.into_iter().flat_map(|profiles| profiles.values()).any(|profile| {
        let address = profile.get("base_url").and_then(toml::Value::as_str).unwrap_or_default();
        profile.get("headers").is_some() || address != address::without_secrets(address)
    })
}

#[cfg(unix)]
fn open_permissions(file: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0)
        .then(|| format!("Other users can read {} (mode {mode:o}); run chmod 600 on the file.", file.display()))
}

#[cfg(not(unix))]
fn open_permissions(_: &Path) -> Option<String> {
    None
}

/// Makes an error that points to the highest layer that contains the key.
fn faulty(layers: &[Layer], path: &[&str], what: String, nearest: Option<String>) -> ConfigError {
    let found = layers.iter().rev().find_map(|layer| layer.place(path).map(|place| (layer, place)));
    let (file, place) = found.map_or_else(
        || ("the settings".to_owned(), Place { line: 1, column: 1 }),
        |(layer, place)| (layer.origin.clone(), place),
    );
    ConfigError::Faulty { file, place, key: path.join("."), what, nearest }
}

fn check_theme(settings: &Settings, paths: &Paths, layers: &[Layer]) -> Result<(), ConfigError> {
    let wanted = settings.screen.theme.as_str();
    let (all, _) = themes::load(&paths.themes_dir());
    let names: Vec<String> = std::iter::once(AUTO.to_owned()).chain(all.into_iter().map(|theme| theme.name)).collect();
    if names.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let (what, near) = unknown("theme", wanted, names.iter());
    Err(faulty(layers, &["screen", "theme"], what, near))
}

/// Checks the rules that types cannot express.
fn check(settings: &Settings, policies: &BTreeMap<String, PolicySpec>, layers: &[Layer]) -> Result<(), ConfigError> {
    let fault = |path: &[&str], what: String, nearest: Option<String>| Err(faulty(layers, path, what, nearest));
    if !policies.contains_key(&settings.policy) {
        let (what, near) = unknown("policy", &settings.policy, policies.keys());
        return fault(&["policy"], what, near);
    }
    if !settings.profile.is_empty() && !settings.profiles.contains_key(&settings.profile) {
        let (what, near) = unknown("profile", &settings.profile, settings.profiles.keys());
        return fault(&["profile"], what, near);
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
    if let Some((key, what, near)) = embedder_fault(settings) {
        let named = layers.iter().skip(1).any(|layer| layer.place(&["embedder", key]).is_some());
        return fault(&["embedder", if named { key } else { "kind" }], what, near);
    }
    for (name, profile) in &settings.profiles {
        let address = profile.base_url.as_str();
        if profile.backend == Backend::Openai && host(address).is_none() {
            let what = format!("{:?} is not an address like https://host/v1", address::without_secrets(address));
            let key = if address.is_empty() { &["profiles", name][..] } else { &["profiles", name, "base_url"][..] };
            return fault(key, what, None);
        }
        if profile.attempts == 0 {
            return fault(&["profiles", name, "attempts"], "must be at least 1".into(), None);
        }
        if !["system", "developer", "user"].contains(&profile.dialect.instruction_role.as_str()) {
            let what = "must be system, developer, or user".to_owned();
            return fault(&["profiles", name, "dialect", "instruction_role"], what, None);
        }
    }
    Ok(())
}

/// Returns the invalid key of the embedder, the error, and the nearest valid value, or None if its settings are valid.
fn embedder_fault(settings: &Settings) -> Option<(&'static str, String, Option<String>)> {
    let set = &settings.embedder;
    let lacks =
        |key: &'static str, value: &str, what: &str| value.trim().is_empty().then(|| (key, what.to_owned(), None));
    match set.kind {
        EmbedderKind::None => None,
        EmbedderKind::Directory => lacks("path", &set.path, "a directory embedder needs a `path`"),
        EmbedderKind::Server => match settings.profiles.get(&set.profile) {
            None => {
                let (what, near) = unknown("profile", &set.profile, settings.profiles.keys());
                Some(("profile", what, near))
            }
            Some(profile) if profile.backend != Backend::Openai => {
                Some(("profile", format!("the profile {} has no server", set.profile), None))
            }
            Some(_) => lacks("model", &set.model, "a server embedder needs a `model`"),
        },
    }
}

/// Returns the error of an unknown name, and the nearest known name.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a String>) -> (String, Option<String>) {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let what = format!("unknown {kind} {name:?}; known names: {}", known.join(", "));
    (what, nearest(name, known))
}

fn apply_env(
    settings: &mut Settings,
    env: &Environment,
    origins: &mut BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let mut from = |key: &str, name: &str| drop(origins.insert(key.to_owned(), name.to_owned()));
    for (variable, key, setting) in [
        ("PLEACH_STORE", "store.path", &mut settings.store.path),
        ("PLEACH_PROFILE", "profile", &mut settings.profile),
        ("PLEACH_MODEL", "model", &mut settings.model),
    ] {
        if let Some(value) = env.get(variable) {
            *setting = value;
            from(key, variable);
        }
    }
    if let Some(value) = env.get("PLEACH_MODE") {
        settings.mode = Mode::from_name(&value).ok_or_else(|| ConfigError::InvalidValue {
            name: "PLEACH_MODE".into(),
            nearest: nearest(&value, Mode::ALL.map(Mode::title)).map(|near| near.to_lowercase()),
            value,
            what: "must be off, light, or heavy".into(),
        })?;
        from("mode", "PLEACH_MODE");
    }
    if env.get("NO_COLOR").is_some() {
        "mono".clone_into(&mut settings.screen.theme);
        from("screen.theme", "NO_COLOR");
    }
    // There is no standard variable yet; these two are in use.
    if env.get("NO_MOTION").or_else(|| env.get("REDUCE_MOTION")).is_some_and(|value| value != "0") {
        settings.screen.reduced_motion = true;
        from("screen.reduced_motion", "the environment");
    }
    if let Some(address) = env.get("OPENAI_BASE_URL") {
        let Some(host) = host(&address) else {
            return Err(ConfigError::InvalidValue {
                name: "OPENAI_BASE_URL".into(),
                value: address::without_secrets(&address),
                what: "must be an address like https://host/v1".into(),
                nearest: None,
            });
        };
        if let Some(profile) = settings.profiles.get_mut("openai") {
            address.trim_end_matches('/').clone_into(&mut profile.base_url);
            from("profiles.openai.base_url", "OPENAI_BASE_URL");
            if host != "openai.com" && !host.ends_with(".openai.com") {
                profile.needs_key = false;
                // Servers that follow OpenAI's older format accept this name. Servers that need the newer name return
                // an error.
                if profile.dialect.limit_field == "max_completion_tokens" {
                    profile.dialect.limit_field = "max_tokens".into();
                }
            }
        }
    }
    Ok(())
}

/// Checks the names of policies and profiles from the environment and the command line.
fn check_given(
    settings: &Settings,
    policies: &BTreeMap<String, PolicySpec>,
    sources: &Sources,
) -> Result<(), ConfigError> {
    let given = |name: &str, value: &str, (what, nearest)| {
        Err(ConfigError::InvalidValue { name: name.into(), value: value.into(), what, nearest })
    };
    let profiles = &settings.profiles;
    if !settings.profile.is_empty() && !profiles.contains_key(&settings.profile) {
        let what = unknown("profile", &settings.profile, profiles.keys());
        return given("PLEACH_PROFILE", &settings.profile, what);
    }
    if let Some(name) = sources.overrides.profile.as_ref().filter(|name| !profiles.contains_key(*name)) {
        return given("--profile", name, unknown("profile", name, profiles.keys()));
    }
    if let Some(name) = sources.overrides.policy.as_ref().filter(|name| !policies.contains_key(*name)) {
        return given("--policy", name, unknown("policy", name, policies.keys()));
    }
    Ok(())
}

/// Returns the host of an http or https address, or None if the text is not such an address.
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
