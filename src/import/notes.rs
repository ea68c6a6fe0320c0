//! Collects what was skipped and why, bounded: a gigabyte of garbage must not become a gigabyte of notes.
//! Not for: errors that stop an import (`ImportError`).

use crate::domain::conversation::record::Skipped;

const MOST: usize = 1_000;

/// Limit of one sentence in characters; ids and names in a file may have any length.
const WORDS: usize = 500;

/// The list of skipped things.
#[derive(Default)]
pub(super) struct Notes {
    list: Vec<Skipped>,
    more: u64,
    lossy: bool,
}

impl Notes {
    /// Adds one.
    pub(super) fn skip(&mut self, place: impl Into<String>, why: impl Into<String>) {
        if self.list.len() < MOST {
            self.list.push(Skipped { place: clipped(place.into()), why: clipped(why.into()) });
        } else {
            self.more += 1;
        }
    }

    /// Adds, once, that there were bytes that are not text.
    pub(super) fn lossy(&mut self) {
        if !std::mem::replace(&mut self.lossy, true) {
            self.skip("file", "some bytes were not UTF-8; each such place now reads U+FFFD");
        }
    }

    /// Whether another one would be kept.
    pub(super) fn has_room(&self) -> bool {
        self.list.len() < MOST
    }

    /// The first one, for a message about the whole file.
    pub(super) fn first(&self) -> Option<&Skipped> {
        self.list.first()
    }

    /// All of them, and the number of further ones.
    pub(super) fn finish(&mut self) -> Vec<Skipped> {
        if self.more > 0 {
            let why = format!("{} more were skipped", std::mem::take(&mut self.more));
            self.list.push(Skipped { place: "further on".into(), why });
        }
        std::mem::take(&mut self.list)
    }
}

fn clipped(mut words: String) -> String {
    if let Some((end, _)) = words.char_indices().nth(WORDS) {
        words.truncate(end);
        words.push('…');
        words.shrink_to_fit();
    }
    words
}
