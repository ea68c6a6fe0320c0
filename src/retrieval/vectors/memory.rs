//! Vectors of texts in memory, and the search for those most similar to a question.
//! Not for: making vectors (`llm::embedders`), storing their bytes (`store`), or combining scores.
//!
//! A search first compares signs alone (one bit per dimension, two for the question's; a scan of all allowed vectors),
//! then scores the vectors that differ least by their full values, and returns the best. If the number of allowed
//! vectors is below the number to score, all are scored. All comparisons use integers, so the same vectors give the
//! same result everywhere.

pub use super::code::Code;
use super::code::Query;
use super::scan::{LANES, Products, Scan};
use std::collections::HashMap;

/// Minimum number of allowed vectors scored by their full values.
const MIN_SCORED: usize = 512;
/// Minimum number scored per requested result.
const SCORED_PER_RESULT: usize = 32;
/// At least one in this many of all vectors is scored.
const SCORED_SHARE: usize = 64;

/// Why vectors cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
pub enum VectorError {
    /// A vector does not have the same size as the others.
    #[error("a vector has {found} dimensions, the others have {wanted}")]
    Dims {
        /// Its dimensions.
        found: usize,
        /// Those of the others.
        wanted: usize,
    },
    /// A vector has no dimensions, or more than can be compared.
    #[error("a vector of {0} dimensions can't be stored; the range is 1 to 16,384")]
    Size(usize),
    /// A vector has an infinite or NaN value.
    #[error("a vector has values that are not numbers")]
    NotANumber,
    /// The bytes of a stored vector cannot be read.
    #[error("a stored vector can't be read: {0}")]
    Damaged(&'static str),
}

/// A set of documents: one bit per number.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct DocSet {
    words: Vec<u64>,
}

impl DocSet {
    /// Adds a document to the set.
    pub fn insert(&mut self, doc: u32) {
        let word = doc as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (doc % 64);
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns its documents, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(64).zip(&self.words).flat_map(|(first, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(first + bit)
            })
        })
    }

    /// Returns whether it contains the document.
    pub fn contains(&self, doc: u32) -> bool {
        self.words.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }
}

impl FromIterator<u32> for DocSet {
    fn from_iter<I: IntoIterator<Item = u32>>(docs: I) -> Self {
        let mut set = Self::default();
        docs.into_iter().for_each(|doc| set.insert(doc));
        set
    }
}

/// A document found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SimilarDoc {
    /// The document.
    pub doc: u32,
    /// Cosine with the question, -1 to 1.
    pub cosine: f32,
}

/// Vectors by document. A document is a small, dense number that the caller assigns; a long text has one document per
/// passage. In memory a vector takes 9/8 of a byte per dimension plus about 30 bytes.
#[derive(Clone, Default, Debug)]
pub struct VectorIndex {
    dims: usize,
    docs: Vec<u32>,
    places: HashMap<u32, u32>,
    scales: Vec<f32>,
    values: Vec<i8>,
    /// The signs in groups of [`LANES`] vectors: for each word of signs, that word of every vector in the group.
    signs: Vec<[u64; LANES]>,
}

impl VectorIndex {
    /// Creates an empty index; the first vector determines the dimensions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Returns whether a document has a vector here.
    pub fn contains(&self, doc: u32) -> bool {
        self.places.contains_key(&doc)
    }

    /// Returns a document's vector, rotated and quantized; `None` if it has none.
    pub fn values(&self, doc: u32) -> Option<&[i8]> {
        let slot = *self.places.get(&doc)? as usize;
        self.values.get(slot * self.dims..(slot + 1) * self.dims)
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        let place = 2 * size_of::<u32>() + 1;
        self.values.capacity()
            + self.signs.capacity() * size_of::<[u64; LANES]>()
            + self.scales.capacity() * size_of::<f32>()
            + self.docs.capacity() * size_of::<u32>()
            + self.places.capacity() * place * 8 / 7
    }

    /// Reserves memory for `more` vectors of `dims` dimensions.
    pub fn reserve(&mut self, more: usize, dims: usize) {
        self.docs.reserve(more);
        self.places.reserve(more);
        self.scales.reserve(more);
        self.values.reserve(more.saturating_mul(dims));
        self.signs.reserve(more.div_ceil(LANES).saturating_mul(dims.div_ceil(64)));
    }

    /// Adds or replaces a document's vector.
    pub fn push(&mut self, doc: u32, code: &Code) -> Result<(), VectorError> {
        if self.dims != 0 && self.dims != code.dims() {
            return Err(VectorError::Dims { found: code.dims(), wanted: self.dims });
        }
        self.dims = code.dims();
        let slot = if let Some(slot) = self.places.get(&doc) {
            *slot as usize
        } else {
            let slot = self.push_slot();
            self.places.insert(doc, u32::try_from(slot).unwrap_or(u32::MAX));
            self.docs[slot] = doc;
            slot
        };
        self.scales[slot] = code.scale;
        self.values[slot * self.dims..][..self.dims].copy_from_slice(&code.values);
        let (first, lane) = self.sign_place(slot);
        for (sign_words, word) in self.signs[first..].iter_mut().zip(code.signs()) {
            sign_words[lane] = word;
        }
        Ok(())
    }

    /// Returns the `most` documents that are most similar to the question, best first; among equals the smaller number
    /// first. Limited to `allowed`, if given. Nothing is similar to the zero vector.
    pub fn nearest(
        &self,
        question: &[f32],
        most: usize,
        allowed: Option<&DocSet>,
    ) -> Result<Vec<SimilarDoc>, VectorError> {
        let Some(query) = self.query(question)?.filter(|_| most > 0) else { return Ok(Vec::new()) };
        let scored = MIN_SCORED.max(most.saturating_mul(SCORED_PER_RESULT)).max(self.len() / SCORED_SHARE);
        let score_all = allowed.map_or(self.len(), DocSet::len) <= scored;
        let slots = if score_all { self.slots(allowed) } else { self.scan(&query, allowed, scored).places() };
        let mut found = self.cosines_of(&query, &slots);
        let order = |a: &SimilarDoc, b: &SimilarDoc| b.cosine.total_cmp(&a.cosine).then(a.doc.cmp(&b.doc));
        if found.len() > most {
            found.select_nth_unstable_by(most - 1, order);
            found.truncate(most);
        }
        found.sort_unstable_by(order);
        Ok(found)
    }

    /// Returns the similarity of every allowed document to the question by its full values, in the order of the
    /// documents' numbers.
    pub fn cosines(&self, question: &[f32], allowed: Option<&DocSet>) -> Result<Vec<SimilarDoc>, VectorError> {
        let slots = self.slots(allowed);
        let mut found = match self.query(question)? {
            Some(query) => self.cosines_of(&query, &slots),
            None => slots.iter().map(|slot| SimilarDoc { doc: self.docs[*slot as usize], cosine: 0.0 }).collect(),
        };
        found.sort_unstable_by_key(|near| near.doc);
        Ok(found)
    }

    fn query(&self, question: &[f32]) -> Result<Option<Query>, VectorError> {
        if self.dims != 0 && question.len() != self.dims {
            return Err(VectorError::Dims { found: question.len(), wanted: self.dims });
        }
        Query::of(question)
    }

    fn sign_words(&self) -> usize {
        self.dims.div_ceil(64)
    }

    /// Returns the index of a vector's first word of signs, and its lane.
    fn sign_place(&self, slot: usize) -> (usize, usize) {
        (slot / LANES * self.sign_words(), slot % LANES)
    }

    /// Adds space for one more vector at the end, and returns its slot.
    fn push_slot(&mut self) -> usize {
        let slot = self.docs.len();
        self.docs.push(0);
        self.scales.push(0.0);
        self.values.resize((slot + 1) * self.dims, 0);
        self.signs.resize((slot + 1).div_ceil(LANES) * self.sign_words(), [0; LANES]);
        slot
    }

    /// Returns the slots of all allowed documents.
    fn slots(&self, allowed: Option<&DocSet>) -> Vec<u32> {
        match allowed {
            None => (0..).zip(&self.docs).map(|(slot, _)| slot).collect(),
            Some(allowed) => allowed.iter().filter_map(|doc| self.places.get(&doc).copied()).collect(),
        }
    }

    fn scan<'a>(&'a self, query: &'a Query, allowed: Option<&'a DocSet>, wanted: usize) -> Scan<'a> {
        let Query { signs, heavy, .. } = query;
        Scan { blocks: &self.signs, docs: &self.docs, signs, heavy, allowed, wanted }
    }

    fn cosines_of(&self, query: &Query, slots: &[u32]) -> Vec<SimilarDoc> {
        let mut sums = vec![0; slots.len()];
        Products { query: &query.values, values: &self.values, slots, out: &mut sums }.fill();
        let near = |(slot, sum): (&u32, i32)| {
            let slot = *slot as usize;
            let cosine = (sum as f32 * query.scale * self.scales[slot]).clamp(-1.0, 1.0);
            SimilarDoc { doc: self.docs[slot], cosine }
        };
        slots.iter().zip(sums).map(near).collect()
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
