//! Texts outside the composer: drafts of other branches, the draft that an edit or a recalled message replaced, and
//! cleared messages.
//! Not for: the text in the composer (`text`), or saving drafts (`update::composing`).

use super::text::{FOLD_MARK, Paste, ReplacedDraft, Saved, presumed_paste, visible};
use super::{Composer, DraftKind, area, line_ends};
use crate::domain::base::{BranchId, NodeId};
use crate::tui::chat::model::queue::joined;
use std::sync::Arc;
use tui_textarea::CursorMove;

/// A longer text of a saved draft is folded although it was not folded before.
const MAX_TYPED_BYTES: usize = 64 << 10;

/// The lines and the folds of a text as drafts are saved.
fn with_folds(text: &str) -> (Vec<String>, Vec<Paste>) {
    let mut composer = Composer::default();
    composer.insert_stored(text);
    (composer.area.lines().to_vec(), composer.pastes)
}

impl Composer {
    /// Starts editing a sent message; the current draft is kept.
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

    /// Ends editing and restores the draft; a changed text goes into the history. Returns false if nothing was being
    /// edited.
    pub fn end_edit(&mut self) -> bool {
        let editing = self.kind != DraftKind::Message;
        if editing {
            let before = self.before_edit.take().unwrap_or_default();
            if self.text() != before.sent {
                self.move_to_history();
            }
            self.clear();
            self.put_back(before.draft);
        }
        editing
    }

    /// Takes out the composer's contents.
    fn save(&mut self) -> Saved {
        Saved {
            lines: self.area.lines().to_vec(),
            pastes: std::mem::take(&mut self.pastes),
            files: std::mem::take(&mut self.files),
            kind: self.kind,
            before_edit: self.before_edit.take(),
        }
    }

    /// Takes out the draft; while a message of the history is shown, takes out the draft that it replaced.
    fn set_aside(&mut self) -> Saved {
        if self.history.is_shown() { self.draft_below.take().unwrap_or_default() } else { self.save() }
    }

    /// Puts a saved text into the composer, which must be empty.
    fn put_back(&mut self, saved: Saved) {
        self.area = area(saved.lines);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        (self.pastes, self.files) = (saved.pastes, saved.files);
        (self.kind, self.before_edit) = (saved.kind, saved.before_edit);
        self.whole = None;
    }

    /// Adds the text to the history, and marks it to be saved for later runs of the program.
    pub fn move_to_history(&mut self) {
        if self.history.is_shown() {
            return;
        }
        let [_, stored] = self.whole().clone();
        self.history.remember(&stored);
        self.cleared.push(stored);
    }

    /// Replaces the text by the beginning of a command, and moves a text that was not sent to the history. Returns
    /// whether there was one.
    pub fn begin_command(&mut self, line: &str) -> bool {
        self.end_edit();
        let unsent = !self.is_empty() && !self.commanding();
        if unsent {
            self.move_to_history();
        }
        self.set(line, DraftKind::Message);
        unsent
    }

    /// Takes the cleared texts that are not saved yet, oldest first.
    pub fn take_cleared(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.cleared)
    }

    /// Adds a sent text to the history and clears the composer. Restores the draft that a recalled or edited message
    /// replaced.
    pub fn sent(&mut self, text: &Arc<str>) {
        let [now, stored] = self.whole().clone();
        let below = self.draft_below.take();
        self.history.remember(&if now == *text { stored } else { presumed_paste(text) });
        if self.kind == DraftKind::Message {
            self.clear();
            self.put_back(below.unwrap_or_default());
        } else {
            if let Some(before) = &mut self.before_edit {
                before.sent = text.clone();
            }
            self.end_edit();
        }
    }

    /// Keeps the draft of one branch and restores the draft of another.
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
        self.put_back(saved);
    }

    /// Moves the draft to another branch. Returns false if it stays: an edit belongs to its branch, and the other
    /// branch may have its own draft.
    pub fn move_draft(&mut self, from: BranchId, to: BranchId) -> bool {
        let free = from != to && self.drafts.get(&to).is_none_or(Saved::is_empty);
        let goes = free && self.kind == DraftKind::Message;
        if goes {
            self.drafts.remove(&to);
            self.drafts.remove(&from);
        }
        goes
    }

    /// Inserts the unsent text of another branch, which loses its draft, if the composer is empty, or else adds the text
    /// to the history. Returns whether the text is in the composer.
    pub fn adopt(&mut self, from: BranchId, text: &Arc<str>) -> bool {
        self.drafts.remove(&from);
        let free = self.is_empty() && self.kind == DraftKind::Message;
        if free {
            self.clear();
            self.insert_stored(text);
        } else {
            self.history.remember(text);
            self.cleared.push(text.clone());
        }
        free
    }

    /// The text that leaving would lose, as it is saved: the draft, and the changed text of an edited message.
    pub fn unsent(&mut self) -> Arc<str> {
        if self.history.is_shown() {
            return self.draft_below.as_ref().map_or_else(|| Arc::from(""), Saved::stored);
        }
        let [text, stored] = self.whole().clone();
        match &self.before_edit {
            None => stored,
            Some(before) if before.sent == text => before.draft.stored(),
            Some(before) => joined(&before.draft.stored(), &stored),
        }
    }

    /// A sent text as drafts are saved: with its folds, if it is in the history.
    pub fn as_saved(&self, text: &Arc<str>) -> Arc<str> {
        self.history.newest_with(text).cloned().unwrap_or_else(|| presumed_paste(text))
    }

    /// Inserts a sent text before the text, both with their folds.
    pub fn take_back(&mut self, sent: &Arc<str>) {
        let [_, mut text] = self.whole().clone();
        if text.trim().is_empty() {
            text = Arc::from("");
        }
        let text = joined(&self.as_saved(sent), &text);
        self.clear();
        self.insert_stored(&text);
    }

    /// Restores a sent text as the draft of another branch. Returns false if something else was typed there.
    pub fn restore_unsent(&mut self, branch: BranchId, sent: &Arc<str>) -> bool {
        let text = self.as_saved(sent);
        let saved = self.drafts.entry(branch).or_default();
        let free = saved.lines.iter().all(String::is_empty);
        if free {
            (saved.lines, saved.pastes) = with_folds(&text);
        }
        free
    }

    /// Adds a text to the history, and marks it to be saved for later runs of the program.
    pub fn keep_in_history(&mut self, text: &Arc<str>) {
        let stored = self.as_saved(text);
        self.history.remember(&stored);
        self.cleared.push(stored);
    }

    /// The unsent text kept for a branch, as it is saved.
    pub fn unsent_on(&self, branch: BranchId) -> Arc<str> {
        match self.drafts.get(&branch) {
            None => Arc::from(""),
            Some(saved) if saved.kind == DraftKind::Message => saved.stored(),
            Some(saved) => {
                let before = saved.before_edit.as_deref();
                let (draft, sent) =
                    before.map_or_else(Default::default, |before| (before.draft.stored(), before.sent.clone()));
                if saved.text() == sent { draft } else { joined(&draft, &saved.stored()) }
            }
        }
    }

    /// Whether the store has this text as the branch's draft.
    pub fn is_saved(&self, branch: BranchId, text: &Arc<str>) -> bool {
        self.saved_drafts.get(&branch).map_or(text.is_empty(), |saved| {
            saved.as_ref().is_some_and(|saved| Arc::ptr_eq(saved, text) || saved == text)
        })
    }

    /// Records that the store has this text as the branch's draft.
    pub fn mark_saved(&mut self, branch: BranchId, text: Arc<str>) {
        self.saved_drafts.insert(branch, Some(text));
    }

    /// Records that saving failed: no draft counts as saved.
    pub fn mark_unsaved(&mut self) {
        self.saved_drafts.values_mut().for_each(|saved| *saved = None);
    }

    /// Restores a draft from the store, unless the branch's draft was restored before or changed since.
    pub fn restore(&mut self, branch: BranchId, text: &Arc<str>) {
        if self.saved_drafts.insert(branch, Some(text.clone())).is_none() && !self.drafts.contains_key(&branch) {
            let (lines, pastes) = with_folds(text);
            self.drafts.insert(branch, Saved { lines, pastes, ..Saved::default() });
        }
    }

    /// Inserts a text as drafts are saved, with its folds.
    fn insert_stored(&mut self, text: &str) {
        for (at, part) in text.split(FOLD_MARK).enumerate() {
            self.insert(line_ends(part), at % 2 == 1 || part.len() > MAX_TYPED_BYTES);
        }
    }

    /// Adds earlier messages, each with its time, and after them, as newer, the texts cleared in earlier runs to the
    /// beginning of the history.
    pub fn seed(&mut self, earlier: impl Iterator<Item = (i64, Arc<str>)>) {
        let by_time = |mut texts: Vec<(i64, Arc<str>)>| {
            texts.sort_by_key(|(at, _)| *at);
            texts.into_iter().map(|(_, text)| text)
        };
        let sent = earlier.map(|(at, text)| (at, presumed_paste(&text))).collect();
        let cleared = std::mem::take(&mut self.cleared_before);
        self.history.seed(by_time(sent).chain(by_time(cleared)));
    }

    /// Shows an older or a newer message of the history, or the draft after the newest message. Returns false if there
    /// is none.
    pub fn recall(&mut self, older: bool) -> bool {
        let begins = !self.history.is_shown();
        let Some(found) = self.history.step(older) else { return false };
        let draft = if begins { Some(self.save()).filter(|saved| !saved.is_empty()) } else { self.draft_below.take() };
        let history = std::mem::take(&mut self.history);
        self.clear();
        match found {
            Some(text) => {
                self.insert_stored(&text);
                self.draft_below = draft;
            }
            None => self.put_back(draft.unwrap_or_default()),
        }
        self.closed = true;
        self.history = history;
        true
    }

    /// Adds the draft that a recalled message replaced to the history, because that message is now the draft.
    pub(super) fn keep_replaced_draft(&mut self) {
        if let Some(draft) = self.draft_below.take() {
            let stored = draft.stored();
            self.history.remember(&stored);
            self.cleared.push(stored);
        }
    }
}
