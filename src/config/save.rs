//! Saves the few settings that the program itself changes in the user's file, and keeps all comments there.
//! Not for: other settings, which only users edit.

use super::error::{ConfigError, Place};
use super::load::Config;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

impl Config {
    /// Sets the default profile and its model; an empty model is the profile's own.
    pub fn save_default(&mut self, profile: &str, model: &str) -> Result<(), ConfigError> {
        edit(&self.paths.user_file(), |document| {
            set(document.as_table_mut(), "profile", profile);
            set(document.as_table_mut(), "model", model);
        })?;
        profile.clone_into(&mut self.settings.profile);
        model.clone_into(&mut self.settings.model);
        Ok(())
    }

    /// Sets the theme.
    pub fn save_theme(&mut self, name: &str) -> Result<(), ConfigError> {
        edit(&self.paths.user_file(), |document| {
            let screen = document.entry("screen").or_insert_with(toml_edit::table);
            if let Some(screen) = screen.as_table_like_mut() {
                set(screen, "theme", name);
            }
        })?;
        name.clone_into(&mut self.settings.screen.theme);
        Ok(())
    }

    /// Trusts a folder, or stops trusting it. Folders that another program added to the file meanwhile stay trusted.
    pub fn save_trusted(&mut self, folder: &Path, trusted: bool) -> Result<(), ConfigError> {
        let name = canonical(folder).display().to_string();
        let mut folders = Vec::new();
        edit(&self.paths.user_file(), |document| {
            let known = document.get("trusted_folders").and_then(Item::as_array).into_iter().flatten();
            folders.extend(known.filter_map(Value::as_str).filter(|known| *known != name).map(str::to_owned));
            folders.extend(trusted.then_some(name));
            set(document.as_table_mut(), "trusted_folders", Array::from_iter(&folders));
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

/// Sets a value and keeps the comment after it.
fn set(table: &mut dyn TableLike, key: &str, new: impl Into<Value>) {
    let mut new = new.into();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(existing) => {
            new.decor_mut().clone_from(existing.decor());
            *existing = new;
        }
        None => drop(table.insert(key, Item::Value(new))),
    }
}

fn edit(file: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result<(), ConfigError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ConfigError::unreadable(file, &error)),
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| ConfigError::Faulty {
        file: file.display().to_string(),
        place: Place::of(&text, error.span().map_or(0, |span| span.start)),
        key: String::new(),
        what: error.message().to_owned(),
        nearest: None,
    })?;
    change(&mut document);
    // A symbolic link stays a link: its target is replaced.
    write(&canonical(file), &document.to_string()).map_err(|error| ConfigError::unwritable(file, &error))
}

/// Writes a file atomically, readable by its owner only.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    make_dir(dir)?;
    let stem = file.file_name().unwrap_or_default().to_string_lossy();
    let fresh = dir.join(format!(".{stem}.{}", uuid::Uuid::now_v7()));
    let written = create_private(&fresh).and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&fresh, file)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// Creates a folder, and its parent folders, for its owner only.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

/// Creates a new file that only its owner can read. Fails if the file exists.
pub(crate) fn create_private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(file)
}
