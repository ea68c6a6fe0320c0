//! State of the editor: the items of one kind, their versions, and the differences between versions.
//! Not for: the text area (`text_editor`) or the keys (`update`).

use crate::domain::base::BranchId;
use crate::domain::planning::WhatIf;
use crate::domain::summary::{Editable, EditableKind, Version};
use crate::tui::model::list::{Scroll, shift};
use std::sync::Arc;

/// The version that is compared with the shown version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VersionComparison {
    /// The version that it was made from.
    #[default]
    Before,
    /// The oldest version: for a policy, the preset that it was copied from.
    First,
    /// No version; the text is shown alone.
    Nothing,
}

/// A preview of the next request under a policy.
#[derive(Clone, Debug)]
pub struct PolicyPreview {
    pub policy: String,
    /// Ticket of the request.
    pub ticket: u64,
    /// The outcome, or why there is none; None until the engine answers.
    pub result: Option<Result<Arc<WhatIf>, String>>,
}

/// The editor of versioned items.
#[derive(Clone, Debug, Default)]
pub struct EditorScreen {
    /// The branch whose items are shown.
    pub branch: BranchId,
    /// The kind of the items.
    pub kind: EditableKind,
    /// The items of that kind.
    pub items: Vec<Editable>,
    /// Ticket of the request that loads them, while it is pending.
    pub loading: Option<u64>,
    /// Index of the item under the cursor.
    pub cursor: usize,
    /// Index of the shown version, 0 being the newest.
    pub version: usize,
    /// The version that is compared with the shown version.
    pub comparison: VersionComparison,
    /// The scroll position of the text.
    pub scroll: Scroll,
    /// The preview of the next request under a policy.
    pub preview: Option<PolicyPreview>,
    /// Id of the item to move the cursor to once the list is loaded.
    pub wanted: Option<String>,
    /// Whether the last change applied a policy to the branch, so that undo reverts that change instead of a version.
    pub policy_applied: bool,
}

impl EditorScreen {
    /// Creates the screen while its items are being loaded under `ticket`.
    pub fn new(branch: BranchId, kind: EditableKind, ticket: u64) -> Self {
        Self { branch, kind, loading: Some(ticket), ..Self::default() }
    }

    /// The next kind, or the previous one if `step` is negative.
    pub fn next(&self, step: i64) -> EditableKind {
        let all = EditableKind::ALL;
        let here = all.iter().position(|kind| *kind == self.kind).unwrap_or(0);
        all[(here + if step > 0 { 1 } else { all.len() - 1 }) % all.len()]
    }

    /// Stores the items. The cursor stays on its item, and the item's current version is shown.
    pub fn fill(&mut self, items: Vec<Editable>) {
        let first = self.items.is_empty() && self.wanted.is_none();
        let selected = self.wanted.take().or_else(|| self.selected().map(|item| item.id.clone()));
        let taken = items.iter().position(|item| first && self.kind == EditableKind::Policies && item.in_use);
        let found = items.iter().position(|item| Some(&item.id) == selected.as_ref());
        self.cursor = found.or(taken).unwrap_or(self.cursor).min(items.len().saturating_sub(1));
        (self.items, self.loading) = (items, None);
        self.show_current_version();
    }

    fn show_current_version(&mut self) {
        self.version = self.selected().map_or(0, Editable::current);
        self.scroll.top = 0;
    }

    /// The item under the cursor.
    pub fn selected(&self) -> Option<&Editable> {
        self.items.get(self.cursor)
    }

    /// The shown version.
    pub fn shown(&self) -> Option<&Version> {
        self.selected()?.versions.get(self.version)
    }

    /// The version that is compared with the shown version, if there is one.
    pub fn other(&self) -> Option<&Version> {
        let item = self.selected()?;
        let place = match self.comparison {
            VersionComparison::Nothing => None,
            VersionComparison::Before => self.shown()?.from,
            VersionComparison::First => item.versions.len().checked_sub(1).filter(|last| *last > self.version),
        };
        item.versions.get(place?)
    }

    /// Moves the cursor by `by` items.
    pub fn step(&mut self, by: i64) {
        let to = shift(self.cursor, by, self.items.len().saturating_sub(1));
        if to != self.cursor {
            self.cursor = to;
            self.show_current_version();
        }
    }

    /// Shows an older version (1), or a newer one (-1).
    pub fn step_version(&mut self, by: i64) {
        let last = self.selected().map_or(0, |item| item.versions.len().saturating_sub(1));
        self.version = shift(self.version, by, last);
        self.scroll.top = 0;
    }

    /// Switches to the next `VersionComparison`.
    pub fn next_comparison(&mut self) {
        self.comparison = match self.comparison {
            VersionComparison::Before => VersionComparison::First,
            VersionComparison::First => VersionComparison::Nothing,
            VersionComparison::Nothing => VersionComparison::Before,
        };
        self.scroll.top = 0;
    }
}

/// The purpose of a request of the editor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorPending {
    /// To list the items with their versions.
    List,
    /// To change an item; the list is loaded again afterward.
    Change,
    /// To plan the next request under a policy.
    TryPolicy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::summary::versions::Editability;

    fn item(id: &str, texts: &[&str]) -> Editable {
        let last = texts.len().saturating_sub(1);
        let version = |(at, text): (usize, &&str)| Version {
            what: format!("version {at}"),
            at: None,
            text: Arc::from(*text),
            current: at == 1.min(last),
            from: (at < last).then_some(at + 1),
        };
        Editable {
            kind: EditableKind::Policies,
            id: id.into(),
            title: id.into(),
            note: String::new(),
            source: None,
            editing: Editability::Here,
            in_use: id == "b",
            versions: texts.iter().enumerate().map(version).collect(),
        }
    }

    #[test]
    fn versions_are_compared_with_their_origin_or_the_first() {
        let mut screen = EditorScreen::new(BranchId(uuid::Uuid::nil()), EditableKind::Policies, 1);
        assert!(screen.selected().is_none() && screen.other().is_none());
        screen.fill(vec![item("a", &["3", "2", "1"]), item("b", &[])]);
        assert_eq!(screen.cursor, 1, "the policy in use is selected first");
        assert!(screen.shown().is_none());
        screen.step(-5);
        let pair = |screen: &EditorScreen| {
            (screen.shown().map(|v| v.text.to_string()), screen.other().map(|v| v.text.to_string()))
        };
        let of = |a: &str, b: Option<&str>| (Some(a.to_owned()), b.map(str::to_owned));
        assert_eq!(pair(&screen), of("2", Some("1")), "the current version is shown");
        screen.step_version(-1);
        assert_eq!(pair(&screen), of("3", Some("2")));
        screen.next_comparison();
        assert_eq!(pair(&screen), of("3", Some("1")));
        screen.step_version(9);
        assert_eq!(pair(&screen), of("1", None), "there is no version before the first");
        screen.next_comparison();
        assert_eq!(pair(&screen), of("1", None));
        screen.wanted = Some("b".into());
        screen.fill(vec![item("a", &["3"]), item("b", &["x"])]);
        assert_eq!(screen.selected().map(|item| item.id.as_str()), Some("b"));
        assert_eq!((screen.next(1), screen.next(-1)), (EditableKind::Rules, EditableKind::Memories));
    }
}
