//! The line for the request for a state block, which is listed if the next request does not make it.
//! Not for: a request that is made or has no room, which has a row in the plan (`model`).

use super::model::{Content, Entry, RequestScreen};
use super::model_filter::RowFilter;
use crate::domain::planning::{Planned, StateRequestOutcome};

impl RequestScreen {
    /// Shows the result of planning a draft. The cursor stays on its line.
    pub fn show_planned(&mut self, planned: &Planned) {
        let was_selected = self.unasked_state().is_some();
        let (content, outcome) = match planned {
            Planned::Plan { plan, state_request, .. } => (Content::Plan(plan.clone()), *state_request),
            Planned::Blocked(blocked) => (Content::blocked(blocked), None),
        };
        self.state_request = outcome.filter(|outcome| !outcome.has_row());
        self.show(content);
        let line = self.entries.iter().position(|entry| *entry == Entry::StateRequest);
        self.cursor = line.filter(|_| was_selected).unwrap_or(self.cursor);
    }

    /// Whether the list by section has a line for the request for a state block.
    pub(super) fn lists_state_request(&self) -> bool {
        let filter = RowFilter::parse(&self.filter);
        self.state_request.is_some_and(|outcome| filter.matches_state_request(outcome))
    }

    /// Why the next request does not ask for a state block, if the cursor is on that line.
    pub fn unasked_state(&self) -> Option<StateRequestOutcome> {
        self.state_request.filter(|_| self.entries.get(self.cursor) == Some(&Entry::StateRequest))
    }
}
