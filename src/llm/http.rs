//! Shared by all calls to servers: TLS provider, runtime, HTTP client, URLs, headers, and the removal of secrets from
//! texts.
//! Not for: any request (`openai`, `models`).

use super::{LlmError, clip, fault};
use crate::domain::base::failure::with_causes;
use crate::domain::call::provider::{ProviderErrorKind as Kind, UNREACHED};
use crate::domain::call::{Diagnostic, Profile, ProviderError};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use std::cmp::Reverse;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Limit of `ProviderError::what` in characters.
const MAX_MESSAGE: usize = 400;
/// Limit of `Diagnostic::raw` in characters.
const MAX_RAW: usize = 2_000;

/// Installs ring as the TLS provider of the process. Idempotent; clients created here call it themselves.
pub fn init() {
    // An error means that a provider is already installed, which is acceptable.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns the runtime shared by all calls.
pub(super) fn runtime() -> Result<&'static Runtime, ProviderError> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let built = RUNTIME.get_or_init(|| {
        let built = Builder::new_multi_thread().worker_threads(2).thread_name("pleach-net").enable_all().build();
        built.map_err(|error| error.to_string())
    });
    built.as_ref().map_err(|why| problem(Kind::Connect, format!("the network runtime can't be started: {why}")))
}

/// Returns an error with the hint of its kind.
pub(super) fn problem(kind: Kind, what: impl Into<String>) -> ProviderError {
    ProviderError { hint: fault::hint(&kind).to_owned(), what: what.into(), kind, status: None }
}

/// The minimum length in bytes of a value that is removed from texts.
const SHORTEST_SECRET: usize = 8;

/// A server's URL and headers, and the secrets that must never be shown.
pub(super) struct Endpoint {
    pub(super) client: Client,
    pub(super) base: Url,
    pub(super) headers: HeaderMap,
    secrets: Vec<String>,
    /// Whether the server runs on this computer.
    is_local: bool,
    /// What to do if the server rejects the key.
    key_hint: String,
}

/// What to do if a server on another computer cannot be reached.
const NETWORK: &str = "Check the network connection, and base_url if you set it. `pleach doctor` checks every profile.";

/// Names where a profile's key comes from.
fn key_hint(profile: &Profile) -> String {
    let name = &profile.name;
    match (profile.api_key_env.trim(), profile.api_key_cmd.trim()) {
        ("", "") => format!("Set api_key_env or api_key_cmd of profile {name} in the settings."),
        (env, "") => format!("Check the key of profile {name}: it comes from the environment variable {env}."),
        ("", _) => format!("Check the key of profile {name}: it comes from the command in api_key_cmd."),
        (env, _) => format!(
            "Check the key of profile {name}: it comes from the environment variable {env}, or from the command in \
                api_key_cmd if that variable is not set."
        ),
    }
}

impl Endpoint {
    pub(super) fn new(profile: &Profile, key: Option<&SecretString>) -> Result<Self, LlmError> {
        init();
        let base = address(profile)?;
        let headers = headers(profile, key)?;
        let mut secrets: Vec<String> = profile.headers.values().cloned().collect();
        // A server may repeat the key in `Authorization: Bearer KEY` without the word before it.
        let keys = profile.headers.iter().filter(|(name, _)| name.to_ascii_lowercase().ends_with("authorization"));
        secrets.extend(keys.filter_map(|(_, value)| Some(value.split_once(' ')?.1.trim().to_owned())));
        secrets.extend(key.map(|key| key.expose_secret().trim().to_owned()));
        secrets.extend(base.password().map(str::to_owned));
        // The query may contain a key, too.
        secrets.extend(base.query_pairs().map(|(_, value)| value.into_owned()));
        // A short value is not a key, and removing it would damage other text.
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        // A secret that contains another secret is removed first, so that no part of it remains.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        let is_local = base.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(u64::from(profile.connect_timeout.max(1))))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // A pooled connection can break during a POST, and then it is unknown whether the server received the
            // request.
            .pool_max_idle_per_host(0)
            .tcp_nodelay(true)
            .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")));
        let client = if is_local { client.no_proxy() } else { client };
        let client = client.build().map_err(|error| LlmError::Client(with_causes(&error)))?;
        Ok(Self { client, base, headers, secrets, is_local, key_hint: key_hint(profile) })
    }

    /// Returns the URL of a path below the base; keeps the query of the base.
    pub(super) fn url_for(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let below = url.path().trim_end_matches('/');
        if !below.ends_with(path) {
            let joined = format!("{below}{path}");
            url.set_path(&joined);
        }
        url
    }

    /// Returns the server's host and, if it is not the default, its port.
    pub(super) fn host_and_port(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Removes secrets from an error, bounds its length, and says in its hint what suits this server.
    pub(super) fn clean(&self, mut error: ProviderError) -> ProviderError {
        if error.kind == Kind::Auth {
            error.hint.clone_from(&self.key_hint);
        } else if error.kind == Kind::Connect && !self.is_local {
            NETWORK.clone_into(&mut error.hint);
        }
        error.what = clip(&self.without_secrets(&error.what), MAX_MESSAGE);
        error
    }

    /// Removes secrets from a diagnostic and bounds its length.
    pub(super) fn clean_diagnostic(&self, diagnostic: Diagnostic) -> Diagnostic {
        Diagnostic { raw: clip(&self.without_secrets(&diagnostic.raw), MAX_RAW), ..diagnostic }
    }

    fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
    }

    /// Returns the error for a failure below HTTP. Distinguishes connections that were never established.
    pub(super) fn transport_error(&self, error: reqwest::Error) -> ProviderError {
        let connecting = error.is_connect();
        let timeout = error.is_timeout();
        let why = without_layers(&with_causes(&error.without_url()));
        let host_and_port = self.host_and_port();
        let what = match (connecting, timeout) {
            (true, true) => format!("{UNREACHED}{host_and_port}: it did not answer in time"),
            (true, false) => format!("{UNREACHED}{host_and_port}: {why}"),
            (false, _) => format!("the connection to {host_and_port} broke: {why}"),
        };
        problem(Kind::Connect, what)
    }
}

/// Removes the names of error layers and the error number, which mean nothing to users.
fn without_layers(why: &str) -> String {
    let layers = ["error sending request: ", "client error (Connect): ", "tcp connect error: "];
    let plain = layers.iter().fold(why, |why, layer| why.strip_prefix(layer).unwrap_or(why));
    plain.split(" (os error ").next().unwrap_or(plain).to_owned()
}

fn address(profile: &Profile) -> Result<Url, LlmError> {
    let wrong = |why: &str| LlmError::Address { profile: profile.name.clone(), why: why.to_owned() };
    let url = Url::parse(profile.base_url.trim()).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(wrong("it must start with http:// or https://")),
    }
}

fn headers(profile: &Profile, key: Option<&SecretString>) -> Result<HeaderMap, LlmError> {
    let wrong = |name: &str| LlmError::Header { profile: profile.name.clone(), name: name.to_owned() };
    let mut headers = HeaderMap::new();
    if let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty()) {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| wrong("authorization"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &profile.headers {
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong(name))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name))?, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(base_url: &str) -> Profile {
        Profile { name: "p".into(), base_url: base_url.into(), ..Profile::default() }
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        for (base, expected) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h/v1/", "http://h/v1/chat/completions"),
            ("http://h", "http://h/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("http://h/x?api-version=1", "http://h/x/chat/completions?api-version=1"),
        ] {
            let endpoint = Endpoint::new(&profile(base), None).unwrap();
            assert_eq!(endpoint.url_for("/chat/completions").as_str(), expected);
        }
    }

    #[test]
    fn bad_addresses_and_headers_are_errors() {
        for base in ["", "host/v1", "ftp://h/", "http://", "http:///", "https://:80/", "http://?x"] {
            assert!(matches!(Endpoint::new(&profile(base), None), Err(LlmError::Address { .. })), "{base}");
        }
        let bad = SecretString::from("a\nb");
        let Err(error) = Endpoint::new(&profile("http://h"), Some(&bad)) else { panic!("taken") };
        assert!(!error.to_string().contains("a\nb"), "{error}");
    }

    #[test]
    fn secrets_are_removed_from_every_text() {
        let mut profile = profile("http://me:hunter2!@h/v1?key=canary-query");
        profile.headers.insert("x-api-key".into(), "canary-header".into());
        let key = SecretString::from("sk-canary");
        let endpoint = Endpoint::new(&profile, Some(&key)).unwrap();
        let text = format!("sk-canary canary-header hunter2! canary-query {}", "x".repeat(500));
        let error = endpoint.clean(problem(Kind::Auth, text));
        assert!(error.what.starts_with("[redacted] [redacted] [redacted] [redacted] x"), "{}", error.what);
        assert_eq!(error.what.chars().count(), MAX_MESSAGE);
        assert_eq!(endpoint.host_and_port(), "h");
    }

    #[test]
    fn hints_name_the_source_of_the_key_and_the_network() {
        let hint = |base: &str, kind: Kind, env: &str, cmd: &str| {
            let own = Profile { api_key_env: env.into(), api_key_cmd: cmd.into(), ..profile(base) };
            Endpoint::new(&own, None).unwrap().clean(problem(kind, "x")).hint
        };
        let auth = |env: &str, cmd: &str| hint("http://h", Kind::Auth, env, cmd);
        assert!(auth("GROQ_API_KEY", "").ends_with("profile p: it comes from the environment variable GROQ_API_KEY."));
        assert!(auth("A_KEY", "pass x").contains("variable A_KEY, or from the command in api_key_cmd"));
        assert!(auth("", "pass x").ends_with("the command in api_key_cmd."));
        assert!(auth("", "").starts_with("Set api_key_env or api_key_cmd of profile p"));
        for (base, asks) in [
            ("https://api.openai.com/v1", "Check the network connection"),
            ("http://127.0.0.1:9/v1", "Is the server running"),
            ("http://localhost:9/v1", "Is the server running"),
        ] {
            assert!(hint(base, Kind::Connect, "", "").starts_with(asks), "{base}");
        }
    }

    #[test]
    fn no_part_of_a_secret_remains() {
        let mut profile = profile("http://h/v1?key=canary-1");
        profile.headers.insert("Authorization".into(), "Bearer canary-1-longer".into());
        let endpoint = Endpoint::new(&profile, None).unwrap();
        assert_eq!(endpoint.without_secrets("keys canary-1-longer, canary-1"), "keys [redacted], [redacted]");
    }

    #[test]
    fn a_failure_is_reported_without_error_layers() {
        for (why, plain) in [
            (
                "error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)",
                "Connection refused",
            ),
            ("client error (Connect): dns error: no such host", "dns error: no such host"),
            ("tcp connect error: error sending request: x", "error sending request: x"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(without_layers(why), plain);
        }
    }

    #[test]
    fn secrets_taken_out_of_texts() {
        let mut profile = profile("http://h:81/v1?key=12345678&short=1234567");
        profile.headers.insert("x-long".into(), "eight---".into());
        profile.headers.insert("x-short".into(), "seven--".into());
        let endpoint = Endpoint::new(&profile, Some(&SecretString::from("k"))).unwrap();
        assert_eq!(endpoint.host_and_port(), "h:81");
        assert_eq!(
            endpoint.without_secrets("12345678 1234567 eight--- seven-- k"),
            "[redacted] 1234567 [redacted] seven-- k"
        );
        let longer = Endpoint::new(&profile, Some(&SecretString::from("12345-78 "))).unwrap();
        assert_eq!(longer.without_secrets("blocked 12345-78 12345-7"), "blocked [redacted] 12345-7");
        let none = Endpoint::new(&profile, Some(&SecretString::from(" "))).unwrap();
        assert!(none.headers.get(AUTHORIZATION).is_none() && endpoint.headers.get(AUTHORIZATION).is_some());
        assert!(endpoint.headers.values().all(HeaderValue::is_sensitive));
        let diagnostic = Diagnostic { what: "eight---".into(), raw: format!("eight---{}", "y".repeat(3_000)) };
        let diagnostic = endpoint.clean_diagnostic(diagnostic);
        assert_eq!((diagnostic.what.as_str(), diagnostic.raw.chars().count()), ("eight---", MAX_RAW));
        assert!(diagnostic.raw.starts_with("[redacted]y"));
    }
}
