//! State of the exact request: its foldable blocks, the search, and an edit by hand that is not sent yet.
//! Not for: breaking bytes into rows (`view`) or the keys (`update`).

use crate::domain::base::{BranchId, Hash};
use crate::domain::call::request;
use crate::domain::call::{Block, BlockKind, RawPart, RawRequest};
use crate::domain::planning::Draft;
use crate::tui::model::typed_line::TypedLine;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A body with more bytes than this opens with all messages folded except the last.
const LONG_BODY: usize = 256 << 10;

/// A range of bytes under a heading that can be folded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldableBlock {
    /// The heading, not sanitized.
    pub title: String,
    /// The bytes, as a range of the body.
    pub range: Range<usize>,
    /// Tokens of the block; None if not known.
    pub tokens: Option<u32>,
}

/// A row of the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// Heading of a block, by its index in `folds`.
    Head(usize),
    /// Bytes of a block, and whether they begin inside a quoted string.
    Bytes(usize, Range<usize>, bool),
}

/// The counts of an edited request.
#[derive(Clone, Copy, Debug)]
pub struct EditCounts {
    pub tokens: u32,
    /// The budget, with its safety margin.
    pub budget: u32,
    /// The tokens that the request may take.
    pub room: u32,
    /// The number of messages that differ from the plan.
    pub changed: u32,
}

/// The state of a request that was edited by hand.
#[derive(Clone, Debug)]
pub struct EditedRequest {
    /// The original body.
    pub base: Arc<str>,
    /// Its counts; None until the engine has counted it.
    pub counted: Option<EditCounts>,
    pub sending: bool,
}

/// The exact request.
#[derive(Clone, Debug, Default)]
pub struct RawRequestScreen {
    pub branch: BranchId,
    /// The draft that the request sends.
    pub draft: Draft,
    pub body: Arc<str>,
    /// BLAKE3 hash of the body.
    pub digest: Hash,
    /// Tokens of the request, and the budget.
    pub tokens: (u32, u32),
    /// The parts of its messages.
    pub parts: Vec<RawPart>,
    /// The edit by hand; None for the planned request.
    pub edit: Option<EditedRequest>,
    /// For the request of a call that was made, whether these are the bytes that were sent; None for the next request.
    pub sent: Option<bool>,
    /// The foldable blocks, in the order of the body.
    pub folds: Vec<FoldableBlock>,
    /// Whether messages are split by section.
    pub by_section: bool,
    /// Indices of the folded blocks.
    pub closed: HashSet<usize>,
    /// The rows; valid for `made`.
    pub rows: Vec<Row>,
    /// The width and the value of `state` that the rows were made for.
    pub made: (u16, u64),
    /// Number of changes that affect the rows.
    pub state: u64,
    /// Index of the selected row.
    pub cursor: usize,
    /// Height of the list when last drawn, in rows.
    pub page: usize,
    pub search: TypedLine,
    /// Whether the search text is being typed.
    pub searching: bool,
    /// Byte offsets of the matches.
    pub hits: Vec<usize>,
    /// Index of the current match.
    pub hit: usize,
    /// Byte offset whose row is selected once the rows are made.
    pub follow: Option<usize>,
}

impl RawRequestScreen {
    /// Creates the screen for a request.
    pub fn new(branch: BranchId, draft: Draft, request: RawRequest) -> Self {
        let mut raw = Self {
            branch,
            draft,
            body: request.body,
            digest: request.digest,
            tokens: (request.tokens, request.budget),
            parts: request.parts,
            state: 1,
            page: 1,
            ..Self::default()
        };
        raw.rebuild_blocks();
        raw
    }

    /// Rebuilds the blocks, all unfolded; in a long body, messages are folded except the last.
    fn rebuild_blocks(&mut self) {
        let blocks = request::blocks(&self.body);
        let last = blocks.iter().rposition(|block| matches!(block.kind, BlockKind::Message { .. }));
        let (mut folds, mut closed) = (Vec::new(), HashSet::new());
        for (at, block) in blocks.iter().enumerate() {
            let first = folds.len();
            folds.extend(self.folds_of(block));
            if self.body.len() > LONG_BODY && matches!(block.kind, BlockKind::Message { .. }) && Some(at) != last {
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
                let parts: Vec<&RawPart> = self.parts.iter().filter(|part| part.message as usize == *index).collect();
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

    /// Splits a message by its parts; None if the parts do not match its bytes.
    fn split(&self, block: &Block, parts: &[&RawPart]) -> Option<Vec<FoldableBlock>> {
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

    /// Index of the block of the selected row.
    pub fn selected(&self) -> Option<usize> {
        match self.rows.get(self.cursor)? {
            Row::Head(fold) | Row::Bytes(fold, ..) => Some(*fold),
        }
    }

    /// Folds or unfolds the block of the selected row and selects its heading.
    pub fn fold(&mut self) {
        let Some(at) = self.selected() else { return };
        if !self.closed.remove(&at) {
            self.closed.insert(at);
        }
        self.cursor = self.rows.iter().position(|row| *row == Row::Head(at)).unwrap_or(self.cursor);
        self.state += 1;
    }

    /// Folds all blocks, or unfolds all if all are folded.
    pub fn fold_all(&mut self) {
        let at = self.selected().and_then(|fold| self.folds.get(fold)).map(|fold| fold.range.start);
        let all = self.folds.len();
        self.closed = if self.closed.len() == all { HashSet::new() } else { (0..all).collect() };
        self.follow = at;
        self.state += 1;
    }

    /// Toggles splitting the messages by section.
    pub fn regroup(&mut self) {
        let at = self.selected().and_then(|fold| self.folds.get(fold)).map(|fold| fold.range.start);
        self.by_section = !self.by_section;
        self.rebuild_blocks();
        self.follow = at;
    }

    /// Searches for the typed text, ignoring the case of ASCII letters, and goes to the first match.
    pub fn search_body(&mut self) {
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

    /// Goes to the next match, or the previous one if `back`.
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

    /// Selects the row of the byte in `follow`, if any, and keeps the cursor in range.
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
        branch: BranchId,
        draft: Draft,
        /// Some to edit it, as JSON if true and as texts otherwise; None to show it.
        edit: Option<bool>,
    },
    /// To count the tokens of the edited request with this digest.
    Count(Hash),
    /// To send an edited request.
    Send {
        branch: BranchId,
        /// The draft that the request sends.
        draft: Draft,
        /// Digest of the edited request.
        digest: Hash,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"Be kind.\nPinned."},{"role":"user","content":"hi KIND"}],"stream":true}"#;

    fn raw() -> RawRequestScreen {
        let part = |message, bytes, title: &str| RawPart { message, bytes, title: title.into(), tokens: 3 };
        let parts = vec![part(0, 10, "system"), part(0, 7, "sticky pins"), part(1, 7, "your message")];
        let digest = Hash::of(BODY.as_bytes());
        let request = RawRequest { body: BODY.into(), digest, parts, tokens: 9, budget: 99 };
        RawRequestScreen::new(BranchId(Uuid::nil()), Draft::default(), request)
    }

    #[test]
    fn blocks_cover_the_body_by_message_and_by_section() {
        let mut raw = raw();
        let whole =
            |raw: &RawRequestScreen| raw.folds.iter().map(|fold| &raw.body[fold.range.clone()]).collect::<String>();
        assert_eq!((whole(&raw).as_str(), raw.folds.len()), (BODY, 4));
        raw.regroup();
        assert_eq!((whole(&raw).as_str(), raw.folds.len()), (BODY, 5));
        assert!(BODY[raw.folds[2].range.clone()].starts_with("Pinned."), "{:?}", raw.folds);
        raw.parts[0].bytes = 999;
        raw.rebuild_blocks();
        assert_eq!(raw.folds.len(), 4, "parts that do not match the bytes do not split the message");
    }

    #[test]
    fn matches_unfold_their_blocks() {
        let mut raw = raw();
        raw.fold_all();
        raw.search = "kind".into();
        raw.search_body();
        assert_eq!((raw.hits.len(), raw.hit), (2, 0));
        assert!(!raw.closed.contains(&1) && raw.closed.contains(&2));
        raw.next_hit(true);
        assert!(!raw.closed.contains(&2) && BODY[raw.follow.unwrap()..].starts_with("KIND"));
        raw.search = "nowhere".into();
        raw.search_body();
        raw.next_hit(false);
        assert!(raw.hits.is_empty());
    }
}
