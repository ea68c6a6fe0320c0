//! The configuration of the workbench: loaded at the start, and again when one of its files was written or a person
//! asks.
//! Not for: the engine's part of it (`ProgramRequest::Reload`), or watching the files (`watch`).

use crate::config::folder::FOLDER_FILE;
use crate::config::keys::keymap::Keymap;
use crate::config::load::{self, Config};
use crate::config::themes;
use crate::domain::base::Hash;
use crate::domain::tool::FolderSettings;
use crate::tui::msg::ReloadedSettings;
use crate::tui::theme::{Theme, Themes};
use std::path::{Path, PathBuf};

/// Loads the key table and the themes, with a message for each problem in the themes.
pub(crate) fn load_display(config: &Config, light: Option<bool>) -> (Keymap, Themes, Vec<String>) {
    let own = std::fs::read_to_string(config.paths.keymap_file()).ok();
    let (texts, mut problems) = themes::load(&config.paths.themes_dir());
    let ascii = config.settings.screen.ascii;
    let faults = texts.iter().filter(|theme| theme.own).filter_map(|theme| {
        let why = Theme::read(&theme.name, &theme.text, ascii).err()?;
        Some(format!("{why}; using another theme."))
    });
    problems.extend(faults);
    let few = !config.env.get("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
    (Keymap::load(own.as_deref()), Themes::new(texts, few, ascii, light), problems)
}

/// Whether the background is light, according to the variable `COLORFGBG` that some terminals set:
/// `foreground;background` as color numbers.
pub(crate) fn background_from_env(config: &Config) -> Option<bool> {
    let value = config.env.get("COLORFGBG")?;
    let number: u8 = value.rsplit(';').next()?.trim().parse().ok()?;
    (number < 16).then_some(matches!(number, 7 | 9..=15))
}

/// Whether the terminal may be asked for its background; some terminals print the question.
pub(crate) fn may_ask(config: &Config) -> bool {
    let term = config.env.get("TERM").unwrap_or_default();
    config.env.get("NO_COLOR").is_none() && !matches!(term.as_str(), "" | "dumb" | "linux")
}

/// The loaded configuration, with a digest of its files.
#[derive(Debug)]
pub(crate) struct Reading {
    config: Config,
    digest: Hash,
}

impl Reading {
    pub(crate) fn new(config: Config) -> Self {
        let digest = digest(&config);
        Self { config, digest }
    }

    /// The folders to watch, each with the names of the files that matter there.
    pub(crate) fn folders(&self) -> Vec<(PathBuf, Vec<String>)> {
        let paths = &self.config.paths;
        let named = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = [paths.user_file(), paths.keymap_file()].into_iter().filter_map(named).collect();
        let mut folders = vec![
            (paths.config_dir.clone(), own),
            (paths.themes_dir(), Vec::new()),
            (paths.policies_dir(), Vec::new()),
            (self.config.workspace.clone(), vec![FOLDER_FILE.to_owned()]),
        ];
        // Decisions about the folder's settings that are made in another window.
        folders.extend(self.config.watched_record().map(|(folder, name)| (folder, vec![name])));
        folders
    }

    /// Loads the configuration again. Returns None if no file changed and nobody `asked`; an error is a message with
    /// its position.
    pub(crate) fn reload(
        &mut self,
        asked: bool,
        light: Option<bool>,
    ) -> Option<Result<(ReloadedSettings, Themes), String>> {
        let now = digest(&self.config);
        if now == self.digest && !asked {
            return None;
        }
        self.digest = now;
        let mut config = match load::load(self.config.sources()) {
            Ok(config) => config,
            Err(why) => return Some(Err(format!("{why} {}", why.hint()).trim_end().to_owned())),
        };
        // The store that is open stays in use.
        config.paths.store.clone_from(&self.config.paths.store);
        let (keys, all, mut notes) = load_display(&config, light);
        if config.folder != self.config.folder {
            notes.extend(config.folder.as_ref().and_then(FolderSettings::notice));
        }
        let fresh = ReloadedSettings {
            keys,
            screen: config.settings.screen.clone(),
            themes: all.list(),
            policies: config.policies.keys().cloned().collect(),
            notes,
            asked,
        };
        self.config = config;
        Some(Ok((fresh, all)))
    }

    /// Writes a theme into the person's settings and returns where.
    pub(crate) fn keep_theme(&mut self, name: &str) -> Result<String, String> {
        self.config.save_theme(name).map_err(|why| format!("{why} The theme lasts until you quit."))?;
        self.digest = digest(&self.config);
        let file = self.config.paths.user_file().display().to_string();
        let but =
            if self.config.env.get("NO_COLOR").is_some() { " NO_COLOR overrides it at the next start." } else { "" };
        Ok(format!("Theme {name}, saved in {file}.{but}"))
    }

    /// The file that stores the arrangement of the screen.
    pub(crate) fn screen_file(&self) -> PathBuf {
        self.config.paths.screen_file()
    }
}

/// Digest of all files that the configuration is loaded from.
fn digest(config: &Config) -> Hash {
    let paths = &config.paths;
    let mut files =
        vec![paths.user_file(), paths.keymap_file(), config.workspace.join(FOLDER_FILE), config.folder_record()];
    for folder in [paths.themes_dir(), paths.policies_dir()] {
        let mut inside: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        files.extend(inside);
    }
    let mut all = Vec::new();
    for file in &files {
        all.extend(file.to_string_lossy().as_bytes());
        all.extend(contents(file));
        all.push(0);
    }
    Hash::of(&all)
}

fn contents(file: &Path) -> Vec<u8> {
    let small = std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= 4 << 20);
    if small { std::fs::read(file).unwrap_or_default() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{Environment, Sources};
    use crate::domain::conversation::Overrides;

    fn config(home: &Path, more: (&str, &str)) -> Config {
        let text = home.display().to_string();
        let env = Environment::of([("HOME", text.as_str()), more]);
        let sources = Sources { env, workspace: home.join("work"), store: None, overrides: Overrides::default() };
        load::load(sources).unwrap()
    }

    #[test]
    fn changes_are_loaded_once_and_errors_have_positions() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(".config/pleach");
        std::fs::create_dir_all(&dir).unwrap();
        let mut reading = Reading::new(config(home.path(), ("X", "y")));
        assert!(reading.reload(false, None).is_none());
        std::fs::write(dir.join("config.toml"), "# mine\n[screen]\nhints_after = 50 # soon\n").unwrap();
        let (fresh, _) = reading.reload(false, None).unwrap().unwrap();
        assert!(fresh.screen.hints_after == 50 && !fresh.asked);
        assert!(reading.reload(false, None).is_none(), "once");
        std::fs::write(dir.join("config.toml"), "[screen]\nhints_after = \"x\"\n").unwrap();
        let why = reading.reload(false, None).unwrap().unwrap_err();
        assert!(why.contains("line 2, column 15"), "{why}");
        assert!(reading.reload(false, None).is_none(), "an error is reported once");
        std::fs::write(dir.join("config.toml"), "# mine\n[screen]\nhints_after = 50 # soon\n").unwrap();
        reading.reload(false, None).unwrap().unwrap();
        reading.keep_theme("sepia").unwrap();
        let text = std::fs::read_to_string(dir.join("config.toml")).unwrap();
        assert_eq!(text, "# mine\n[screen]\nhints_after = 50 # soon\ntheme = \"sepia\"\n");
        assert!(reading.reload(false, None).is_none(), "its own change is not reported");
        let (fresh, _) = reading.reload(true, None).unwrap().unwrap();
        assert_eq!((fresh.screen.theme.as_str(), fresh.asked), ("sepia", true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn decisions_in_another_window_are_noticed() {
        let home = tempfile::tempdir().unwrap();
        let (work, dir) = (home.path().join("work"), home.path().join(".config/pleach"));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(work.join(FOLDER_FILE), "mode = \"heavy\"\n").unwrap();
        std::fs::write(dir.join("config.toml"), format!("trusted_folders = [{work:?}]\n")).unwrap();
        let mut reading = Reading::new(config(home.path(), ("X", "y")));
        // The program has opened its store there.
        std::fs::create_dir_all(&reading.config.paths.data_dir).unwrap();
        let (to, touched) = std::sync::mpsc::channel();
        super::super::watch::watch(reading.folders(), to);
        for yes in [true, false, true] {
            let other = config(home.path(), ("X", "y"));
            let digest = other.folder.as_ref().and_then(|card| card.digest).unwrap();
            assert!(other.record_folder_answer(digest, yes).unwrap());
            let heard = touched.recv_timeout(std::time::Duration::from_mins(1));
            assert!(matches!(heard, Ok(crate::tui::msg::Msg::Config(crate::tui::msg::ConfigMsg::Changed))), "{yes}");
            reading.reload(false, None).unwrap().unwrap();
            let mode = reading.config.settings.mode;
            assert_eq!(mode == crate::domain::planning::mode::Mode::Heavy, yes);
        }
    }

    #[test]
    fn the_background_is_read_from_the_environment() {
        let home = tempfile::tempdir().unwrap();
        for (value, wanted) in
            [("15;0", Some(false)), ("0;15", Some(true)), ("0;default;7", Some(true)), ("x", None), ("0;99", None)]
        {
            assert_eq!(background_from_env(&config(home.path(), ("COLORFGBG", value))), wanted, "{value}");
        }
        assert!(!may_ask(&config(home.path(), ("TERM", "linux"))) && may_ask(&config(home.path(), ("TERM", "xterm"))));
    }
}
