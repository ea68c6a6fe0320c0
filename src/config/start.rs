//! Chooses the profile at the start, and prints the effective settings.
//! Not for: finding local servers (`engine`), or reading API keys (`llm`).

use super::load::Config;
use crate::domain::call::{Profile, address};
use crate::domain::tool::SettingsFileStatus;
use std::fmt::Write as _;
use toml_edit::{DocumentMut, Item, Table};

/// The order in which profiles with a key in the environment are tried; other profiles follow by name.
const PROFILE_ORDER: [&str; 6] = ["openai", "openrouter", "anthropic", "mistral", "groq", "deepseek"];

impl Config {
    /// Returns the initial profile: the configured one (flag, environment, file), or else openai if its address is in
    /// the environment, or else the first profile with a key. None if nothing is configured; the caller then looks for
    /// local servers.
    pub fn start_profile(&self) -> Option<&Profile> {
        let named = self.overrides.profile.as_deref().unwrap_or(&self.settings.profile);
        if !named.is_empty() {
            return self.profile(named);
        }
        let openai = self.profile("openai").filter(|_| self.env.get("OPENAI_BASE_URL").is_some());
        openai.or_else(|| self.with_key())
    }

    /// Returns the first profile with an available key.
    fn with_key(&self) -> Option<&Profile> {
        let first = PROFILE_ORDER.into_iter().filter_map(|name| self.profile(name));
        let rest = self.settings.profiles.values().filter(|profile| !PROFILE_ORDER.contains(&profile.name.as_str()));
        first.chain(rest).find(|profile| self.finds_key(profile))
    }

    fn finds_key(&self, profile: &Profile) -> bool {
        let in_env = !profile.api_key_env.is_empty() && self.env.get(&profile.api_key_env).is_some();
        in_env || !profile.api_key_cmd.is_empty()
    }

    /// Returns the effective settings as TOML, with possible secrets hidden.
    pub fn shown(&self) -> String {
        let mut settings = self.settings.clone();
        for profile in settings.profiles.values_mut() {
            profile.base_url = address::without_secrets(&profile.base_url);
            profile.headers.values_mut().for_each(|value| "(hidden)".clone_into(value));
        }
        for server in settings.mcp_servers.values_mut() {
            server.url = address::without_secrets(&server.url);
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

    /// Returns the effective settings as TOML, each with its origin unless it is built in, and the status of the
    /// folder's own file.
    pub fn explained(&self) -> String {
        let shown = self.shown();
        let Ok(mut document) = shown.parse::<DocumentMut>() else { return shown };
        for (key, origin) in &self.origins {
            let parts: Vec<&str> = key.split('.').collect();
            explain(document.as_table_mut(), &parts, origin);
        }
        let mut text = String::from("# Settings without a comment have their built-in value.\n");
        if let Some(report) = &self.folder {
            let waits = report.status == SettingsFileStatus::Waits;
            let asks = if waits { "; /folder-settings shows it and asks for approval" } else { "" };
            let _ = writeln!(text, "# {}: {}{asks}", one_line(&report.path), one_line(&report.to_text()));
        }
        text + &document.to_string()
    }
}

/// Adds a comment with the origin above a value.
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

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
