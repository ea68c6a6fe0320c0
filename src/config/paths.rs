//! Where things are kept: by the XDG rules, on every Unix.
//! Not for: making the folders (whoever writes there does).

use super::error::ConfigError;
use super::load::Environment;
use etcetera::BaseStrategy;
use std::path::PathBuf;

/// The folders, and the store's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Settings, key table, policies.
    pub config_dir: PathBuf,
    /// The store and what belongs to it.
    pub data_dir: PathBuf,
    /// Logs, and how the screen was arranged.
    pub state_dir: PathBuf,
    /// The store's file.
    pub store: PathBuf,
}

impl Paths {
    /// Finds the usual places.
    pub fn find(env: &Environment) -> Result<Self, ConfigError> {
        let xdg = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = env.get("HOME").map(PathBuf::from);
        let place = |name: &str, under: &str, usual: fn(&dyn BaseStrategy) -> PathBuf| {
            if let Some(base) = xdg(name) {
                return Ok(base.join("pleach"));
            }
            if let Some(home) = &home {
                // Whoever made the folder in which the program starts would else make its settings.
                let why = || ConfigError::NoHome(format!("HOME is a relative path ({})", home.display()));
                return if home.is_absolute() { Ok(home.join(under).join("pleach")) } else { Err(why()) };
            }
            etcetera::choose_base_strategy()
                .map(|strategy| usual(&strategy).join("pleach"))
                .map_err(|error| ConfigError::NoHome(error.to_string()))
        };
        let config_dir = place("XDG_CONFIG_HOME", ".config", |s| s.config_dir())?;
        let data_dir = place("XDG_DATA_HOME", ".local/share", |s| s.data_dir())?;
        let state_dir = place("XDG_STATE_HOME", ".local/state", |s| s.state_dir().unwrap_or_else(|| s.data_dir()))?;
        Ok(Self { store: data_dir.join("pleach.db"), config_dir, data_dir, state_dir })
    }

    /// The person's own settings.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// The person's own policies.
    #[must_use]
    pub fn policies_dir(&self) -> PathBuf {
        self.config_dir.join("policies")
    }

    /// The person's own themes.
    #[must_use]
    pub fn themes_dir(&self) -> PathBuf {
        self.config_dir.join("themes")
    }

    /// How the screen was arranged last.
    #[must_use]
    pub fn screen_file(&self) -> PathBuf {
        self.state_dir.join("screen.toml")
    }

    /// The person's own key table.
    #[must_use]
    pub fn keymap_file(&self) -> PathBuf {
        self.config_dir.join("keymap.toml")
    }
}

/// Reads `~/` as the home folder.
#[must_use]
pub fn expand(path: &str, env: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), env.get("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}
