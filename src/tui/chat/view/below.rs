//! Builds the rows below the last message: the failure of the last turn, and the queued messages.
//! Not for: the open turn (`message`).

use super::block::Block;
use super::message::BlockBuilder;
use crate::domain::base::BranchId;
use crate::domain::base::plain_text::capitalized;
use crate::domain::planning::blocked::RETURNED;
use crate::tui::chat::model::queue::QueueState;
use crate::tui::view::prelude::*;

impl BlockBuilder<'_> {
    /// The failure of the last turn, with what became of the message, and what to do.
    pub(super) fn failure(&self, branch: BranchId, block: &mut Block) {
        let Some(failure) = self.model.conversation.failed.get(&branch) else { return };
        let width = usize::from(self.width);
        let what = format!("{} {}", self.theme.glyphs.fail, capitalized(&failure.what));
        let mut rows = TextRows::plain(&what, width, Ink::Danger);
        // The message may have been cleared, or sent, since.
        let composer = &self.model.composer;
        let is_gone = failure.kept == RETURNED && (composer.is_empty() || composer.commanding());
        let key = self.model.keys.key_of(Action::HistoryUp).unwrap_or_default();
        let kept = if is_gone { format!("{key} brings your message back.") } else { failure.kept.clone() };
        for (text, ink) in [(&kept, Ink::Text), (&failure.todo, Ink::Accent)] {
            if !text.is_empty() {
                rows.extend(TextRows::plain(&with_bound_keys(&self.model.keys, IN_CONVERSATION, text), width, ink));
            }
        }
        block.own(rows);
    }

    /// The queued messages.
    pub(super) fn queued(&self, branch: BranchId, block: &mut Block) {
        let width = usize::from(self.width);
        let all = self.model.queue.of(branch);
        for (at, queued) in all.iter().enumerate() {
            let (ink, what) = match queued.state {
                QueueState::Waiting => (Ink::Accent, "queued"),
                QueueState::Sending => (Ink::Accent, "sending"),
                QueueState::Held => (Ink::Warn, "queued"),
            };
            let mut line = Line::of(ink, &format!("{} {what} {}: ", self.theme.glyphs.folded, at + 1));
            let room = width.saturating_sub(line.width());
            line.push(Ink::Text, &text::fit(queued.draft.text.trim(), room, self.theme.glyphs.ellipsis));
            block.own(vec![line]);
        }
        if !all.is_empty() {
            let key = |action| self.model.keys.key_of(action).unwrap_or_default();
            let last = format!("{} edits the last", key(Action::TakeQueued));
            let keys = match self.model.queue.held(branch) {
                Some(why) => {
                    block.own(TextRows::plain(&format!("Not sent: {why}."), width, Ink::Warn));
                    let (send, enter) = (key(Action::SendQueued), key(Action::Send));
                    let them = if all.len() == 1 { "it" } else { "them in this order" };
                    format!("{send}, or {enter} with an empty composer, sends {them}; {last}")
                }
                None => last,
            };
            block.own(TextRows::plain(&keys, width, Ink::Dim));
        }
    }
}
