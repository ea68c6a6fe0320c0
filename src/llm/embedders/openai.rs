//! Requests vectors from an OpenAI-compatible server with `POST …/embeddings`. Each batch is one request, which can be
//! canceled.
//! Not for: choosing texts or storing vectors (`engine`, `store`).

use super::split_text;
use crate::domain::base::Fields;
use crate::domain::call::embedding::{normalize, pooled};
use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{Embed, EmbedError, Profile, ProviderError, Purpose};
use crate::llm::http::{Endpoint, runtime};
use crate::llm::{key, sdk};
use async_openai::types::embeddings::{CreateEmbeddingRequest, EmbeddingInput};
use secrecy::SecretString;
use serde::Deserialize;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Interval between cancellation checks.
const TICK: Duration = Duration::from_millis(25);
/// Lower bound of bytes per token in most texts; decides where a long text is split.
const BYTES_PER_TOKEN: usize = 3;
/// If a server rejects a text of this many bytes as too long, shorter ones are not tried.
const MIN_LIMIT: usize = 256;
/// Maximum bytes of text per request.
const MAX_REQUEST: usize = 256 * 1024;

/// Settings of an embedding server.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerSettings {
    /// The model's name on the server.
    pub model: String,
    /// Dimensions to request; 0 requests none and uses the model's default.
    pub dimensions: u32,
    /// Approximate input limit of the model in tokens; longer texts are split.
    pub max_input: u32,
    /// Maximum texts per request.
    pub batch: u32,
    /// Timeout of one request.
    pub timeout: Duration,
    /// Prefix of every question, for models that expect one ("query: ").
    pub query_prefix: String,
    /// Prefix of every passage ("passage: ").
    pub passage_prefix: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            model: String::new(),
            dimensions: 0,
            max_input: 2_000,
            batch: 64,
            timeout: Duration::from_mins(1),
            query_prefix: String::new(),
            passage_prefix: String::new(),
        }
    }
}

/// An embedding model on a server.
pub struct ServerEmbedder {
    endpoint: Endpoint,
    settings: ServerSettings,
    id: String,
    /// 0 until the first response.
    dims: AtomicUsize,
    /// Maximum bytes of one text; lowered when the server rejects a text as too long.
    limit: AtomicUsize,
}

impl ServerEmbedder {
    /// Creates the embedder of a profile's server. Sends nothing.
    pub fn new(profile: &Profile, key: Option<&SecretString>, settings: ServerSettings) -> Result<Self, EmbedError> {
        let wrong = |error: crate::llm::LlmError| EmbedError::Settings(error.to_string());
        if settings.model.trim().is_empty() {
            return Err(EmbedError::Settings("it names no model".to_owned()));
        }
        if profile.needs_key && key.is_none() {
            return Err(wrong(key::missing(profile)));
        }
        let endpoint = Endpoint::new(profile, key).map_err(wrong)?;
        let id = identity(&endpoint, &settings);
        let limit = (settings.max_input as usize).saturating_mul(BYTES_PER_TOKEN).max(MIN_LIMIT);
        let dims = AtomicUsize::new(settings.dimensions as usize);
        Ok(Self { endpoint, settings, id, dims, limit: AtomicUsize::new(limit) })
    }

    /// Returns the vectors of all parts in order, requested in batches of bounded size.
    fn request_batches(&self, parts: &[String], go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(parts.len());
        let mut rest = parts;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fit = rest.iter().take(self.settings.batch.max(1) as usize).take_while(|part| {
                bytes += part.len();
                bytes <= MAX_REQUEST
            });
            let (batch, tail) = rest.split_at(fit.count().max(1));
            vectors.extend(self.request(batch, go_on)?);
            rest = tail;
        }
        Ok(vectors)
    }

    fn request(&self, batch: &[String], go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        let request = CreateEmbeddingRequest {
            model: self.settings.model.clone(),
            input: EmbeddingInput::StringArray(batch.to_vec()),
            dimensions: Some(self.settings.dimensions).filter(|dimensions| *dimensions > 0),
            ..CreateEmbeddingRequest::default()
        };
        let client = sdk::client(&self.endpoint);
        let embeddings = client.embeddings();
        let call = async {
            // Created inside the runtime, which has a timer.
            let timed = tokio::time::timeout(self.settings.timeout, embeddings.create_byot::<_, Answer>(request));
            until_cancelled(timed, go_on).await
        };
        let result = runtime().map_err(EmbedError::Server)?.block_on(call);
        match result.ok_or(EmbedError::Stopped)? {
            Ok(Ok(answer)) => self.vectors(answer, batch.len()),
            Ok(Err(error)) => Err(EmbedError::Server(sdk::sort(&self.endpoint, "the list of vectors", error))),
            Err(_) => Err(EmbedError::Server(sdk::timeout_error(&self.endpoint, self.settings.timeout))),
        }
    }

    /// Returns the vectors in the order of the texts, or an error if the response does not match the request.
    fn vectors(&self, answer: Answer, wanted: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let wrong = |why: String| Err(EmbedError::Answer(format!("{}: {why}", self.endpoint.host_and_port())));
        let mut items = answer.data;
        if items.len() != wanted {
            return wrong(format!("the server returned {} vectors for {wanted} texts", items.len()));
        }
        if items.iter().all(|item| item.index.is_some()) {
            items.sort_by_key(|item| item.index);
            if items.iter().enumerate().any(|(at, item)| item.index != Some(at)) {
                return wrong("its vectors have duplicate or missing indexes".to_owned());
            }
        }
        for item in &items {
            let found = item.embedding.len();
            let known = match self.dims.compare_exchange(0, found, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => found,
                Err(known) => known,
            };
            if found != known || found == 0 {
                return wrong(format!("a vector has {found} dimensions instead of {known}"));
            }
            if item.embedding.iter().any(|value| !value.is_finite()) {
                return wrong("a vector has values that are not numbers".to_owned());
            }
        }
        Ok(items.into_iter().map(|item| item.embedding).collect())
    }
}

impl Embed for ServerEmbedder {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn dims(&self) -> usize {
        self.dims.load(Ordering::Acquire)
    }

    fn remote(&self) -> bool {
        let host = self.endpoint.base.host_str().unwrap_or_default();
        !(host == "localhost" || host == "[::1]" || host.starts_with("127."))
    }

    fn embed(&self, texts: &[&str], purpose: Purpose, go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = match purpose {
            Purpose::Query => &self.settings.query_prefix,
            Purpose::Passage => &self.settings.passage_prefix,
        };
        loop {
            let limit = self.limit.load(Ordering::Acquire);
            let split: Vec<Vec<&str>> = texts.iter().map(|text| split_text(text, limit)).collect();
            let all: Vec<String> = split.iter().flatten().map(|part| format!("{prefix}{part}")).collect();
            match self.request_batches(&all, go_on) {
                Ok(vectors) => return Ok(combined(&split, vectors, self.dims())),
                Err(EmbedError::Server(error)) if too_long(&error) && limit > MIN_LIMIT => {
                    self.limit.fetch_min((limit / 2).max(MIN_LIMIT), Ordering::AcqRel);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Combines the vectors of each text's parts into one vector per text.
fn combined(split: &[Vec<&str>], vectors: Vec<Vec<f32>>, dims: usize) -> Vec<Vec<f32>> {
    let mut vectors = vectors.into_iter();
    let one = |parts: &Vec<&str>| match parts.as_slice() {
        [] => vec![0.0; dims],
        [_] => {
            let mut vector = vectors.next().unwrap_or_default();
            normalize(&mut vector);
            vector
        }
        parts => pooled(parts.iter().map(|part| part.len() as f32).zip(vectors.by_ref()).collect()),
    };
    split.iter().map(one).collect()
}

/// Returns whether the server rejected a text as too long. llama.cpp and others word this error differently.
fn too_long(error: &ProviderError) -> bool {
    let message = error.what.to_lowercase();
    error.kind == Kind::TooLong
        || ["too large to process", "input is too long", "maximum input length", "maximum allowed length"]
            .iter()
            .any(|words| message.contains(words))
}

/// Returns the endpoint and settings as an identity, without user, password, or query.
fn identity(endpoint: &Endpoint, settings: &ServerSettings) -> String {
    let base = &endpoint.base;
    let address = format!("{}://{}{}", base.scheme(), endpoint.host_and_port(), base.path().trim_end_matches('/'));
    let mut id = format!("server {address} {}", settings.model);
    if settings.dimensions > 0 {
        id = format!("{id} {}", settings.dimensions);
    }
    if !settings.query_prefix.is_empty() || !settings.passage_prefix.is_empty() {
        let prefixes = Fields::new("prefixes").text(&settings.query_prefix).text(&settings.passage_prefix).finish();
        id = format!("{id} {}", prefixes.short());
    }
    id
}

/// Returns the output of a future, or `None` once the caller cancels; the future is then dropped.
async fn until_cancelled<T>(work: impl Future<Output = T>, go_on: &dyn Fn() -> bool) -> Option<T> {
    let mut ticks = tokio::time::interval(TICK);
    tokio::pin!(work);
    loop {
        tokio::select! {
            _ = ticks.tick() => if !go_on() { return None },
            done = &mut work => return Some(done),
        }
    }
}

/// A response as servers send it in practice; the client's own type requires fields that some omit.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
