//! Known properties of models: the built-in table and the user's entries.
//! Not for: properties that a server reports (`llm`), which the engine gives precedence.

use super::load::host;
use super::settings::ModelEntry;
use crate::domain::call::{Backend, Encoding, ModelInfo, Profile, Supports};
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../config/models.toml");

/// The context window assumed for unknown models.
const ASSUMED_WINDOW: u32 = 8_192;

/// The domains of public providers. The built-in table has the prices of their models; a server at any other address may
/// serve a model of the same name at any price.
const PUBLIC: [&str; 8] = [
    "anthropic.com",
    "deepseek.com",
    "googleapis.com",
    "groq.com",
    "mistral.ai",
    "openai.com",
    "openrouter.ai",
    "x.ai",
];

/// The built-in table and the user's entries, which have precedence.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelTable {
    shipped: BTreeMap<String, ModelEntry>,
    own: BTreeMap<String, ModelEntry>,
}

impl ModelTable {
    /// Makes a table with the user's entries `own`. A built-in table that cannot be parsed counts as empty; a test
    /// prevents that.
    pub fn new(own: BTreeMap<String, ModelEntry>) -> Self {
        Self { shipped: toml::from_str(TABLE).unwrap_or_default(), own }
    }

    /// Returns the known properties of a model of a profile. The profile's context window overrides the built-in table,
    /// and the user's entry for the model overrides both. The built-in price applies only to public providers.
    pub fn info(&self, name: &str, profile: Option<&Profile>) -> ModelInfo {
        let shipped = find(&self.shipped, name).cloned().unwrap_or_default();
        let own = find(&self.own, name).cloned().unwrap_or_default();
        let set = profile.map(|profile| profile.context_window).filter(|window| *window > 0);
        let (context_window, source) = match (own.context_window, set, shipped.context_window) {
            (None, Some(window), _) => (window, "profile"),
            (Some(window), _, _) | (None, None, Some(window)) => (window, "table"),
            (None, None, None) => (ASSUMED_WINDOW, "assumed"),
        };
        let local = profile.is_some_and(|profile| profile.backend != Backend::Openai);
        ModelInfo {
            name: name.to_owned(),
            context_window,
            input_limit: own.input_limit.or(shipped.input_limit).filter(|limit| *limit > 0),
            max_output: own.max_output.or(shipped.max_output).filter(|limit| *limit > 0),
            encoding: own.encoding.or(shipped.encoding).unwrap_or(Encoding::O200kBase),
            exact_encoding: own.exact.or(shipped.exact).unwrap_or(local),
            price: own.price.or(shipped.price.filter(|_| profile.is_none_or(is_public))),
            source: source.into(),
            supports: supports(&self.own, name).or(supports(&self.shipped, name)),
        }
    }

    /// Returns the path of the `tokenizer.json` that counts a model's tokens, not expanded: the model's own, or else
    /// the profile's. None if neither names one, or if the model's entry is empty.
    pub fn tokenizer<'a>(&'a self, name: &str, profile: Option<&'a Profile>) -> Option<&'a str> {
        let own = [&self.own, &self.shipped].into_iter().find_map(|table| find(table, name)?.tokenizer.as_deref());
        own.or_else(|| profile.map(|profile| profile.tokenizer.as_str())).map(str::trim).filter(|path| !path.is_empty())
    }
}

/// Whether the built-in prices apply to a profile.
fn is_public(profile: &Profile) -> bool {
    let is_at = |host: &str, domain: &&str| {
        host.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    profile.backend != Backend::Openai
        || host(&profile.base_url).is_some_and(|host| PUBLIC.iter().any(|domain| is_at(&host, domain)))
}

/// Returns the known features of a model. Models whose names only begin like an entry may have other features, except
/// versions with a date: `gpt-4.1-2025-04-14`.
fn supports(table: &BTreeMap<String, ModelEntry>, name: &str) -> Supports {
    let whole = name.to_lowercase();
    let bare = whole.rsplit('/').next().unwrap_or_default();
    let is_version = |pattern: &str| bare.strip_prefix(pattern).is_some_and(|rest| rest.starts_with("-20"));
    let of = |pattern: &str| [&*whole, bare].contains(&pattern) || is_version(pattern);
    let entry = table.iter().find(|(pattern, _)| of(&pattern.to_lowercase())).map(|(_, entry)| entry);
    entry.map_or_else(Supports::default, |entry| Supports { tools: entry.tools, reasoning: entry.reasoning })
}

/// Returns the entry with the longest name that is a prefix of the model's name, or of the part after its last `/`. A
/// longer version number (`gpt-5` in `gpt-5.9`) is a different model, because a wrong price is worse than none.
fn find<'a>(table: &'a BTreeMap<String, ModelEntry>, name: &str) -> Option<&'a ModelEntry> {
    let whole = name.to_lowercase();
    let bare = whole.rsplit('/').next().unwrap_or_default();
    let longest = |name: &str| {
        let fits = |pattern: &str| {
            let rest = name.strip_prefix(&pattern.to_lowercase()).filter(|_| !pattern.is_empty());
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next == '.' || next.is_ascii_digit()))
        };
        table.iter().filter(|(pattern, _)| fits(pattern)).max_by_key(|(pattern, _)| pattern.len())
    };
    longest(&whole).or_else(|| longest(bare)).map(|(_, entry)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::model::Price;

    fn table() -> ModelTable {
        ModelTable::new(BTreeMap::new())
    }

    #[test]
    fn the_built_in_model_table_is_complete() {
        let read: BTreeMap<String, ModelEntry> = toml::from_str(TABLE).unwrap();
        assert!(read.len() >= 40);
        for (name, entry) in &read {
            let window = entry.context_window.unwrap();
            assert!(window >= 4_096, "{name}");
            assert!(entry.input_limit.is_none_or(|limit| limit <= window), "{name}");
            assert!(entry.max_output.is_none_or(|limit| limit <= window), "{name}");
            assert_eq!(entry.exact.is_some(), entry.encoding.is_some(), "{name}");
        }
    }

    #[test]
    fn the_longest_prefix_wins() {
        let read = |name: &str| table().info(name, None);
        assert_eq!(read("gpt-4.1-mini-2025-04-14").price.unwrap().micro(1_000_000, 0, 0), 400_000);
        assert_eq!(read("openai/gpt-4.1").context_window, 1_047_576);
        assert_eq!(read("GPT-4o").encoding, Encoding::O200kBase);
        assert_eq!(read("gpt-4-0613").encoding, Encoding::Cl100kBase);
        assert_eq!(read("gpt-4-turbo").context_window, 128_000);
        let five = read("gpt-5-mini");
        assert_eq!((five.context_window, five.input_limit), (400_000, Some(272_000)));
        assert!(five.exact_encoding);
        let output = |name: &str| read(name).price.unwrap().micro(0, 0, 1_000_000);
        assert_eq!((output("claude-opus-4-1-20250805"), output("claude-opus-4-6")), (75_000_000, 25_000_000));
        assert!(!read("claude-sonnet-4-5").exact_encoding);
        assert_eq!(read("meta-llama/llama-3.3-70b-instruct").context_window, 131_072);
        assert_eq!(read("llama3.1:8b").context_window, 131_072);
        let supports = |name: &str| read(name).supports.to_text();
        assert_eq!(
            (supports("gpt-4.1-mini").as_str(), supports("openai/o4-mini").as_str()),
            ("tools", "tools, reasoning")
        );
        assert_eq!((supports("gpt-4.1-2025-04-14").as_str(), supports("o1-mini").as_str()), ("tools", ""));
    }

    #[test]
    fn an_unknown_model_is_marked_as_assumed() {
        for newer in ["gpt-5.9", "gpt-4.5-preview", "o12", "claude-opus-4.9"] {
            assert_eq!(table().info(newer, None).source, "assumed", "{newer}");
        }
        let info = table().info("nobody-knows", None);
        assert_eq!((info.context_window, info.source.as_str()), (ASSUMED_WINDOW, "assumed"));
        assert_eq!(info.price, None);
    }

    #[test]
    fn a_models_tokenizer_overrides_its_profiles() {
        let entry = |path: &str| ModelEntry { tokenizer: Some(path.into()), ..ModelEntry::default() };
        let own = [("mine", entry("/a.json")), ("mine-plain", entry(""))];
        let table = ModelTable::new(own.map(|(name, entry)| (name.to_owned(), entry)).into());
        let profile = Profile { tokenizer: "/p.json".into(), ..Profile::default() };
        assert_eq!(table.tokenizer("mine-7b", Some(&profile)), Some("/a.json"));
        assert_eq!(table.tokenizer("mine-plain", Some(&profile)), None, "empty takes it back");
        assert_eq!(table.tokenizer("other", Some(&profile)), Some("/p.json"));
        assert_eq!(table.tokenizer("other", Some(&Profile::default())), None);
        assert_eq!(table.tokenizer("gpt-4o", None), None);
    }

    #[test]
    fn a_server_of_ones_own_has_no_built_in_price() {
        let at = |address: &str| Profile { base_url: address.into(), ..Profile::default() };
        let price = |table: &ModelTable, address: &str| table.info("gpt-4.1-mini", Some(&at(address))).price;
        for public in ["https://api.openai.com/v1", "https://eu.api.openai.com/v1", "https://OPENAI.com"] {
            assert!(price(&table(), public).is_some(), "{public}");
        }
        let own = ["http://localhost:8000/v1", "https://myopenai.com/v1", "https://openai.com.example.org/v1", ""];
        for own in own {
            assert_eq!(price(&table(), own), None, "{own}");
        }
        let set =
            ModelEntry { price: Some(Price { input: 1.0, output: 2.0, ..Price::default() }), ..ModelEntry::default() };
        let priced = ModelTable::new(BTreeMap::from([("gpt-4.1-mini".into(), set)]));
        assert_eq!(price(&priced, "http://localhost:8000/v1").unwrap().micro(1_000_000, 0, 0), 1_000_000);
    }

    #[test]
    fn a_profile_overrides_the_table_and_own_entries_override_both() {
        let profile = Profile { context_window: 4_096, ..Profile::default() };
        let info = table().info("llama3.1", Some(&profile));
        assert_eq!((info.context_window, info.source.as_str()), (4_096, "profile"));
        let own = ModelEntry {
            context_window: Some(16_000),
            input_limit: Some(0),
            price: Some(Price { input: 1.0, output: 2.0, ..Price::default() }),
            ..ModelEntry::default()
        };
        let table = ModelTable::new(BTreeMap::from([("gpt-5".into(), own)]));
        let info = table.info("gpt-5-mini", Some(&profile));
        assert_eq!((info.context_window, info.input_limit, info.max_output), (16_000, None, Some(128_000)));
        assert_eq!(info.price.unwrap().micro(0, 0, 1_000_000), 2_000_000);
    }
}
