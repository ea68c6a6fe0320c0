//! Configures async-openai's client: nothing from the environment, no hidden retries, errors with their status.
//! Not for: chat requests, whose bytes are made elsewhere (`openai`).

use super::fault::Fault;
use super::http::{Endpoint, problem};
use crate::domain::call::ProviderError;
use crate::domain::call::provider::ProviderErrorKind as Kind;
use async_openai::Client;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::Response;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

/// An error carried through the client's own error type.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.what)]
struct Refusal(ProviderError);

/// The client's settings, taken only from the profile.
pub(super) struct Settings {
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    no_key: SecretString,
}

impl async_openai::config::Config for Settings {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

impl Settings {
    fn of(endpoint: &Endpoint) -> Self {
        let mut base = endpoint.base.clone();
        let query = base.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        base.set_query(None);
        let base = base.as_str().trim_end_matches('/');
        let base = base.trim_end_matches("/chat/completions").trim_end_matches("/embeddings").to_owned();
        Self { base, query, headers: endpoint.headers.clone(), no_key: SecretString::from("") }
    }
}

/// Creates a client of an endpoint. Each call is one request.
pub(super) fn client(endpoint: &Endpoint) -> Client<Settings> {
    let http = endpoint.client.clone();
    let service = tower::service_fn(move |request: HttpRequestFactory| {
        let http = http.clone();
        async move { send_once(&http, request.build().await?).await }
    });
    Client::with_config(Settings::of(endpoint)).with_http_service(service)
}

async fn send_once(http: &reqwest::Client, request: reqwest::Request) -> Result<Response, OpenAIError> {
    let response = http.execute(request).await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.text().await.unwrap_or_default();
    let error = Fault::in_body(&body).sort(Some(status.as_u16()));
    Err(OpenAIError::Boxed(Box::new(Refusal(error))))
}

/// Converts the client's error to a `ProviderError`, without secrets. `what` names the request, as in "the list of
/// models".
pub(super) fn sort(endpoint: &Endpoint, what: &str, error: OpenAIError) -> ProviderError {
    let sorted = match error {
        OpenAIError::Reqwest(error) => endpoint.transport_error(error),
        OpenAIError::Boxed(error) => match error.downcast::<Refusal>() {
            Ok(refusal) => refusal.0,
            Err(error) => problem(Kind::Protocol, error.to_string()),
        },
        OpenAIError::JSONDeserialize(_, body) => {
            problem(Kind::Protocol, format!("{what} can't be read: {}", Fault::in_body(&body).message))
        }
        other => problem(Kind::Protocol, other.to_string()),
    };
    endpoint.clean(sorted)
}

pub(super) fn timeout_error(endpoint: &Endpoint, timeout: std::time::Duration) -> ProviderError {
    let what = format!("{} did not answer within {} s", endpoint.host_and_port(), timeout.as_secs_f32());
    endpoint.clean(problem(Kind::Connect, what))
}
