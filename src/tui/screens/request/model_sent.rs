//! The source of the overlay's rows: the next request, or the stored request of a past call, which is read-only.
//! Not for: requesting it (`update_sent`), or drawing the facts about the call (`view_sent`).

use super::model::{Content, RequestScreen, is_question};
use crate::domain::base::{Hash, RunId};
use crate::domain::call::{ItemUse, SentRequest};
use crate::domain::planning::Row;
use crate::domain::planning::row_counts::RowCounts;
use std::collections::HashMap;

/// A call whose request the overlay shows.
#[derive(Clone, Debug, Default)]
pub struct SentCall {
    /// Ticket of the newest request for a call; answers to older ones are dropped.
    pub ticket: u64,
    /// The call with its plan; None until the engine answered.
    pub found: Option<Box<SentRequest>>,
    /// How the answer used the items, by the key of the row's atom.
    pub uses: HashMap<Hash, ItemUse>,
    /// Why there are no rows.
    pub failure: Option<String>,
}

impl RequestScreen {
    /// The overlay of a call, before the engine has answered. `ticket` is the ticket of its request.
    pub fn of_call(ticket: u64) -> Self {
        let sent = SentCall { ticket, ..SentCall::default() };
        Self { sent: Some(Box::new(sent)), ..Self::default() }
    }

    /// The call whose request is shown; None for the next request.
    pub fn sent(&self) -> Option<&SentCall> {
        self.sent.as_deref()
    }

    /// The call whose request is shown, once the engine has answered.
    pub fn call(&self) -> Option<&SentRequest> {
        self.sent()?.found.as_deref()
    }

    /// The id of that call.
    pub fn run(&self) -> Option<RunId> {
        self.call().map(|call| call.card.id)
    }

    /// The call whose request is shown; None for the next request.
    pub fn sent_mut(&mut self) -> Option<&mut SentCall> {
        self.sent.as_deref_mut()
    }

    /// Shows the request of a call. The cursor starts on the user's message, because that is why a person opens the
    /// request of a call; when another call is shown, it stays there, or else on its item if the call contains the
    /// item. If the same rows of the same call are already shown, the loaded texts stay too.
    pub fn show_sent(&mut self, found: SentRequest) {
        let Some(sent) = self.sent_mut() else { return };
        let is_same = |old: &SentRequest| old.card.id == found.card.id && old.plan == found.plan;
        let same = sent.found.as_deref().is_some_and(is_same);
        sent.failure = found.plan.as_ref().err().map(ToString::to_string);
        let uses = found.uses.iter().flat_map(|uses| &uses.items);
        sent.uses = uses.map(|item| (item.item, item.clone())).collect();
        let plan = found.plan.as_ref().ok().cloned();
        sent.found = Some(Box::new(found));
        match plan {
            Some(_) if same => {}
            Some(plan) => {
                let at_question = self.entries.is_empty() || self.selected().is_some_and(|(row, _)| is_question(row));
                self.show(Content::Plan(plan));
                if at_question {
                    self.select_question();
                }
            }
            None => {
                (self.content, self.counts) = (None, RowCounts::default());
                (self.entries, self.cursor) = (Vec::new(), 0);
                self.texts.clear();
            }
        }
    }

    /// How the answer used a row of a call's request; None if that is not known, and for the next request.
    pub fn use_of(&self, row: &Row) -> Option<&ItemUse> {
        self.sent()?.uses.get(&row.atom.key()).filter(|_| row.included())
    }
}
