//! A cache of laid-out rows; the least recently drawn rows are dropped when there are too many.
//! Not for: laying out rows (`text`).

use crate::domain::base::{Hash, NodeId, RunId};
use crate::tui::text::Line;
use crate::tui::text::code::HighlightCache;
use crate::tui::text::links::Links;
use crate::tui::text::markdown::GrowingText;
use std::collections::HashMap;
use std::rc::Rc;

/// How many rows are kept.
const LIMIT: usize = 120_000;

/// The source of laid-out rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CacheKey {
    /// A message's body: its node, its content, and whether it is expanded.
    Body(NodeId, Option<Hash>, bool),
    /// A text by its hash, and whether it is shown exactly.
    Text(Hash, bool),
}

/// The rows of the answer that is arriving.
#[derive(Debug)]
pub(crate) struct GrowingRows {
    pub(crate) run: Option<RunId>,
    pub(crate) width: u16,
    pub(crate) rows: GrowingText,
}

/// Rows, and the frame in which they were last drawn.
type CachedRows = (Rc<Vec<Line>>, u64);

/// Rows by their source and width.
#[derive(Debug, Default)]
pub struct Cache {
    cached: HashMap<(CacheKey, u16), CachedRows>,
    rows: usize,
    frame: u64,
    pub(crate) growing: Option<GrowingRows>,
    /// Highlighting of code.
    pub colors: HighlightCache,
    /// The addresses of links, if the terminal supports them.
    pub links: Option<Links>,
    /// How often rows had to be laid out; for tests.
    pub misses: u64,
}

impl Cache {
    pub(super) fn next_frame(&mut self) {
        self.frame += 1;
    }

    /// Forgets all rows, because they may contain outdated glyphs and keys.
    pub(crate) fn forget_rows(&mut self) {
        self.cached.clear();
        (self.rows, self.growing) = (0, None);
    }

    /// Returns the rows, after laying them out with `make` if they are not cached.
    pub(crate) fn rows(&mut self, of: CacheKey, width: u16, make: impl FnOnce() -> Vec<Line>) -> Rc<Vec<Line>> {
        let frame = self.frame;
        let key = (of, width);
        if let Some((rows, at)) = self.cached.get_mut(&key) {
            *at = frame;
            return rows.clone();
        }
        self.misses += 1;
        let rows = Rc::new(make());
        self.rows += rows.len() + 8;
        if self.rows > LIMIT {
            self.shrink();
        }
        self.cached.insert(key, (rows.clone(), frame));
        rows
    }

    fn shrink(&mut self) {
        let mut ages: Vec<u64> = self.cached.values().map(|(_, at)| *at).collect();
        ages.sort_unstable();
        let limit = ages.get(ages.len() / 2).copied().unwrap_or(0).min(self.frame.saturating_sub(1));
        self.cached.retain(|_, (_, at)| *at > limit);
        self.rows = self.cached.values().map(|(rows, _)| rows.len() + 8).sum();
    }
}
