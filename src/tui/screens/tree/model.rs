//! What is shown of a session's tree: stretches, folded or filtered, and the selected one.
//! Not for: what is a stretch (`model_rows`), single messages (`conversation`), or the list of branches (`chat::model::branches`).

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

/// Messages that are looked through in one go; the rest follows by itself, frame by frame.
const SLICE: usize = 12_000;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListLine {
    /// The place of its stretch.
    pub row: usize,
    /// The message that fits the filter, where there is one; none where a branch's name does.
    pub hit: Option<Slot>,
}

/// A filter at work: where it is in the stretches that may fit.
#[derive(Clone, Debug, Default)]
struct FilterScan {
    wanted: TagFilter,
    /// Stretches that may fit, with the message from which on they may; all when none.
    among: Option<Vec<ListLine>>,
    next: usize,
    /// The message at which a long stretch was left.
    inside: Option<Slot>,
    done: bool,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct TreeScreen {
    /// The lines.
    pub shown: Vec<ListLine>,
    /// The selected one.
    pub cursor: usize,
    /// First messages of stretches below which nothing is shown.
    pub folded: HashSet<NodeId>,
    /// What was typed to filter.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// Rows that there was room for, when last drawn.
    pub page: usize,
    /// A message that no branch holds, for which this was opened, and its stretch.
    pub wanted: Option<(NodeId, Slot)>,
    sift: FilterScan,
    version: u64,
}

impl TreeScreen {
    /// The tree of a session, with the stretch selected that holds a message; else the end of the branch stood on.
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

    /// Takes in that the stretches are others now; the selection stays on its message.
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

    /// Works out what is shown: of a filter, as much as one slice gives.
    pub fn list(&mut self, session: &Session) {
        self.sift = FilterScan { wanted: TagFilter::read(&self.filter), ..FilterScan::default() };
        self.begin(session);
    }

    /// The filter's words changed: where they only ask for more, what does not fit already is not looked at again.
    pub fn refilter(&mut self, session: &Session) {
        let wanted = TagFilter::read(&self.filter);
        if wanted == self.sift.wanted {
            return;
        }
        let before = &self.sift.wanted;
        let narrower = self.sift.done && !before.is_empty() && wanted.narrows(before);
        let among = narrower.then(|| std::mem::take(&mut self.shown));
        self.sift = FilterScan { wanted, among, ..FilterScan::default() };
        self.cursor = 0;
        self.begin(session);
    }

    fn begin(&mut self, session: &Session) {
        self.shown.clear();
        if self.sift.wanted.is_empty() {
            self.shown = self.visible(session);
            self.sift.done = true;
        } else if self.sift.wanted.tagged() {
            self.shown = tagged(session, &self.sift.wanted);
            self.sift.done = true;
        } else {
            self.step_filter(session);
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// Whether the filter has not looked at everything yet.
    #[must_use]
    pub fn looking(&self) -> bool {
        !self.sift.done
    }

    /// How far the filter is, in hundredths.
    #[must_use]
    pub fn looked(&self, session: &Session) -> usize {
        let all = self.sift.among.as_ref().map_or(session.forest.rows.len(), Vec::len);
        self.sift.next * 100 / all.max(1)
    }

    /// Looks at one slice more.
    pub fn step_filter(&mut self, session: &Session) {
        let mut left = SLICE;
        while left > 0 && !self.sift.done {
            let at = self.sift.next;
            let (place, from) = match &self.sift.among {
                Some(among) => match among.get(at) {
                    Some(line) => (line.row, line.hit),
                    None => return self.sift.done = true,
                },
                None => (at, None),
            };
            let Some(row) = session.forest.rows.get(place) else {
                return self.sift.done = true;
            };
            let from = self.sift.inside.take().or(from).unwrap_or(row.first);
            match find(session, row, from, &self.sift.wanted, &mut left) {
                RowMatch::Hit(hit) => self.shown.push(ListLine { row: place, hit }),
                RowMatch::Miss => {}
                RowMatch::Later(slot) => {
                    self.sift.inside = Some(slot);
                    return;
                }
            }
            self.sift.next += 1;
        }
    }

    /// The selected line.
    #[must_use]
    pub fn line(&self) -> Option<ListLine> {
        self.shown.get(self.cursor).copied()
    }

    /// The selected stretch.
    #[must_use]
    pub fn selected<'a>(&self, session: &'a Session) -> Option<&'a Row> {
        session.forest.rows.get(self.line()?.row)
    }

    /// The message that the selected line stands for: the one that fits the filter, else the first of the stretch.
    #[must_use]
    pub fn message(&self, session: &Session) -> Option<Slot> {
        let line = self.line()?;
        line.hit.or_else(|| session.forest.rows.get(line.row).map(|row| row.first))
    }

    /// Whether nothing is shown below a stretch although something follows.
    #[must_use]
    pub fn is_folded(&self, tree: &Tree, row: &Row) -> bool {
        row.below > 0 && !self.folded.is_empty() && self.folded.contains(&tree.head(row.first).id)
    }

    /// Moves.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.shown.len().saturating_sub(1));
    }

    /// Folds what is below the selected stretch; where there is nothing, or it is folded, goes to the one above.
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

    /// Shows what is below the selected stretch; where it is shown, goes into it.
    pub fn unfold(&mut self, session: &Session) {
        let Some(row) = self.selected(session) else { return };
        let (below, id) = (row.below, session.tree.head(row.first).id);
        if self.folded.remove(&id) {
            self.list(session);
        } else if below > 0 {
            self.step(1);
        }
    }

    /// Selects the stretch that holds a message; what is folded above it is opened.
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

/// What a look at a stretch came to.
enum RowMatch {
    Hit(Option<Slot>),
    Miss,
    /// Not all of it was looked at: it goes on from this message.
    Later(Slot),
}

/// Looks through a stretch, as far as there is anything `left` to do.
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

/// The stretches that hold a message whose name or star fits: looked up from the names, which are few.
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

/// The messages of a stretch from one on.
fn slots(tree: &Tree, from: Slot, last: Slot) -> impl Iterator<Item = Slot> + '_ {
    std::iter::successors(Some(from), move |slot| {
        (*slot != last).then(|| tree.children(Some(*slot)).first().copied()).flatten()
    })
}

/// The words by which a stretch is known: its first question, else its first message.
#[must_use]
pub fn title<'a>(tree: &'a Tree, row: &Row) -> Cow<'a, str> {
    plain_text::beginning(tree.head(titled(tree, row)))
}

/// Whether the title holds all of the message's words.
#[must_use]
pub fn title_is_whole(tree: &Tree, row: &Row) -> bool {
    tree.head(titled(tree, row)).preview_is_whole()
}

/// The message whose words are the title.
fn titled(tree: &Tree, row: &Row) -> Slot {
    let asked = slots(tree, row.first, row.last).take(4).find(|slot| tree.head(*slot).role == Role::User);
    asked.unwrap_or(row.first)
}

/// Whether words (in lower case) stand in a text, in any case. Plain text is not copied for it.
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
