//! Assigns numbers to strings, and lists the symbols that contain each term.
//! Not for: making terms (`words`), or their weights (`rank`).

use super::record::Counts;
use crate::code::symbol::to_u32;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Maximum bytes of a word that is considered as a form of another word.
const MAX_FORM_BYTES: usize = 16;

/// Gives each string a number. If `ORDERED`, it also finds words by prefix.
#[derive(Default)]
pub(crate) struct Interner<const ORDERED: bool> {
    numbers: HashMap<Arc<str>, u32>,
    /// Short alphabetic words in order. Empty unless `ORDERED`.
    ordered: BTreeSet<Arc<str>>,
}

impl<const ORDERED: bool> Interner<ORDERED> {
    /// Returns the string's number, assigning one if it has none.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = to_u32(self.numbers.len());
        let shared: Arc<str> = text.into();
        if ORDERED && text.len() <= MAX_FORM_BYTES && text.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.ordered.insert(Arc::clone(&shared));
        }
        self.numbers.insert(shared, number);
        number
    }

    /// Returns the number of strings.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the string's number, if it has one.
    pub(crate) fn get(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// Returns the short words that begin with the text and are longer, in order.
    pub(crate) fn longer_words<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let from = (Bound::Excluded(text), Bound::Unbounded);
        self.ordered.range::<str, _>(from).map(AsRef::as_ref).take_while(move |word| word.starts_with(text))
    }
}

/// A symbol that contains a term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) symbol: u32,
    pub(crate) counts: Counts,
}

/// Lists by number.
pub(crate) struct Lists<T> {
    lists: Vec<Vec<T>>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { lists: Vec::new() }
    }
}

impl<T> Lists<T> {
    pub(crate) fn push(&mut self, number: u32, one: T) {
        let at = number as usize;
        if at >= self.lists.len() {
            self.lists.resize_with(at + 1, Vec::new);
        }
        self.lists[at].push(one);
    }

    pub(crate) fn get(&self, number: u32) -> &[T] {
        self.lists.get(number as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Changes each entry, and removes the entries for which `change` returns false.
    pub(crate) fn retain(&mut self, mut change: impl FnMut(&mut T) -> bool) {
        for list in &mut self.lists {
            list.retain_mut(&mut change);
            list.shrink_to_fit();
        }
    }

    /// Frees memory that was reserved for growth.
    pub(crate) fn shrink(&mut self) {
        self.lists.iter_mut().for_each(Vec::shrink_to_fit);
    }
}
