//! Counting tokens with a model's own `tokenizer.json`. Needs the feature `hf-tokenizers`; without it, opening one says so.
//! Not for: the vocabularies that are built in (`tokens`). A number from here is still an estimate: the text is counted in
//! the pieces of `pieces`, whose borders are exact for the built-in vocabularies only, and what a server's template adds
//! is not in it.

use crate::domain::hash::Hash;
use std::path::Path;

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum TokenizerFileError {
    /// The program cannot read such files.
    #[error("{path} cannot be used: this program was built without the feature hf-tokenizers")]
    NoFeature {
        /// The file.
        path: String,
    },
    /// The file is missing, or no tokenizer.
    #[error("{path} cannot be used as a tokenizer: {why}")]
    Unusable {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// A model's own tokenizer. Counts by it whatever encoding is named.
pub struct TokenizerFile {
    id: Hash,
    #[cfg(feature = "hf-tokenizers")]
    inner: inner::Counter,
}

impl TokenizerFile {
    /// Reads a `tokenizer.json`; takes up to a second, so not on the screen's thread.
    #[cfg(feature = "hf-tokenizers")]
    pub fn open(path: &Path) -> Result<Self, TokenizerFileError> {
        let unusable = |why: String| TokenizerFileError::Unusable { path: path.display().to_string(), why };
        let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        let inner = inner::Counter::new(&bytes).map_err(unusable)?;
        Ok(Self { id: Hash::of(&bytes), inner })
    }

    /// Says that the feature is missing.
    #[cfg(not(feature = "hf-tokenizers"))]
    pub fn open(path: &Path) -> Result<Self, TokenizerFileError> {
        Err(TokenizerFileError::NoFeature { path: path.display().to_string() })
    }

    /// The hash of the file; counts under one id can be kept together.
    #[must_use]
    pub fn id(&self) -> Hash {
        self.id
    }
}

#[cfg(feature = "hf-tokenizers")]
mod inner {
    use super::TokenizerFile;
    use crate::domain::tokens::{CountTokens, Encoding, approximate};
    use crate::llm::pieces::pieces;
    use crate::llm::tokens::{Cache, Key};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Mutex, PoisonError};
    use tokenizers::Tokenizer;

    pub(super) struct Counter {
        tokenizer: Tokenizer,
        cache: Mutex<Cache>,
    }

    impl Counter {
        pub(super) fn new(bytes: &[u8]) -> Result<Self, String> {
            let read = catch_unwind(|| Tokenizer::from_bytes(bytes));
            let read = read.unwrap_or_else(|_| Err("its reader gave up on it".into()));
            let mut tokenizer = read.map_err(|error| error.to_string())?;
            tokenizer.with_padding(None);
            tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
            // What looks like a special token is plain text here.
            tokenizer.set_encode_special_tokens(true);
            Ok(Self { tokenizer, cache: Mutex::default() })
        }

        fn piece(&self, piece: &str) -> u32 {
            let key = Key::of(0, piece);
            let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(key);
            known.unwrap_or_else(|| {
                let count = self.encode(piece);
                self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(key, count);
                count
            })
        }

        fn encode(&self, piece: &str) -> u32 {
            let counted = catch_unwind(AssertUnwindSafe(|| self.tokenizer.encode_fast(piece, false)));
            counted
                .ok()
                .and_then(Result::ok)
                .and_then(|encoding| u32::try_from(encoding.len()).ok())
                .unwrap_or_else(|| approximate(piece))
        }
    }

    impl CountTokens for TokenizerFile {
        fn count(&self, _: Encoding, text: &str) -> u32 {
            pieces(text).fold(0_u32, |sum, piece| sum.saturating_add(self.inner.piece(piece)))
        }
    }
}

#[cfg(not(feature = "hf-tokenizers"))]
impl crate::domain::tokens::CountTokens for TokenizerFile {
    fn count(&self, _: crate::domain::tokens::Encoding, text: &str) -> u32 {
        crate::domain::tokens::approximate(text)
    }
}

#[cfg(all(test, not(feature = "hf-tokenizers")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_it_says_which() {
        let Err(error) = TokenizerFile::open(Path::new("a/tokenizer.json")) else { panic!("opened") };
        assert!(error.to_string().contains("hf-tokenizers") && error.to_string().contains("a/tokenizer.json"));
    }
}

#[cfg(test)]
#[cfg(feature = "hf-tokenizers")]
mod tests {
    use super::*;
    use crate::domain::tokens::{CountTokens, Encoding};

    /// Words and single letters, split at white space and punctuation.
    const SMALL: &str = r###"{"version": "1.0", "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[UNK]"},
        "added_tokens": [{"id": 1, "special": true, "content": "[CLS]", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false}],
        "normalizer": null, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0, "[CLS]": 1, "hello": 2, "world": 3, ",": 4, "h": 5, "##i": 6, "!": 7}}}"###;

    fn small() -> (tempfile::TempDir, TokenizerFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, SMALL).unwrap();
        let file = TokenizerFile::open(&path).unwrap();
        (folder, file)
    }

    fn count(file: &TokenizerFile, text: &str) -> u32 {
        file.count(Encoding::O200kBase, text)
    }

    #[test]
    fn counts_by_the_file_neither_cut_nor_filled_up() {
        let (_folder, file) = small();
        assert_eq!((count(&file, ""), count(&file, "hello, world"), count(&file, "hi!")), (0, 3, 3));
        assert_eq!(count(&file, &"hello ".repeat(5_000)), 5_000);
        assert!(count(&file, "[CLS]") > 1, "special tokens are plain text");
    }

    #[test]
    fn hostile_text_is_counted() {
        let (_folder, file) = small();
        for unit in [" ", "\n", "a", "日", "🙂", "\u{200b}", "7", "\u{301}", "\0", "\u{feff}"] {
            count(&file, &unit.repeat(300_000 / unit.len()));
        }
    }

    #[test]
    fn what_is_no_tokenizer_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        for text in ["", "{}", "[1]", "{\"model\": 7}", &SMALL[..SMALL.len() / 2]] {
            std::fs::write(&path, text).unwrap();
            let error = TokenizerFile::open(&path).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("tokenizer.json"), "{error}");
        }
        assert!(TokenizerFile::open(&folder.path().join("none.json")).is_err());
    }

    #[test]
    fn a_real_tokenizer_counts_as_its_maker_does() {
        let Some(folder) = std::env::var_os("PLEACH_MINILM") else {
            eprintln!("SKIPPED: PLEACH_MINILM names no model directory, so no real tokenizer was tried");
            return;
        };
        let path = Path::new(&folder).join("tokenizer.json");
        let file = TokenizerFile::open(&path).unwrap();
        let mut whole = tokenizers::Tokenizer::from_file(&path).unwrap();
        whole.with_padding(None).with_truncation(None).unwrap();
        let corpus = include_str!("../lib.rs");
        for text in [corpus, "Naïve café: 日本語!", "snake_case::path/to/file.rs:12", &corpus.replace('\n', " ")] {
            let expected = u32::try_from(whole.encode(text, false).unwrap().len()).unwrap();
            assert_eq!(count(&file, text), expected);
        }
    }
}
