//! Which profile and model the program starts with.
//! Not for: looking for local servers (`engine`), or the keys themselves (`llm` reads them when it calls).

use super::load::Config;
use crate::domain::call::address;
use crate::domain::call::model::Profile;
use crate::domain::tool::folder_settings::FileStanding;
use std::fmt::Write as _;
use toml_edit::{DocumentMut, Item, Table};

/// Profiles that are tried in this order when their key is in the environment; others follow by name.
const ORDER: [&str; 6] = ["openai", "openrouter", "anthropic", "mistral", "groq", "deepseek"];

impl Config {
    /// The profile to start with: the one named (flag, environment, file), else openai when its key or address is in the
    /// environment, else the first with a key. None: nothing is set up, and local servers are worth looking for.
    #[must_use]
    pub fn start_profile(&self) -> Option<&Profile> {
        let named = self.overrides.profile.as_deref().unwrap_or(&self.settings.profile);
        if !named.is_empty() {
            return self.profile(named);
        }
        let openai = self.profile("openai").filter(|_| self.env.get("OPENAI_BASE_URL").is_some());
        openai.or_else(|| self.with_keys().into_iter().next())
    }

    /// The profiles for which a key is at hand, in the order in which they are offered.
    #[must_use]
    pub fn with_keys(&self) -> Vec<&Profile> {
        let first = ORDER.into_iter().filter_map(|name| self.profile(name));
        let rest = self.settings.profiles.values().filter(|profile| !ORDER.contains(&profile.name.as_str()));
        first.chain(rest).filter(|profile| self.finds_key(profile)).collect()
    }

    fn finds_key(&self, profile: &Profile) -> bool {
        let in_env = !profile.api_key_env.is_empty() && self.env.get(&profile.api_key_env).is_some();
        in_env || !profile.api_key_cmd.is_empty()
    }

    /// The settings that hold as TOML, without anything that may be secret.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut settings = self.settings.clone();
        for profile in settings.profiles.values_mut() {
            profile.base_url = address::shown(&profile.base_url);
            profile.headers.values_mut().for_each(|value| "(hidden)".clone_into(value));
        }
        for server in settings.mcp_servers.values_mut() {
            server.url = address::shown(&server.url);
            server.env.values_mut().chain(server.headers.values_mut()).for_each(|value| "(hidden)".clone_into(value));
        }
        let Ok(mut table) = toml::Table::try_from(&settings) else { return String::new() };
        if let Some(profiles) = table.get_mut("profiles").and_then(toml::Value::as_table_mut) {
            for (_, profile) in profiles.iter_mut() {
                profile.as_table_mut().map(|table| table.remove("name"));
            }
        }
        toml::to_string_pretty(&table).unwrap_or_default()
    }
}

impl Config {
    /// The settings that hold as TOML, each with a word on where it comes from unless it is built in, and how the folder's own
    /// file stands.
    #[must_use]
    pub fn explained(&self) -> String {
        let shown = self.shown();
        let Ok(mut document) = shown.parse::<DocumentMut>() else { return shown };
        for (key, origin) in &self.origins {
            let parts: Vec<&str> = key.split('.').collect();
            explain(document.as_table_mut(), &parts, origin);
        }
        let mut text = String::from("# A setting with no word above it is built in.\n");
        if let Some(card) = &self.folder {
            let asks = if card.standing == FileStanding::Waits { "; /folder-settings shows it and asks" } else { "" };
            let _ = writeln!(text, "# {}: {}{asks}", one_line(&card.path), one_line(&card.words()));
        }
        text + &document.to_string()
    }
}

/// Puts a word on where a value comes from above it.
fn explain(table: &mut Table, parts: &[&str], origin: &str) {
    let Some((first, rest)) = parts.split_first() else { return };
    let words = format!("# from {}\n", one_line(origin));
    match table.get_mut(first) {
        Some(Item::Table(inner)) => explain(inner, rest, origin),
        Some(Item::ArrayOfTables(all)) if rest.is_empty() => {
            if let Some(first) = all.get_mut(0) {
                first.decor_mut().set_prefix(format!("\n{words}"));
            }
        }
        Some(Item::Value(_)) => {
            if let Some(mut key) = table.key_mut(first) {
                key.leaf_decor_mut().set_prefix(words);
            }
        }
        _ => {}
    }
}

/// A text for a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}
