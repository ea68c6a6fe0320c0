//! Code blocks with a key for each line, and a cache of the highlighting of lines by their keys.
//! Not for: highlighting (`tui::shell::highlight`), or the style of an ink (`theme`).
//!
//! A line's key is a hash of its language, of all lines of its block before it, and of itself. Therefore the
//! highlighting of a growing block stays valid, and the same block at another place or width has its highlighting
//! immediately.

use super::Line;
use crate::tui::theme::Ink;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;
use std::sync::Arc;

/// How many lines of a block are highlighted; the rest stays plain.
const MAX_BLOCK_LINES: usize = 5_000;
/// A line with more bytes than this stays plain.
const MAX_LINE_BYTES: usize = 2_000;
/// For how many lines highlighting is kept.
const MAX_CACHED_LINES: usize = 40_000;
/// How many lines after the visible ones are highlighted.
const LINES_AHEAD: usize = 60;
/// After how many frames highlighting that did not arrive is requested again.
const RETRY_FRAMES: u64 = 600;

/// Pieces of a line: the byte offset at which each ends, and its ink.
pub type HighlightedLine = Arc<[(u32, Ink)]>;

/// A code block, up to its last complete line.
#[derive(Debug, Default)]
pub struct CodeBlock {
    language: String,
    lines: RefCell<Vec<(u64, Arc<str>)>>,
}

impl CodeBlock {
    /// Creates a block with the language that its fence names.
    pub fn new(info: &str) -> Self {
        let word = info.split([' ', ',', '{', '\t', ':']).find(|word| !word.is_empty()).unwrap_or("");
        let word: String = word.chars().filter(|c| !c.is_control()).take(30).collect();
        Self { language: word.to_lowercase(), lines: RefCell::default() }
    }

    /// Adds a complete line. Returns its index if it can be highlighted.
    pub fn push(&self, line: &str) -> Option<usize> {
        let mut lines = self.lines.borrow_mut();
        if self.language.is_empty() || lines.len() >= MAX_BLOCK_LINES {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        match lines.last() {
            Some((key, _)) => key.hash(&mut hasher),
            None => self.language.hash(&mut hasher),
        }
        line.hash(&mut hasher);
        let text = if line.len() > MAX_LINE_BYTES { "" } else { line };
        lines.push((hasher.finish(), Arc::from(text)));
        (line.len() <= MAX_LINE_BYTES).then_some(lines.len() - 1)
    }
}

#[cfg(test)]
impl CodeBlock {
    pub(crate) fn job_for_tests(&self, from: usize, to: usize) -> Job {
        Job { language: self.language.clone(), lines: self.lines.borrow()[..to].to_vec(), from }
    }
}

/// The place of a row in a code block.
#[derive(Clone, Debug)]
pub struct CodeAt {
    pub fence: Rc<CodeBlock>,
    /// Index of the line in the block.
    pub line: usize,
    /// Byte offset in the line at which the row begins.
    pub from: usize,
}

impl CodeAt {
    fn key(&self) -> Option<u64> {
        self.fence.lines.borrow().get(self.line).map(|(key, _)| *key)
    }
}

impl PartialEq for CodeAt {
    fn eq(&self, other: &Self) -> bool {
        (self.key(), self.from) == (other.key(), other.from)
    }
}

impl Eq for CodeAt {}

/// Lines to highlight.
#[derive(Clone, Debug)]
pub struct Job {
    /// Language named by the fence, in lower case.
    pub language: String,
    /// Lines of the block from its first on, with their keys.
    pub lines: Vec<(u64, Arc<str>)>,
    /// Index of the first line whose highlighting is not known.
    pub from: usize,
}

/// Highlighting of lines by key, at most `MAX_CACHED_LINES`; and the lines of the last frame without highlighting.
#[derive(Debug, Default)]
pub struct HighlightCache {
    known: HashMap<u64, HighlightedLine>,
    order: VecDeque<u64>,
    asked: HashMap<u64, u64>,
    wanted: Vec<(Rc<CodeBlock>, usize)>,
    frame: u64,
}

impl HighlightCache {
    /// The row with its highlighting if it is known; otherwise records that it is missing.
    pub fn highlighted(&mut self, row: &Line) -> Option<Line> {
        let at = row.code.as_ref()?;
        let key = at.key()?;
        if let Some(tints) = self.known.get(&key) {
            return Some(apply_highlighting(row, tints, at.from));
        }
        if self.asked.get(&key).is_none_or(|frame| frame + RETRY_FRAMES < self.frame) {
            self.wanted.push((at.fence.clone(), at.line));
        }
        None
    }

    /// Takes the lines of the last frame without highlighting, as one job per block.
    pub fn jobs(&mut self) -> Vec<Job> {
        self.frame += 1;
        let mut deepest: Vec<(Rc<CodeBlock>, usize)> = Vec::new();
        for (fence, line) in self.wanted.drain(..) {
            match deepest.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &fence)) {
                Some((_, deep)) => *deep = line.max(*deep),
                None => deepest.push((fence, line)),
            }
        }
        deepest.into_iter().map(|(fence, deep)| self.job(&fence, deep)).collect()
    }

    fn job(&mut self, fence: &CodeBlock, deepest: usize) -> Job {
        let lines = fence.lines.borrow();
        let upto = (deepest + LINES_AHEAD).min(lines.len());
        let fresh = |(key, _): &(u64, Arc<str>)| !self.known.contains_key(key) && !self.asked.contains_key(key);
        let from = lines[..upto].iter().position(fresh).unwrap_or(deepest);
        if self.asked.len() > MAX_CACHED_LINES {
            self.asked.clear();
        }
        self.asked.extend(lines[from..upto].iter().map(|(key, _)| (*key, self.frame)));
        Job { language: fence.language.clone(), lines: lines[..upto].to_vec(), from }
    }

    /// Stores highlighting.
    pub fn put(&mut self, colored: Vec<(u64, HighlightedLine)>) {
        for (key, tints) in colored {
            self.asked.remove(&key);
            if self.known.insert(key, tints).is_none() {
                self.order.push_back(key);
            }
        }
        while self.order.len() > MAX_CACHED_LINES {
            if let Some(old) = self.order.pop_front() {
                self.known.remove(&old);
            }
        }
    }
}

/// Applies highlighting to the code in a row; other pieces, such as a quote's bar, stay unchanged.
fn apply_highlighting(row: &Line, tints: &HighlightedLine, from: usize) -> Line {
    let mut out = Line::new();
    let mut at = from;
    for piece in &row.pieces {
        if piece.ink != Ink::Code {
            out.pieces.push(piece.clone());
            continue;
        }
        let end = at + piece.text.len();
        let mut begun = at;
        for (stop, ink) in tints.iter() {
            let stop = usize::try_from(*stop).unwrap_or(usize::MAX).min(end);
            if stop > begun
                && let Some(code) = piece.text.get(begun - at..stop - at)
            {
                out.push_safe(*ink, code);
                begun = stop;
            }
        }
        out.push_safe(Ink::Code, piece.text.get(begun - at..).unwrap_or_default());
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fence: &Rc<CodeBlock>, line: usize, from: usize, text: &str) -> Line {
        let mut row = Line::of(Ink::Code, text);
        row.code = Some(CodeAt { fence: fence.clone(), line, from });
        row
    }

    #[test]
    fn colors_come_by_key_and_survive_growth() {
        let fence = Rc::new(CodeBlock::new("Rust,ignore"));
        assert_eq!(fence.push("let x = 1;"), Some(0));
        let first = row(&fence, 0, 0, "let x = 1;");
        let mut colors = HighlightCache::default();
        assert_eq!(colors.highlighted(&first), None);
        let jobs = colors.jobs();
        assert_eq!((jobs[0].language.as_str(), jobs[0].from, jobs[0].lines.len()), ("rust", 0, 1));
        assert_eq!(colors.highlighted(&first), None);
        assert!(colors.jobs().is_empty(), "asked for once");
        let key = jobs[0].lines[0].0;
        colors.put(vec![(key, Arc::from([(3, Ink::Keyword), (10, Ink::Code)]))]);
        let inks: Vec<(Ink, String)> =
            colors.highlighted(&first).unwrap().pieces.into_iter().map(|p| (p.ink, p.text)).collect();
        assert_eq!(inks, [(Ink::Keyword, "let".to_owned()), (Ink::Code, " x = 1;".to_owned())]);
        fence.push("x");
        let again = Rc::new(CodeBlock::new("rust"));
        again.push("let x = 1;");
        assert!(colors.highlighted(&row(&again, 0, 0, "let x = 1;")).is_some(), "the same block elsewhere");
        assert_eq!(colors.highlighted(&row(&again, 0, 4, "x = 1;")).unwrap().plain(), "x = 1;");
        assert_eq!(CodeBlock::new("").push("x"), None);
        assert_eq!(CodeBlock::new("c").push(&"x".repeat(3_000)), None);
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut colors = HighlightCache::default();
        colors.put((0..100_000).map(|key| (key, HighlightedLine::from([]))).collect());
        assert_eq!(colors.known.len(), MAX_CACHED_LINES);
    }
}
