//! Which profile and model the program starts with.
//! Not for: looking for local servers (`engine`), or the keys themselves (`llm` reads them when it calls).

use super::load::Config;
use crate::domain::model::Profile;

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
            profile.base_url = without_userinfo(&profile.base_url);
            profile.headers.values_mut().for_each(|value| "(hidden)".clone_into(value));
        }
        for server in settings.mcp_servers.values_mut() {
            server.url = super::servers::masked(&server.url);
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

/// An address without the name and password that it may carry.
#[must_use]
pub fn without_userinfo(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.rsplit('@').next().unwrap_or_default().to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => address.to_owned(),
    }
}
