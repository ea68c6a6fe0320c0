//! The two vocabularies of OpenAI's tokenizers that are built in, and the number of tokens that byte pair encoding
//! gives a text with them. Only counts are needed, so a vocabulary is the list of its tokens in the order of their
//! ranks (`assets/vocabularies`: a length byte and the bytes of each token), which stays in the program file, and an
//! index of it: for `o200k_base` 3 MB and less than 20 ms, where a whole encoder takes about 40 MB and 130 ms.
//! Not for: cutting a text into pieces of bounded length (`pieces`), or a model's own tokenizer (`tokenizer_file`).
//!
//! `PLEACH_VOCABULARIES=write cargo test vocabularies_are_complete` writes the lists again.

use fancy_regex::Regex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A vocabulary's list of tokens, and the pattern that splits a text into words before they are encoded.
pub(super) struct Source {
    pub(super) tokens: &'static [u8],
    pub(super) pattern: &'static str,
}

/// The vocabulary of GPT-4o and later models.
pub(super) const O200K_BASE: Source = Source {
    tokens: include_bytes!("../../../assets/vocabularies/o200k_base.tokens"),
    pattern: concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}",
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"|\s*[\r\n]+",
        r"|\s+(?!\S)",
        r"|\s+",
    ),
};

/// The vocabulary of GPT-4 and GPT-3.5.
pub(super) const CL100K_BASE: Source = Source {
    tokens: include_bytes!("../../../assets/vocabularies/cl100k_base.tokens"),
    pattern: concat!(
        r"'(?i:[sdmt]|ll|ve|re)",
        r"|[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"|\p{N}{1,3}+",
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
};

/// A vocabulary that is ready to count with.
pub(super) struct Vocabulary {
    tokens: Tokens,
    /// A hash table of the ranks, with linear probing; a power of two of slots, less than half of them taken.
    slots: Vec<u32>,
    pattern: Regex,
}

/// A slot without a rank.
const FREE: u32 = u32::MAX;

impl Vocabulary {
    /// Indexes the tokens of a vocabulary; `None` if its pattern is invalid.
    pub(super) fn new(source: &Source) -> Option<Self> {
        let tokens = Tokens::of(source.tokens);
        let mut slots = vec![FREE; (2 * tokens.starts.len() + 1).next_power_of_two()];
        let mask = slots.len() - 1;
        for rank in 0..tokens.starts.len() {
            let mut slot = hash(tokens.get(rank)) & mask;
            while slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            slots[slot] = u32::try_from(rank).ok()?;
        }
        Some(Self { tokens, slots, pattern: Regex::new(source.pattern).ok()? })
    }

    /// Returns the rank of a token; `None` if the vocabulary has no such token.
    fn rank(&self, token: &[u8]) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = hash(token) & mask;
        while self.slots[slot] != FREE {
            if self.tokens.get(self.slots[slot] as usize) == token {
                return Some(self.slots[slot]);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    /// Returns the number of tokens of a text, in which special tokens count as plain text; `None` if the pattern gives
    /// up on it.
    pub(super) fn count(&self, text: &str) -> Option<usize> {
        let mut count = 0;
        for word in self.pattern.find_iter(text) {
            let word = word.ok()?.as_str().as_bytes();
            count += if self.rank(word).is_some() { 1 } else { self.merged(word) };
        }
        Some(count)
    }

    /// Returns the number of parts of a word after byte pair encoding: from single bytes on, the two neighboring parts
    /// that together are the token of the lowest rank are merged, the leftmost first, until no two parts are a token.
    fn merged(&self, word: &[u8]) -> usize {
        /// The value of `next` for a part that was merged into the part before it.
        const MERGED: usize = 0;
        let end = word.len();
        // Parts are known by their start; `next` is the start of the following part, and `before` is the start of the
        // previous part.
        let mut next: Vec<usize> = (1..=end).collect();
        let mut before: Vec<usize> = (0..=end).map(|at| at.saturating_sub(1)).collect();
        let rank = |from: usize, to: usize| self.rank(&word[from..to]).map(|rank| Reverse((rank, from, to)));
        let mut pairs: BinaryHeap<_> = (2..=end).filter_map(|to| rank(to - 2, to)).collect();
        let mut parts = end;
        while let Some(Reverse((_, from, to))) = pairs.pop() {
            let middle = next[from];
            if middle == MERGED || middle >= end || next[middle] != to {
                continue;
            }
            (next[from], next[middle], before[to]) = (to, MERGED, from);
            parts -= 1;
            if to < end {
                pairs.extend(rank(from, next[to]));
            }
            if from > 0 {
                pairs.extend(rank(before[from], to));
            }
        }
        parts
    }
}

/// The tokens of a list, in the order of their ranks.
struct Tokens {
    list: &'static [u8],
    /// Where the bytes of each token start; the byte before is their number.
    starts: Vec<u32>,
}

impl Tokens {
    /// Reads a list; a damaged one up to the damage.
    fn of(list: &'static [u8]) -> Self {
        let mut starts = Vec::with_capacity(list.len() / 7);
        let mut start = 1;
        while start <= list.len() && start + usize::from(list[start - 1]) <= list.len() {
            starts.push(u32::try_from(start).unwrap_or(u32::MAX));
            start += usize::from(list[start - 1]) + 1;
        }
        Self { list, starts }
    }

    /// Returns the token of a rank below the number of tokens.
    fn get(&self, rank: usize) -> &'static [u8] {
        let start = self.starts[rank] as usize;
        &self.list[start..start + usize::from(self.list[start - 1])]
    }
}

/// The FNV-1a hash of a token (32 bits), with its upper bits mixed into the lower ones, which choose the slot. A plain loop: a
/// build without optimization indexes a vocabulary in a tenth of the time that a generic table takes.
fn hash(token: &[u8]) -> usize {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < token.len() {
        hash = (hash ^ u32::from(token[at])).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ (hash >> 16)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiktoken_rs::{cl100k_base_singleton, o200k_base_singleton};

    /// The lists hold every token of the encoders that OpenAI's own library uses, at its rank.
    #[test]
    fn vocabularies_are_complete() {
        let all = [
            ("o200k_base", &O200K_BASE, o200k_base_singleton(), 199_998),
            ("cl100k_base", &CL100K_BASE, cl100k_base_singleton(), 100_256),
        ];
        for (name, source, encoder, count) in all {
            let wanted = (0..count).flat_map(|rank| {
                let token = encoder.decode_bytes(&[rank]).unwrap();
                [vec![u8::try_from(token.len()).unwrap()], token].concat()
            });
            let wanted: Vec<u8> = wanted.collect();
            if std::env::var_os("PLEACH_VOCABULARIES").is_some_and(|value| value == "write") {
                let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/vocabularies");
                std::fs::write(folder.join(name).with_extension("tokens"), &wanted).unwrap();
            } else {
                assert!(source.tokens == wanted, "{name}");
                assert!(encoder.decode_bytes(&[count]).is_err(), "{name}");
                assert_eq!(Tokens::of(source.tokens).starts.len(), count as usize, "{name}");
            }
        }
    }

    #[test]
    fn a_damaged_list_is_read_up_to_the_damage() {
        let tokens = Tokens::of(b"\x01a\x02bc\x05de");
        let found: Vec<&[u8]> = (0..tokens.starts.len()).map(|rank| tokens.get(rank)).collect();
        assert_eq!(found, [b"a".as_slice(), b"bc"]);
    }
}
