//! Collects skipped parts of a file with the reasons, up to a limit, so that a gigabyte of garbage does not become a
//! gigabyte of notes.
//! Not for: errors that stop an import (`ImportError`).

use crate::domain::conversation::Skipped;

const MAX_NOTES: usize = 1_000;

/// The maximum length of a sentence in characters, because ids and names in a file can have any length.
const MAX_SENTENCE_CHARS: usize = 500;

/// The list of skipped parts.
#[derive(Default)]
pub(super) struct Notes {
    list: Vec<Skipped>,
    more: u64,
    lossy: bool,
}

impl Notes {
    /// Adds a note.
    pub(super) fn skip(&mut self, place: impl Into<String>, why: impl Into<String>) {
        if self.list.len() < MAX_NOTES {
            self.list.push(Skipped { place: clipped(place.into()), why: clipped(why.into()) });
        } else {
            self.more += 1;
        }
    }

    /// Adds a note, once, that some bytes were not UTF-8.
    pub(super) fn lossy(&mut self) {
        if !std::mem::replace(&mut self.lossy, true) {
            self.skip("file", "some bytes were not UTF-8; U+FFFD replaces them");
        }
    }

    /// Whether another note would be kept.
    pub(super) fn has_room(&self) -> bool {
        self.list.len() < MAX_NOTES
    }

    /// Returns the first note, for a message about the whole file.
    pub(super) fn first(&self) -> Option<&Skipped> {
        self.list.first()
    }

    /// Returns all notes, and a last one with the number of notes that were not kept.
    pub(super) fn finish(&mut self) -> Vec<Skipped> {
        if self.more > 0 {
            let why = format!("{} more problems are not listed", std::mem::take(&mut self.more));
            self.list.push(Skipped { place: "the rest of the file".into(), why });
        }
        std::mem::take(&mut self.list)
    }
}

fn clipped(mut sentence: String) -> String {
    if let Some((end, _)) = sentence.char_indices().nth(MAX_SENTENCE_CHARS) {
        sentence.truncate(end);
        sentence.push('…');
        sentence.shrink_to_fit();
    }
    sentence
}
