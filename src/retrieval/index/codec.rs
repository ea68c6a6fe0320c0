//! Encodes the index as bytes: posting lists, and a bounds-checked reader.
//! Not for: the contents of segments (`segment`).

use crate::domain::base::varint::{put, take};
use crate::retrieval::RetrievalError;

/// A posting: a passage (its number within the segment) and how often the term occurs there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posting {
    /// Number of the passage within its segment.
    pub passage: u32,
    /// Occurrences.
    pub count: u32,
}

/// Appends a posting to a list; `next` is the last passage of the list plus one (0 for an empty list).
pub fn put_posting(bytes: &mut Vec<u8>, next: u32, posting: Posting) {
    let step = u64::from(posting.passage - next) << 1;
    if posting.count == 1 {
        put(bytes, step);
    } else {
        put(bytes, step | 1);
        put(bytes, u64::from(posting.count));
    }
}

/// The postings of a list, in order of passages. A damaged list ends early.
#[derive(Clone, Debug)]
pub struct Postings<'a> {
    bytes: &'a [u8],
    next: u32,
}

impl<'a> Postings<'a> {
    /// Reads a list.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0 }
    }

    fn number(&mut self) -> Option<u32> {
        u32::try_from(take(&mut self.bytes)?).ok()
    }
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let code = self.number()?;
        let count = if code & 1 == 1 { self.number()? } else { 1 };
        let passage = self.next.checked_add(code >> 1)?;
        self.next = passage.checked_add(1)?;
        Some(Posting { passage, count })
    }
}

/// Reads the bytes of a header in order, with bounds checks.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads the next integer.
    pub fn number(&mut self) -> Result<u64, RetrievalError> {
        take(&mut self.0).ok_or(RetrievalError::Damaged("it ends early, or a number is too large"))
    }

    /// Reads the next integer as 32 bits.
    pub fn small(&mut self) -> Result<u32, RetrievalError> {
        u32::try_from(self.number()?).map_err(|_| RetrievalError::Damaged("a number is too large"))
    }

    /// Reads the next `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], RetrievalError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(RetrievalError::Damaged("it ends early"))?;
        self.0 = rest;
        Ok(*head)
    }

    /// Reads the next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], RetrievalError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(RetrievalError::Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Returns whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_round_trip(steps in proptest::collection::vec((0_u32..500, 1_u32..300), 0..60)) {
            let (mut bytes, mut next, mut put_in) = (Vec::new(), 0, Vec::new());
            for (step, count) in steps {
                let posting = Posting { passage: next + step, count };
                put_posting(&mut bytes, next, posting);
                next = posting.passage + 1;
                put_in.push(posting);
            }
            prop_assert_eq!(Postings::new(&bytes).collect::<Vec<_>>(), put_in);
        }

        #[test]
        fn bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..9), taken in 0_usize..10) {
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.take(taken).ok(), bytes.get(..taken));
            prop_assert_eq!(reader.is_empty(), bytes.is_empty() || taken == bytes.len());
        }

        #[test]
        fn damage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Postings::new(&bytes).count() <= bytes.len());
            let mut reader = Reader::new(&bytes);
            while reader.number().is_ok() {}
        }
    }
}
