//! The next request under other settings, side by side, as a list to choose from.
//! Not for: computing it (the engine).

use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::Overrides;
use crate::domain::planning::draft::Draft;
use crate::domain::planning::what_if::{PlanFigures, WhatIf};
use crate::tui::model::list::shift;
use std::sync::Arc;

/// The state of the screen.
#[derive(Clone, Debug)]
pub struct WhatIfScreen {
    /// The branch.
    pub branch: BranchId,
    /// The draft.
    pub draft: Draft,
    /// The result, once it has arrived.
    pub found: Option<Arc<WhatIf>>,
    /// The selected line; the current settings come first.
    pub cursor: usize,
    /// Scrolled rows of its details.
    pub scroll: usize,
}

impl WhatIfScreen {
    /// An empty screen, for a branch and a draft.
    #[must_use]
    pub fn new(branch: BranchId, draft: Draft) -> Self {
        Self { branch, draft, found: None, cursor: 0, scroll: 0 }
    }

    /// The number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.ways.len() + 1)
    }

    /// Whether the result has not arrived yet.
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

    /// The overrides of the selected line; `None` for the current settings.
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
