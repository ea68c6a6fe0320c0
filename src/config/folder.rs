//! A folder's own settings file (`.pleach.toml`): whether it is read, which of its settings take effect, and the user's
//! decision about it. In an untrusted folder, no setting takes effect. In a trusted folder, screen settings take effect
//! at once. All other settings change requests, so they take effect only after the user has approved exactly these
//! values. Decisions are stored per folder beside the store, where neither the folder nor a tool can write. An invalid
//! file is reported and skipped.
//! Not for: asking for approval (`cli`, `tui`), or the other layers (`load`).

use super::error::{ConfigError, Place};
use super::layer::{Layer, merge};
use super::load::{Config, load};
use super::paths::Paths;
use super::save::{canonical, make_dir, write};
use super::settings::Settings;
use crate::domain::base::Hash;
use crate::domain::tool::{FolderSettings, SettingChange, SettingsFileStatus};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The name of a folder's own file.
pub const FOLDER_FILE: &str = ".pleach.toml";

/// The top-level settings that the file can contain. Profiles, servers, keys, tools, trust, the store, and the log
/// belong to the user's file.
const ALLOWED_KEYS: [&str; 9] =
    ["model", "mode", "policy", "layout", "budget", "state_block", "personality", "system", "screen"];

/// The table that changes only the look of the screen and needs no approval.
const WITHOUT_APPROVAL: &str = "screen";

/// The user's decision about a folder's file, as stored.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct FolderAnswer {
    folder: String,
    digest: Option<Hash>,
    yes: bool,
    /// The last approved settings, as TOML.
    approved: Option<String>,
}

/// A folder's file: its status, and the layer of its settings that are in effect.
pub(super) struct FoundFile {
    pub(super) report: FolderSettings,
    pub(super) layer: Option<Layer>,
}

/// Reads the file of a folder. `below` is the merged table of the settings without this file; `validate` checks the
/// settings with a layer on top. Returns None if the folder has no such file.
pub(super) fn find(
    paths: &Paths,
    workspace: &Path,
    trusted: bool,
    below: &Table,
    validate: impl Fn(&Layer) -> Result<(), ConfigError>,
) -> Option<FoundFile> {
    let file = workspace.join(FOLDER_FILE);
    file.symlink_metadata().ok()?;
    let mut report = FolderSettings {
        path: file.display().to_string(),
        status: SettingsFileStatus::Untrusted,
        digest: None,
        keys: Vec::new(),
        changes: Vec::new(),
        approved_before: false,
        trusted_unasked: trusted && !is_recorded(paths, workspace),
        fault: None,
    };
    if !trusted {
        return Some(FoundFile { report, layer: None });
    }
    let read = Layer::read::<Settings>(&file).and_then(|layer| {
        layer.iter().try_for_each(allowed)?;
        layer.iter().try_for_each(&validate)?;
        Ok(layer)
    });
    let mut layer = match read {
        Ok(layer) => layer?,
        Err(error) => {
            report.status = SettingsFileStatus::Faulty;
            report.fault = Some(fault(&error, &report.path));
            return Some(FoundFile { report, layer: None });
        }
    };
    report.keys = layer.table.keys().cloned().collect();
    let decision = FolderAnswer::read(&record(paths, workspace));
    apply_decision(&mut report, &restricted(&layer), &decision, below);
    layer.table.retain(|key, _| key == WITHOUT_APPROVAL || report.status == SettingsFileStatus::Used);
    Some(FoundFile { report, layer: Some(layer) })
}

/// Compares the settings that need approval with the user's decision, and sets the file's status and its changes.
fn apply_decision(report: &mut FolderSettings, restricted: &Table, decision: &FolderAnswer, below: &Table) {
    let digest = digest(restricted);
    let decided = (decision.digest == Some(digest)).then_some(decision.yes);
    let approved: Option<Table> = decision.approved.as_ref().and_then(|text| toml::from_str(text).ok());
    report.approved_before = approved.is_some();
    report.digest = (!restricted.is_empty()).then_some(digest);
    let mut before = below.clone();
    // While a new version waits for approval, its changes are shown relative to the approved version.
    if let Some(approved) = approved.filter(|_| decided.is_none()) {
        merge(&mut before, &approved);
    }
    let mut after = below.clone();
    merge(&mut after, restricted);
    report.changes = changes(&before, &after);
    report.status = match decided {
        Some(true) => SettingsFileStatus::Used,
        Some(false) => SettingsFileStatus::Declined,
        None if report.changes.is_empty() => SettingsFileStatus::Used,
        None => SettingsFileStatus::Waits,
    };
}

/// Returns the settings that need approval.
fn restricted(layer: &Layer) -> Table {
    let mut table = layer.table.clone();
    table.remove(WITHOUT_APPROVAL);
    table
}

/// Returns the digest of the settings' values. Changed comments do not change it, so they need no new approval.
fn digest(restricted: &Table) -> Hash {
    Hash::of(toml::to_string(restricted).unwrap_or_default().as_bytes())
}

fn allowed(layer: &Layer) -> Result<(), ConfigError> {
    match layer.table.keys().find(|key| !ALLOWED_KEYS.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let place = layer.place(&[key]).unwrap_or(Place { line: 1, column: 1 });
            Err(ConfigError::NotHere { file: layer.origin.clone(), place, key: key.clone() })
        }
    }
}

/// Returns the text of an error without the leading file name.
fn fault(error: &ConfigError, file: &str) -> String {
    let text = format!("{error} {}", error.hint());
    text.strip_prefix(file).unwrap_or(&text).trim_start_matches([',', ' ']).trim_end().to_owned()
}

/// Returns the settings that differ, by their dotted names.
fn changes(before: &Table, after: &Table) -> Vec<SettingChange> {
    let (before, after) = (leaves(before), leaves(after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    let value = |table: &BTreeMap<String, Value>, key| table.get(key).map(to_toml);
    differs
        .map(|key| SettingChange { key: key.clone(), before: value(&before, key), after: value(&after, key) })
        .collect()
}

/// Returns a value in TOML notation, except that a multiline text stays as it is.
fn to_toml(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\n') => text.trim_end_matches('\n').to_owned(),
        other => other.to_string(),
    }
}

/// Returns all values except tables, by their dotted names.
pub(super) fn leaves(table: &Table) -> BTreeMap<String, Value> {
    fn descend(table: &Table, under: &str, all: &mut BTreeMap<String, Value>) {
        for (key, value) in table {
            let name = if under.is_empty() { key.clone() } else { format!("{under}.{key}") };
            match value {
                Value::Table(inner) => descend(inner, &name, all),
                value => {
                    all.insert(name, value.clone());
                }
            }
        }
    }
    let mut all = BTreeMap::new();
    descend(table, "", &mut all);
    all
}

/// Returns the path of the record with the decision about a folder's file. The name is derived from the folder's
/// canonical path.
fn record(paths: &Paths, workspace: &Path) -> PathBuf {
    let name = Hash::of(canonical(workspace).as_os_str().as_encoded_bytes());
    paths.data_dir.join("folders").join(format!("{name}.json"))
}

/// Whether the folder or one of its parent folders has a record. Only versions of pleach that ask about such files make
/// records.
fn is_recorded(paths: &Paths, workspace: &Path) -> bool {
    canonical(workspace).ancestors().any(|folder| record(paths, folder).exists())
}

/// Records a newly trusted folder, so that the notice about older versions, which did not ask, is not shown for it.
pub(super) fn record_trust(paths: &Paths, folder: &Path) {
    if is_recorded(paths, folder) {
        return;
    }
    let decision = FolderAnswer { folder: canonical(folder).display().to_string(), ..FolderAnswer::default() };
    // Without the record, only an unnecessary notice is shown.
    let _ = write(&record(paths, folder), &serde_json::to_string(&decision).unwrap_or_default());
}

impl FolderAnswer {
    /// Reads the decision; returns the default if the file cannot be read.
    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

impl Config {
    /// Returns the path of the file with the decision about the folder's settings.
    pub fn folder_record(&self) -> PathBuf {
        record(&self.paths, &self.workspace)
    }

    /// Returns the folder and the name of that file, for watching it, or None if the workspace has no settings of its
    /// own. The folder is created only if the data folder exists, because `--demo` must not create a data folder.
    pub fn watched_record(&self) -> Option<(PathBuf, String)> {
        self.folder.as_ref()?;
        let record = self.folder_record();
        let (folder, name) = (record.parent()?, record.file_name()?);
        // If the folder cannot be created, no decision can be stored either.
        if self.paths.data_dir.is_dir() {
            let _ = make_dir(folder);
        }
        Some((folder.to_owned(), name.to_string_lossy().into_owned()))
    }

    /// Reads the folder's file again and returns its current status.
    pub fn folder_now(&self) -> Option<FolderSettings> {
        load(self.sources()).ok()?.folder
    }

    /// Stores the user's decision about the settings with this digest. Returns false, and stores nothing, if the
    /// settings have changed since.
    pub fn record_folder_answer(&self, digest: Hash, yes: bool) -> Result<bool, ConfigError> {
        let file = self.workspace.join(FOLDER_FILE);
        let Some(layer) = Layer::read::<Settings>(&file)? else { return Ok(false) };
        let restricted = restricted(&layer);
        if self::digest(&restricted) != digest {
            return Ok(false);
        }
        let record = self.folder_record();
        let before = FolderAnswer::read(&record);
        let kept = before.approved.filter(|_| before.digest != Some(digest));
        let decision = FolderAnswer {
            folder: canonical(&self.workspace).display().to_string(),
            digest: Some(digest),
            yes,
            approved: if yes { toml::to_string(&restricted).ok() } else { kept },
        };
        let text = serde_json::to_string(&decision).unwrap_or_default();
        write(&record, &text).map_err(|error| ConfigError::unwritable(&record, &error))?;
        Ok(true)
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
