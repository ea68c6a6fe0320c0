//! Models: OpenAI-compatible servers, the offline model, recordings, embedders, and token counting.
//! Not for: the content of a request (`context::render`) or when one is made (`engine`).
//!
//! A request is bytes that are made elsewhere and posted unchanged. Responses are read by our own tolerant decoder
//! (`sse`, `chunk`, `stream`), because the available packages lose text, hide broken streams, or panic.

pub mod chunk;
pub mod fault;
pub mod key;
pub mod models;
pub mod openai;
pub mod retry;
pub mod sse;
pub mod stream;
pub mod surrogates;

mod body;
pub mod counting;
pub mod embedders;
mod error;
mod http;
pub mod offline;
mod sdk;

pub use error::LlmError;
pub(crate) use error::clip;
pub use http::init;

use crate::domain::call::{Backend, CountTokens, Profile, Provider};
use secrecy::SecretString;
use std::sync::Arc;

/// Returns the provider of a profile.
pub fn provider(
    profile: &Profile,
    key: Option<&SecretString>,
    tokens: Arc<dyn CountTokens>,
) -> Result<Arc<dyn Provider>, LlmError> {
    if profile.backend == Backend::Openai && profile.needs_key && key.is_none() {
        return Err(key::missing(profile));
    }
    Ok(match profile.backend {
        Backend::Openai => Arc::new(openai::OpenAi::new(profile, key)?),
        Backend::Offline => Arc::new(offline::model::Offline::new(tokens)),
        Backend::Scripted => Arc::new(offline::scripted::Scripted::open(&profile.recording)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(profile: &Profile) -> Result<(), LlmError> {
        provider(profile, None, Arc::new(counting::tokens::Tokenizers::new())).map(|_| ())
    }

    #[test]
    fn profiles_choose_their_model() {
        let of = |backend| Profile { backend, base_url: "http://127.0.0.1:9/v1".into(), ..Profile::default() };
        assert!(made(&of(Backend::Openai)).is_ok() && made(&of(Backend::Offline)).is_ok());
        assert!(matches!(made(&of(Backend::Scripted)), Err(LlmError::Recording { .. })));
        assert!(matches!(made(&Profile::default()), Err(LlmError::Address { .. })));
        let keyless = Profile { needs_key: true, ..of(Backend::Openai) };
        assert!(matches!(made(&keyless), Err(LlmError::NoKey { .. })));
    }

    #[test]
    fn clips_by_characters() {
        assert_eq!((clip("日本語", 3).as_str(), clip("日本語", 2).as_str()), ("日本語", "日…"));
    }
}
