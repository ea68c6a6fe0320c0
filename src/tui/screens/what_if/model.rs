//! State of the what-if screen: the next call under other settings, as a list to choose from.
//! Not for: planning the variants (the engine).

use crate::domain::base::{BranchId, Failure};
use crate::domain::conversation::Overrides;
use crate::domain::planning::{Draft, PlanFigures, WhatIf};
use std::sync::Arc;

/// Previews of the next call under other settings.
#[derive(Clone, Debug)]
pub struct WhatIfScreen {
    pub branch: BranchId,
    /// The draft that is planned.
    pub draft: Draft,
    /// The variants; None until they are planned.
    pub found: Option<Arc<WhatIf>>,
    /// Models that the server of the branch's profile listed after the variants were requested.
    pub listed: Vec<String>,
    /// Index of the line under the cursor; the first line is the current settings.
    pub cursor: usize,
    /// Rows of the details scrolled off the top.
    pub scroll: usize,
}

impl WhatIfScreen {
    /// Creates an empty screen for a branch and a draft.
    pub fn new(branch: BranchId, draft: Draft) -> Self {
        Self { branch, draft, found: None, listed: Vec::new(), cursor: 0, scroll: 0 }
    }

    /// Number of lines, including the current settings.
    pub fn len(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.alternatives.len() + 1)
    }

    /// Whether nothing is planned yet.
    pub fn is_empty(&self) -> bool {
        self.found.is_none()
    }

    /// Title and figures of a line.
    pub fn line(&self, at: usize) -> Option<(&str, &Result<PlanFigures, Failure>)> {
        let found = self.found.as_ref()?;
        match at.checked_sub(1) {
            None => Some(("current", &found.present)),
            Some(at) => found.alternatives.get(at).map(|way| (way.title.as_str(), &way.result)),
        }
    }

    /// Stores the variants and keeps the cursor on the same settings.
    pub fn fill(&mut self, found: Arc<WhatIf>) {
        let at = |chosen: &Overrides| found.alternatives.iter().position(|way| way.overrides == *chosen);
        let kept = self.selected_overrides().map(|chosen| at(chosen).map(|at| at + 1));
        self.found = Some(found);
        self.cursor = kept.map_or(self.cursor, Option::unwrap_or_default).min(self.len().saturating_sub(1));
        self.scroll = 0;
    }

    /// Removes and returns the listed models that have no line yet, once the variants are planned.
    pub fn take_models_without_line(&mut self) -> Vec<String> {
        let Some(found) = &self.found else { return Vec::new() };
        let mut names = std::mem::take(&mut self.listed);
        names.retain(|name| !found.alternatives.iter().any(|way| way.overrides.model.as_ref() == Some(name)));
        names
    }

    /// The settings that the selected line changes; None for the current settings.
    pub fn selected_overrides(&self) -> Option<&Overrides> {
        Some(&self.found.as_ref()?.alternatives.get(self.cursor.checked_sub(1)?)?.overrides)
    }
}
