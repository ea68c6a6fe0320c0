//! The user's policies as files with a bounded history, so that undo works across restarts: every saved text is kept
//! beside them, with the version that it was made from.
//! Not for: the content of a policy (`policies`), or choosing a policy for a branch (`engine`).
//!
//! `policies/NAME.toml` is the policy. `policies/.history/NAME/` has `0003-0002.toml` (version 3, made from version 2),
//! `at` (the number of the current version), and `preset` (the name of the policy that this one is a copy of).

use super::error::ConfigError;
use super::policies::{BUILT_IN, own_files, read};
use super::save::write;
use crate::domain::planning::PolicySpec;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The maximum number of versions kept per policy.
pub const MAX_VERSIONS: usize = 100;
/// The maximum bytes of a policy.
const MAX_BYTES: usize = 256 << 10;

/// A version of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The version number, from 1.
    pub number: u32,
    /// The version that this version was made from; 0 is none.
    pub from: u32,
    pub text: String,
    /// The time of saving in milliseconds since 1970, or None if the file system does not report it.
    pub at: Option<i64>,
}

/// An editable policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyText {
    pub name: String,
    pub text: String,
    /// Whether the policy is built in; built-in policies cannot be changed, only copied.
    pub built_in: bool,
    /// The original of a copied policy, if known, with its text.
    pub preset: Option<(String, String)>,
    /// The versions, oldest first.
    pub versions: Vec<Version>,
    /// The current version; 0 if another program has changed the file since.
    pub current: u32,
}

/// Whether a text is a valid policy name.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    (1..=40).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('-')
}

/// Returns all policies with their histories, built-in policies first. Policies that cannot be read are skipped.
pub fn list(dir: &Path) -> Result<Vec<PolicyText>, ConfigError> {
    let own = own_files(dir)?;
    let presets = BUILT_IN.into_iter().filter(|(name, _)| !own.contains_key(*name)).map(|(name, text)| PolicyText {
        name: name.to_owned(),
        text: text.to_owned(),
        built_in: true,
        preset: None,
        versions: Vec::new(),
        current: 0,
    });
    let mut all: Vec<PolicyText> = presets.collect();
    for (name, path) in own {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let history = History::open(dir, &name);
        let versions = history.versions();
        let at = history.at();
        let current = versions.iter().find(|version| version.number == at && version.text == text);
        all.push(PolicyText {
            preset: history.preset(&name),
            current: current.map_or(0, |version| version.number),
            built_in: false,
            versions,
            text,
            name,
        });
    }
    Ok(all)
}

/// Validates a text and saves it as the policy with this name. The previous text stays in the history. `preset` names
/// the policy that a new policy is a copy of.
///
/// # Errors
/// Returns an error if the text is not a valid policy or the name is invalid (then nothing changes), or if the file
/// cannot be written.
pub fn save(dir: &Path, name: &str, text: &str, preset: Option<&str>) -> Result<PolicySpec, ConfigError> {
    let file = dir.join(format!("{name}.toml"));
    let unwritable = |error| ConfigError::unwritable(&file, &error);
    if !is_name(name) || text.len() > MAX_BYTES {
        let why = if is_name(name) { "a policy can be at most 256 KiB" } else { "invalid policy name" };
        return Err(unwritable(std::io::Error::other(why)));
    }
    let spec = read(name, text)?;
    let history = History::open(dir, name);
    let mut from = 0;
    if let Ok(file_text) = std::fs::read_to_string(&file) {
        from = history.version_of(&file_text).map_err(unwritable)?;
        if file_text == text {
            return Ok(spec);
        }
    }
    if let Some(preset) = preset.filter(|_| history.preset(name).is_none()) {
        write(&history.dir.join("preset"), preset).map_err(unwritable)?;
    }
    let number = history.put(from, text).map_err(unwritable)?;
    write(&file, text).map_err(unwritable)?;
    history.set_at(number).map_err(unwritable)?;
    Ok(spec)
}

/// Restores the version that the current version was made from, or with `forward` the newest version that was made from
/// the current one. Returns the number and the policy, or None if there is no such version.
pub fn step(dir: &Path, name: &str, forward: bool) -> Result<Option<(u32, PolicySpec)>, ConfigError> {
    let file = dir.join(format!("{name}.toml"));
    let unwritable = |error| ConfigError::unwritable(&file, &error);
    if !is_name(name) {
        return Ok(None);
    }
    let history = History::open(dir, name);
    let file_text = std::fs::read_to_string(&file).unwrap_or_default();
    let at = if file_text.is_empty() { history.at() } else { history.version_of(&file_text).map_err(unwritable)? };
    let versions = history.versions();
    let wanted = if forward {
        versions.iter().filter(|version| version.from == at).max_by_key(|version| version.number)
    } else {
        let from = versions.iter().find(|version| version.number == at).map_or(0, |version| version.from);
        versions.iter().find(|version| version.number == from)
    };
    let Some(wanted) = wanted else { return Ok(None) };
    let spec = read(name, &wanted.text)?;
    write(&file, &wanted.text).map_err(unwritable)?;
    history.set_at(wanted.number).map_err(unwritable)?;
    Ok(Some((wanted.number, spec)))
}

struct History {
    dir: PathBuf,
}

impl History {
    fn open(policies: &Path, name: &str) -> Self {
        Self { dir: policies.join(".history").join(name) }
    }

    fn at(&self) -> u32 {
        std::fs::read_to_string(self.dir.join("at")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn set_at(&self, number: u32) -> std::io::Result<()> {
        write(&self.dir.join("at"), &number.to_string())
    }

    /// Returns the current version, whose text the file contains. A text from another program becomes a version, so
    /// that undo returns to the last text saved by this program.
    fn version_of(&self, file_text: &str) -> std::io::Result<u32> {
        let at = self.at();
        if self.versions().iter().any(|version| version.number == at && version.text == file_text) {
            return Ok(at);
        }
        let at = self.put(at, file_text)?;
        self.set_at(at)?;
        Ok(at)
    }

    /// Returns the policy that this one is a copy of, with its text. For a file that overrides a built-in policy,
    /// returns that policy.
    fn preset(&self, name: &str) -> Option<(String, String)> {
        let named = std::fs::read_to_string(self.dir.join("preset")).ok().map(|text| text.trim().to_owned());
        let wanted = named.unwrap_or_else(|| name.to_owned());
        let found = BUILT_IN.into_iter().find(|(preset, _)| *preset == wanted);
        found.map(|(preset, text)| (preset.to_owned(), text.to_owned()))
    }

    /// Returns the versions, oldest first.
    fn versions(&self) -> Vec<Version> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Vec::new() };
        let mut all: Vec<Version> = entries.filter_map(|entry| version(&entry.ok()?.path())).collect();
        all.sort_by_key(|version| version.number);
        all
    }

    /// Adds a version, deletes the oldest versions above the limit, and returns the new version's number.
    fn put(&self, from: u32, text: &str) -> std::io::Result<u32> {
        let all = self.versions();
        let number = all.last().map_or(0, |version| version.number) + 1;
        write(&self.dir.join(format!("{number:04}-{from:04}.toml")), text)?;
        for old in all.iter().take((all.len() + 1).saturating_sub(MAX_VERSIONS)) {
            let _ = std::fs::remove_file(self.dir.join(format!("{:04}-{:04}.toml", old.number, old.from)));
        }
        Ok(number)
    }
}

fn version(path: &Path) -> Option<Version> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".toml")?;
    let (number, from) = stem.split_once('-')?;
    let changed = std::fs::metadata(path).ok()?.modified().ok();
    let at = changed.and_then(|time| i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok());
    Some(Version {
        number: number.parse().ok()?,
        from: from.parse().ok()?,
        text: std::fs::read_to_string(path).ok()?,
        at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine(dir: &Path) -> PolicyText {
        list(dir).unwrap().into_iter().find(|policy| policy.name == "mine").unwrap()
    }

    #[test]
    fn versions_are_kept_and_undone_across_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("policies");
        let layered = list(&at).unwrap().into_iter().find(|policy| policy.name == "layered").unwrap();
        assert!(layered.built_in && layered.versions.is_empty(), "presets are there without a folder");
        save(&at, "mine", &layered.text, Some("layered")).unwrap();
        let saved = save(&at, "mine", "user_cap = 5000\n", None).unwrap();
        assert_eq!((saved.user_cap, saved.name.as_str()), (5_000, "mine"));
        save(&at, "mine", "user_cap = 6000\n", None).unwrap();
        let known = mine(&at);
        assert_eq!((known.current, known.versions.len(), known.text.as_str()), (3, 3, "user_cap = 6000\n"));
        assert_eq!(known.preset.as_ref().map(|(name, text)| (name.as_str(), text)), Some(("layered", &layered.text)));
        assert_eq!(step(&at, "mine", false).unwrap().map(|(number, spec)| (number, spec.user_cap)), Some((2, 5_000)));
        assert_eq!(mine(&at).text, "user_cap = 5000\n");
        save(&at, "mine", "user_cap = 7000\n", None).unwrap();
        assert_eq!(
            mine(&at).versions.iter().map(|v| (v.number, v.from)).collect::<Vec<_>>(),
            [(1, 0), (2, 1), (3, 2), (4, 2)]
        );
        assert_eq!(step(&at, "mine", false).unwrap().map(|(number, _)| number), Some(2), "what it was made from");
        assert_eq!(step(&at, "mine", true).unwrap().map(|(number, _)| number), Some(4), "the newest made from it");
        assert_eq!(step(&at, "mine", true).unwrap(), None);
        for wanted in [2, 1] {
            assert_eq!(step(&at, "mine", false).unwrap().map(|(number, _)| number), Some(wanted));
        }
        assert_eq!(step(&at, "mine", false).unwrap(), None, "nothing stands before the first");
        assert_eq!(mine(&at).text, layered.text);
    }

    #[test]
    fn a_text_written_by_another_program_is_a_version() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        std::fs::write(&file, "user_cap = 1000\n").unwrap();
        assert_eq!((mine(dir.path()).versions.len(), mine(dir.path()).current), (0, 0));
        save(dir.path(), "mine", "user_cap = 2000\n", None).unwrap();
        assert_eq!(mine(dir.path()).versions.len(), 2, "what was there first, and what was saved");
        std::fs::write(&file, "user_cap = 3000\n").unwrap();
        assert_eq!(step(dir.path(), "mine", false).unwrap().map(|(_, spec)| spec.user_cap), Some(2_000));
        assert_eq!(
            step(dir.path(), "mine", true).unwrap().map(|(_, spec)| spec.user_cap),
            Some(3_000),
            "nothing is lost"
        );
        std::fs::remove_file(&file).unwrap();
        save(dir.path(), "mine", "user_cap = 4000\n", None).unwrap();
        assert_eq!(step(dir.path(), "mine", false).unwrap(), None, "the policy was deleted in between");
    }

    #[test]
    fn an_unchanged_policy_adds_no_version_and_histories_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        save(dir.path(), "mine", "user_cap = 1\n", None).unwrap();
        for (text, part) in
            [("user_cpa = 2", "unknown setting"), ("user_cap = ", "line 1"), ("[lanes]\nkeep = 99", "lanes.keep")]
        {
            let error = save(dir.path(), "mine", text, None).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for name in ["", "Mine", "a/b", "..", "-x", "a b"] {
            assert!(save(dir.path(), name, "user_cap = 1\n", None).is_err() && !is_name(name), "{name:?}");
        }
        assert_eq!((mine(dir.path()).versions.len(), mine(dir.path()).text.as_str()), (1, "user_cap = 1\n"));
        for n in 2..MAX_VERSIONS + 20 {
            save(dir.path(), "mine", &format!("user_cap = {n}\n"), None).unwrap();
        }
        let known = mine(dir.path());
        assert_eq!((known.versions.len(), known.current as usize), (MAX_VERSIONS, MAX_VERSIONS + 19));
        save(dir.path(), "mine", &known.text, None).unwrap();
        assert_eq!(mine(dir.path()).versions.len(), MAX_VERSIONS, "the same text is no new version");
    }
}
