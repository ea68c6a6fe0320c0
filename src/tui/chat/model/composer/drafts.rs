//! Drafts that are not in the composer at the moment: drafts of other branches, the draft that an edit or a recalled
//! message replaces, and cleared messages.
//! Not for: the text itself (`text`), or storing drafts (`update::composing`).

use super::text::{ReplacedDraft, Saved, visible};
use super::{Composer, DraftKind, area};
use crate::domain::base::ids::{BranchId, NodeId};
use crate::tui::chat::model::queue::joined;
use std::sync::Arc;
use tui_textarea::CursorMove;

impl Composer {
    /// Begins to edit a message; the draft so far comes back afterwards.
    pub fn begin_edit(&mut self, node: NodeId, text: &str) {
        let before = match self.before_edit.take() {
            Some(before) => before,
            None => Box::new(ReplacedDraft { draft: self.set_aside(), ..ReplacedDraft::default() }),
        };
        self.clear();
        self.kind = DraftKind::Edit(node);
        self.edit().insert_str(visible(text));
        self.before_edit = Some(Box::new(ReplacedDraft { sent: self.text(), ..*before }));
    }

    /// Leaves editing; changed words go into the history. False when nothing was being edited.
    pub fn end_edit(&mut self) -> bool {
        let editing = self.kind != DraftKind::Message;
        if editing {
            let before = self.before_edit.take().unwrap_or_default();
            if self.text() != before.sent {
                self.put_by();
            }
            self.clear();
            self.bring(before.draft);
        }
        editing
    }

    /// What is in the composer, to be brought back later.
    fn save(&mut self) -> Saved {
        Saved {
            lines: self.area.lines().to_vec(),
            pastes: std::mem::take(&mut self.pastes),
            files: std::mem::take(&mut self.files),
            kind: self.kind,
            before_edit: self.before_edit.take(),
        }
    }

    /// The draft, to be brought back later; a message of the history that is shown is not part of it.
    fn set_aside(&mut self) -> Saved {
        if self.history.is_shown() { self.draft_below.take().unwrap_or_default() } else { self.save() }
    }

    /// Brings a text back into the composer, which is empty.
    fn bring(&mut self, saved: Saved) {
        self.area = area(saved.lines);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        (self.pastes, self.files) = (saved.pastes, saved.files);
        (self.kind, self.before_edit) = (saved.kind, saved.before_edit);
        self.whole = None;
    }

    /// The text goes into the history, from which it can be brought back, also after a restart.
    pub fn put_by(&mut self) {
        if self.history.is_shown() {
            return;
        }
        let text = self.text();
        self.history.remember(&text);
        self.cleared = Some(text);
    }

    /// A cleared text that is to be stored, once.
    pub fn take_cleared(&mut self) -> Option<Arc<str>> {
        self.cleared.take()
    }

    /// The text was sent: it goes into the history and away. A draft that an older message covered comes back.
    pub fn sent(&mut self, text: &Arc<str>) {
        let below = self.draft_below.take();
        self.history.remember(text);
        if self.kind == DraftKind::Message {
            self.clear();
            self.bring(below.unwrap_or_default());
        } else {
            if let Some(before) = &mut self.before_edit {
                before.sent = text.clone();
            }
            self.end_edit();
        }
    }

    /// Keeps the draft of one branch and brings out that of another.
    pub fn swap(&mut self, from: Option<BranchId>, to: BranchId) {
        if from == Some(to) {
            return;
        }
        if let Some(from) = from {
            let saved = self.set_aside();
            self.drafts.insert(from, saved);
        }
        let saved = self.drafts.remove(&to).unwrap_or_default();
        self.clear();
        self.bring(saved);
    }

    /// The message being written goes along from one branch to another. False where it stays: an edit belongs to its branch,
    /// and the other branch may have a draft of its own.
    pub fn carry(&mut self, from: BranchId, to: BranchId) -> bool {
        let free = from != to && self.drafts.get(&to).is_none_or(Saved::is_empty);
        let goes = free && self.kind == DraftKind::Message;
        if goes {
            self.drafts.remove(&to);
            self.drafts.remove(&from);
        }
        goes
    }

    /// What would be lost without a copy: the draft, or the draft and the changed text of a message that is edited.
    pub fn unsent(&mut self) -> Arc<str> {
        if self.history.is_shown() {
            return self.draft_below.as_ref().map_or_else(|| Arc::from(""), Saved::text);
        }
        let text = self.text();
        match &self.before_edit {
            None => text,
            Some(before) if before.sent == text => before.draft.text(),
            Some(before) => joined(&before.draft.text(), &text),
        }
    }

    /// Gives a draft of another branch back to it, unless something else was typed there.
    pub fn give_back(&mut self, branch: BranchId, text: &str) {
        let saved = self.drafts.entry(branch).or_default();
        if saved.lines.iter().all(String::is_empty) {
            saved.lines = text.split('\n').map(str::to_owned).collect();
        }
    }

    /// The text that was left on a branch.
    #[must_use]
    pub fn left_on(&self, branch: BranchId) -> Arc<str> {
        match self.drafts.get(&branch) {
            None => Arc::from(""),
            Some(saved) if saved.kind == DraftKind::Message => saved.text(),
            Some(saved) => {
                let before = saved.before_edit.as_deref();
                let (draft, sent) =
                    before.map_or_else(Default::default, |before| (before.draft.text(), before.sent.clone()));
                let text = saved.text();
                if text == sent { draft } else { joined(&draft, &text) }
            }
        }
    }

    /// Whether this is what the store has of a branch's draft.
    #[must_use]
    pub fn is_kept(&self, branch: BranchId, text: &Arc<str>) -> bool {
        self.kept
            .get(&branch)
            .map_or(text.is_empty(), |kept| kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, text) || kept == text))
    }

    /// The store has this of a branch's draft.
    pub fn was_kept(&mut self, branch: BranchId, text: Arc<str>) {
        self.kept.insert(branch, Some(text));
    }

    /// The store could not take a draft: none counts as kept.
    pub fn was_not_kept(&mut self) {
        self.kept.values_mut().for_each(|kept| *kept = None);
    }

    /// A draft comes from the store; one that was seen before is left alone.
    pub fn restore(&mut self, branch: BranchId, text: &Arc<str>) {
        if self.kept.insert(branch, Some(text.clone())).is_none() && !self.drafts.contains_key(&branch) {
            let mut other = Self::default();
            other.paste(text);
            let lines = other.area.lines().to_vec();
            let saved = Saved { lines, pastes: other.pastes, ..Saved::default() };
            self.drafts.insert(branch, saved);
        }
    }

    /// Puts earlier messages, each with its time, before what was sent since the start; and the texts that were cleared then.
    pub fn seed(&mut self, earlier: impl Iterator<Item = (i64, Arc<str>)>) {
        let mut all: Vec<_> = earlier.chain(self.cleared_before.drain(..)).collect();
        all.sort_by_key(|(at, _)| *at);
        self.history.seed(all.into_iter().map(|(_, text)| text));
    }

    /// Goes to an older message of the history, or to a newer one; after the newest comes the draft. False where there is
    /// none.
    pub fn recall(&mut self, older: bool) -> bool {
        let begins = !self.history.is_shown();
        let Some(found) = self.history.step(older) else { return false };
        let draft = if begins { Some(self.save()).filter(|saved| !saved.is_empty()) } else { self.draft_below.take() };
        let history = std::mem::take(&mut self.history);
        self.clear();
        self.closed = true;
        match found {
            Some(text) => {
                self.paste(&text);
                self.area.move_cursor(CursorMove::Top);
                self.area.move_cursor(CursorMove::Head);
                self.draft_below = draft;
            }
            None => self.bring(draft.unwrap_or_default()),
        }
        self.closed = true;
        self.history = history;
        true
    }

    /// A draft that an older message covers goes into the history: that message takes its place.
    pub(super) fn uncover(&mut self) {
        if let Some(text) = self.draft_below.take().map(|draft| draft.text()) {
            self.history.remember(&text);
            self.cleared = Some(text);
        }
    }
}
