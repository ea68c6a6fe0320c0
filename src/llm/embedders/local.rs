//! Computes vectors with a model directory on this machine: BERT-shaped weights in the format of sentence-transformers,
//! run by candle on the CPU. Nothing is downloaded.
//! Not for: reading the directory's settings (`files`), other model families, or storing vectors (`store`).

use super::files::{Files, Pooling};
use super::split_text;
use crate::domain::call::embedding::pooled;
use crate::domain::call::{Embed, EmbedError, Purpose};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertModel;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokenizers::Tokenizer;

/// Maximum windows per batch.
const MAX_BATCH: usize = 32;
/// Maximum tokens per batch, including padding. Limits the time between two cancellation checks (about 0.2 s).
const MAX_BATCH_TOKENS: usize = 1_024;
/// Bytes passed to the tokenizer at once.
const MAX_PART: usize = 32 * 1_024;

/// An embedding model on this machine. Loads its weights with the first text.
pub struct LocalEmbedder {
    files: Files,
    loaded: Mutex<Option<Arc<Loaded>>>,
}

struct Loaded {
    model: BertModel,
    tokenizer: Tokenizer,
    /// Special tokens before and after every window ([CLS] and [SEP]).
    special_tokens: (Vec<u32>, Vec<u32>),
}

/// A part of a text that fits the model's input.
struct Window {
    text: usize,
    ids: Vec<u32>,
}

impl LocalEmbedder {
    /// Reads a directory's settings and hashes its files. The weights are loaded later.
    pub fn open(directory: &Path) -> Result<Self, EmbedError> {
        Ok(Self { files: Files::read(directory)?, loaded: Mutex::default() })
    }

    fn model_error(&self, why: impl std::fmt::Display) -> EmbedError {
        EmbedError::Model { place: self.files.place.clone(), why: why.to_string() }
    }

    fn loaded(&self) -> Result<Arc<Loaded>, EmbedError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = loaded.as_ref() {
            return Ok(Arc::clone(loaded));
        }
        let loaded_now = catch_unwind(AssertUnwindSafe(|| self.load()));
        let loaded_now = Arc::new(loaded_now.unwrap_or_else(|_| Err(self.model_error("its weights can't be read")))?);
        *loaded = Some(Arc::clone(&loaded_now));
        Ok(loaded_now)
    }

    fn load(&self) -> Result<Loaded, EmbedError> {
        let (weights, tokenizer) = self.files.contents()?;
        let mut tokenizer = Tokenizer::from_bytes(tokenizer)
            .map_err(|error| self.model_error(format!("tokenizer.json is not a tokenizer: {error}")))?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        tokenizer.with_truncation(None).map_err(|error| self.model_error(error))?;
        let special_tokens =
            special_tokens(&tokenizer).filter(|(before, after)| before.len() + after.len() < self.files.max_input);
        let special_tokens = special_tokens
            .ok_or_else(|| self.model_error("tokenizer.json does not define the special tokens around a text"))?;
        let weights_error = |error| self.model_error(format!("model.safetensors can't be read: {error}"));
        let weights = VarBuilder::from_slice_safetensors(&weights, DType::F32, &Device::Cpu).map_err(weights_error)?;
        let model = BertModel::load(weights, &self.files.config).map_err(weights_error)?;
        Ok(Loaded { model, tokenizer, special_tokens })
    }

    /// Returns the windows of all texts, each with its special tokens.
    fn windows(&self, loaded: &Loaded, texts: &[String], go_on: &dyn Fn() -> bool) -> Result<Vec<Window>, EmbedError> {
        // Ids beyond the vocabulary would be read outside the weights.
        let most = u32::try_from(self.files.config.vocab_size.saturating_sub(1)).unwrap_or(u32::MAX);
        let (before, after) = &loaded.special_tokens;
        let mut windows = Vec::new();
        for (text, content) in texts.iter().enumerate() {
            for part in split_text(content, MAX_PART) {
                if !go_on() {
                    return Err(EmbedError::Stopped);
                }
                let encoded = catch_unwind(AssertUnwindSafe(|| loaded.tokenizer.encode_fast(part, false)));
                let encoded = encoded.unwrap_or_else(|_| Err("the tokenizer failed on a text".into()));
                let encoded = encoded.map_err(|error| self.model_error(error))?;
                for ids in encoded.get_ids().chunks(self.files.max_input - before.len() - after.len()) {
                    let ids = before.iter().chain(ids).chain(after).map(|id| (*id).min(most)).collect();
                    windows.push(Window { text, ids });
                }
            }
        }
        Ok(windows)
    }

    /// Returns the vectors of a batch of windows.
    fn run(&self, loaded: &Loaded, windows: &[&Window]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let result = catch_unwind(AssertUnwindSafe(|| self.forward(&loaded.model, windows)));
        let result = result.map_err(|_| self.model_error("the model failed on a text"))?;
        result.map_err(|error| self.model_error(format!("the model can't be run: {error}")))
    }

    /// Runs the model. Shapes: tokens (windows, longest), states (windows, longest, dims), vectors (windows, dims).
    fn forward(&self, model: &BertModel, windows: &[&Window]) -> candle_core::Result<Vec<Vec<f32>>> {
        let longest = windows.iter().map(|window| window.ids.len()).max().unwrap_or_default();
        let padding = u32::try_from(self.files.config.pad_token_id).unwrap_or_default();
        let mut ids = Vec::with_capacity(windows.len() * longest);
        let mut mask = Vec::with_capacity(windows.len() * longest);
        for window in windows {
            let fill = longest - window.ids.len();
            ids.extend(window.ids.iter().copied().chain(std::iter::repeat_n(padding, fill)));
            mask.extend(std::iter::repeat_n(1.0_f32, window.ids.len()).chain(std::iter::repeat_n(0.0, fill)));
        }
        let shape = (windows.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let states = model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let vectors = match self.files.pooling {
            // The mean's divisor is omitted: only the direction matters.
            Pooling::Mean => states.broadcast_mul(&mask.unsqueeze(2)?)?.sum(1)?,
            Pooling::First => states.narrow(1, 0, 1)?.squeeze(1)?,
        };
        vectors.to_vec2::<f32>()
    }
}

impl Embed for LocalEmbedder {
    fn id(&self) -> String {
        self.files.id.clone()
    }

    fn dims(&self) -> usize {
        self.files.config.hidden_size
    }

    fn remote(&self) -> bool {
        false
    }

    fn embed(&self, texts: &[&str], purpose: Purpose, go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        if !go_on() {
            return Err(EmbedError::Stopped);
        }
        let loaded = self.loaded()?;
        let prefix = match purpose {
            Purpose::Query => &self.files.query_prefix,
            Purpose::Passage => &self.files.passage_prefix,
        };
        let prefixed = |text: &&str| if text.trim().is_empty() { String::new() } else { format!("{prefix}{text}") };
        let texts: Vec<String> = texts.iter().map(prefixed).collect();
        let mut windows = self.windows(&loaded, &texts, go_on)?;
        // Windows of the same length need no padding when they share a batch.
        windows.sort_by_key(|window| window.ids.len());
        let mut found: Vec<Vec<(f32, Vec<f32>)>> = vec![Vec::new(); texts.len()];
        let all: Vec<&Window> = windows.iter().collect();
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            if !go_on() {
                return Err(EmbedError::Stopped);
            }
            let (batch, tail) = rest.split_at(batch_of(rest));
            for (window, vector) in batch.iter().zip(self.run(&loaded, batch)?) {
                found[window.text].push((window.ids.len() as f32, vector));
            }
            rest = tail;
        }
        let joined = |parts: Vec<_>| if parts.is_empty() { vec![0.0; self.dims()] } else { pooled(parts) };
        Ok(found.into_iter().map(joined).collect())
    }
}

/// Returns the special tokens that the tokenizer adds before and after a text, found by encoding a sample.
fn special_tokens(tokenizer: &Tokenizer) -> Option<(Vec<u32>, Vec<u32>)> {
    let ids = |marked| Some(tokenizer.encode_fast("a", marked).ok()?.get_ids().to_vec());
    let (bare, marked) = (ids(false)?, ids(true)?);
    let at = marked.windows(bare.len().max(1)).position(|window| window == bare)?;
    Some((marked[..at].to_vec(), marked[at + bare.len()..].to_vec()))
}

/// Returns the number of the windows, sorted by length, that form the next batch.
fn batch_of(windows: &[&Window]) -> usize {
    let fits = |(at, window): &(usize, &&Window)| (at + 1) * window.ids.len() <= MAX_BATCH_TOKENS;
    windows.iter().enumerate().take(MAX_BATCH).take_while(fits).count().max(1)
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
