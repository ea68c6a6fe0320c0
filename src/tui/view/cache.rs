//! A cache of wrapped rows; when it is full, it drops the least recently shown rows.
//! Not for: deciding what is drawn.

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{NodeId, RunId};
use crate::tui::text::Line;
use crate::tui::text::code::HighlightCache;
use crate::tui::text::links::Links;
use crate::tui::text::markdown::GrowingText;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of cached rows.
const LIMIT: usize = 120_000;

/// The source of cached rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CacheKey {
    /// A message's body: its content, and whether it is expanded.
    Body(NodeId, Option<Hash>, bool),
    /// A text by its hash.
    Text(Hash, bool),
    /// A text by its address and its length (for texts that are too long to hash for each frame).
    Held(usize, usize),
}

/// The arriving text as rows, up to its last finished block.
#[derive(Debug)]
pub(crate) struct GrowingRows {
    pub(crate) run: Option<RunId>,
    pub(crate) width: u16,
    pub(crate) rows: GrowingText,
}

/// Rows, and the frame in which they were last drawn.
type Held = (Rc<Vec<Line>>, u64);

/// Rows by their source and width.
#[derive(Debug, Default)]
pub struct Cache {
    held: HashMap<(CacheKey, u16), Held>,
    rows: usize,
    frame: u64,
    pub(crate) growing: Option<GrowingRows>,
    /// Highlighting of code.
    pub colors: HighlightCache,
    /// Hyperlinks, if the terminal supports them.
    pub links: Option<Links>,
    /// How often rows had to be computed, for tests.
    pub misses: u64,
}

impl Cache {
    pub(super) fn next_frame(&mut self) {
        self.frame += 1;
    }

    /// The rows, computed if they are not cached.
    pub(crate) fn rows(&mut self, of: CacheKey, width: u16, make: impl FnOnce() -> Vec<Line>) -> Rc<Vec<Line>> {
        let frame = self.frame;
        let key = (of, width);
        if let Some((rows, at)) = self.held.get_mut(&key) {
            *at = frame;
            return rows.clone();
        }
        self.misses += 1;
        let rows = Rc::new(make());
        self.rows += rows.len() + 8;
        if self.rows > LIMIT {
            self.shrink();
        }
        self.held.insert(key, (rows.clone(), frame));
        rows
    }

    fn shrink(&mut self) {
        let mut ages: Vec<u64> = self.held.values().map(|(_, at)| *at).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 2).copied().unwrap_or(0).min(self.frame.saturating_sub(1));
        self.held.retain(|_, (_, at)| *at > limit);
        self.rows = self.held.values().map(|(rows, _)| rows.len() + 8).sum();
    }
}
