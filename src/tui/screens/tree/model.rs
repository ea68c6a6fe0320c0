//! State of the tree screen: the listed segments, the folded segments, the filter, and the selected segment.
//! Not for: building the segments (`tui::model::tree_rows`), single messages (`chat::model::conversation`), or the branches panel
//! (`chat::model::branches`).

use crate::domain::base::NodeId;
use crate::domain::conversation::{Role, Slot, TagFilter, Tree};
use crate::tui::model::list::ListCursor;
use crate::tui::model::session::Session;
pub use crate::tui::model::tree_rows::Row;
use crate::tui::model::typed_line::TypedLine;
use std::collections::HashSet;

/// How many messages the filter checks per frame.
const MESSAGES_PER_FRAME: usize = 12_000;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLine {
    /// Index of its segment.
    pub row: usize,
    /// The message that matches the filter; None if there is no filter or a branch's name matches.
    pub hit: Option<Slot>,
}

/// The progress of a filter over the segments.
#[derive(Clone, Debug, Default)]
struct FilterScan {
    wanted: TagFilter,
    /// The lines to check, with the message to begin at; None to check all segments.
    among: Option<Vec<ListLine>>,
    next: usize,
    /// The message to continue at in a long segment.
    inside: Option<Slot>,
    done: bool,
}

/// The tree screen.
#[derive(Clone, Debug, Default)]
pub struct TreeScreen {
    pub shown: Vec<ListLine>,
    /// Index of the line under the cursor.
    pub cursor: usize,
    /// First messages of the folded segments.
    pub folded: HashSet<NodeId>,
    pub filter: TypedLine,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// Height of the list when last drawn, in rows.
    pub page: usize,
    /// A message on no branch that the screen was opened for, with the first message of its segment.
    pub wanted: Option<(NodeId, Slot)>,
    scan: FilterScan,
    version: u64,
}

impl TreeScreen {
    /// Creates the screen with the cursor on the segment of a message, or else on the end of the current branch.
    pub fn new(session: &Session, node: Option<NodeId>) -> Self {
        let mut screen = Self { version: session.tree_rows.version, ..Self::default() };
        screen.list(session);
        let head = session.branch().and_then(|branch| branch.head);
        if let Some(slot) = node.or(head).and_then(|id| session.tree.slot(id)) {
            screen.select(session, slot);
        }
        screen
    }

    /// Rebuilds the list if the segments changed. The cursor stays on its message.
    pub fn sync(&mut self, session: &Session, selected: Option<Slot>) {
        if self.version == session.tree_rows.version {
            return;
        }
        self.version = session.tree_rows.version;
        self.list(session);
        if let Some(slot) = selected {
            self.select(session, slot);
        }
    }

    /// Rebuilds the list; with a filter, checks the first slice of messages.
    pub fn list(&mut self, session: &Session) {
        self.scan = FilterScan { wanted: TagFilter::read(&self.filter), ..FilterScan::default() };
        self.begin(session);
    }

    /// Handles a changed filter. If it only became narrower, only the lines already found are checked.
    pub fn refilter(&mut self, session: &Session) {
        let wanted = TagFilter::read(&self.filter);
        if wanted == self.scan.wanted {
            return;
        }
        let before = &self.scan.wanted;
        let narrower = self.scan.done && !before.is_empty() && wanted.narrows(before);
        let among = narrower.then(|| std::mem::take(&mut self.shown));
        self.scan = FilterScan { wanted, among, ..FilterScan::default() };
        self.cursor = 0;
        self.begin(session);
    }

    /// Clears the filter. The cursor stays on its message.
    pub fn leave_filter(&mut self, session: &Session) {
        let slot = self.message(session);
        self.filtering = false;
        self.filter.clear();
        self.list(session);
        if let Some(slot) = slot {
            self.select(session, slot);
        }
    }

    fn begin(&mut self, session: &Session) {
        self.shown.clear();
        if self.scan.wanted.is_empty() {
            self.shown = self.visible(session);
            self.scan.done = true;
        } else if self.scan.wanted.tagged() {
            self.shown = tagged(session, &self.scan.wanted);
            self.scan.done = true;
        } else {
            self.step_filter(session);
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// Whether the filter has segments left to check.
    pub fn looking(&self) -> bool {
        !self.scan.done
    }

    /// Progress of the filter in percent.
    pub fn filter_progress(&self, session: &Session) -> usize {
        let all = self.scan.among.as_ref().map_or(session.tree_rows.rows.len(), Vec::len);
        self.scan.next * 100 / all.max(1)
    }

    /// Checks the next slice of messages.
    pub fn step_filter(&mut self, session: &Session) {
        let mut left = MESSAGES_PER_FRAME;
        while left > 0 && !self.scan.done {
            let at = self.scan.next;
            let (place, from) = match &self.scan.among {
                Some(among) => match among.get(at) {
                    Some(line) => (line.row, line.hit),
                    None => return self.scan.done = true,
                },
                None => (at, None),
            };
            let Some(row) = session.tree_rows.rows.get(place) else {
                return self.scan.done = true;
            };
            let from = self.scan.inside.take().or(from).unwrap_or(row.first);
            match find(session, row, from, &self.scan.wanted, &mut left) {
                RowMatch::Hit(hit) => self.shown.push(ListLine { row: place, hit }),
                RowMatch::Miss => {}
                RowMatch::Later(slot) => {
                    self.scan.inside = Some(slot);
                    return;
                }
            }
            self.scan.next += 1;
        }
    }

    /// The line under the cursor.
    pub fn line(&self) -> Option<ListLine> {
        self.shown.get(self.cursor).copied()
    }

    /// The segment under the cursor.
    pub fn selected<'a>(&self, session: &'a Session) -> Option<&'a Row> {
        session.tree_rows.rows.get(self.line()?.row)
    }

    /// The message of the line under the cursor: the message that matches the filter, or else the first message of the
    /// segment.
    pub fn message(&self, session: &Session) -> Option<Slot> {
        let line = self.line()?;
        line.hit.or_else(|| session.tree_rows.rows.get(line.row).map(|row| row.first))
    }

    /// Whether the segments below a segment are hidden.
    pub fn is_folded(&self, tree: &Tree, row: &Row) -> bool {
        row.below > 0 && !self.folded.is_empty() && self.folded.contains(&tree.head(row.first).id)
    }

    /// Hides the segments below the selected one; if there are none or they are hidden, moves to the segment above.
    pub fn fold(&mut self, session: &Session) {
        let Some(row) = self.selected(session) else { return };
        let (level, id) = (row.level, session.tree.head(row.first).id);
        if row.below > 0 && !self.folded.contains(&id) && self.filter.is_empty() {
            self.folded.insert(id);
            return self.list(session);
        }
        let above = |at: &usize| session.tree_rows.rows[self.shown[*at].row].level < level;
        if let Some(at) = (0..self.cursor).rev().find(above) {
            self.cursor = at;
        }
    }

    /// Shows the segments below the selected one; if they are shown, moves to the first of them.
    pub fn unfold(&mut self, session: &Session) {
        let Some(row) = self.selected(session) else { return };
        let (below, id) = (row.below, session.tree.head(row.first).id);
        if self.folded.remove(&id) {
            self.list(session);
        } else if below > 0 {
            ListCursor::new(&mut self.cursor, self.shown.len()).step(1);
        }
    }

    /// Moves the cursor to the segment of a message and unfolds the segments above it.
    pub fn select(&mut self, session: &Session, slot: Slot) {
        let Some(at) = session.tree_rows.place(slot) else { return };
        let mut opened = false;
        if !self.folded.is_empty() {
            let mut above = session.tree_rows.rows[at].level;
            for row in session.tree_rows.rows[..at].iter().rev() {
                if row.level < above {
                    above = row.level;
                    opened |= self.folded.remove(&session.tree.head(row.first).id);
                }
            }
        }
        if opened {
            self.list(session);
        }
        if let Ok(cursor) = self.shown.binary_search_by_key(&at, |line| line.row) {
            self.cursor = cursor;
        }
    }

    fn visible(&self, session: &Session) -> Vec<ListLine> {
        let rows = &session.tree_rows.rows;
        let line = |row: usize| ListLine { row, hit: None };
        if self.folded.is_empty() {
            return (0..rows.len()).map(line).collect();
        }
        let mut at = 0;
        let mut shown = Vec::new();
        while let Some(row) = rows.get(at) {
            shown.push(line(at));
            let folded = self.folded.contains(&session.tree.head(row.first).id);
            at = if folded { row.end as usize } else { at + 1 };
        }
        shown
    }
}

/// The result of checking a segment.
enum RowMatch {
    Hit(Option<Slot>),
    Miss,
    /// The segment was checked only up to this message.
    Later(Slot),
}

/// Checks a segment from a message on, for at most `left` messages.
fn find(session: &Session, row: &Row, from: Slot, wanted: &TagFilter, left: &mut usize) -> RowMatch {
    let words = wanted.words.as_str();
    let named = |id| session.find(id).is_some_and(|branch| contains_words(&branch.name, words));
    if from == row.first && session.tree_rows.branches(row).iter().any(|id| named(*id)) {
        return RowMatch::Hit(None);
    }
    for slot in slots(&session.tree, from, row.last) {
        if *left == 0 {
            return RowMatch::Later(slot);
        }
        *left -= 1;
        let head = session.tree.head(slot);
        if contains_words(&head.preview, words)
            || session.tag(head).is_some_and(|tag| contains_words(&tag.label, words))
        {
            return RowMatch::Hit(Some(slot));
        }
    }
    RowMatch::Miss
}

/// The segments with a message whose tag matches; found from the tags, since there are few.
fn tagged(session: &Session, wanted: &TagFilter) -> Vec<ListLine> {
    let mut found: Vec<ListLine> = Vec::new();
    for tag in session.tags.values().filter(|tag| wanted.matches(Some(tag))) {
        let Some(slot) = session.tree.by_key(tag.node) else { continue };
        let matches = contains_words(&session.tree.head(slot).preview, &wanted.words)
            || contains_words(&tag.label, &wanted.words);
        if let Some(row) = session.tree_rows.place(slot).filter(|_| matches) {
            found.push(ListLine { row, hit: Some(slot) });
        }
    }
    found.sort_by_key(|line| (line.row, line.hit.map(|slot| session.tree.depth(slot))));
    found
}

/// The messages of a segment, beginning at one of them.
fn slots(tree: &Tree, from: Slot, last: Slot) -> impl Iterator<Item = Slot> + '_ {
    std::iter::successors(Some(from), move |slot| {
        (*slot != last).then(|| tree.children(Some(*slot)).first().copied()).flatten()
    })
}

/// The message whose beginning is the title of a segment: its first question, or else its first message.
pub fn title_slot(tree: &Tree, row: &Row) -> Slot {
    let asked = slots(tree, row.first, row.last).take(4).find(|slot| tree.head(*slot).role == Role::User);
    asked.unwrap_or(row.first)
}

/// Whether a text contains `words`, which are in lower case, ignoring case. ASCII text is not copied.
fn contains_words(text: &str, words: &str) -> bool {
    if !(text.is_ascii() && words.is_ascii()) {
        return text.to_lowercase().contains(words);
    }
    let (text, words) = (text.as_bytes(), words.as_bytes());
    let Some((first, rest)) = words.split_first() else { return true };
    let Some(last) = text.len().checked_sub(words.len()) else { return false };
    let upper = first.to_ascii_uppercase();
    (0..=last).any(|at| {
        (text[at] == *first || text[at] == upper) && text[at + 1..at + words.len()].eq_ignore_ascii_case(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_match_in_any_case(text in "[a-cA-C ]{0,12}", words in "[a-c ]{0,4}") {
            prop_assert_eq!(contains_words(&text, &words), text.to_lowercase().contains(&words));
        }
    }

    #[test]
    fn non_ascii_letters_match_in_any_case() {
        assert!(contains_words("ÜBER den Wolken", "über"));
        assert!(!contains_words("a", "ab"));
    }
}
