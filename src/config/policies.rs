//! The built-in policies and the user's own policies.
//! Not for: applying a policy (`context`).

use super::error::{ConfigError, Place};
use super::layer::Layer;
use super::renamed;
use crate::domain::planning::{Milli, PolicySpec, TurnSelection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names and texts of the built-in policies.
pub(super) const BUILT_IN: [(&str, &str); 5] = [
    ("adaptive", include_str!("../../config/policies/adaptive.toml")),
    ("lanes", include_str!("../../config/policies/lanes.toml")),
    ("layered", include_str!("../../config/policies/layered.toml")),
    ("levels", include_str!("../../config/policies/levels.toml")),
    ("window", include_str!("../../config/policies/window.toml")),
];

/// Reads all policies by name. A user's file overrides a built-in policy with the same name.
pub fn load(dir: &Path) -> Result<BTreeMap<String, PolicySpec>, ConfigError> {
    let mut found = BTreeMap::new();
    for (name, text) in BUILT_IN {
        let layer = Layer::parse::<PolicySpec>(&format!("built-in policy {name}"), text)?;
        found.insert(name.to_owned(), spec(name, &layer)?);
    }
    for (name, path) in own_files(dir)? {
        if let Some(layer) = Layer::read::<PolicySpec>(&path)? {
            let spec = spec(&name, &layer)?;
            found.insert(name, spec);
        }
    }
    Ok(found)
}

/// Returns notes about earlier names of settings in the user's policies.
pub(super) fn earlier_names(dir: &Path) -> Vec<String> {
    let files = own_files(dir).unwrap_or_default();
    let layers = files.values().filter_map(|path| Layer::read::<PolicySpec>(path).ok().flatten());
    layers.filter_map(|layer| renamed::policy_note(&layer.origin, &layer.table)).collect()
}

/// Returns the TOML files of a folder by name, sorted: the user's policies or themes.
pub(super) fn own_files(dir: &Path) -> Result<BTreeMap<String, PathBuf>, ConfigError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(ConfigError::unreadable(dir, &error)),
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| ConfigError::unreadable(dir, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path);
        }
    }
    Ok(files)
}

/// Parses a policy's text. Errors have a position.
pub fn read(name: &str, text: &str) -> Result<PolicySpec, ConfigError> {
    spec(name, &Layer::parse::<PolicySpec>(&format!("policy {name}"), text)?)
}

fn spec(name: &str, layer: &Layer) -> Result<PolicySpec, ConfigError> {
    let mut spec: PolicySpec = toml::from_str(&layer.text)
        .map_err(|error| ConfigError::Unreadable { file: layer.origin.clone(), why: error.message().into() })?;
    name.clone_into(&mut spec.name);
    if let Some((path, what)) = fault(&spec) {
        return Err(ConfigError::Faulty {
            file: layer.origin.clone(),
            place: layer.place(path).unwrap_or(Place { line: 1, column: 1 }),
            key: path.join("."),
            what: what.into(),
            nearest: None,
        });
    }
    Ok(spec)
}

/// Returns the key of the first invalid number, and the error. None if all numbers are valid.
fn fault(spec: &PolicySpec) -> Option<(&'static [&'static str], &'static str)> {
    let (lanes, relevance, adaptive, levels) = (&spec.lanes, &spec.relevance, &spec.adaptive, &spec.levels);
    let within = |percent: u32, low: u32| (low..=100).contains(&percent);
    let first_three = u64::from(levels.permanent) + u64::from(levels.session) + u64::from(levels.working);
    let tasks = [
        adaptive.tasks.general,
        adaptive.tasks.coding,
        adaptive.tasks.debugging,
        adaptive.tasks.research,
        adaptive.tasks.complex_analysis,
    ];
    let none = Milli(0);
    let activation = &spec.activation;
    let recent = spec.choose == TurnSelection::Recent;
    let checks: [(bool, &'static [&'static str], &'static str); 21] = [
        (!spec.lane_window || recent, &["lane_window"], "works only with choose = \"recent\""),
        ((none..Milli::ONE).contains(&activation.keep), &["activation", "keep"], "must be at least 0 and below 1"),
        (activation.promote > none, &["activation", "promote"], "must be above 0"),
        (activation.turns > 0, &["activation", "turns"], "must be at least 1"),
        ((1..=16).contains(&activation.within), &["activation", "within"], "must be from 1 to 16"),
        (within(spec.refill_percent, 10), &["refill_percent"], "must be from 10 to 100"),
        (lanes.messages > 0, &["lanes", "messages"], "must be at least 1"),
        (lanes.keep <= lanes.messages, &["lanes", "keep"], "must be at most lanes.messages"),
        (relevance.half_life_hours > 0, &["relevance", "half_life_hours"], "must be at least 1"),
        ((500..=8_000_000).contains(&adaptive.base), &["adaptive", "base"], "must be from 500 to 8000000 tokens"),
        (adaptive.lowest > none, &["adaptive", "lowest"], "must be above 0"),
        (adaptive.lowest <= adaptive.highest, &["adaptive", "highest"], "must be at least adaptive.lowest"),
        (adaptive.step > none, &["adaptive", "step"], "must be above 0"),
        (adaptive.items > 0, &["adaptive", "items"], "must be at least 1"),
        (adaptive.full_marks > 0, &["adaptive", "full_marks"], "must be at least 1"),
        ((none..=Milli::ONE).contains(&adaptive.recent_share), &["adaptive", "recent_share"], "must be from 0 to 1"),
        (tasks.iter().all(|times| *times > none), &["adaptive", "tasks"], "all values must be above 0"),
        ((none..=Milli::ONE).contains(&levels.recent_share), &["levels", "recent_share"], "must be from 0 to 1"),
        (levels.total > 0, &["levels", "total"], "must be at least 1"),
        (
            first_three <= u64::from(levels.total),
            &["levels", "total"],
            "must be at least permanent + session + working",
        ),
        (within(levels.trigger_percent, 1), &["levels", "trigger_percent"], "must be from 1 to 100"),
    ];
    checks.into_iter().find(|(holds, _, _)| !holds).map(|(_, path, what)| (path, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::activation::Activation;
    use crate::domain::planning::policy::StateBlock;
    use crate::domain::planning::tuning::{Adaptive, Lanes, Levels, Relevance};
    use crate::domain::summary::draft::{AutoSummarySettings, AutoSummaryTrigger};

    #[test]
    fn the_built_in_policies() {
        let dir = tempfile::tempdir().unwrap();
        let found = load(&dir.path().join("none")).unwrap();
        let window = &found["window"];
        assert!(!window.anchored && !window.shorten_tools);
        assert_eq!((window.window_turns, window.user_cap), (0, 0));
        let layered = &found["layered"];
        assert!(layered.anchored && layered.shorten_tools);
        assert_eq!((layered.user_cap, layered.refill_percent), (32_000, 70));
        assert_eq!((layered.name.as_str(), layered.state_block), ("layered", StateBlock::Auto));
        assert_eq!(window.state_block, StateBlock::Required, "which is also written on");
    }

    /// The files contain every number with the default of the code, so that a copy can be tuned line by line.
    #[test]
    fn policy_files_list_every_number() {
        let dir = tempfile::tempdir().unwrap();
        let found = load(&dir.path().join("none")).unwrap();
        let (lanes, adaptive, levels) = (&found["lanes"], &found["adaptive"], &found["levels"]);
        assert_eq!((lanes.choose, lanes.lanes, lanes.user_cap), (TurnSelection::Lane, Lanes::default(), 8_000));
        assert_eq!((adaptive.choose, adaptive.relevance), (TurnSelection::Relevance, Relevance::default()));
        assert_eq!((&adaptive.adaptive, adaptive.user_cap), (&Adaptive::default(), 8_000));
        assert_eq!((levels.choose, levels.levels, levels.user_cap), (TurnSelection::Levels, Levels::default(), 16_000));
        assert_eq!(found["layered"].activation, Activation::default());
        assert!(!found["window"].activation.on && found["levels"].activation.on);
        for name in ["window", "layered"] {
            assert_eq!(found[name].choose, TurnSelection::Recent);
        }
        for (name, measure) in [
            ("window", AutoSummaryTrigger::Window),
            ("layered", AutoSummaryTrigger::Window),
            ("adaptive", AutoSummaryTrigger::Window),
            ("lanes", AutoSummaryTrigger::Lane),
            ("levels", AutoSummaryTrigger::Levels),
        ] {
            assert_eq!(
                found[name].auto_summaries,
                AutoSummarySettings { measure, ..AutoSummarySettings::default() },
                "{name}"
            );
        }
        let files: BTreeMap<&str, toml::Table> =
            BUILT_IN.iter().map(|(name, text)| (*name, toml::from_str(text).unwrap())).collect();
        let known = toml::Table::try_from(PolicySpec::default()).unwrap();
        for (file, part) in [
            ("lanes", "lanes"),
            ("lanes", "summaries"),
            ("adaptive", "relevance"),
            ("adaptive", "adaptive"),
            ("levels", "levels"),
            ("levels", "summaries"),
            ("layered", "summaries"),
            ("layered", "activation"),
        ] {
            let keys =
                |table: &toml::Table, part: &str| table[part].as_table().unwrap().keys().cloned().collect::<Vec<_>>();
            let written = if part == "summaries" { "compaction" } else { part };
            assert_eq!(keys(&files[file], part), keys(&known, written), "{file}.toml [{part}]");
        }
    }

    /// A policy with earlier names is the same policy, also in the form that is hashed.
    #[test]
    fn earlier_names_of_automatic_summaries_mean_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(dir.path().join("mine.toml"), text).unwrap();
        for (was, now) in [("ask", "draft"), ("self", "auto")] {
            write(&format!("[compaction]\nmeasure = \"window\"\naccept = \"{was}\"\nby = \"model\"\n"));
            let earlier = load(dir.path()).unwrap()["mine"].clone();
            let [note] = &earlier_names(dir.path())[..] else { panic!("no note") };
            let words = format!("[compaction] is now [summaries], and accept = \"{was}\" is accept = \"{now}\".");
            assert!(note.contains("mine.toml: ") && note.contains(&words), "{note}");
            write(&format!("[summaries]\nmeasure = \"window\"\naccept = \"{now}\"\nby = \"model\"\n"));
            assert_eq!(load(dir.path()).unwrap()["mine"], earlier);
            assert_eq!(earlier_names(dir.path()), Vec::<String>::new());
            let whole = serde_json::to_value(&earlier).unwrap();
            assert_eq!((whole.get("summaries"), &whole["compaction"]["accept"]), (None, &was.into()));
            assert_eq!(
                serde_json::from_value::<AutoSummarySettings>(whole["compaction"].clone()).unwrap(),
                earlier.auto_summaries
            );
        }
        write("[summaries]\naccept = \"ask\"\n[compaction]\n");
        assert!(load(dir.path()).is_err(), "both names at once");
        write("[summaries]\naccept = \"always\"\n");
        let error = load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("draft, auto") && !error.contains("ask") && !error.contains("self"), "{error}");
    }

    #[test]
    fn invalid_numbers_have_positions() {
        let dir = tempfile::tempdir().unwrap();
        let found = |text: &str| {
            std::fs::write(dir.path().join("mine.toml"), text).unwrap();
            match load(dir.path()).unwrap_err() {
                ConfigError::Faulty { place, key, what, .. } => (place.line, place.column, key, what),
                other => panic!("{other}"),
            }
        };
        let expected = |line, column, key: &str, what: &str| (line, column, key.to_owned(), what.to_owned());
        let text = "choose = \"levels\"\n[levels]\nworking = 1\ntotal = 5000\n";
        assert_eq!(found(text), expected(4, 1, "levels.total", "must be at least permanent + session + working"));
        let text = "[lanes]\nkeep = 31\n";
        assert_eq!(found(text), expected(2, 1, "lanes.keep", "must be at most lanes.messages"));
        let text = "[adaptive]\nbase = 8000\n  step = 0\n";
        assert_eq!(found(text), expected(3, 3, "adaptive.step", "must be above 0"));
        let (line, column, key, what) = found("[relevance]\nrecency = 5000\n");
        assert_eq!((line, column, key.as_str()), (2, 11, "relevance.recency"));
        assert!(what.contains("from -1000 to 1000"), "{what}");
        assert_eq!(found("choose = \"newest\"\n").2, "choose");
        assert_eq!(found("[levels]\nworkin = 1\n").2, "levels.workin");
    }

    #[test]
    fn own_policies_load_and_override() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tiny.toml"), "about = \"x\"\nwindow_turns = 3\n").unwrap();
        std::fs::write(dir.path().join("notes.txt"), "no policy").unwrap();
        let found = load(dir.path()).unwrap();
        assert_eq!((found.len(), found["tiny"].window_turns), (6, 3));
        std::fs::write(dir.path().join("tiny.toml"), "about = \"x\"\nwindow_tunrs = 3\n").unwrap();
        let ConfigError::Faulty { place, nearest, .. } = load(dir.path()).unwrap_err() else { panic!() };
        assert_eq!((place.line, place.column), (2, 1));
        assert_eq!(nearest.as_deref(), Some("window_turns"));
        std::fs::write(dir.path().join("tiny.toml"), "refill_percent = 0\n").unwrap();
        assert!(load(dir.path()).is_err());
    }
}
