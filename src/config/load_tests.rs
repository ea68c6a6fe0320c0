//! Tests of finding, refusing and changing settings.

use super::*;
use crate::config::settings::{LayoutChoice, SummariesChoice};
use crate::domain::base::cases::cases;
use crate::domain::planning::StateBlock;
use proptest::prelude::*;
use tempfile::TempDir;

struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(home.config()).unwrap();
        std::fs::create_dir_all(home.work()).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config/pleach")
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn user(&self, text: &str) -> &Self {
        std::fs::write(self.config().join("config.toml"), text).unwrap();
        self
    }

    fn sources(&self, pairs: &[(&str, &str)]) -> Sources {
        let mut map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        for (name, place) in [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state")] {
            map.insert(name.into(), self.dir.path().join(place).display().to_string());
        }
        map.insert("HOME".into(), self.dir.path().display().to_string());
        Sources {
            env: Environment(Arc::new(move |name| map.get(name).cloned())),
            workspace: self.work(),
            store: None,
            overrides: Overrides::default(),
        }
    }

    fn load(&self, pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        load(self.sources(pairs))
    }

    fn fault(&self) -> (Place, String, Option<String>, String) {
        match self.load(&[]).unwrap_err() {
            ConfigError::Faulty { place, key, nearest, what, .. } => (place, key, nearest, what),
            other => panic!("{other}"),
        }
    }
}

fn at(line: usize, column: usize) -> Place {
    Place { line, column }
}

#[test]
fn built_in_settings_name_every_setting() {
    let config = Home::new().load(&[]).unwrap();
    let whole = toml::Table::try_from(&config.settings).unwrap();
    let shipped: toml::Table = toml::from_str(crate::config::DEFAULT).unwrap();
    for (key, value) in &whole {
        let there = shipped.get(key).unwrap_or_else(|| panic!("{key} is missing in default.toml"));
        if let (Some(all), Some(named)) = (value.as_table(), there.as_table())
            && key != "profiles"
        {
            assert_eq!(all.keys().collect::<Vec<_>>().len(), named.len(), "{key}");
        }
    }
    assert_eq!((config.settings.mode, config.settings.policy.as_str()), (Mode::Light, "layered"));
    assert_eq!(config.settings.layout, LayoutChoice::Policy);
    assert_eq!(config.settings.tools.rounds, 8);
    assert_eq!(config.settings.state_block.over(StateBlock::Optional), StateBlock::Optional);
    let names = [
        "anthropic",
        "deepseek",
        "groq",
        "llamacpp",
        "lmstudio",
        "mistral",
        "offline",
        "ollama",
        "openai",
        "openrouter",
        "vllm",
    ];
    assert_eq!(config.settings.profiles.keys().map(String::as_str).collect::<Vec<_>>(), names);
    assert_eq!(config.profile("openai").unwrap().dialect.limit_field, "max_completion_tokens");
    assert!(config.profile("openai").unwrap().dialect.stream_options);
    assert!(!config.profile("mistral").unwrap().dialect.stream_options);
    assert_eq!(config.profile("offline").unwrap().backend, Backend::Offline);
    assert!(config.paths.store.ends_with("data/pleach/pleach.db"));
    assert!(config.files.is_empty() && config.notes.is_empty());
}

#[test]
fn later_layers_override_earlier_ones() {
    let home = Home::new();
    home.user(
        "model = \"from-user\"\nmode = \"off\"\nbudget = 100\n[screen]\nascii = true\n[store]\npath = \"~/u.db\"\n",
    );
    let config = home.load(&[]).unwrap();
    assert_eq!((config.settings.model.as_str(), config.settings.mode), ("from-user", Mode::Off));
    assert!(config.settings.screen.ascii && !config.settings.screen.mouse);
    assert_eq!(config.paths.store, home.dir.path().join("u.db"));
    let env = [("PLEACH_MODEL", "from-env"), ("PLEACH_MODE", "HEAVY"), ("PLEACH_STORE", "/e.db"), ("NO_COLOR", "1")];
    let config = home.load(&env).unwrap();
    assert_eq!((config.settings.model.as_str(), config.settings.mode), ("from-env", Mode::Heavy));
    assert_eq!(config.settings.screen.theme, "mono");
    assert_eq!(config.paths.store, PathBuf::from("/e.db"));
    let mut sources = home.sources(&env);
    sources.store = Some("/f.db".into());
    sources.overrides.model = Some("from-flag".into());
    let config = load(sources).unwrap();
    assert_eq!(config.paths.store, PathBuf::from("/f.db"));
    assert_eq!(config.overrides.model.as_deref(), Some("from-flag"));
}

#[test]
fn profiles_are_merged_field_by_field() {
    let home = Home::new();
    home.user(
        "[profiles.openai]\nmodel = \"x\"\ndialect = { tools = false }\n[profiles.mine]\nbase_url = \"http://h:1/v1\"\n",
    );
    let config = home.load(&[]).unwrap();
    let openai = config.profile("openai").unwrap();
    assert_eq!((openai.model.as_str(), openai.base_url.as_str()), ("x", "https://api.openai.com/v1"));
    assert_eq!((openai.dialect.limit_field.as_str(), openai.dialect.tools), ("max_completion_tokens", false));
    let mine = config.profile("mine").unwrap();
    assert_eq!((mine.name.as_str(), mine.attempts, mine.idle_timeout), ("mine", 4, 90));
}

#[test]
fn a_typo_is_found_with_place_and_suggestion() {
    let home = Home::new();
    home.user("# mine\nmodel = \"m\"\n\n[screen]\n  thmee = \"dark\"\n");
    let (place, key, nearest, _) = home.fault();
    assert_eq!((place, key.as_str(), nearest.as_deref()), (at(5, 3), "screen.thmee", Some("theme")));
    home.user("theme = \"dark\"\n");
    assert_eq!(home.fault().2.as_deref(), Some("screen.theme"));
    home.user("[profiles.openai]\nbase_ulr = \"http://x\"\n");
    let (place, key, nearest, _) = home.fault();
    assert_eq!((place, key.as_str(), nearest.as_deref()), (at(2, 1), "profiles.openai.base_ulr", Some("base_url")));
    home.user("budget = \"lots\"\n");
    let (place, key, _, what) = home.fault();
    assert_eq!((place, key.as_str()), (at(1, 10), "budget"));
    assert!(what.contains("lots"), "{what}");
    home.user("mode = \"haevy\"\n");
    let (_, key, nearest, _) = home.fault();
    assert_eq!((key.as_str(), nearest.as_deref()), ("mode", Some("heavy")));
    home.user("model = \"m\"\nmode = \n");
    let (place, _, _, _) = home.fault();
    assert_eq!(place.line, 2);
    home.user("model = \"a\"\nmodel = \"b\"\n");
    assert_eq!(home.fault().0.line, 2);
}

#[test]
fn errors_that_types_do_not_catch() {
    let home = Home::new();
    home.user("\npolicy = \"layred\"\n");
    let (place, key, nearest, _) = home.fault();
    assert_eq!((place, key.as_str(), nearest.as_deref()), (at(2, 1), "policy", Some("layered")));
    home.user("profile = \"opnai\"\n");
    assert_eq!(home.fault().2.as_deref(), Some("openai"));
    home.user("[tools]\nrounds = 0\n");
    assert_eq!(home.fault().0, at(2, 1));
    home.user("[profiles.mine]\nbase_url = \"ftp://x\"\n");
    assert_eq!((home.fault().0, home.fault().1.as_str()), (at(2, 1), "profiles.mine.base_url"));
    home.user("[profiles.mine]\nmodel = \"x\"\n");
    assert_eq!(home.fault().1, "profiles.mine");
    std::fs::write(home.config().join("config.toml"), b"a = 1\nmodel = \"\xff\"\n").unwrap();
    assert_eq!(home.fault().0.line, 2);
    std::fs::remove_file(home.config().join("config.toml")).unwrap();
    std::fs::create_dir(home.config().join("config.toml")).unwrap();
    assert!(matches!(home.load(&[]), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn given_values_are_checked_too() {
    let home = Home::new();
    for (name, value) in [("PLEACH_MODE", "heavvy"), ("PLEACH_PROFILE", "ollma"), ("OPENAI_BASE_URL", "localhost:80")] {
        let error = home.load(&[(name, value)]).unwrap_err();
        assert!(matches!(&error, ConfigError::InvalidValue { name: found, .. } if found == name), "{error}");
    }
    let mut sources = home.sources(&[]);
    sources.overrides.policy = Some("windw".into());
    assert_eq!(load(sources).unwrap_err().hint(), "Did you mean `window`?");
    let error = home.load(&[("OPENAI_BASE_URL", "https//u:secret@h")]).unwrap_err().to_string();
    assert!(error.contains("OPENAI_BASE_URL") && !error.contains("secret"));
}

#[test]
fn the_initial_profile() {
    let home = Home::new();
    let start = |pairs: &[(&str, &str)]| home.load(pairs).unwrap().start_profile().map(|p| p.name.clone());
    assert_eq!(start(&[]), None);
    assert_eq!(start(&[("OPENAI_API_KEY", "")]), None);
    assert_eq!(start(&[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")]).as_deref(), Some("openai"));
    assert_eq!(start(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]).as_deref(), Some("openai"));
    assert_eq!(start(&[("GROQ_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]).as_deref(), Some("anthropic"));
    assert_eq!(start(&[("LMSTUDIO_API_KEY", "k")]).as_deref(), Some("lmstudio"));
    assert_eq!(start(&[("OPENAI_API_KEY", "k"), ("PLEACH_PROFILE", "offline")]).as_deref(), Some("offline"));
    let mut sources = home.sources(&[("OPENAI_API_KEY", "k"), ("PLEACH_PROFILE", "offline")]);
    sources.overrides.profile = Some("ollama".into());
    assert_eq!(load(sources).unwrap().start_profile().unwrap().name, "ollama");
    home.user("profile = \"mine\"\n[profiles.mine]\nbase_url = \"http://h/v1\"\n");
    assert_eq!(home.load(&[("OPENAI_API_KEY", "k")]).unwrap().start_profile().unwrap().name, "mine");
}

#[test]
fn another_address_for_openai_needs_no_key() {
    let home = Home::new();
    let openai = |address: &str| home.load(&[("OPENAI_BASE_URL", address)]).unwrap().profile("openai").unwrap().clone();
    let local = openai("http://127.0.0.1:4410/v1/");
    assert_eq!((local.base_url.as_str(), local.needs_key), ("http://127.0.0.1:4410/v1", false));
    assert_eq!(local.dialect.limit_field, "max_tokens");
    assert!(openai("https://eu.api.openai.com/v1").needs_key);
    assert!(!openai("https://api.openai.com.evil.example/v1").needs_key);
    assert_eq!(host("http://u:p@[::1]:80/x").as_deref(), Some("::1"));
    assert_eq!(host("http://u:p@H:80").as_deref(), Some("h"));
    assert_eq!(host("https://"), None);
}

#[test]
fn saving_keeps_comments_and_mode() {
    let home = Home::new();
    home.user("# my settings\nmodel = \"old\" # the model\n\n[screen]\nascii = true # plain\n");
    let mut config = home.load(&[]).unwrap();
    config.save_default("groq", "new").unwrap();
    config.save_trusted(&home.work(), true).unwrap();
    config.save_trusted(&home.work(), true).unwrap();
    assert!(config.is_trusted(&home.work()) && !config.is_trusted(home.dir.path()));
    let text = std::fs::read_to_string(home.config().join("config.toml")).unwrap();
    assert!(text.starts_with("# my settings\nmodel = \"new\" # the model\n"), "{text}");
    assert!(text.contains("[screen]\nascii = true # plain\n"), "{text}");
    let again = home.load(&[]).unwrap();
    assert_eq!((again.settings.profile.as_str(), again.settings.model.as_str()), ("groq", "new"));
    assert!(again.is_trusted(&home.work()) && again.settings.screen.ascii);
    assert_eq!(again.settings.trusted_folders.len(), 1);
    config.save_trusted(&home.work(), false).unwrap();
    assert!(!home.load(&[]).unwrap().is_trusted(&home.work()));
    assert_eq!(std::fs::read_dir(home.config()).unwrap().count(), 1);
}

#[test]
fn folders_that_another_program_trusted_stay_trusted() {
    let home = Home::new();
    let (mut one, mut two) = (home.load(&[]).unwrap(), home.load(&[]).unwrap());
    one.save_trusted(&home.work(), true).unwrap();
    two.save_trusted(&home.config(), true).unwrap();
    assert!(two.is_trusted(&home.work()) && home.load(&[]).unwrap().is_trusted(&home.work()));
}

/// The earlier name of a setting is read, with a note, and does not collide with the built-in value under its new name.
#[test]
fn earlier_names_of_settings_work() {
    let home = Home::new();
    for (text, meant, note) in [
        ("compaction = \"ask\"\n", SummariesChoice::Draft, Some("compaction is now summaries = \"draft\".")),
        ("compaction = \"self\"\n", SummariesChoice::Auto, Some("compaction is now summaries = \"auto\".")),
        ("compaction = \"off\"\n", SummariesChoice::Off, Some("compaction is now summaries = \"off\".")),
        ("summaries = \"self\"\n", SummariesChoice::Auto, None),
        ("summaries = \"draft\"\n", SummariesChoice::Draft, None),
        ("summaries = \"policy\"\n", SummariesChoice::Policy, None),
    ] {
        home.user(text);
        let config = home.load(&[]).unwrap();
        assert_eq!(config.settings.summaries, meant, "{text}");
        assert_eq!(SummariesChoice::from_name(meant.name()), Some(meant));
        assert_eq!(config.notes.len(), usize::from(note.is_some()), "{text}: {:?}", config.notes);
        assert!(note.is_none_or(|note| config.notes[0].contains(note)), "{text}: {:?}", config.notes);
        assert!(config.origins.contains_key("summaries") && !config.origins.contains_key("compaction"), "{text}");
    }
    home.user("summaries = \"loud\"\n");
    let error = home.load(&[]).unwrap_err().to_string();
    assert!(error.contains("policy, off, draft, auto") || error.contains("auto, draft, off, policy"), "{error}");
    assert!(!error.contains("ask") && !error.contains("self"), "{error}");
    home.user("compacton = \"off\"\n");
    assert!(!home.load(&[]).unwrap_err().to_string().contains("compaction"), "an earlier name is not suggested");
}

#[cfg(unix)]
#[test]
fn files_are_private_and_open_permissions_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.user("mode = \"off\"\n");
    let file = home.config().join("config.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(home.load(&[]).unwrap().notes.is_empty(), "nothing in it is secret");
    home.user("[profiles.mine]\nbase_url = \"http://localhost/v1\"\nheaders = { x = \"y\" }\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut config = home.load(&[]).unwrap();
    assert!(config.notes.iter().any(|note| note.contains("chmod 600")));
    config.save_default("offline", "").unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(home.load(&[]).unwrap().notes.is_empty());
}

#[test]
fn printed_settings_load_again_and_hide_headers() {
    let home = Home::new();
    home.user("[profiles.mine]\nbase_url = \"http://me:hush@h/v1?key=hush\"\nheaders = { X-Key = \"sk-canary\" }\n");
    let shown = home.load(&[]).unwrap().shown();
    assert!(!shown.contains("sk-canary") && !shown.contains("hush"), "{shown}");
    home.user(&shown);
    assert_eq!(home.load(&[]).unwrap().shown(), shown);
    home.user("[profiles.mine]\nbase_url = \"ftp://me:hush@h/v1?api_key=hush\"\n");
    let why = home.load(&[]).unwrap_err().to_string();
    assert!(why.contains("is not an address") && !why.contains("hush"), "{why}");
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn no_text_makes_parsing_panic(text in "([a-z\\[\\]\"=\\.#\n é{}0-9]|mode|profiles|openai|screen){0,40}", cut in 0_usize..9_000) {
        let _ = Layer::parse::<Settings>("any", &text);
        let mut cut = cut.min(crate::config::DEFAULT.len());
        while !crate::config::DEFAULT.is_char_boundary(cut) {
            cut -= 1;
        }
        let broken = format!("{}{text}", &crate::config::DEFAULT[..cut]);
        if let Err(ConfigError::Faulty { place, .. }) = Layer::parse::<Settings>("any", &broken) {
            prop_assert!(place.line >= 1 && place.line <= broken.lines().count().max(1) + 1 && place.column >= 1);
        }
    }
}

#[test]
fn embedder_errors_have_positions() {
    let fault = |text: &str| {
        let home = Home::new();
        home.user(text);
        match home.load(&[]) {
            Err(ConfigError::Faulty { place, key, what, .. }) => (place, key, what),
            other => panic!("{other:?}"),
        }
    };
    let (place, key, _) = fault("[embedder]\nkind = \"cloud\"\n");
    assert_eq!((place, key.as_str()), (at(2, 8), "embedder.kind"));
    let (place, key, _) = fault("[embedder]\nkind = \"server\"\nprofile = \"opnai\"\nmodel = \"m\"\n");
    assert_eq!((place.line, key.as_str()), (3, "embedder.profile"));
    let (place, key, what) = fault("[embedder]\nkind = \"server\"\nprofile = \"openai\"\n");
    assert_eq!((place.line, key.as_str()), (2, "embedder.kind"));
    assert!(what.contains("`model`"), "{what}");
    let (_, key, _) = fault("[embedder]\nkind = \"directory\"\npaths = \"x\"\n");
    assert_eq!(key, "embedder.paths");
    let home = Home::new();
    home.user("[embedder]\nkind = \"directory\"\npath = \"~/model\"\n");
    assert_eq!(home.load(&[]).unwrap().settings.embedder.path, "~/model");
}

#[test]
fn a_rule_about_an_unknown_tool_is_reported() {
    let home = Home::new();
    let rule = |tool: &str| format!("[[tools.rules]]\ntool = {tool:?}\nverdict = \"deny\"\n");
    home.user(&[rule("wirte_file"), rule("mcp__files__*"), rule("run")].concat());
    let what = "tools.rules: No tool has the name \"wirte_file\", so the rule has no effect. Did you mean write_file?";
    assert_eq!(home.load(&[]).unwrap().notes, [what]);
}
