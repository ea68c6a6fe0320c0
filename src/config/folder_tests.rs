//! Tests of a folder's own settings file.

use super::*;
use crate::config::load::{Environment, Sources};
use crate::domain::conversation::Overrides;
use crate::domain::planning::Mode;
use tempfile::TempDir;

struct TestHome(TempDir);

impl TestHome {
    /// Makes a home folder with a workspace in it.
    fn new(trusted: bool) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(place.work()).unwrap();
        place.user(trusted, "");
        place
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn user(&self, trusted: bool, text: &str) {
        let dir = self.0.path().join(".config/pleach");
        std::fs::create_dir_all(&dir).unwrap();
        let folders =
            if trusted { format!("trusted_folders = [{:?}]\n", canonical(&self.work())) } else { String::new() };
        std::fs::write(dir.join("config.toml"), format!("{folders}{text}")).unwrap();
    }

    fn folder(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.work().join(FOLDER_FILE), text).unwrap();
    }

    fn load_at(&self, workspace: PathBuf) -> Config {
        let home = self.0.path().display().to_string();
        let env = Environment::of([("HOME", home.as_str())]);
        load(Sources { env, workspace, store: None, overrides: Overrides::default() }).unwrap()
    }

    fn load(&self) -> Config {
        self.load_at(self.work())
    }

    fn status(&self) -> SettingsFileStatus {
        self.load().folder.unwrap().status
    }
}

const STEERING: &str = "model = \"m\"\nmode = \"heavy\"\nbudget = 5000\npersonality = \"p\"\n[system]\nreplace = \"S\"\n[screen]\nascii = true\n";

#[test]
fn settings_of_an_untrusted_folder_have_no_effect() {
    let place = TestHome::new(false);
    let without = place.load().settings;
    let linked = place.0.path().join("link");
    std::os::unix::fs::symlink(place.work(), &linked).unwrap();
    for text in [STEERING, "model = ", "[tools]\nenabled = false\n", "[screen]\nascii = true\n"] {
        place.folder(text);
        for workspace in [place.work(), linked.clone()] {
            let config = place.load_at(workspace);
            assert_eq!(config.settings, without, "{text}");
            let report = config.folder.unwrap();
            assert_eq!((report.status, report.digest, report.fault), (SettingsFileStatus::Untrusted, None, None));
            assert!(config.notes.iter().any(|note| note.contains("is not read")), "{:?}", config.notes);
        }
    }
}

#[test]
fn settings_that_affect_calls_need_approval() {
    let place = TestHome::new(true);
    place.folder(STEERING);
    let config = place.load();
    // Screen settings take effect at once, others do not.
    assert!(config.settings.screen.ascii && config.settings.model.is_empty() && config.settings.mode == Mode::Light);
    let report = config.folder.clone().unwrap();
    assert_eq!((report.status, report.approved_before), (SettingsFileStatus::Waits, false));
    let unasked = |config: &Config| config.notes.iter().any(|note| note.contains("Earlier versions of pleach used"));
    assert!(unasked(&config), "an earlier version trusted it: {:?}", config.notes);
    assert_eq!(report.names(), "budget, mode, model, personality, system.replace");
    let mode = SettingChange { key: "mode".into(), before: Some("\"light\"".into()), after: Some("\"heavy\"".into()) };
    assert!(report.changes.contains(&mode), "{:?}", report.changes);
    let digest = report.digest.unwrap();
    assert!(!config.record_folder_answer(Hash::of(b"another"), true).unwrap(), "what was not shown is not approved");
    assert_eq!(place.status(), SettingsFileStatus::Waits);

    assert!(config.record_folder_answer(digest, true).unwrap());
    let config = place.load();
    assert_eq!((config.settings.model.as_str(), config.settings.mode), ("m", Mode::Heavy));
    assert_eq!(config.origins["mode"], place.work().join(FOLDER_FILE).display().to_string());
    place.folder(format!("# a comment\n{}", STEERING.replace("ascii = true", "ascii = false")));
    assert_eq!(place.status(), SettingsFileStatus::Used, "comments and looks are not asked about");

    // Changed values need approval again and are compared with the approved ones. Until then, none of them takes
    // effect.
    place.folder(STEERING.replace("\"S\"", "\"S\\nobey\"").replace("budget = 5000\n", ""));
    let config = place.load();
    assert!(config.settings.model.is_empty() && config.settings.system.replace.is_empty());
    let report = config.folder.clone().unwrap();
    assert_eq!((report.status, report.approved_before), (SettingsFileStatus::Waits, true));
    assert!(!unasked(&config), "it was asked about: {:?}", config.notes);
    assert_eq!(report.names(), "budget, system.replace");
    assert_eq!(report.changes[1].lines(), ["system.replace", "- \"S\"", "+ S", "+ obey"]);
    assert!(!config.record_folder_answer(digest, true).unwrap(), "the text that was shown is gone");
    assert!(config.record_folder_answer(report.digest.unwrap(), false).unwrap());
    assert_eq!(place.status(), SettingsFileStatus::Declined);
    assert!(place.load().notes.is_empty(), "{:?}", place.load().notes);

    // The last approved version needs no new approval; a denial is remembered too.
    place.folder(STEERING);
    assert_eq!(place.status(), SettingsFileStatus::Used);
    let config = place.load();
    assert_eq!(config.settings.model, "m");
    assert!(config.record_folder_answer(digest, false).unwrap());
    assert_eq!((place.status(), place.load().settings.model.as_str()), (SettingsFileStatus::Declined, ""));
}

#[test]
fn approval_covers_the_folder_by_any_path_and_no_other_folder() {
    let place = TestHome::new(true);
    place.folder(STEERING);
    let (linked, inner) = (place.0.path().join("link"), place.work().join("inner"));
    std::os::unix::fs::symlink(place.work(), &linked).unwrap();
    std::fs::create_dir(&inner).unwrap();
    assert!(place.load_at(inner.clone()).folder.is_none(), "only the folder's own file counts");
    std::fs::write(inner.join(FOLDER_FILE), STEERING).unwrap();
    let config = place.load();
    assert!(config.record_folder_answer(config.folder.as_ref().unwrap().digest.unwrap(), true).unwrap());
    assert_eq!(place.load_at(linked).folder.unwrap().status, SettingsFileStatus::Used);
    assert_eq!(place.load_at(inner).folder.unwrap().status, SettingsFileStatus::Waits);
    place.user(false, "");
    assert_eq!((place.status(), place.load().settings.model.as_str()), (SettingsFileStatus::Untrusted, ""));
}

#[test]
fn settings_without_effect_need_no_approval() {
    let place = TestHome::new(true);
    place.folder("mode = \"light\"\n");
    assert_eq!(place.status(), SettingsFileStatus::Used);
    place.user(true, "mode = \"off\"\n");
    assert_eq!((place.status(), place.load().settings.mode), (SettingsFileStatus::Waits, Mode::Off));
}

#[test]
fn an_invalid_file_does_not_block_the_start() {
    let place = TestHome::new(true);
    let without = place.load().settings;
    let faults: [(&[u8], &str); 9] = [
        (b"model = ", "line 1"),
        (b"model = \"\xff\"\n", "UTF-8"),
        (b"policy = \"nowhere\"\n", "unknown policy"),
        (b"[screen]\ntheme = \"nowhere\"\n", "unknown theme"),
        (b"mode = \"heavvy\"\nmodel = \"m\"\n", "Did you mean `heavy`"),
        (b"[profiles.openai]\nbase_url = \"http://evil/v1\"\n", "`profiles` is not allowed"),
        (b"profile = \"openrouter\"\n", "`profile` is not allowed"),
        (b"model = \"m\"\n[tools]\nenabled = true\n", "line 2, column 2: `tools` is not allowed"),
        (b"trusted_folders = [\"/\"]\n", "`trusted_folders` is not allowed"),
    ];
    for (text, why) in faults {
        place.folder(text);
        let config = place.load();
        assert_eq!(config.settings, without);
        let report = config.folder.clone().unwrap();
        let notes = config.notes.join("\n");
        assert!(report.status == SettingsFileStatus::Faulty && notes.contains(why), "{notes}");
        assert_eq!(notes.matches(FOLDER_FILE).count(), 1, "{notes}");
    }
    std::fs::remove_file(place.work().join(FOLDER_FILE)).unwrap();
    std::fs::create_dir(place.work().join(FOLDER_FILE)).unwrap();
    assert_eq!((place.status(), place.load().settings), (SettingsFileStatus::Faulty, without));
}

#[test]
fn a_newly_trusted_folder_was_never_used_without_approval() {
    let place = TestHome::new(false);
    let inner = place.work().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join(FOLDER_FILE), STEERING).unwrap();
    place.folder(STEERING);
    let trusted_unasked = |workspace: PathBuf| place.load_at(workspace).folder.unwrap().trusted_unasked;
    assert!(!trusted_unasked(place.work()), "nothing of an untrusted folder was used");
    place.load().save_trusted(&place.work(), true).unwrap();
    for workspace in [place.work(), inner] {
        assert_eq!(place.load_at(workspace.clone()).folder.unwrap().status, SettingsFileStatus::Waits);
        assert!(!trusted_unasked(workspace));
    }
}
