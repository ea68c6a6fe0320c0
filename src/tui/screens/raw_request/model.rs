//! The exact bytes of a request on the screen: parts, folds, and search text; and a request edited by hand that is not
//! sent yet.
//! Not for: breaking bytes into rows (`view`), or the keys (`update`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::request::{self, Block, BlockKind};
use crate::domain::planning::draft::Draft;
use crate::tui::model::list::shift;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A body with more bytes opens with all messages folded except the last.
const LONG: usize = 256 << 10;

/// A planned part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The message, counted from 0.
    pub message: usize,
    /// The number of bytes of its content.
    pub bytes: usize,
    /// Its section and description, unsanitized.
    pub title: String,
    /// Its tokens.
    pub tokens: u32,
}

/// A foldable block: bytes with a heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldableBlock {
    /// The heading, unsanitized.
    pub title: String,
    /// Its bytes.
    pub range: Range<usize>,
    /// Its tokens, if known.
    pub tokens: Option<u32>,
}

/// A row of the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// The heading of a fold, by its index.
    Head(usize),
    /// Bytes of a fold, and whether they start inside a string.
    Bytes(usize, Range<usize>, bool),
}

/// A request edited by hand.
#[derive(Clone, Debug)]
pub struct EditedRequest {
    /// The original body.
    pub base: Arc<str>,
    /// Tokens, room, and the number of changed messages, once they are counted.
    pub weighed: Option<(u32, u32, u32)>,
    /// It is being sent.
    pub sending: bool,
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub struct RawRequestScreen {
    /// The branch.
    pub branch: BranchId,
    /// The draft that it sends.
    pub draft: Draft,
    /// The body.
    pub body: Arc<str>,
    /// Its BLAKE3.
    pub digest: Hash,
    /// Its tokens, and the limit.
    pub tokens: (u32, u32),
    /// The parts of its messages.
    pub parts: Vec<Part>,
    /// The edit, if it was edited by hand.
    pub by_hand: Option<EditedRequest>,
    /// The foldable blocks.
    pub folds: Vec<FoldableBlock>,
    /// Messages are divided by section.
    pub by_section: bool,
    /// Indices of closed folds.
    pub closed: HashSet<usize>,
    /// The rows for `made`.
    pub rows: Vec<Row>,
    /// The width and the state for which the rows were made.
    pub made: (u16, u64),
    /// Increases with every change that affects the rows.
    pub state: u64,
    /// The selected row.
    pub cursor: usize,
    /// Rows of the page when last drawn.
    pub page: usize,
    /// The search text.
    pub search: String,
    /// The search text is being typed.
    pub searching: bool,
    /// The positions of the matches.
    pub hits: Vec<usize>,
    /// The current match.
    pub hit: usize,
    /// The byte whose row will be selected.
    pub follow: Option<usize>,
}

impl RawRequestScreen {
    /// A screen that shows a body.
    #[must_use]
    pub fn new(branch: BranchId, draft: Draft, body: Arc<str>, digest: Hash, tokens: (u32, u32)) -> Self {
        let mut raw = Self {
            branch,
            draft,
            body,
            digest,
            tokens,
            parts: Vec::new(),
            by_hand: None,
            folds: Vec::new(),
            by_section: false,
            closed: HashSet::new(),
            rows: Vec::new(),
            made: (0, 0),
            state: 1,
            cursor: 0,
            page: 1,
            search: String::new(),
            searching: false,
            hits: Vec::new(),
            hit: 0,
            follow: None,
        };
        raw.part();
        raw
    }

    /// Adds the parts of its messages.
    #[must_use]
    pub fn with_parts(mut self, parts: Vec<Part>) -> Self {
        self.parts = parts;
        self.part();
        self
    }

    /// Recomputes the folds, all open; in a long body, all messages except the last are closed.
    pub fn part(&mut self) {
        let blocks = request::blocks(&self.body);
        let last = blocks.iter().rposition(|block| matches!(block.kind, BlockKind::Message { .. }));
        let (mut folds, mut closed) = (Vec::new(), HashSet::new());
        for (at, block) in blocks.iter().enumerate() {
            let first = folds.len();
            folds.extend(self.folds_of(block));
            if self.body.len() > LONG && matches!(block.kind, BlockKind::Message { .. }) && Some(at) != last {
                closed.extend(first..folds.len());
            }
        }
        (self.folds, self.closed) = (folds, closed);
        self.state += 1;
    }

    fn folds_of(&self, block: &Block) -> Vec<FoldableBlock> {
        let fold = |title: &str, tokens| FoldableBlock { title: title.to_owned(), range: block.range.clone(), tokens };
        match &block.kind {
            BlockKind::Head => vec![fold("before the messages", None)],
            BlockKind::Tools => vec![fold("tools", None)],
            BlockKind::Tail if block.range.is_empty() => Vec::new(),
            BlockKind::Tail => vec![fold("after the messages", None)],
            BlockKind::Message { index, role } => {
                let parts: Vec<&Part> = self.parts.iter().filter(|part| part.message == *index).collect();
                let tokens = (!parts.is_empty()).then(|| parts.iter().map(|part| part.tokens).sum());
                let of: Vec<&str> = parts.iter().map(|part| part.title.as_str()).collect();
                let title = match of.as_slice() {
                    [] => format!("{} {role}", index + 1),
                    [one] => format!("{} {role}: {one}", index + 1),
                    [one, ..] => format!("{} {role}: {one} and {} more", index + 1, of.len() - 1),
                };
                let whole = FoldableBlock { title, range: block.range.clone(), tokens };
                if self.by_section && parts.len() > 1 {
                    self.split(block, &parts).unwrap_or(vec![whole])
                } else {
                    vec![whole]
                }
            }
        }
    }

    /// The parts of a message as folds; `None` if the bytes do not match the parts.
    fn split(&self, block: &Block, parts: &[&Part]) -> Option<Vec<FoldableBlock>> {
        let mut at = request::content_at(&self.body, block)?;
        let mut from = block.range.start;
        let mut folds = Vec::with_capacity(parts.len());
        for (n, part) in parts.iter().enumerate() {
            at += part.bytes;
            let end = if n + 1 == parts.len() { block.range.end } else { at };
            if end > block.range.end || end < from || !self.body.is_char_boundary(end) {
                return None;
            }
            let title = format!("{} {}", part.message + 1, part.title);
            folds.push(FoldableBlock { title, range: from..end, tokens: Some(part.tokens) });
            from = end;
        }
        Some(folds)
    }

    /// The fold of the selected row.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        match self.rows.get(self.cursor)? {
            Row::Head(fold) | Row::Bytes(fold, ..) => Some(*fold),
        }
    }

    /// Opens or closes the fold of the selected row; the selection moves to its heading.
    pub fn fold(&mut self) {
        let Some(at) = self.selected() else { return };
        if !self.closed.remove(&at) {
            self.closed.insert(at);
        }
        self.cursor = self.rows.iter().position(|row| *row == Row::Head(at)).unwrap_or(self.cursor);
        self.state += 1;
    }

    /// Closes all folds, or opens all if all are closed.
    pub fn fold_all(&mut self) {
        let at = self.selected().and_then(|fold| self.folds.get(fold)).map(|fold| fold.range.start);
        let all = self.folds.len();
        self.closed = if self.closed.len() == all { HashSet::new() } else { (0..all).collect() };
        self.follow = at;
        self.state += 1;
    }

    /// Switches the division of messages by section.
    pub fn regroup(&mut self) {
        let at = self.selected().and_then(|fold| self.folds.get(fold)).map(|fold| fold.range.start);
        self.by_section = !self.by_section;
        self.part();
        self.follow = at;
    }

    /// Moves the selection.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.rows.len().saturating_sub(1));
    }

    /// Finds the typed text, ignoring case, and goes to the first match.
    pub fn look(&mut self) {
        let wanted = self.search.as_bytes();
        let bytes = self.body.as_bytes();
        self.hits.clear();
        self.hit = 0;
        if wanted.is_empty() || wanted.len() > bytes.len() {
            return;
        }
        let first = [wanted[0].to_ascii_lowercase(), wanted[0].to_ascii_uppercase()];
        let mut at = 0;
        while at + wanted.len() <= bytes.len() {
            let same = first.contains(&bytes[at]) && bytes[at..at + wanted.len()].eq_ignore_ascii_case(wanted);
            if same && self.body.is_char_boundary(at) {
                self.hits.push(at);
                at += wanted.len();
            } else {
                at += 1;
            }
        }
        self.go_to_hit();
    }

    /// Goes to the next or the previous match.
    pub fn next_hit(&mut self, back: bool) {
        let count = self.hits.len();
        if count > 0 {
            self.hit = (self.hit + if back { count - 1 } else { 1 }) % count;
            self.go_to_hit();
        }
    }

    fn go_to_hit(&mut self) {
        let Some(at) = self.hits.get(self.hit).copied() else { return };
        let fold = self.folds.iter().position(|fold| fold.range.contains(&at));
        if fold.is_some_and(|fold| self.closed.remove(&fold)) {
            self.state += 1;
        }
        self.follow = Some(at);
    }

    /// Stores the rows for a width, and selects the row to follow.
    pub fn laid(&mut self, rows: Vec<Row>, width: u16) {
        self.rows = rows;
        self.made = (width, self.state);
    }

    /// Selects the row of the byte to follow.
    pub fn settle(&mut self) {
        if let Some(at) = self.follow.take() {
            let holds = |row: &Row| matches!(row, Row::Bytes(_, range, _) if range.contains(&at));
            let head = |row: &Row| matches!(row, Row::Head(fold) if self.folds[*fold].range.contains(&at));
            let found = self.rows.iter().position(holds).or_else(|| self.rows.iter().position(head));
            self.cursor = found.unwrap_or(self.cursor);
        }
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
    }
}

/// The purpose of a request about the exact request.
#[derive(Clone, PartialEq, Debug)]
pub enum RawRequestPending {
    /// To show the exact request, or to edit it.
    Body {
        /// The branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// To edit it: true as JSON, false as texts.
        edit: Option<bool>,
    },
    /// To count the tokens of an edited request, by its digest.
    Count(Hash),
    /// To send an edited request.
    Send {
        /// The branch.
        branch: BranchId,
        /// The draft that it answers.
        draft: Draft,
        /// The digest of the edited request.
        digest: Hash,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"Be kind.\nPinned."},{"role":"user","content":"hi KIND"}],"stream":true}"#;

    fn raw() -> RawRequestScreen {
        let part = |message: usize, bytes: usize, title: &str| Part { message, bytes, title: title.into(), tokens: 3 };
        let parts = vec![part(0, 10, "system"), part(0, 7, "sticky pins"), part(1, 7, "your message")];
        let digest = Hash::of(BODY.as_bytes());
        RawRequestScreen::new(BranchId(Uuid::nil()), Draft::default(), BODY.into(), digest, (9, 99)).with_parts(parts)
    }

    #[test]
    fn folds_are_the_body_by_message_and_by_section() {
        let mut raw = raw();
        let whole =
            |raw: &RawRequestScreen| raw.folds.iter().map(|fold| &raw.body[fold.range.clone()]).collect::<String>();
        assert_eq!((whole(&raw).as_str(), raw.folds.len()), (BODY, 4));
        raw.regroup();
        assert_eq!((whole(&raw).as_str(), raw.folds.len()), (BODY, 5));
        assert!(BODY[raw.folds[2].range.clone()].starts_with("Pinned."), "{:?}", raw.folds);
        raw.parts[0].bytes = 999;
        raw.part();
        assert_eq!(raw.folds.len(), 4, "what the bytes do not say is not parted");
    }

    #[test]
    fn hits_open_their_folds() {
        let mut raw = raw();
        raw.fold_all();
        raw.search = "kind".into();
        raw.look();
        assert_eq!((raw.hits.len(), raw.hit), (2, 0));
        assert!(!raw.closed.contains(&1) && raw.closed.contains(&2));
        raw.next_hit(true);
        assert!(!raw.closed.contains(&2) && BODY[raw.follow.unwrap()..].starts_with("KIND"));
        raw.search = "nowhere".into();
        raw.look();
        raw.next_hit(false);
        assert!(raw.hits.is_empty());
    }
}
