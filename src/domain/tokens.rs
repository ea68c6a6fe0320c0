//! Counting tokens: the port, the encodings, and how sure a number is.
//! Not for: the tokenizers themselves (`llm::tokens`).

use serde::{Deserialize, Serialize};

/// A tokenizer's vocabulary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// `OpenAI` models since GPT-4o.
    O200kBase,
    /// GPT-4, GPT-3.5 and the older embeddings.
    Cl100kBase,
    /// No vocabulary known: a quarter of the characters, rounded up.
    Approximate,
}

impl Encoding {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Approximate => "approximate",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::O200kBase, Self::Cl100kBase, Self::Approximate].into_iter().find(|e| e.name() == name)
    }
}

/// How sure a number of tokens is. It goes with every number that a person sees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Counted with the model's vocabulary, or one that is close.
    Estimated,
    /// An estimate corrected by what the server reported before.
    Calibrated,
    /// Reported by the server.
    Actual,
}

impl Certainty {
    /// The short label beside a number.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Estimated => "est",
            Self::Calibrated => "cal",
            Self::Actual => "actual",
        }
    }
}

/// A number with thousands separated: `1,204`.
#[must_use]
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

/// Counts tokens. Never panics and takes any text; slow on first use (loads a vocabulary), so never on the screen's thread.
pub trait CountTokens: Send + Sync {
    /// Tokens of `text` in `encoding`.
    fn count(&self, encoding: Encoding, text: &str) -> u32;
}

/// A quarter of the characters, rounded up for each run between safe cuts: the labelled fallback where no vocabulary is
/// known. Rounding run by run keeps it additive over [`safe_cut`]s, as the vocabularies are.
#[must_use]
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

/// Whether a text that begins with `c` may follow a line end without changing how either side is counted: no white space
/// (it would join the line end) and no slash (o200k lets line ends and slashes trail punctuation).
#[must_use]
pub fn opens_safely(c: char) -> bool {
    !c.is_whitespace() && c != '/'
}

/// Whether two texts can be joined so that their tokens add up.
#[must_use]
pub fn safe_cut(left: &str, right: &str) -> bool {
    left.is_empty() || right.is_empty() || (left.ends_with('\n') && right.starts_with(opens_safely))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn approximate_adds_up_over_safe_cuts(a in "[a-z \n/.]{0,30}", b in "[a-z \n/.]{0,30}") {
            let left = format!("{a}\n");
            if safe_cut(&left, &b) {
                prop_assert_eq!(approximate(&left) + approximate(&b), approximate(&format!("{left}{b}")));
            }
        }
    }
}
