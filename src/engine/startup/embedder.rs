//! The configured embedder, the findings of `doctor` about it, and the vectors to delete with removed messages.
//! Not for: embedding passages (`indexing::vectors`).

use super::setup::{EmbedderSetup, OpenEmbedder};
use crate::config::load::Config;
use crate::config::paths::expand;
use crate::config::settings::EmbedderKind;
use crate::domain::base::{Failure, FailureKind, Hash, NodeId};
use crate::domain::call::{EmbedError, Purpose};
use crate::engine::api::Finding;
use crate::engine::workers::Workers;
use crate::llm::embedders::directory;
use crate::llm::embedders::openai::{ServerEmbedder, ServerSettings};
use crate::llm::key;
use crate::store::Store;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of messages that are read from the store at a time.
const READ: usize = 256;
/// How long `doctor` waits for a vector.
const TRY: Duration = Duration::from_secs(20);

/// Returns the configured embedder; `None` if there is none.
///
/// # Errors
/// Fails if the settings name a profile that does not exist (their check reports that earlier).
pub(crate) fn of(config: &Config) -> Result<Option<EmbedderSetup>, Failure> {
    let set = &config.settings.embedder;
    match set.kind {
        EmbedderKind::None => Ok(None),
        EmbedderKind::Directory => {
            let path = expand(&set.path, &config.env);
            let open: OpenEmbedder = Arc::new(move || directory(&path));
            Ok(Some(EmbedderSetup { what: format!("the model in {}", set.path), open }))
        }
        EmbedderKind::Server => {
            let gone = || {
                Failure::new(FailureKind::Config, format!("There is no profile {:?} for the embedder.", set.profile))
                    .todo("Name a profile of your settings in `embedder.profile`.")
            };
            let profile = config.profile(&set.profile).ok_or_else(gone)?.clone();
            let what = format!("{} of profile {}", set.model, set.profile);
            let settings = ServerSettings {
                model: set.model.clone(),
                dimensions: set.dimensions,
                query_prefix: set.query_prefix.clone(),
                passage_prefix: set.passage_prefix.clone(),
                ..ServerSettings::default()
            };
            let env = config.env.clone();
            let open: OpenEmbedder = Arc::new(move || {
                let key = key::resolve(&profile, &|name| env.get(name))
                    .map_err(|error| EmbedError::Settings(error.to_string()))?;
                Ok(Arc::new(ServerEmbedder::new(&profile, key.as_ref(), settings.clone())?))
            });
            Ok(Some(EmbedderSetup { what, open }))
        }
    }
}

impl Workers {
    /// Makes the thread of vectors drop everything that it read, so that none of it is used or written.
    pub(crate) fn forget_vectors(&self) {
        if let Some(vectors) = &self.vectors {
            vectors.forget();
        }
    }
}

/// Returns the hashes that vectors of messages are stored under, including vectors of earlier embedders. From then
/// on, nothing that was read earlier from any message is written.
pub(crate) fn vectors_of(store: &Store, workers: &Workers, nodes: &[NodeId]) -> Result<Vec<Hash>, Failure> {
    workers.forget_vectors();
    let mut keys = Vec::new();
    for batch in nodes.chunks(READ) {
        keys.extend(crate::engine::indexing::vectors::vector_keys(&store.nodes(batch)?));
    }
    Ok(keys)
}

/// Checks whether the embedder loads and returns a vector.
pub(crate) fn finding(set: Option<&EmbedderSetup>) -> Finding {
    let finding = |ok, text: String, todo: &str| Finding::new("embedder", ok, text, todo);
    let Some(set) = set else {
        return finding(None, "none: older messages are searched by words only".into(), "");
    };
    let since = Instant::now();
    let tried = (set.open)().and_then(|embedder| {
        let vectors = embedder.embed(&["hello"], Purpose::Query, &|| since.elapsed() < TRY)?;
        Ok((vectors.first().map_or(0, Vec::len), embedder.remote()))
    });
    match tried {
        Ok((dims, remote)) => {
            let place = if remote { "messages are sent to a server for embedding" } else { "on this machine" };
            finding(Some(true), format!("{} computes vectors of {dims} dimensions ({place})", set.what), "")
        }
        Err(error) => {
            let todo = "Until the embedder works, older messages are searched by words only; check [embedder] in \
                the settings.";
            finding(Some(false), format!("{}: {error}", set.what), todo)
        }
    }
}
