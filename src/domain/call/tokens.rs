//! Counting tokens: the port, the encodings, and the certainty of a count.
//! Not for: the tokenizers (`llm::counting::tokens`).

use crate::domain::base::hash::Hash;
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A tokenizer's vocabulary, serialized as its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Encoding {
    /// `OpenAI` models since GPT-4o.
    O200kBase,
    /// GPT-4, GPT-3.5, and the older embeddings.
    Cl100kBase,
    /// No known vocabulary: a quarter of the number of characters, rounded up.
    Approximate,
    /// A model's own `tokenizer.json`, identified by the hash of that file.
    File(Hash),
}

/// Prefix of the hash in the name of a file's encoding.
const FILE: &str = "tokenizer.json:";
const BUILT_IN: [(Encoding, &str); 3] = [
    (Encoding::O200kBase, "o200k_base"),
    (Encoding::Cl100kBase, "cl100k_base"),
    (Encoding::Approximate, "approximate"),
];

impl Encoding {
    /// Returns the name. For a file it contains the whole hash, so that counts of two files are never mixed.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::O200kBase => BUILT_IN[0].1.into(),
            Self::Cl100kBase => BUILT_IN[1].1.into(),
            Self::Approximate => BUILT_IN[2].1.into(),
            Self::File(hash) => format!("{FILE}{hash}").into(),
        }
    }

    /// Returns the name for display. For a file it contains the first eight digits of its hash.
    pub fn title(self) -> Cow<'static, str> {
        match self {
            Self::File(hash) => format!("tokenizer.json {}", hash.short()).into(),
            built_in => built_in.name(),
        }
    }

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let built_in = BUILT_IN.into_iter().find(|(_, known)| *known == name).map(|(encoding, _)| encoding);
        built_in.or_else(|| name.strip_prefix(FILE)?.parse().ok().map(Self::File))
    }
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Encoding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::unknown_variant(&name, &["o200k_base", "cl100k_base", "approximate"]);
        Self::from_name(&name).ok_or_else(unknown)
    }
}

named_enum! {
    /// The certainty of a number of tokens, shown with every such number.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum Certainty {
        /// Counted with the model's vocabulary or a similar one.
        Estimated = "estimated" => "est",
        /// An estimate corrected by earlier server reports.
        Calibrated = "calibrated" => "cal",
        /// Reported by the server.
        Actual = "actual" => "actual",
    }
    /// Returns the short label shown with a number.
    pub fn label
}

impl Certainty {
    /// Returns the certainty in words, for sentences.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Estimated => "estimated",
            Self::Calibrated => "calibrated",
            Self::Actual => "counted by the server",
        }
    }
}

/// Returns a number with thousands separators: `1,204`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a number with its noun, such as `1 message` or `2 messages`. `one` is the singular.
pub fn counted(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(n)) }
}

/// Returns a share in percent, rounded down: `19%`, and `<1%` for less that is not 0.
pub fn percent(part: u32, whole: u32) -> String {
    match u64::from(part) * 100 / u64::from(whole.max(1)) {
        0 if part > 0 => "<1%".to_owned(),
        share => format!("{share}%"),
    }
}

/// Counts tokens of any text. Never panics. The first use loads a vocabulary, which is too slow for the screen's
/// thread.
pub trait CountTokens: Send + Sync {
    /// Returns the number of tokens of `text` in `encoding`.
    fn count(&self, encoding: Encoding, text: &str) -> u32;

    /// Loads the data of an encoding. Returns the encoding to use and, if it is a substitute, the reason.
    fn settle(&self, encoding: Encoding) -> (Encoding, Option<String>) {
        (encoding, None)
    }
}

/// Returns a quarter of the number of characters, rounded up for each run between safe cuts (see [`opens_safely`]). It is
/// the labeled fallback without a vocabulary. Rounding each run makes it additive over safe cuts, like the vocabularies.
pub fn approximate(text: &str) -> u32 {
    let mut total = 0_usize;
    let mut run = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        run += 1;
        if c == '\n' && chars.peek().copied().is_some_and(opens_safely) {
            total += run.div_ceil(4);
            run = 0;
        }
    }
    u32::try_from(total + run.div_ceil(4)).unwrap_or(u32::MAX)
}

/// Returns whether a text that begins with `c` can follow a line break without changing the token count of either side.
/// It cannot if `c` is white space (which would join the line break) or a slash (o200k attaches line breaks and slashes
/// to punctuation).
pub fn opens_safely(c: char) -> bool {
    !c.is_whitespace() && c != '/'
}

/// Returns whether two texts can be joined so that their token counts add up.
#[cfg(test)]
pub(crate) fn safe_cut(left: &str, right: &str) -> bool {
    left.is_empty() || right.is_empty() || (left.ends_with('\n') && right.starts_with(opens_safely))
}

/// Returns a number of tokens in at most five columns if below ten million, such as `340`, `5,204`, `28k`, `1.05M`.
pub fn short(n: u64) -> String {
    let (thousands, hundredths) = ((n + 500) / 1_000, (n + 5_000) / 10_000);
    match n {
        0..10_000 => grouped(n),
        10_000..999_500 => format!("{thousands}k"),
        _ if hundredths % 100 > 0 => format!("{}.{:02}M", hundredths / 100, hundredths % 100),
        _ => format!("{}M", hundredths / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_round_trip() {
        let file = Encoding::File(Hash::of(b"a tokenizer"));
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase, Encoding::Approximate, file] {
            assert_eq!(Encoding::from_name(&encoding.name()), Some(encoding));
            let text = serde_json::to_string(&encoding).unwrap();
            assert_eq!(serde_json::from_str::<Encoding>(&text).unwrap(), encoding);
        }
        assert_ne!(file.name(), Encoding::File(Hash::of(b"another")).name());
        let error = serde_json::from_str::<Encoding>("\"p50k\"").unwrap_err().to_string();
        assert!(error.contains("p50k") && error.contains("o200k_base"), "{error}");
        assert_eq!(Encoding::from_name("tokenizer.json:12"), None);
    }

    proptest! {
        #[test]
        fn approximate_adds_up_over_safe_cuts(a in "[a-z \n/.]{0,30}", b in "[a-z \n/.]{0,30}") {
            let left = format!("{a}\n");
            if safe_cut(&left, &b) {
                prop_assert_eq!(approximate(&left) + approximate(&b), approximate(&format!("{left}{b}")));
            }
        }
    }

    #[test]
    fn numbers_for_display() {
        let cases: &[(u64, &str, &str, &str)] = &[
            (0, "0", "0", "0 calls"),
            (1, "1", "1", "1 call"),
            (999, "999", "999", "999 calls"),
            (1_000, "1,000", "1,000", "1,000 calls"),
            (1_049, "1,049", "1,049", "1,049 calls"),
            (1_050, "1,050", "1,050", "1,050 calls"),
            (1_949, "1,949", "1,949", "1,949 calls"),
            (1_950, "1,950", "1,950", "1,950 calls"),
            (9_949, "9,949", "9,949", "9,949 calls"),
            (9_950, "9,950", "9,950", "9,950 calls"),
            (10_499, "10k", "10,499", "10,499 calls"),
            (10_500, "11k", "10,500", "10,500 calls"),
            (99_999, "100k", "99,999", "99,999 calls"),
            (999_499, "999k", "999,499", "999,499 calls"),
            (999_500, "1M", "999,500", "999,500 calls"),
            (1_004_999, "1M", "1,004,999", "1,004,999 calls"),
            (1_005_000, "1.01M", "1,005,000", "1,005,000 calls"),
            (1_099_999, "1.10M", "1,099,999", "1,099,999 calls"),
            (1_234_567, "1.23M", "1,234,567", "1,234,567 calls"),
            (1_994_999, "1.99M", "1,994,999", "1,994,999 calls"),
            (1_995_000, "2M", "1,995,000", "1,995,000 calls"),
            (12_345_678, "12.35M", "12,345,678", "12,345,678 calls"),
        ];
        for (n, small, whole, calls) in cases {
            assert_eq!(
                (short(*n).as_str(), grouped(*n).as_str(), counted(*n, "call").as_str()),
                (*small, *whole, *calls)
            );
        }
    }

    #[test]
    fn texts_are_cut_only_where_their_tokens_add_up() {
        let cases = [
            ("", "/", true),
            ("a", "", true),
            ("a\n", "b", true),
            ("a", "b", false),
            ("a\n", " b", false),
            ("a\n", "/b", false),
        ];
        for (left, right, safe) in cases {
            assert_eq!(safe_cut(left, right), safe, "{left:?} {right:?}");
        }
        let counts =
            ["", "a", "abcd", "abcde", "a\nb", "a\n b", "a\n/b", "abc\nabcd\n", "abcd\nabcd\nabcd"].map(approximate);
        assert_eq!(counts, [0, 1, 1, 2, 2, 1, 1, 3, 5]);
        assert_eq!(Encoding::File(Hash::default()).title(), format!("tokenizer.json {}", Hash::default().short()));
        assert_eq!(
            [Certainty::Estimated, Certainty::Calibrated, Certainty::Actual].map(Certainty::label),
            ["est", "cal", "actual"]
        );
    }
}
