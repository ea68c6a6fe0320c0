//! The paths of files and folders, by the XDG rules on every Unix.
//! Not for: creating the folders (the writers do).

use super::error::ConfigError;
use super::load::Environment;
use std::path::PathBuf;

/// The folders and the store file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Settings, key table, policies, and themes.
    pub config_dir: PathBuf,
    /// The store and its backups.
    pub data_dir: PathBuf,
    /// Logs, and the screen arrangement.
    pub state_dir: PathBuf,
    /// The store file.
    pub store: PathBuf,
}

impl Paths {
    /// Finds the default paths.
    ///
    /// # Errors
    /// Returns an error if the home folder is unknown, or if `HOME` is a relative path.
    pub fn find(env: &Environment) -> Result<Self, ConfigError> {
        let xdg = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // Without HOME, the home folder of the user's account.
        let home = env.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let place = |name: &str, under: &str| {
            if let Some(base) = xdg(name) {
                return Ok(base.join("pleach"));
            }
            match &home {
                Some(home) if home.is_absolute() => Ok(home.join(under).join("pleach")),
                // With a relative HOME, the current folder would control the settings.
                Some(home) => Err(ConfigError::NoHome(format!("HOME is a relative path ({})", home.display()))),
                None => Err(ConfigError::NoHome("HOME is not set".into())),
            }
        };
        let config_dir = place("XDG_CONFIG_HOME", ".config")?;
        let data_dir = place("XDG_DATA_HOME", ".local/share")?;
        let state_dir = place("XDG_STATE_HOME", ".local/state")?;
        Ok(Self { store: data_dir.join("pleach.db"), config_dir, data_dir, state_dir })
    }

    /// Returns the path of the user's settings file.
    pub fn user_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// Returns the folder of the user's policies.
    pub fn policies_dir(&self) -> PathBuf {
        self.config_dir.join("policies")
    }

    /// Returns the folder of the user's themes.
    pub fn themes_dir(&self) -> PathBuf {
        self.config_dir.join("themes")
    }

    /// Returns the path of the file with the screen arrangement.
    pub fn screen_file(&self) -> PathBuf {
        self.state_dir.join("screen.toml")
    }

    /// Returns the path of the user's key table.
    pub fn keymap_file(&self) -> PathBuf {
        self.config_dir.join("keymap.toml")
    }
}

/// Expands `~/` to the home folder.
pub fn expand(path: &str, env: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), env.get("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}
