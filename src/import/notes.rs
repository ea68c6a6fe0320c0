//! What was skipped and why, bounded: a gigabyte of rubbish must not become a gigabyte of complaints.
//! Not for: errors that stop an import (`ImportError`).

use crate::domain::conversation::record::Skipped;

const MOST: usize = 1_000;

/// Collects what was skipped.
#[derive(Default)]
pub(super) struct Notes {
    list: Vec<Skipped>,
    more: u64,
}

impl Notes {
    /// Adds one.
    pub(super) fn skip(&mut self, place: impl Into<String>, why: impl Into<String>) {
        if self.list.len() < MOST {
            self.list.push(Skipped { place: place.into(), why: why.into() });
        } else {
            self.more += 1;
        }
    }

    /// The first one, for a message about the whole file.
    pub(super) fn first(&self) -> Option<&Skipped> {
        self.list.first()
    }

    /// All of them, and how many more there were.
    pub(super) fn finish(&mut self) -> Vec<Skipped> {
        if self.more > 0 {
            let why = format!("{} more were skipped", std::mem::take(&mut self.more));
            self.list.push(Skipped { place: "further on".into(), why });
        }
        std::mem::take(&mut self.list)
    }
}
