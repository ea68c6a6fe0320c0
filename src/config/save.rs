//! Saves the few settings that the program itself changes in the user's file, and keeps all comments there.
//! Not for: other settings, which only users edit.

use super::error::{ConfigError, Place};
use super::load::Config;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Value, value};

impl Config {
    /// Sets the default profile and its model; an empty model is the profile's own.
    pub fn save_default(&mut self, profile: &str, model: &str) -> Result<(), ConfigError> {
        edit(&self.paths.user_file(), |document| {
            set(document, "profile", profile);
            set(document, "model", model);
        })?;
        profile.clone_into(&mut self.settings.profile);
        model.clone_into(&mut self.settings.model);
        Ok(())
    }

    /// Sets the theme.
    pub fn save_theme(&mut self, name: &str) -> Result<(), ConfigError> {
        edit(&self.paths.user_file(), |document| {
            let screen = document.entry("screen").or_insert_with(toml_edit::table);
            let Some(screen) = screen.as_table_like_mut() else { return };
            match screen.get_mut("theme").and_then(Item::as_value_mut) {
                Some(existing) => replace(existing, name.into()),
                None => {
                    screen.insert("theme", value(name));
                }
            }
        })?;
        name.clone_into(&mut self.settings.screen.theme);
        Ok(())
    }

    /// Trusts a folder, or stops trusting it.
    pub fn save_trusted(&mut self, folder: &Path, trusted: bool) -> Result<(), ConfigError> {
        let name = canonical(folder).display().to_string();
        let mut folders = self.settings.trusted_folders.clone();
        folders.retain(|known| *known != name);
        if trusted {
            folders.push(name);
        }
        edit(&self.paths.user_file(), |document| {
            let list: Array = folders.iter().map(String::as_str).collect();
            match document.get_mut("trusted_folders").and_then(Item::as_value_mut) {
                Some(existing) => replace(existing, Value::Array(list)),
                None => {
                    document.insert("trusted_folders", value(list));
                }
            }
        })?;
        self.settings.trusted_folders = folders;
        if trusted {
            super::folder::record_trust(&self.paths, folder);
        }
        Ok(())
    }

    /// Whether a folder or one of its parent folders is trusted.
    pub fn is_trusted(&self, folder: &Path) -> bool {
        is_in_list(&self.settings.trusted_folders, folder)
    }
}

/// Whether a folder or one of its parent folders is in the list of trusted folders.
pub(super) fn is_in_list(trusted: &[String], folder: &Path) -> bool {
    let folder = canonical(folder);
    trusted.iter().any(|known| folder.starts_with(canonical(Path::new(known))))
}

/// Returns a folder's canonical path, or the given path if it cannot be resolved.
pub(super) fn canonical(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn set(document: &mut DocumentMut, key: &str, text: &str) {
    match document.get_mut(key).and_then(Item::as_value_mut) {
        Some(existing) => replace(existing, text.into()),
        None => {
            document.insert(key, value(text));
        }
    }
}

/// Replaces a value and keeps the comment after it.
fn replace(existing: &mut Value, mut new: Value) {
    new.decor_mut().clone_from(existing.decor());
    *existing = new;
}

fn edit(file: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result<(), ConfigError> {
    let name = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ConfigError::Unreadable { file: name, why: error.to_string() }),
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| ConfigError::Faulty {
        file: name.clone(),
        place: Place::of(&text, error.span().map_or(0, |span| span.start)),
        key: String::new(),
        what: error.message().to_owned(),
        nearest: None,
    })?;
    change(&mut document);
    // A symbolic link stays a link: its target is replaced.
    write(&canonical(file), &document.to_string())
        .map_err(|error| ConfigError::Unwritable { file: name, why: error.to_string() })
}

/// Writes a file atomically, readable by its owner only.
pub(super) fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    make_dir(dir)?;
    let stem = file.file_name().unwrap_or_default().to_string_lossy();
    let fresh = dir.join(format!(".{stem}.{}", std::process::id()));
    let written = private(&fresh).and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&fresh, file)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

#[cfg(unix)]
pub(super) fn make_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
pub(super) fn make_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).create(dir)
}

fn private(file: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(file)
}
