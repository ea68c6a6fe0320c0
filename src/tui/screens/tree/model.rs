//! The displayed tree of a session: runs of messages, folded or filtered, and the selected run.
//! Not for: computing the runs (`model_rows`), single messages (`conversation`), or the list of branches
//! (`chat::model::branches`).

pub use super::model_rows::Row;
use crate::domain::base::ids::NodeId;
use crate::domain::base::plain_text;
use crate::domain::conversation::message::Role;
use crate::domain::conversation::tag::TagFilter;
use crate::domain::conversation::tree::{Slot, Tree};
use crate::tui::model::list::shift;
use crate::tui::model::session::Session;
use std::borrow::Cow;
use std::collections::HashSet;

/// Messages searched at once; the rest follows frame by frame.
const SLICE: usize = 12_000;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLine {
    /// The index of its row.
    pub row: usize,
    /// The message that matches the filter; `None` if a branch's name matches.
    pub hit: Option<Slot>,
}

/// A running filter: its position in the candidate rows.
#[derive(Clone, Debug, Default)]
struct FilterScan {
    wanted: TagFilter,
    /// Candidate rows, each with the first message to search; all rows if `None`.
    among: Option<Vec<ListLine>>,
    next: usize,
    /// The message at which the scan of a long row stopped.
    inside: Option<Slot>,
    done: bool,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct TreeScreen {
    /// The lines.
    pub shown: Vec<ListLine>,
    /// The selected line.
    pub cursor: usize,
    /// First messages of folded rows.
    pub folded: HashSet<NodeId>,
    /// The typed filter.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// The number of visible rows when last drawn.
    pub page: usize,
    /// A message on no branch for which the screen was opened, and its row.
    pub wanted: Option<(NodeId, Slot)>,
    scan: FilterScan,
    version: u64,
}

impl TreeScreen {
    /// The tree of a session, with the row of a message selected, or the end of the current branch.
    #[must_use]
    pub fn new(session: &Session, node: Option<NodeId>) -> Self {
        let mut grove = Self { version: session.forest.version, ..Self::default() };
        grove.list(session);
        let head = session.branch().and_then(|branch| branch.head);
        if let Some(slot) = node.or(head).and_then(|id| session.tree.slot(id)) {
            grove.select(session, slot);
        }
        grove
    }

    /// Updates the lines after the rows changed; the selection stays on its message.
    pub fn sync(&mut self, session: &Session, selected: Option<Slot>) {
        if self.version == session.forest.version {
            return;
        }
        self.version = session.forest.version;
        self.list(session);
        if let Some(slot) = selected {
            self.select(session, slot);
        }
    }

    /// Computes the lines; with a filter, one slice of them.
    pub fn list(&mut self, session: &Session) {
        self.scan = FilterScan { wanted: TagFilter::read(&self.filter), ..FilterScan::default() };
        self.begin(session);
    }

    /// The filter's text changed: if it only narrows the filter, excluded messages are not searched again.
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

    /// Whether the filter has not searched everything yet.
    #[must_use]
    pub fn looking(&self) -> bool {
        !self.scan.done
    }

    /// The progress of the filter, in percent.
    #[must_use]
    pub fn looked(&self, session: &Session) -> usize {
        let all = self.scan.among.as_ref().map_or(session.forest.rows.len(), Vec::len);
        self.scan.next * 100 / all.max(1)
    }

    /// Searches one more slice.
    pub fn step_filter(&mut self, session: &Session) {
        let mut left = SLICE;
        while left > 0 && !self.scan.done {
            let at = self.scan.next;
            let (place, from) = match &self.scan.among {
                Some(among) => match among.get(at) {
                    Some(line) => (line.row, line.hit),
                    None => return self.scan.done = true,
                },
                None => (at, None),
            };
            let Some(row) = session.forest.rows.get(place) else {
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

    /// The selected line.
    #[must_use]
    pub fn line(&self) -> Option<ListLine> {
        self.shown.get(self.cursor).copied()
    }

    /// The selected row.
    #[must_use]
    pub fn selected<'a>(&self, session: &'a Session) -> Option<&'a Row> {
        session.forest.rows.get(self.line()?.row)
    }

    /// The message of the selected line: the one that matches the filter, else the first of the row.
    #[must_use]
    pub fn message(&self, session: &Session) -> Option<Slot> {
        let line = self.line()?;
        line.hit.or_else(|| session.forest.rows.get(line.row).map(|row| row.first))
    }

    /// Whether the rows below a row are folded.
    #[must_use]
    pub fn is_folded(&self, tree: &Tree, row: &Row) -> bool {
        row.below > 0 && !self.folded.is_empty() && self.folded.contains(&tree.head(row.first).id)
    }

    /// Moves.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.shown.len().saturating_sub(1));
    }

    /// Folds the rows below the selected one; if there are none, or they are folded, goes to the parent.
    pub fn fold(&mut self, session: &Session) {
        let Some(row) = self.selected(session) else { return };
        let (level, id) = (row.level, session.tree.head(row.first).id);
        if row.below > 0 && !self.folded.contains(&id) && self.filter.is_empty() {
            self.folded.insert(id);
            return self.list(session);
        }
        let above = |at: &usize| session.forest.rows[self.shown[*at].row].level < level;
        if let Some(at) = (0..self.cursor).rev().find(above) {
            self.cursor = at;
        }
    }

    /// Unfolds the rows below the selected one; if they are visible, goes to the first of them.
    pub fn unfold(&mut self, session: &Session) {
        let Some(row) = self.selected(session) else { return };
        let (below, id) = (row.below, session.tree.head(row.first).id);
        if self.folded.remove(&id) {
            self.list(session);
        } else if below > 0 {
            self.step(1);
        }
    }

    /// Selects the row that contains a message and unfolds its ancestors.
    pub fn select(&mut self, session: &Session, slot: Slot) {
        let Some(at) = session.forest.place(slot) else { return };
        let mut opened = false;
        if !self.folded.is_empty() {
            let mut above = session.forest.rows[at].level;
            for row in session.forest.rows[..at].iter().rev() {
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
        let rows = &session.forest.rows;
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

/// The result of searching a row.
enum RowMatch {
    Hit(Option<Slot>),
    Miss,
    /// The search is incomplete: it continues at this message.
    Later(Slot),
}

/// Searches a row, up to `left` messages.
fn find(session: &Session, row: &Row, from: Slot, wanted: &TagFilter, left: &mut usize) -> RowMatch {
    let words = wanted.words.as_str();
    let named = |id| session.find(id).is_some_and(|branch| has(&branch.name, words));
    if from == row.first && session.forest.branches(row).iter().any(|id| named(*id)) {
        return RowMatch::Hit(None);
    }
    for slot in slots(&session.tree, from, row.last) {
        if *left == 0 {
            return RowMatch::Later(slot);
        }
        *left -= 1;
        let head = session.tree.head(slot);
        if has(&head.preview, words) || session.tag(head).is_some_and(|tag| has(&tag.label, words)) {
            return RowMatch::Hit(Some(slot));
        }
    }
    RowMatch::Miss
}

/// The rows with a message whose name or star matches, found through the names, which are few.
fn tagged(session: &Session, wanted: &TagFilter) -> Vec<ListLine> {
    let mut found: Vec<ListLine> = Vec::new();
    for tag in session.tags.values().filter(|tag| wanted.matches(Some(tag))) {
        let Some(slot) = session.tree.by_key(tag.node) else { continue };
        let said = has(&session.tree.head(slot).preview, &wanted.words) || has(&tag.label, &wanted.words);
        if let Some(row) = session.forest.place(slot).filter(|_| said) {
            found.push(ListLine { row, hit: Some(slot) });
        }
    }
    found.sort_by_key(|line| (line.row, line.hit.map(|slot| session.tree.depth(slot))));
    found
}

/// The messages of a row from one on.
fn slots(tree: &Tree, from: Slot, last: Slot) -> impl Iterator<Item = Slot> + '_ {
    std::iter::successors(Some(from), move |slot| {
        (*slot != last).then(|| tree.children(Some(*slot)).first().copied()).flatten()
    })
}

/// The title of a row: its first question, else its first message.
#[must_use]
pub fn title<'a>(tree: &'a Tree, row: &Row) -> Cow<'a, str> {
    plain_text::beginning(tree.head(titled(tree, row)))
}

/// Whether the title contains the message's whole text.
#[must_use]
pub fn title_is_whole(tree: &Tree, row: &Row) -> bool {
    tree.head(titled(tree, row)).preview_is_whole()
}

/// The message whose text is the title.
fn titled(tree: &Tree, row: &Row) -> Slot {
    let asked = slots(tree, row.first, row.last).take(4).find(|slot| tree.head(*slot).role == Role::User);
    asked.unwrap_or(row.first)
}

/// Whether a text contains words (in lower case), ignoring case. Plain text is not copied for that.
fn has(text: &str, words: &str) -> bool {
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
        fn words_are_found_in_any_case(text in "[a-cA-C ]{0,12}", words in "[a-c ]{0,4}") {
            prop_assert_eq!(has(&text, &words), text.to_lowercase().contains(&words));
        }
    }

    #[test]
    fn other_letters_are_found_too() {
        assert!(has("ÜBER den Wolken", "über"));
        assert!(!has("a", "ab"));
    }
}
