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
    /// Starts editing a message; the current draft is restored afterwards.
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

    /// Ends editing; changed text goes into the history. False if nothing was being edited.
    pub fn end_edit(&mut self) -> bool {
        let editing = self.kind != DraftKind::Message;
        if editing {
            let before = self.before_edit.take().unwrap_or_default();
            if self.text() != before.sent {
                self.move_to_history();
            }
            self.clear();
            self.bring(before.draft);
        }
        editing
    }

    /// The content of the composer, to be restored later.
    fn save(&mut self) -> Saved {
        Saved {
            lines: self.area.lines().to_vec(),
            pastes: std::mem::take(&mut self.pastes),
            files: std::mem::take(&mut self.files),
            kind: self.kind,
            before_edit: self.before_edit.take(),
        }
    }

    /// The draft, to be restored later; a recalled message is not part of it.
    fn set_aside(&mut self) -> Saved {
        if self.history.is_shown() { self.draft_below.take().unwrap_or_default() } else { self.save() }
    }

    /// Restores a text in the empty composer.
    fn bring(&mut self, saved: Saved) {
        self.area = area(saved.lines);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        (self.pastes, self.files) = (saved.pastes, saved.files);
        (self.kind, self.before_edit) = (saved.kind, saved.before_edit);
        self.whole = None;
    }

    /// Moves the text into the history, from which it can be recalled, also after a restart.
    pub fn move_to_history(&mut self) {
        if self.history.is_shown() {
            return;
        }
        let text = self.text();
        self.history.remember(&text);
        self.cleared = Some(text);
    }

    /// A cleared text that must be saved, once.
    pub fn take_cleared(&mut self) -> Option<Arc<str>> {
        self.cleared.take()
    }

    /// The text was sent: it moves into the history. A draft that a recalled message replaced is restored.
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

    /// Saves the draft of one branch and restores the draft of another.
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

    /// Moves the message being written from one branch to another. False if it stays: an edit belongs to its branch,
    /// and the other branch may have its own draft.
    pub fn carry(&mut self, from: BranchId, to: BranchId) -> bool {
        let free = from != to && self.drafts.get(&to).is_none_or(Saved::is_empty);
        let goes = free && self.kind == DraftKind::Message;
        if goes {
            self.drafts.remove(&to);
            self.drafts.remove(&from);
        }
        goes
    }

    /// The text that must be saved: the draft, or the draft and the changed text of an edited message.
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

    /// Returns a draft to another branch, unless something else was typed there.
    pub fn give_back(&mut self, branch: BranchId, text: &str) {
        let saved = self.drafts.entry(branch).or_default();
        if saved.lines.iter().all(String::is_empty) {
            saved.lines = text.split('\n').map(str::to_owned).collect();
        }
    }

    /// The unsent text of a branch.
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

    /// Whether the store has this draft of a branch.
    #[must_use]
    pub fn is_kept(&self, branch: BranchId, text: &Arc<str>) -> bool {
        self.kept
            .get(&branch)
            .map_or(text.is_empty(), |kept| kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, text) || kept == text))
    }

    /// The store saved this draft of a branch.
    pub fn was_kept(&mut self, branch: BranchId, text: Arc<str>) {
        self.kept.insert(branch, Some(text));
    }

    /// The store could not save a draft: none counts as saved.
    pub fn was_not_kept(&mut self) {
        self.kept.values_mut().for_each(|kept| *kept = None);
    }

    /// Restores a draft from the store; a known draft is not replaced.
    pub fn restore(&mut self, branch: BranchId, text: &Arc<str>) {
        if self.kept.insert(branch, Some(text.clone())).is_none() && !self.drafts.contains_key(&branch) {
            let mut other = Self::default();
            other.paste(text);
            let lines = other.area.lines().to_vec();
            let saved = Saved { lines, pastes: other.pastes, ..Saved::default() };
            self.drafts.insert(branch, saved);
        }
    }

    /// Inserts earlier messages, each with its time, before those sent since the start, and the texts that were cleared
    /// then.
    pub fn seed(&mut self, earlier: impl Iterator<Item = (i64, Arc<str>)>) {
        let mut all: Vec<_> = earlier.chain(self.cleared_before.drain(..)).collect();
        all.sort_by_key(|(at, _)| *at);
        self.history.seed(all.into_iter().map(|(_, text)| text));
    }

    /// Goes to an older or a newer message of the history; the draft follows the newest. False if there is none.
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

    /// Moves a draft that a recalled message replaced into the history.
    pub(super) fn uncover(&mut self) {
        if let Some(text) = self.draft_below.take().map(|draft| draft.text()) {
            self.history.remember(&text);
            self.cleared = Some(text);
        }
    }
}
