//! The source of the overlay's rows: the next request, or the stored request of a call, which is only read.
//! Not for: requesting it (`update_sent`), or drawing what is known of the call (`view_sent`).

use super::model::{Content, RequestScreen};
use super::model_counts::RowCounts;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::RunId;
use crate::domain::call::item_use::ItemUse;
use crate::domain::call::sent_request::SentRequest;
use crate::domain::planning::plan::Row;
use std::collections::HashMap;

/// What the rows of the overlay belong to.
#[derive(Clone, Debug, Default)]
pub enum RequestSource {
    /// The next request: its rows can be marked.
    #[default]
    Next,
    /// The request of a call that was made: its rows can only be read.
    Sent(Box<SentCall>),
}

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

impl SentCall {
    /// The id of the call that is shown.
    pub fn run(&self) -> Option<RunId> {
        self.found.as_ref().map(|found| found.card.id)
    }
}

impl RequestScreen {
    /// The overlay of a call, before the engine has answered. `ticket` is that of its request.
    #[must_use]
    pub fn of_call(ticket: u64) -> Self {
        let sent = SentCall { ticket, ..SentCall::default() };
        Self { source: RequestSource::Sent(Box::new(sent)), ..Self::default() }
    }

    /// The call whose request is shown; None for the next request.
    pub fn sent(&self) -> Option<&SentCall> {
        match &self.source {
            RequestSource::Next => None,
            RequestSource::Sent(sent) => Some(sent),
        }
    }

    /// The call whose request is shown; None for the next request.
    pub fn sent_mut(&mut self) -> Option<&mut SentCall> {
        match &mut self.source {
            RequestSource::Next => None,
            RequestSource::Sent(sent) => Some(sent),
        }
    }

    /// Shows the request of a call. The cursor stays on its item if the call has it. If the same rows of the same call are
    /// shown already, the texts that were loaded stay too.
    pub fn show_sent(&mut self, found: SentRequest) {
        let Some(sent) = self.sent_mut() else { return };
        let same = sent.run() == Some(found.card.id) && sent.found.as_ref().is_some_and(|old| old.plan == found.plan);
        sent.failure = found.plan.as_ref().err().map(ToString::to_string);
        let uses = found.uses.iter().flat_map(|uses| &uses.items);
        sent.uses = uses.map(|item| (item.item, item.clone())).collect();
        let plan = found.plan.as_ref().ok().cloned();
        sent.found = Some(Box::new(found));
        match plan {
            Some(_) if same => {}
            Some(plan) => self.show(Content::Plan(plan)),
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
