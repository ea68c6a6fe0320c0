//! Counts tokens with the built-in vocabularies, piece by piece, so that no text makes counting slow or makes it panic.
//! Not for: choosing the texts to count (`context`) or the vocabulary of a model (`models`).

use super::pieces::pieces;
use super::tokenizer_file::TokenizerFiles;
use super::vocabulary::{CL100K_BASE, O200K_BASE, Vocabulary};
use crate::domain::call::tokens::approximate;
use crate::domain::call::{CountTokens, Encoding};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Entries of one generation of the cache. Two generations are kept, together about 4 MB.
const GENERATION: usize = 65_536;

static O200K: OnceLock<Option<Vocabulary>> = OnceLock::new();
static CL100K: OnceLock<Option<Vocabulary>> = OnceLock::new();

/// The token counter. Vocabularies are indexed on first use (less than 20 ms, once per process).
#[derive(Default)]
pub struct Tokenizers {
    cache: Mutex<Cache>,
    files: TokenizerFiles,
}

impl Tokenizers {
    /// Creates a counter with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads a vocabulary now. Intended for a background thread at startup.
    pub fn preload(&self, encoding: Encoding) {
        let (encoding, _) = self.settle(encoding);
        let _ = vocabulary(encoding);
    }

    /// Returns the encoding for a model's own `tokenizer.json`; `instead` is the fallback (see
    /// [`CountTokens::settle`]). Reads the file once, for its hash.
    pub fn file(&self, path: &Path, instead: Encoding) -> Encoding {
        self.files.encoding(path, instead)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn piece(&self, encoding: Encoding, vocabulary: &Vocabulary, piece: &str) -> u32 {
        let key = Key::of(u8::from(matches!(encoding, Encoding::O200kBase)), piece);
        if let Some(known) = self.cache().get(key) {
            return known;
        }
        let count = vocabulary.count(piece).and_then(|count| u32::try_from(count).ok());
        let count = count.unwrap_or_else(|| approximate(piece));
        self.cache().put(key, count);
        count
    }
}

impl CountTokens for Tokenizers {
    fn count(&self, encoding: Encoding, text: &str) -> u32 {
        if let Encoding::File(id) = encoding {
            return self.files.count(id, text).unwrap_or_else(|| self.count(self.files.settle(id).0, text));
        }
        match vocabulary(encoding) {
            Some(words) => {
                pieces(text).fold(0, |sum: u32, piece| sum.saturating_add(self.piece(encoding, words, piece)))
            }
            None => approximate(text),
        }
    }

    fn settle(&self, encoding: Encoding) -> (Encoding, Option<String>) {
        match encoding {
            Encoding::File(id) => self.files.settle(id),
            built_in => (built_in, None),
        }
    }
}

/// Returns the vocabulary; `None` for `Approximate` or if a vocabulary cannot be indexed.
fn vocabulary(encoding: Encoding) -> Option<&'static Vocabulary> {
    let (built_in, source) = match encoding {
        Encoding::O200kBase => (&O200K, &O200K_BASE),
        Encoding::Cl100kBase => (&CL100K, &CL100K_BASE),
        Encoding::Approximate | Encoding::File(_) => return None,
    };
    built_in.get_or_init(|| Vocabulary::new(source)).as_ref()
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(u128);

impl Key {
    /// Returns the key of a piece in the vocabulary with this number.
    pub(crate) fn of(vocabulary: u8, piece: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[vocabulary]);
        hasher.update(piece.as_bytes());
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(u128::from_le_bytes(bytes))
    }
}

/// Two generations: entries used since the last turnover, and entries used before it.
#[derive(Default)]
pub(crate) struct Cache {
    young: HashMap<Key, u32>,
    old: HashMap<Key, u32>,
}

impl Cache {
    pub(crate) fn get(&mut self, key: Key) -> Option<u32> {
        if let Some(count) = self.young.get(&key) {
            return Some(*count);
        }
        let count = self.old.get(&key).copied()?;
        self.put(key, count);
        Some(count)
    }

    pub(crate) fn put(&mut self, key: Key, count: u32) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::cases::cases;
    use proptest::prelude::*;

    const BOTH: [Encoding; 2] = [Encoding::O200kBase, Encoding::Cl100kBase];

    fn whole(encoding: Encoding, text: &str) -> u32 {
        let encoder = match encoding {
            Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
            _ => tiktoken_rs::cl100k_base_singleton(),
        };
        u32::try_from(encoder.encode_ordinary(text).len()).unwrap()
    }

    fn sources(folder: &std::path::Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, out);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                out.push(text);
            }
        }
    }

    #[test]
    fn ordinary_text_is_counted_exactly() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut corpus = Vec::new();
        for folder in ["src", "assets", "config"] {
            sources(&root.join(folder), &mut corpus);
        }
        // Some of the files, from all folders.
        corpus.sort_unstable();
        let few = cases(64).cases as usize;
        let apart = corpus.len().div_ceil(few);
        corpus = corpus.into_iter().step_by(apart).collect();
        corpus.push(std::fs::read_to_string(root.join("Cargo.lock")).unwrap());
        let mut chinese =
            "他们说，今天的会议很重要。我们需要讨论三个问题：预算、时间和人员（包括新来的同事）。".repeat(60);
        chinese.push_str("\nEnd of it; it's \"done\", isn't it?\r\n\r\n   x = 1 // why\n//// four\n\n\n\tindented\n");
        corpus.push(chinese);
        let one_line = |text: &String| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let long: Vec<String> = corpus.iter().map(one_line).collect();
        corpus.extend(long);
        assert!(corpus.len() > 20);
        let counter = Tokenizers::new();
        for text in &corpus {
            for encoding in BOTH {
                assert_eq!(counter.count(encoding, text), whole(encoding, text), "{text:.60}");
            }
        }
    }

    #[test]
    fn hostile_text_is_counted_approximately() {
        let counter = Tokenizers::new();
        for unit in [" ", "\t", "\n", "a", "日", "🙂", "\u{200b}", "7", "=", "aA", "x\n ", "!🙂", "\r"] {
            let text = unit.repeat(48_000 / unit.len());
            for encoding in BOTH {
                let (ours, theirs) = (counter.count(encoding, &text), whole(encoding, &text));
                let off = f64::from(ours.abs_diff(theirs)) / f64::from(theirs);
                assert!(off <= 0.005, "{unit:?} {encoding:?}: {ours} for {theirs}");
            }
        }
    }

    #[test]
    fn megabytes_of_any_text_are_counted() {
        let counter = Tokenizers::new();
        for unit in [" ", "\t", "\n", "a", "日", "🙂", "\u{200b}"] {
            let text = unit.repeat(2_000_000 / unit.len());
            let count = counter.count(Encoding::O200kBase, &text);
            assert!(count > 10_000, "{unit:?}: {count}");
        }
    }

    #[test]
    fn special_tokens_are_plain_text() {
        let counter = Tokenizers::new();
        assert!(counter.count(Encoding::O200kBase, "<|im_start|>") > 3);
        assert!(counter.count(Encoding::Cl100kBase, "<|endoftext|>") > 3);
    }

    #[test]
    fn the_cache_answers_the_same_and_stays_bounded() {
        let counter = Tokenizers::new();
        let text = "one line\nand another\n".repeat(50);
        let first = counter.count(Encoding::O200kBase, &text);
        assert_eq!(first, counter.count(Encoding::O200kBase, &text));
        let mut cache = Cache::default();
        for n in 0..3 * GENERATION as u128 {
            cache.put(Key(n), 1);
        }
        assert!(cache.young.len() <= GENERATION && cache.old.len() <= GENERATION);
        assert_eq!(cache.get(Key(3 * GENERATION as u128 - 1)), Some(1));
        assert_eq!(cache.get(Key(0)), None);
    }

    #[test]
    fn approximate_needs_no_vocabulary() {
        assert_eq!(Tokenizers::new().count(Encoding::Approximate, "12345"), 2);
    }

    proptest! {
        #![proptest_config(cases(96))]
        #[test]
        fn any_small_text_is_counted_exactly(text in "(\\PC|[ \n\r\t/;'1aB]){0,300}") {
            let counter = Tokenizers::new();
            for encoding in BOTH {
                prop_assert_eq!(counter.count(encoding, &text), whole(encoding, &text));
            }
        }

        #[test]
        fn lines_of_anything_are_counted_exactly(lines in proptest::collection::vec("[ \t]{0,3}[a-zA-Z0-9;:'/éß日 .,!]{0,30}\r?", 0..60)) {
            let text = lines.join("\n");
            let counter = Tokenizers::new();
            for encoding in BOTH {
                prop_assert_eq!(counter.count(encoding, &text), whole(encoding, &text), "{:?}", text);
            }
        }

        #[test]
        fn blocks_joined_at_safe_cuts_add_up(blocks in proptest::collection::vec("[A-Za-z#\\[][ -~\n]{0,80}\n", 1..12)) {
            let counter = Tokenizers::new();
            for encoding in BOTH {
                let sum: u32 = blocks.iter().map(|block| counter.count(encoding, block)).sum();
                prop_assert_eq!(sum, whole(encoding, &blocks.concat()));
            }
        }
    }
}
