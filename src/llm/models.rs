//! Lists a server's models, and derives encodings from their names.
//! Not for: the built-in table of models (`config`) or choosing one.

use super::http::{Endpoint, problem, runtime};
use super::{LlmError, sdk};
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{Encoding, ModelInfo, Price, Profile, ProviderError, Supports};
use reqwest::Url;
use secrecy::SecretString;
use serde_json::Value;
use std::time::Duration;

/// Maximum models read from one server.
const MAX_MODELS: usize = 5_000;

/// Returns the models of a profile's server, in its order. If the server does not report a window, the profile's is
/// used, or 0 (`assumed`).
pub fn list(profile: &Profile, key: Option<&SecretString>, timeout: Duration) -> Result<Vec<ModelInfo>, ProviderError> {
    let endpoint = Endpoint::new(profile, key).map_err(|error| unusable(&error))?;
    let answer = runtime()?.block_on(fetch(&endpoint, timeout))?;
    let items = items(&answer);
    let mut models: Vec<ModelInfo> =
        items.iter().take(MAX_MODELS).filter_map(|item| read_model(item, profile)).collect();
    let llama = items.iter().any(|item| item.get("owned_by").and_then(Value::as_str) == Some("llamacpp"));
    if (llama || models.len() == 1)
        && models.iter().any(|model| model.source != "server")
        && let Some(window) = runtime()?.block_on(llama_window(&endpoint, timeout))
    {
        for model in &mut models {
            model.context_window = window;
            "server".clone_into(&mut model.source);
        }
    }
    Ok(models)
}

/// Checks whether a server is reachable. Returns the number of its models.
pub fn probe(profile: &Profile, key: Option<&SecretString>, timeout: Duration) -> Result<usize, ProviderError> {
    let endpoint = Endpoint::new(profile, key).map_err(|error| unusable(&error))?;
    let answer = runtime()?.block_on(fetch(&endpoint, timeout))?;
    Ok(items(&answer).len())
}

fn unusable(error: &LlmError) -> ProviderError {
    problem(Kind::Connect, error.to_string())
}

/// Sends one GET request, without retries.
async fn fetch(endpoint: &Endpoint, timeout: Duration) -> Result<Value, ProviderError> {
    let client = sdk::client(endpoint);
    let models = client.models();
    match tokio::time::timeout(timeout, models.list_byot::<Value>()).await {
        Ok(answer) => answer.map_err(|error| sdk::sort(endpoint, "the list of models", error)),
        Err(_) => Err(sdk::timeout_error(endpoint, timeout)),
    }
}

/// Returns the context window that llama.cpp reports outside the OpenAI routes.
async fn llama_window(endpoint: &Endpoint, timeout: Duration) -> Option<u32> {
    let mut url: Url = endpoint.base.clone();
    let root = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    url.set_path(&format!("{root}/props"));
    let request = endpoint.client.get(url).headers(endpoint.headers.clone()).timeout(timeout);
    let body = request.send().await.ok()?.error_for_status().ok()?.text().await.ok()?;
    let props: Value = serde_json::from_str(&body).ok()?;
    number(&props, &["/default_generation_settings/n_ctx", "/n_ctx"])
}

fn items(answer: &Value) -> &[Value] {
    let list = answer.as_array().or_else(|| ["data", "models"].iter().find_map(|name| answer.get(name)?.as_array()));
    list.map_or(&[], Vec::as_slice)
}

fn read_model(item: &Value, profile: &Profile) -> Option<ModelInfo> {
    let name = ["id", "name", "model"].iter().find_map(|field| item.get(field)?.as_str());
    let name = name.or_else(|| item.as_str()).filter(|name| !name.is_empty())?;
    let window_reported = number(
        item,
        &[
            "/max_model_len",
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/max_context_window_tokens",
            "/top_provider/context_length",
            "/meta/n_ctx",
        ],
    );
    let input_limit = number(item, &["/max_input_tokens", "/model_info/max_input_tokens", "/max_prompt_tokens"]);
    let (encoding, exact_encoding) = encoding_of(name);
    let window = window_reported.or(input_limit);
    let source = match (window, profile.context_window) {
        (Some(_), _) => "server",
        (None, 0) => "assumed",
        (None, _) => "profile",
    };
    Some(ModelInfo {
        name: name.to_owned(),
        context_window: window.unwrap_or(profile.context_window),
        input_limit,
        max_output: number(
            item,
            &["/max_output_tokens", "/top_provider/max_completion_tokens", "/max_completion_tokens"],
        ),
        encoding,
        exact_encoding,
        price: price(item),
        source: source.to_owned(),
        supports: supports(item),
    })
}

/// Reads the features of a model. `OpenRouter` lists the parameters of requests, Mistral has flags.
fn supports(item: &Value) -> Supports {
    let parameters = item.get("supported_parameters").and_then(Value::as_array);
    let lists = |wanted: &str| parameters.map(|all| all.iter().any(|name| name.as_str() == Some(wanted)));
    let flag = item.pointer("/capabilities/function_calling").and_then(Value::as_bool);
    Supports { tools: lists("tools").or(flag), reasoning: lists("reasoning") }
}

fn number(item: &Value, paths: &[&str]) -> Option<u32> {
    paths.iter().find_map(|path| {
        let value = item.pointer(path)?;
        value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)
    })
}

/// Reads a model's prices. `OpenRouter` gives prices in dollars per token, as strings.
fn price(item: &Value) -> Option<Price> {
    let field = |name: &str| match item.pointer(&format!("/pricing/{name}"))? {
        Value::String(text) => text.parse::<f64>().ok(),
        other => other.as_f64(),
    };
    let million = |dollars: f64| (dollars.is_finite() && dollars >= 0.0).then_some(dollars * 1e6);
    let (input, output) = (field("prompt").and_then(million)?, field("completion").and_then(million)?);
    Some(Price {
        input,
        output,
        cached: field("input_cache_read").and_then(million),
        cache_write: field("input_cache_write").and_then(million),
        reasoning: field("internal_reasoning").and_then(million).filter(|price| *price > 0.0),
    })
}

/// Returns the encoding that counts a model's tokens, and whether it is the model's own.
pub fn encoding_of(model: &str) -> (Encoding, bool) {
    let lower = model.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let o_series = ["o1", "o3", "o4"].iter().any(|o| name == *o || name.starts_with(&format!("{o}-")));
    if o_series || begins(&["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o"]) {
        (Encoding::O200kBase, true)
    } else if begins(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada-002"]) {
        (Encoding::Cl100kBase, true)
    } else {
        (Encoding::O200kBase, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(item: &Value) -> ModelInfo {
        read_model(item, &Profile { context_window: 77, ..Profile::default() }).unwrap()
    }

    #[test]
    fn windows_under_every_name() {
        for (item, window, source) in [
            (json!({"id": "a", "max_model_len": 4096}), 4096, "server"),
            (json!({"id": "a", "max_input_tokens": 8000, "max_output_tokens": 100}), 8000, "server"),
            (json!({"id": "a", "context_length": 1, "top_provider": {"context_length": 2}}), 1, "server"),
            (json!({"id": "a", "context_window": 131_072}), 131_072, "server"),
            (json!({"id": "a", "context_length": null}), 77, "profile"),
            (json!({"id": "a", "context_length": 0, "max_context_length": 9}), 9, "server"),
            (json!({"name": "a"}), 77, "profile"),
        ] {
            let model = read(&item);
            assert_eq!((model.context_window, model.source.as_str()), (window, source), "{item}");
        }
        assert_eq!(read(&json!({"id": "a", "max_input_tokens": 8, "max_output_tokens": 9})).max_output, Some(9));
        assert!(read_model(&json!({"object": "model"}), &Profile::default()).is_none());
    }

    #[test]
    fn prices_per_token_become_prices_per_million() {
        let priced = json!({"id": "a", "pricing": {"prompt": "0.000001", "completion": "0.000002"}});
        let price = read(&priced).price.unwrap();
        assert!((price.input - 1.0).abs() < 1e-9 && (price.output - 2.0).abs() < 1e-9);
        assert_eq!(read(&json!({"id": "a", "pricing": {"prompt": "-1", "completion": "-1"}})).price, None);
    }

    #[test]
    fn what_a_model_supports_is_read_and_never_guessed() {
        for (item, words) in [
            (json!({"id": "a"}), ""),
            (json!({"id": "a", "supported_parameters": ["tools", "top_p", "reasoning"]}), "tools, reasoning"),
            (json!({"id": "a", "supported_parameters": ["top_p"]}), "no tools"),
            (json!({"id": "a", "capabilities": {"function_calling": true}}), "tools"),
            (json!({"id": "a", "capabilities": {"function_calling": false}}), "no tools"),
        ] {
            assert_eq!(read(&item).supports.to_text(), words, "{item}");
        }
    }

    #[test]
    fn lists_in_every_shape() {
        assert_eq!(items(&json!({"data": [1, 2]})).len(), 2);
        assert_eq!(items(&json!({"models": [1]})).len(), 1);
        assert_eq!(items(&json!([1, 2, 3])).len(), 3);
        assert!(items(&json!({"data": null})).is_empty());
    }
}
