//! The editors' screen: state blocks, summaries, memories, and policies, each with its versions and their differences.
//! Not for: typing (`text_editor`), or the keys (`update`).

use crate::domain::base::ids::BranchId;
use crate::domain::planning::what_if::WhatIf;
use crate::domain::summary::versions::{Editable, EditableKind, Version};
use crate::tui::model::list::shift;
use std::sync::Arc;

/// The version with which the selected version is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VersionComparison {
    /// The version on which it is based.
    #[default]
    Before,
    /// The first version; for a policy, the preset that was copied.
    First,
    /// None: only its text is shown.
    Nothing,
}

/// A preview of the next request under a policy.
#[derive(Clone, Debug)]
pub struct PolicyTrial {
    /// The policy.
    pub policy: String,
    /// The ticket of the request.
    pub ticket: u64,
    /// The result, once it has arrived.
    pub result: Option<Result<Arc<WhatIf>, String>>,
}

/// The state of the editors' screen.
#[derive(Clone, Debug)]
pub struct EditorScreen {
    /// The branch.
    pub branch: BranchId,
    /// The displayed kind.
    pub kind: EditableKind,
    /// Texts of that kind.
    pub things: Vec<Editable>,
    /// The ticket of the pending request, while they are loaded.
    pub loading: Option<u64>,
    /// The selected text.
    pub cursor: usize,
    /// The selected version, by its index.
    pub version: usize,
    /// The version with which it is compared.
    pub beside: VersionComparison,
    /// Scrolled rows of the text.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
    /// A preview of the next request under a policy.
    pub tried: Option<PolicyTrial>,
    /// The text to select once the list is loaded.
    pub wanted: Option<String>,
    /// The last action was choosing a policy for the branch, so undo reverts that.
    pub took: bool,
}

impl EditorScreen {
    /// An empty screen whose texts were requested with this ticket.
    #[must_use]
    pub fn new(branch: BranchId, kind: EditableKind, ticket: u64) -> Self {
        Self {
            branch,
            kind,
            things: Vec::new(),
            loading: Some(ticket),
            cursor: 0,
            version: 0,
            beside: VersionComparison::default(),
            scroll: 0,
            seen: (0, 0),
            tried: None,
            wanted: None,
            took: false,
        }
    }

    /// Switches to another kind, whose texts were requested with this ticket.
    pub fn turn(&mut self, kind: EditableKind, ticket: u64) {
        *self = Self { wanted: None, ..Self::new(self.branch, kind, ticket) };
    }

    /// The kind that follows by this number of steps.
    #[must_use]
    pub fn next(&self, step: i64) -> EditableKind {
        let all = EditableKind::ALL;
        let here = all.iter().position(|kind| *kind == self.kind).unwrap_or(0);
        all[(here + if step > 0 { 1 } else { all.len() - 1 }) % all.len()]
    }

    /// Replaces the texts; the selection stays on its text and moves to the current version.
    pub fn fill(&mut self, things: Vec<Editable>) {
        let first = self.things.is_empty() && self.wanted.is_none();
        let selected = self.wanted.take().or_else(|| self.selected().map(|thing| thing.id.clone()));
        let taken = things.iter().position(|thing| first && self.kind == EditableKind::Policies && thing.goes);
        let found = things.iter().position(|thing| Some(&thing.id) == selected.as_ref());
        self.cursor = found.or(taken).unwrap_or(self.cursor).min(things.len().saturating_sub(1));
        (self.things, self.loading) = (things, None);
        self.land();
    }

    fn land(&mut self) {
        self.version = self.selected().map_or(0, Editable::current);
        self.scroll = 0;
    }

    /// The selected text.
    #[must_use]
    pub fn selected(&self) -> Option<&Editable> {
        self.things.get(self.cursor)
    }

    /// The selected version.
    #[must_use]
    pub fn shown(&self) -> Option<&Version> {
        self.selected()?.versions.get(self.version)
    }

    /// The version with which it is compared, if any.
    #[must_use]
    pub fn other(&self) -> Option<&Version> {
        let thing = self.selected()?;
        let place = match self.beside {
            VersionComparison::Nothing => None,
            VersionComparison::Before => self.shown()?.from,
            VersionComparison::First => thing.versions.len().checked_sub(1).filter(|last| *last > self.version),
        };
        thing.versions.get(place?)
    }

    /// Moves the selection in the list of texts.
    pub fn step(&mut self, by: i64) {
        let to = shift(self.cursor, by, self.things.len().saturating_sub(1));
        if to != self.cursor {
            self.cursor = to;
            self.land();
        }
    }

    /// Goes to an older version, or with −1 to a newer one.
    pub fn age(&mut self, by: i64) {
        let last = self.selected().map_or(0, |thing| thing.versions.len().saturating_sub(1));
        self.version = shift(self.version, by, last);
        self.scroll = 0;
    }

    /// Scrolls the text.
    pub fn roll(&mut self, by: i64) {
        self.scroll = shift(self.scroll, by, self.seen.0.saturating_sub(self.seen.1));
    }

    /// Switches the comparison.
    pub fn turn_view(&mut self) {
        self.beside = match self.beside {
            VersionComparison::Before => VersionComparison::First,
            VersionComparison::First => VersionComparison::Nothing,
            VersionComparison::Nothing => VersionComparison::Before,
        };
        self.scroll = 0;
    }
}

/// The purpose of a request of the editor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorPending {
    /// To list the items with their versions.
    List,
    /// To change an item; the list is read again afterwards.
    Change,
    /// To plan the next request under a policy.
    TryPolicy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::summary::versions::Editability;

    fn thing(id: &str, texts: &[&str]) -> Editable {
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
            editing: Editability::Here,
            goes: id == "b",
            versions: texts.iter().enumerate().map(version).collect(),
        }
    }

    #[test]
    fn versions_stand_beside_what_they_came_from_or_the_first() {
        let mut shop = EditorScreen::new(BranchId(uuid::Uuid::nil()), EditableKind::Policies, 1);
        assert!(shop.selected().is_none() && shop.other().is_none());
        shop.fill(vec![thing("a", &["3", "2", "1"]), thing("b", &[])]);
        assert_eq!(shop.cursor, 1, "the policy in use first");
        assert!(shop.shown().is_none());
        shop.step(-5);
        let pair =
            |shop: &EditorScreen| (shop.shown().map(|v| v.text.to_string()), shop.other().map(|v| v.text.to_string()));
        let of = |a: &str, b: Option<&str>| (Some(a.to_owned()), b.map(str::to_owned));
        assert_eq!(pair(&shop), of("2", Some("1")), "the one that counts is shown");
        shop.age(-1);
        assert_eq!(pair(&shop), of("3", Some("2")));
        shop.turn_view();
        assert_eq!(pair(&shop), of("3", Some("1")));
        shop.age(9);
        assert_eq!(pair(&shop), of("1", None), "nothing stands before the first");
        shop.turn_view();
        assert_eq!(pair(&shop), of("1", None));
        shop.wanted = Some("b".into());
        shop.fill(vec![thing("a", &["3"]), thing("b", &["x"])]);
        assert_eq!(shop.selected().map(|thing| thing.id.as_str()), Some("b"));
        assert_eq!((shop.next(1), shop.next(-1)), (EditableKind::Rules, EditableKind::Memories));
    }
}
