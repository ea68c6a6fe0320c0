//! Embedders: a server, or a model directory on this machine.
//! Not for: searching vectors (the module `retrieval`), or when texts are embedded (`engine`).

#[cfg(feature = "local-embeddings")]
pub(super) mod files;
#[cfg(feature = "local-embeddings")]
pub mod local;
pub mod openai;

use crate::domain::call::{Embed, EmbedError};
use std::path::Path;
use std::sync::Arc;

/// Creates the embedder of a directory with `config.json`, `tokenizer.json`, and `model.safetensors` of a BERT-shaped
/// model. The directory is read once in full (its weights are part of its identity), so do not call this on the
/// screen's thread. The model itself is loaded with the first text.
#[cfg(feature = "local-embeddings")]
pub fn directory(path: &Path) -> Result<Arc<dyn Embed>, EmbedError> {
    Ok(Arc::new(local::LocalEmbedder::open(path)?))
}

/// Always fails, naming the missing feature.
#[cfg(not(feature = "local-embeddings"))]
pub fn directory(path: &Path) -> Result<Arc<dyn Embed>, EmbedError> {
    Err(EmbedError::Model {
        place: path.display().to_string(),
        why: "this build lacks the feature local-embeddings (cargo build --features local-embeddings)".to_owned(),
    })
}

/// Splits a text into parts of at most `limit` bytes (but at least one character), before white space where possible.
/// Drops parts that contain only white space.
pub(crate) fn split_text(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while rest.len() > limit {
        let mut cut = rest.floor_char_boundary(limit);
        if cut == 0 {
            cut = rest.ceil_char_boundary(1);
        }
        let word_end = rest[..cut].rfind(char::is_whitespace).filter(|at| *at > cut / 2).unwrap_or(cut);
        parts.push(rest[..word_end].trim_end());
        rest = rest[word_end..].trim_start();
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_cover_the_text(text in "(\\PC|[ \n]){0,80}", limit in 1_usize..40) {
            let parts = split_text(&text, limit);
            prop_assert!(parts.iter().all(|part| !part.trim().is_empty() && (part.len() <= limit || part.chars().count() == 1)));
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&parts.concat()), visible(&text));
        }
    }

    #[test]
    fn texts_are_split_before_words() {
        assert_eq!(split_text("one two three", 9), ["one two", "three"]);
        assert_eq!(split_text("abcd efghij", 8), ["abcd efg", "hij"], "not in the first half of a part");
        assert_eq!(split_text("  ", 9), Vec::<&str>::new());
        assert_eq!(split_text("日本語", 2), ["日", "本", "語"]);
    }

    #[cfg(not(feature = "local-embeddings"))]
    #[test]
    fn a_directory_without_the_feature_names_the_feature() {
        let Err(error) = directory(Path::new("some/where")) else { panic!("made") };
        assert!(error.to_string().contains("local-embeddings") && error.to_string().contains("some/where"), "{error}");
    }
}
