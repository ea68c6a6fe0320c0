//! The next request under other settings, side by side, as a list to choose from.
//! Not for: computing it (the engine).

use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::Overrides;
use crate::domain::planning::draft::Draft;
use crate::domain::planning::what_if::{PlanFigures, WhatIf};
use crate::tui::model::list::shift;
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug)]
pub struct WhatIfScreen {
    /// On which branch.
    pub branch: BranchId,
    /// For which draft.
    pub draft: Draft,
    /// What was worked out, once it is.
    pub found: Option<Arc<WhatIf>>,
    /// The selected line: the call as it stands first.
    pub cursor: usize,
    /// Rows of its detail that are scrolled past.
    pub scroll: usize,
}

impl WhatIfScreen {
    /// An empty one, for a branch and a draft.
    #[must_use]
    pub fn new(branch: BranchId, draft: Draft) -> Self {
        Self { branch, draft, found: None, cursor: 0, scroll: 0 }
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.ways.len() + 1)
    }

    /// Whether nothing was worked out yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_none()
    }

    /// The title and the figures of a line.
    #[must_use]
    pub fn line(&self, at: usize) -> Option<(&str, &Result<PlanFigures, String>)> {
        let found = self.found.as_ref()?;
        match at.checked_sub(1) {
            None => Some(("current", &found.present)),
            Some(at) => found.ways.get(at).map(|way| (way.title.as_str(), &way.result)),
        }
    }

    /// What the selected line changes; nothing for the call as it stands.
    #[must_use]
    pub fn chosen(&self) -> Option<&Overrides> {
        Some(&self.found.as_ref()?.ways.get(self.cursor.checked_sub(1)?)?.arm)
    }

    /// Moves the selection.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.len().saturating_sub(1));
        self.scroll = 0;
    }
}
