//! Reads a model directory in the format of sentence-transformers: the relevant files, their settings, and their hash.
//! Not for: running the model (`local`).

use crate::domain::base::{Fields, Hash};
use crate::domain::call::EmbedError;
use candle_transformers::models::bert::Config;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Default input length of a model in tokens, if no file specifies it.
const DEFAULT_INPUT: usize = 512;

/// How the token states become one vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The first token.
    First,
}

/// The settings read from a model directory.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    /// The directory, for display.
    pub(crate) place: String,
    /// Name and hash of everything that determines the vectors.
    pub(crate) id: String,
    pub(crate) config: Config,
    pub(crate) pooling: Pooling,
    /// Maximum tokens that the model reads at once, including its special tokens.
    pub(crate) max_input: usize,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
    weights: Hash,
    tokenizer: Hash,
}

impl Files {
    pub(crate) fn read(directory: &Path) -> Result<Self, EmbedError> {
        let place = directory.display().to_string();
        let files = Self::try_read(directory, place.clone());
        files.map_err(|why| EmbedError::Model { place, why })
    }

    fn try_read(directory: &Path, place: String) -> Result<Self, String> {
        if !directory.is_dir() {
            return Err("there is no such directory".to_owned());
        }
        let config = config(&read_required(directory, "config.json")?)?;
        let pooling = pooling(directory)?;
        reject_unknown_steps(directory)?;
        let settings = read_optional(directory, "sentence_bert_config.json")?;
        let settings =
            settings.get("max_seq_length").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
        let max_input = settings.unwrap_or(DEFAULT_INPUT).min(config.max_position_embeddings);
        if max_input < 4 {
            return Err(format!("it reads only {max_input} tokens at once"));
        }
        let prompts = read_optional(directory, "config_sentence_transformers.json")?;
        let prompt = |names: &[&str]| {
            let found = names.iter().find_map(|name| prompts.get("prompts")?.get(name)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let (query_prefix, passage_prefix) = (prompt(&["query"]), prompt(&["passage", "document"]));
        let tokenizer = hash(directory, "tokenizer.json")?;
        let weights = hash(directory, "model.safetensors")?;
        let digest = Fields::new("embedding model")
            .hash(hash(directory, "config.json")?)
            .hash(tokenizer)
            .hash(weights)
            .text(&format!("{pooling:?} {max_input}"))
            .text(&query_prefix)
            .text(&passage_prefix)
            .finish();
        let name = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let id = format!("local {name} {}", &digest.to_string()[..16]);
        let directory = directory.to_owned();
        Ok(Self { directory, place, id, config, pooling, max_input, query_prefix, passage_prefix, weights, tokenizer })
    }

    /// Returns the bytes of the weights and of the tokenizer, or an error if they changed since they were hashed.
    pub(crate) fn contents(&self) -> Result<(Vec<u8>, Vec<u8>), EmbedError> {
        let read = |name: &str, hash: Hash| {
            let bytes = std::fs::read(self.directory.join(name)).map_err(|error| format!("{name}: {error}"))?;
            if Hash::of(&bytes) == hash { Ok(bytes) } else { Err(format!("{name} changed after pleach started")) }
        };
        let both = || Ok((read("model.safetensors", self.weights)?, read("tokenizer.json", self.tokenizer)?));
        both().map_err(|why| EmbedError::Model { place: self.place.clone(), why })
    }
}

/// Returns the text of a required file.
fn read_required(directory: &Path, name: &str) -> Result<String, String> {
    std::fs::read_to_string(directory.join(name)).map_err(|error| missing(directory, name, &error))
}

fn missing(directory: &Path, name: &str, error: &std::io::Error) -> String {
    let torch = name == "model.safetensors" && directory.join("pytorch_model.bin").exists();
    let hint = if torch { "; pytorch_model.bin is not supported, only safetensors" } else { "" };
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("it has no {name}{hint}"),
        _ => format!("{name} can't be read: {error}"),
    }
}

/// Reads a JSON file that may be absent; `Value::Null` if it is.
fn read_optional(directory: &Path, name: &str) -> Result<Value, String> {
    match std::fs::read_to_string(directory.join(name)) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{name} is damaged: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(error) => Err(format!("{name} can't be read: {error}")),
    }
}

fn hash(directory: &Path, name: &str) -> Result<Hash, String> {
    let whole = || {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(std::fs::File::open(directory.join(name))?)?;
        Ok(Hash(*hasher.finalize().as_bytes()))
    };
    whole().map_err(|error: std::io::Error| missing(directory, name, &error))
}

fn config(text: &str) -> Result<Config, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("config.json is damaged: {error}"))?;
    let kind = value.get("model_type").and_then(Value::as_str).unwrap_or("bert");
    if kind != "bert" {
        return Err(format!("config.json names a model of kind {kind}; only bert is supported"));
    }
    let config: Config = serde_json::from_value(value)
        .map_err(|error| format!("config.json is not the configuration of a BERT model: {error}"))?;
    let heads = config.num_attention_heads;
    if heads == 0 || config.hidden_size == 0 || !config.hidden_size.is_multiple_of(heads) || config.vocab_size == 0 {
        return Err("config.json has sizes that do not match".to_owned());
    }
    Ok(config)
}

fn pooling(directory: &Path) -> Result<Pooling, String> {
    let settings = read_optional(directory, "1_Pooling/config.json")?;
    let is_mode = |(name, on): &(&String, &Value)| **on == Value::Bool(true) && name.starts_with("pooling_mode_");
    let modes = settings.as_object().into_iter().flatten().filter(is_mode);
    let modes: Vec<&str> = modes.map(|(name, _)| name.as_str()).collect();
    match modes.as_slice() {
        [] | ["pooling_mode_mean_tokens"] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token"] => Ok(Pooling::First),
        others => Err(format!("1_Pooling/config.json asks for {}, which is not supported", others.join(" and "))),
    }
}

/// Rejects modules of other kinds, such as a dense layer, which would otherwise be skipped silently.
fn reject_unknown_steps(directory: &Path) -> Result<(), String> {
    let steps = read_optional(directory, "modules.json")?;
    let kinds = steps.as_array().into_iter().flatten().filter_map(|step| step.get("type")?.as_str());
    let unsupported = kinds
        .filter_map(|kind| kind.rsplit('.').next())
        .find(|kind| !["Transformer", "Pooling", "Normalize"].contains(kind));
    unsupported.map_or(Ok(()), |kind| Err(format!("modules.json has a step {kind}, which is not supported")))
}
