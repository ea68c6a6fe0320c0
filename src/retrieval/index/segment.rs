//! A part of the index: the postings of some thousands of passages, either open (growing) or sealed (compact, and
//! stored so that single terms can be read back).
//! Not for: data about messages (`session`).

use super::codec::{Posting, Reader, put_posting};
use super::words::Term;
use crate::domain::base::varint::put;
use crate::retrieval::RetrievalError;
use std::collections::HashMap;

/// Passages after which a segment is sealed.
pub const SEGMENT_PASSAGES: u32 = 4_096;

/// Supplies the postings of sealed segments that are not in memory.
pub trait Source {
    /// Calls `found` with each of the terms that occur in segment `segment`, and with that term's bytes as returned by
    /// `Segment::lists`.
    ///
    /// # Errors
    /// A description of the reason why they could not be read.
    fn postings(&self, segment: u32, terms: &[Term], found: &mut dyn FnMut(Term, &[u8])) -> Result<(), String>;
}

/// A source without stored segments.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSegments;

impl Source for NoSegments {
    fn postings(&self, segment: u32, _: &[Term], _: &mut dyn FnMut(Term, &[u8])) -> Result<(), String> {
        Err(format!("segment {segment} is not in memory and no store was given"))
    }
}

/// A posting list that grows.
#[derive(Clone, Debug, Default)]
struct OpenList {
    bytes: Vec<u8>,
    next: u32,
}

/// Where a segment's postings are.
#[derive(Clone, Debug)]
enum PostingsPlace {
    /// Growing, in memory.
    Open(HashMap<Term, OpenList>),
    /// Sealed, in memory: sorted terms with the end of each list in `bytes`.
    Resident {
        terms: Vec<Term>,
        ends: Vec<u32>,
        bytes: Vec<u8>,
    },
    Stored,
}

/// A range of passages with their postings.
#[derive(Clone, Debug)]
pub struct Segment {
    body: PostingsPlace,
    /// Number of its first passage in the index.
    pub first: u32,
    pub passages: u32,
}

impl Segment {
    /// Creates an empty open segment.
    pub fn open(first: u32) -> Self {
        Self { body: PostingsPlace::Open(HashMap::new()), first, passages: 0 }
    }

    /// Creates a segment whose postings are in the store.
    pub fn stored(first: u32, passages: u32) -> Self {
        Self { body: PostingsPlace::Stored, first, passages }
    }

    /// Returns whether it is closed to new passages.
    pub fn is_sealed(&self) -> bool {
        !matches!(self.body, PostingsPlace::Open(_))
    }

    /// Adds the next passage, given by its terms in any order.
    pub(crate) fn add(&mut self, mut terms: Vec<Term>) {
        let passage = self.passages;
        let PostingsPlace::Open(lists) = &mut self.body else { return };
        terms.sort_unstable();
        for same in terms.chunk_by(|a, b| a == b) {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let list = lists.entry(same[0]).or_default();
            put_posting(&mut list.bytes, list.next, Posting { passage, count });
            list.next = passage + 1;
        }
        self.passages += 1;
    }

    /// Makes the segment compact and closes it to new passages.
    pub fn seal(&mut self) {
        if let PostingsPlace::Open(lists) = &mut self.body {
            let lists = std::mem::take(lists).into_iter().map(|(term, list)| (term, list.bytes)).collect();
            self.body = pack(lists);
        }
    }

    /// Returns its lists sorted by term, for the store; empty if they are already there.
    pub fn lists(&self) -> Vec<(Term, Vec<u8>)> {
        match &self.body {
            PostingsPlace::Open(lists) => {
                let mut all: Vec<_> = lists.iter().map(|(term, list)| (*term, list.bytes.clone())).collect();
                all.sort_unstable_by_key(|(term, _)| *term);
                all
            }
            PostingsPlace::Resident { terms, ends, bytes } => {
                terms.iter().enumerate().map(|(at, term)| (*term, list(ends, bytes, at).to_vec())).collect()
            }
            PostingsPlace::Stored => Vec::new(),
        }
    }

    /// Writes the lists of an open segment, sorted by term; nothing for other segments.
    pub(crate) fn write_open(&self, bytes: &mut Vec<u8>) {
        let PostingsPlace::Open(lists) = &self.body else { return };
        let mut all: Vec<(&Term, &OpenList)> = lists.iter().collect();
        all.sort_unstable_by_key(|(term, _)| **term);
        put(bytes, all.len() as u64);
        for (term, list) in all {
            bytes.extend_from_slice(&term.to_le_bytes());
            put(bytes, u64::from(list.next));
            put(bytes, list.bytes.len() as u64);
            bytes.extend_from_slice(&list.bytes);
        }
    }

    /// Reads an open segment with this many passages, and lists as written by [`Segment::write_open`].
    pub(crate) fn read_open(first: u32, passages: u32, reader: &mut Reader<'_>) -> Result<Self, RetrievalError> {
        let mut lists = HashMap::new();
        for _ in 0..reader.small()? {
            let (term, next) = (Term::from_le_bytes(reader.bytes()?), reader.small()?);
            let length = reader.small()? as usize;
            let bytes = reader.take(length)?.to_vec();
            if next > passages {
                return Err(RetrievalError::Damaged("a list lies outside its segment"));
            }
            lists.insert(term, OpenList { bytes, next });
        }
        Ok(Self { body: PostingsPlace::Open(lists), first, passages })
    }

    /// Drops the postings from memory, because the store has them.
    pub fn forget(&mut self) {
        if self.is_sealed() {
            self.body = PostingsPlace::Stored;
        }
    }

    /// Calls `found` with the list of each of the given terms, which must be sorted.
    pub(crate) fn each(
        &self,
        number: u32,
        wanted: &[Term],
        source: &dyn Source,
        found: &mut dyn FnMut(Term, &[u8]),
    ) -> Result<(), String> {
        match &self.body {
            PostingsPlace::Open(lists) => {
                let known = wanted.iter().filter_map(|term| Some((*term, lists.get(term)?)));
                known.for_each(|(term, list)| found(term, &list.bytes));
                Ok(())
            }
            PostingsPlace::Resident { terms, ends, bytes } => {
                for term in wanted {
                    if let Ok(at) = terms.binary_search(term) {
                        found(*term, list(ends, bytes, at));
                    }
                }
                Ok(())
            }
            PostingsPlace::Stored => source.postings(number, wanted, found),
        }
    }

    /// Approximate bytes of its postings and tables in memory.
    pub fn bytes(&self) -> usize {
        match &self.body {
            PostingsPlace::Open(lists) => lists.values().map(|list| list.bytes.capacity() + 64).sum(),
            PostingsPlace::Resident { terms, bytes, .. } => terms.len() * 12 + bytes.len(),
            PostingsPlace::Stored => 0,
        }
    }
}

/// Returns the bytes of a sealed segment's list.
fn list<'a>(ends: &[u32], bytes: &'a [u8], at: usize) -> &'a [u8] {
    let start = at.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &bytes[start..ends[at] as usize]
}

fn pack(mut lists: Vec<(Term, Vec<u8>)>) -> PostingsPlace {
    lists.sort_unstable_by_key(|(term, _)| *term);
    let mut bytes = Vec::with_capacity(lists.iter().map(|(_, list)| list.len()).sum());
    let (mut terms, mut ends) = (Vec::with_capacity(lists.len()), Vec::with_capacity(lists.len()));
    for (term, list) in lists {
        bytes.extend_from_slice(&list);
        terms.push(term);
        ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    }
    PostingsPlace::Resident { terms, ends, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::index::codec::Postings;

    fn found(segment: &Segment, term: Term) -> Vec<u32> {
        let mut all = Vec::new();
        segment
            .each(0, &[term], &NoSegments, &mut |_, bytes| all.extend(Postings::new(bytes).map(|p| p.passage)))
            .unwrap();
        all
    }

    #[test]
    fn sealing_changes_nothing() {
        let mut segment = Segment::open(0);
        for passage in 0..50_u64 {
            segment.add(vec![1, passage % 3 + 10, passage % 3 + 10]);
        }
        let before: Vec<_> = [1, 10, 11, 12].map(|term| found(&segment, term)).into();
        let mut sealed = segment.clone();
        sealed.seal();
        assert_eq!([1, 10, 11, 12].map(|term| found(&sealed, term)).to_vec(), before);
        assert_eq!(segment.lists(), sealed.lists());
    }

    #[test]
    fn a_forgotten_segment_reads_its_source() {
        let mut segment = Segment::open(0);
        segment.add(vec![7]);
        segment.seal();
        segment.forget();
        assert!(segment.each(3, &[7], &NoSegments, &mut |_, _| ()).unwrap_err().contains("segment 3"));
    }
}
