//! The built-in policies, and a person's own beside them.
//! Not for: what a policy does (`context`).

use super::error::ConfigError;
use super::layer::Layer;
use crate::domain::policy::PolicySpec;
use std::collections::BTreeMap;
use std::path::Path;

const BUILT_IN: [(&str, &str); 2] = [
    ("layered", include_str!("../../config/policies/layered.toml")),
    ("window", include_str!("../../config/policies/window.toml")),
];

/// All policies by name. A file of the person's own stands above a built-in one of the same name.
pub fn load(dir: &Path) -> Result<BTreeMap<String, PolicySpec>, ConfigError> {
    let mut found = BTreeMap::new();
    for (name, text) in BUILT_IN {
        let layer = Layer::parse::<PolicySpec>(&format!("built-in policy {name}"), text)?;
        insert(&mut found, name, &layer)?;
    }
    for path in own_files(dir)? {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(layer) = Layer::read::<PolicySpec>(&path)? {
            insert(&mut found, &name, &layer)?;
        }
    }
    Ok(found)
}

fn own_files(dir: &Path) -> Result<Vec<std::path::PathBuf>, ConfigError> {
    let unreadable =
        |error: std::io::Error| ConfigError::Unreadable { file: dir.display().to_string(), why: error.to_string() };
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn insert(found: &mut BTreeMap<String, PolicySpec>, name: &str, layer: &Layer) -> Result<(), ConfigError> {
    let mut spec: PolicySpec = toml::from_str(&layer.text)
        .map_err(|error| ConfigError::Unreadable { file: layer.origin.clone(), why: error.message().into() })?;
    name.clone_into(&mut spec.name);
    if !(10..=100).contains(&spec.refill_percent) {
        return Err(ConfigError::Faulty {
            file: layer.origin.clone(),
            place: layer.place(&["refill_percent"]).unwrap_or(super::error::Place { line: 1, column: 1 }),
            key: "refill_percent".into(),
            what: "must be from 10 to 100".into(),
            nearest: None,
        });
    }
    found.insert(name.to_owned(), spec);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::StateBlock;

    #[test]
    fn the_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        let found = load(&dir.path().join("none")).unwrap();
        let window = &found["window"];
        assert!(!window.anchored && !window.shorten_tools);
        assert_eq!((window.window_turns, window.user_cap), (0, 0));
        let layered = &found["layered"];
        assert!(layered.anchored && layered.shorten_tools);
        assert_eq!((layered.user_cap, layered.refill_percent), (32_000, 70));
        assert_eq!((layered.name.as_str(), layered.state_block), ("layered", StateBlock::Required));
    }

    #[test]
    fn ones_own() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tiny.toml"), "about = \"x\"\nwindow_turns = 3\n").unwrap();
        std::fs::write(dir.path().join("notes.txt"), "no policy").unwrap();
        let found = load(dir.path()).unwrap();
        assert_eq!((found.len(), found["tiny"].window_turns), (3, 3));
        std::fs::write(dir.path().join("tiny.toml"), "about = \"x\"\nwindow_tunrs = 3\n").unwrap();
        let ConfigError::Faulty { place, nearest, .. } = load(dir.path()).unwrap_err() else { panic!() };
        assert_eq!((place.line, place.column), (2, 1));
        assert_eq!(nearest.as_deref(), Some("window_turns"));
        std::fs::write(dir.path().join("tiny.toml"), "refill_percent = 0\n").unwrap();
        assert!(load(dir.path()).is_err());
    }
}
