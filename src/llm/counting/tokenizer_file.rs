//! Counts tokens with a model's own `tokenizer.json`. Needs the feature `hf-tokenizers`; without it, opening a file is
//! an error.
//! Not for: the built-in vocabularies (`tokens`). Counts are still estimates: text is counted in the pieces of
//! `pieces`, whose boundaries are exact only for the built-in vocabularies, and they exclude the tokens that a server's
//! chat template adds.

use crate::domain::base::{Fields, Hash};
use crate::domain::call::Encoding;
use crate::domain::call::tokens::CountTokens as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum TokenizerFileError {
    /// The program was built without support for such files.
    #[error("{path} can't be used: this build lacks the feature hf-tokenizers")]
    NoFeature { path: String },
    /// The file is missing or is not a valid tokenizer.
    #[error("{path} can't be used as a tokenizer: {why}")]
    Unusable {
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

fn unusable(path: &Path, why: impl std::fmt::Display) -> TokenizerFileError {
    TokenizerFileError::Unusable { path: path.display().to_string(), why: why.to_string() }
}

/// A model's own tokenizer. Ignores the encoding it is asked for.
pub struct TokenizerFile {
    id: Hash,
    #[cfg(feature = "hf-tokenizers")]
    inner: inner::Counter,
}

impl TokenizerFile {
    /// Reads a `tokenizer.json`. Takes up to a second; do not call it on the screen's thread.
    #[cfg(feature = "hf-tokenizers")]
    pub fn open(path: &Path) -> Result<Self, TokenizerFileError> {
        let bytes = std::fs::read(path).map_err(|error| unusable(path, error))?;
        let inner = inner::Counter::new(&bytes).map_err(|why| unusable(path, why))?;
        Ok(Self { id: Hash::of(&bytes), inner })
    }

    /// Always fails, naming the missing feature.
    #[cfg(not(feature = "hf-tokenizers"))]
    pub fn open(path: &Path) -> Result<Self, TokenizerFileError> {
        Err(TokenizerFileError::NoFeature { path: path.display().to_string() })
    }

    /// Returns the hash of the file. Counts made under one id can be cached together.
    pub fn id(&self) -> Hash {
        self.id
    }
}

/// Tokenizer files by path. Each file is read at most once per process: it is hashed when first named and parsed when
/// the first text is counted.
#[derive(Default)]
pub(crate) struct TokenizerFiles(Mutex<Vec<Arc<TokenizerEntry>>>);

/// A tokenizer file that was named.
struct TokenizerEntry {
    path: PathBuf,
    id: Hash,
    /// The encoding used if the file cannot be used.
    fallback: Encoding,
    opened: OnceLock<Result<TokenizerFile, TokenizerFileError>>,
}

impl TokenizerFiles {
    /// Returns the encoding for the file at `path`; only hashes the file. An unreadable file also gets an encoding,
    /// which `settle` then replaces.
    pub(crate) fn encoding(&self, path: &Path, fallback: Encoding) -> Encoding {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.iter().find(|entry| entry.path == path) {
            return Encoding::File(entry.id);
        }
        let opened = OnceLock::new();
        let id = hash_file(path).unwrap_or_else(|error| {
            let _ = opened.set(Err(error));
            Fields::new("no tokenizer").text(&path.display().to_string()).finish()
        });
        let fallback = if matches!(fallback, Encoding::File(_)) { Encoding::O200kBase } else { fallback };
        known.push(Arc::new(TokenizerEntry { path: path.to_owned(), id, fallback, opened }));
        Encoding::File(id)
    }

    /// Returns the encoding that counts for a file's id: the file's own, or its fallback and the reason. Loads the
    /// file, which takes up to a second.
    pub(crate) fn settle(&self, id: Hash) -> (Encoding, Option<String>) {
        let Some(entry) = self.entry(id) else {
            return (Encoding::O200kBase, Some("the tokenizer.json in the settings does not exist".into()));
        };
        match entry.open() {
            Ok(_) => (Encoding::File(id), None),
            Err(error) => (entry.fallback, Some(error.to_string())),
        }
    }

    /// Returns the tokens of a text by the file with this id; `None` if it cannot count.
    pub(crate) fn count(&self, id: Hash, text: &str) -> Option<u32> {
        let entry = self.entry(id)?;
        let file = entry.open().as_ref().ok()?;
        Some(file.count(Encoding::File(id), text))
    }

    fn entry(&self, id: Hash) -> Option<Arc<TokenizerEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|entry| entry.id == id).cloned()
    }
}

impl TokenizerEntry {
    fn open(&self) -> &Result<TokenizerFile, TokenizerFileError> {
        self.opened.get_or_init(|| {
            let file = TokenizerFile::open(&self.path)?;
            let changed = || unusable(&self.path, "it changed while pleach was running; restart pleach");
            if file.id() == self.id { Ok(file) } else { Err(changed()) }
        })
    }
}

#[cfg(feature = "hf-tokenizers")]
fn hash_file(path: &Path) -> Result<Hash, TokenizerFileError> {
    std::fs::read(path).map(|bytes| Hash::of(&bytes)).map_err(|error| unusable(path, error))
}

#[cfg(not(feature = "hf-tokenizers"))]
fn hash_file(path: &Path) -> Result<Hash, TokenizerFileError> {
    TokenizerFile::open(path).map(|file| file.id())
}

#[cfg(feature = "hf-tokenizers")]
mod inner {
    use super::TokenizerFile;
    use crate::domain::call::tokens::{CountTokens, Encoding, approximate, opens_safely};
    use crate::llm::counting::pieces::pieces;
    use crate::llm::counting::tokens::{Cache, Key};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Mutex, PoisonError};
    use tokenizers::Tokenizer;

    pub(crate) struct Counter {
        tokenizer: Tokenizer,
        cache: Mutex<Cache>,
    }

    impl Counter {
        pub(crate) fn new(bytes: &[u8]) -> Result<Self, String> {
            let read = catch_unwind(|| Tokenizer::from_bytes(bytes));
            let read = read.unwrap_or_else(|_| Err("the tokenizer library rejected it".into()));
            let mut tokenizer = read.map_err(|error| error.to_string())?;
            tokenizer.with_padding(None);
            tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
            // Text that looks like a special token is plain text here.
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
        /// Counts line by line. Rows of a plan are counted alone and joined after a line break (see
        /// [`opens_safely`]), and many tokenizers add a prefix to their
        /// input, so only lines that are counted alone add up.
        fn count(&self, _: Encoding, text: &str) -> u32 {
            let pieces = pieces(text).flat_map(lines);
            pieces.fold(0_u32, |sum, piece| sum.saturating_add(self.inner.piece(piece)))
        }
    }

    /// Splits after every line end where texts may be joined.
    fn lines(text: &str) -> impl Iterator<Item = &str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let cut = |(at, _): (usize, &str)| rest[at + 1..].starts_with(opens_safely).then_some(at + 1);
            let end = rest.match_indices('\n').find_map(cut).unwrap_or(rest.len());
            let (line, tail) = rest.split_at(end);
            rest = tail;
            (!line.is_empty()).then_some(line)
        })
    }
}

#[cfg(not(feature = "hf-tokenizers"))]
impl crate::domain::call::tokens::CountTokens for TokenizerFile {
    fn count(&self, _: crate::domain::call::tokens::Encoding, text: &str) -> u32 {
        crate::domain::call::tokens::approximate(text)
    }
}

#[cfg(all(test, not(feature = "hf-tokenizers")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_the_error_names_it() {
        let Err(error) = TokenizerFile::open(Path::new("a/tokenizer.json")) else { panic!("opened") };
        assert!(error.to_string().contains("hf-tokenizers") && error.to_string().contains("a/tokenizer.json"));
    }

    #[test]
    fn without_the_feature_the_vocabulary_is_used() {
        let files = TokenizerFiles::default();
        let Encoding::File(id) = files.encoding(Path::new("a/tokenizer.json"), Encoding::Cl100kBase) else {
            panic!("no file")
        };
        let (stays, why) = files.settle(id);
        assert_eq!(stays, Encoding::Cl100kBase);
        assert!(why.unwrap().contains("hf-tokenizers"));
        assert_eq!(files.count(id, "hello"), None);
    }
}

#[cfg(test)]
#[cfg(feature = "hf-tokenizers")]
mod tests {
    use super::*;
    use crate::domain::call::tokens::{CountTokens, Encoding};

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
    fn truncation_and_padding_of_the_file_are_ignored() {
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
    fn an_invalid_tokenizer_is_an_error() {
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
    fn files_are_distinct_and_a_bad_one_has_a_fallback() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (good, other) = (write("a.json", SMALL), write("b.json", &SMALL.replace("\"world\"", "\"earth\"")));
        let (bad, none) = (write("c.json", "{}"), folder.path().join("none.json"));
        let tokenizers = crate::llm::counting::tokens::Tokenizers::new();
        let encodings = [&good, &other, &bad, &none].map(|path| tokenizers.file(path, Encoding::Approximate));
        let distinct: std::collections::BTreeSet<Encoding> = encodings.into_iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(tokenizers.file(&good, Encoding::O200kBase), encodings[0], "the same file is the same encoding");
        let count = |encoding| tokenizers.count(encoding, "hello world");
        assert_eq!((count(encodings[0]), count(encodings[1])), (2, 2), "an unknown word is one token");
        assert_eq!(tokenizers.settle(encodings[0]), (encodings[0], None));
        for (encoding, path) in [(encodings[2], &bad), (encodings[3], &none)] {
            let (fallback, why) = tokenizers.settle(encoding);
            assert_eq!(fallback, Encoding::Approximate);
            assert!(why.unwrap().contains(&path.display().to_string()));
            assert_eq!(count(encoding), tokenizers.count(Encoding::Approximate, "hello world"));
        }
    }

    #[test]
    fn a_file_that_changes_in_use_keeps_its_first_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, SMALL).unwrap();
        let tokenizers = crate::llm::counting::tokens::Tokenizers::new();
        let encoding = tokenizers.file(&path, Encoding::Cl100kBase);
        std::fs::write(&path, SMALL.replace("\"world\"", "\"earth\"")).unwrap();
        let (fallback, why) = tokenizers.settle(encoding);
        assert_eq!(fallback, Encoding::Cl100kBase);
        assert!(why.unwrap().contains("changed"));
    }

    /// A tokenizer that prefixes its input with a mark and merges the mark with the first letter, like many made by
    /// sentencepiece.
    const MARKED: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
            "split": false}, "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "dropout": null, "unk_token": "?", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": {"?": 0, "▁": 1, "a": 2, "b": 3, "\n": 4, "/": 5, "▁a": 6, "ab": 7, "\na": 8},
            "merges": ["▁ a", "a b", "\n a"]}}"#;

    #[test]
    fn counts_add_up_where_texts_are_joined() {
        use crate::domain::call::tokens::safe_cut;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, MARKED).unwrap();
        let file = TokenizerFile::open(&path).unwrap();
        let parts = ["a", "b", " ", "\n", "/", "ab", "\n\n", "a\n", " a"];
        let mut joined = 0;
        for left in parts.iter().flat_map(|one| parts.iter().map(move |two| format!("{one}{two}\n"))) {
            for right in parts.iter().flat_map(|one| parts.iter().map(move |two| format!("{one}{two}"))) {
                if safe_cut(&left, &right) {
                    joined += 1;
                    assert_eq!(count(&file, &left) + count(&file, &right), count(&file, &format!("{left}{right}")));
                }
            }
        }
        assert!(joined > 1_000, "{joined}");
    }

    #[test]
    fn a_real_tokenizer_matches_the_reference_counts() {
        let Some(folder) = std::env::var_os("PLEACH_MINILM") else {
            eprintln!("SKIPPED: PLEACH_MINILM names no model directory, so no real tokenizer was tried");
            return;
        };
        let path = Path::new(&folder).join("tokenizer.json");
        let file = TokenizerFile::open(&path).unwrap();
        let mut whole = tokenizers::Tokenizer::from_file(&path).unwrap();
        whole.with_padding(None).with_truncation(None).unwrap();
        let corpus = include_str!("../../lib.rs");
        for text in [corpus, "Naïve café: 日本語!", "snake_case::path/to/file.rs:12", &corpus.replace('\n', " ")] {
            let expected = u32::try_from(whole.encode(text, false).unwrap().len()).unwrap();
            assert_eq!(count(&file, text), expected);
        }
    }
}
