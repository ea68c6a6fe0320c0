//! The preview of an action in the request overlay: the action and its outcome.
//! Not for: requesting it (`update`) or computing it (the engine).

use super::model::{Content, RequestScreen};
use crate::domain::base::Hash;
use crate::domain::conversation::{Atom, MarkKind};
use crate::domain::planning::{ActPreview, Verdict};
use crate::tui::model::keys::Action;

/// An action whose outcome is computed before a person triggers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreviewedAction {
    /// The items it applies to.
    pub atoms: Vec<Atom>,
    /// The kind of mark it sets.
    pub kind: MarkKind,
    /// Whether it removes the mark from items that have it.
    pub toggle: bool,
    /// The action that a key triggers.
    pub action: Action,
}

/// The inputs of a preview: the plan's id, the atom under the cursor, and the version of the selection.
pub type PreviewKey = (Hash, Option<Atom>, u64);

/// The preview of an action: its request while the engine computes it, then its outcome.
#[derive(Clone, Debug, Default)]
pub struct ActionPreview {
    pub key: Option<PreviewKey>,
    /// When to request it, in milliseconds of the model's clock.
    pub due: Option<u64>,
    /// Ticket of the request while it is computed.
    pub ticket: Option<u64>,
    /// The action; None if there is none to preview.
    pub action: Option<PreviewedAction>,
    /// The outcome, or why it could not be computed; None until the engine answers.
    pub outcome: Option<Result<Box<ActPreview>, String>>,
}

impl RequestScreen {
    /// The key of a preview made now; None without a solved plan.
    pub fn preview_key(&self) -> Option<PreviewKey> {
        match self.content.as_ref().filter(|_| self.sent().is_none())? {
            Content::Plan(plan) => Some((plan.id, self.selected_atom(), self.selection_version)),
            Content::Blocked(_) => None,
        }
    }

    /// The action to preview: including the selected items that are left out; without a selection, the remedy of the
    /// row under the cursor, or of an included row the action that leaves it out or removes its mark.
    pub fn action_to_preview(&self) -> Option<PreviewedAction> {
        let rows = self.content.as_ref()?.rows();
        let include = |atoms: Vec<Atom>| PreviewedAction {
            atoms,
            kind: MarkKind::IncludeOnce,
            toggle: false,
            action: Action::IncludeOnce,
        };
        if !self.selection.is_empty() {
            let included = |atom: &Atom| rows.iter().any(|row| row.atom == *atom && row.included());
            let out: Vec<Atom> = self.selected_atoms().into_iter().filter(|atom| !included(atom)).collect();
            return (!out.is_empty()).then(|| include(out));
        }
        if let Some(turn) = self.selected_range_turn() {
            return Some(include(vec![turn.atom]));
        }
        let entry = *self.entries.get(self.cursor)?;
        let (row, item) = self.selected()?;
        if item.is_some() || self.fixed(entry).is_some() {
            return None;
        }
        if row.included() {
            let (kind, action) = match row.pin {
                Some(kind @ MarkKind::Sticky) => (kind, Action::Pin),
                Some(kind @ MarkKind::Leased { .. }) => (kind, Action::Lease),
                Some(kind @ MarkKind::IncludeOnce) => (kind, Action::IncludeOnce),
                Some(MarkKind::Ephemeral | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => {
                    (MarkKind::Exclude, Action::Exclude)
                }
            };
            return Some(PreviewedAction { atoms: vec![row.atom], kind, toggle: true, action });
        }
        let (kind, toggle) = match &row.verdict {
            Verdict::Out { remedy, .. } => remedy.as_ref()?.mark()?,
            Verdict::In { .. } | Verdict::Suggested => (MarkKind::Sticky, false),
        };
        let action = match kind {
            MarkKind::Exclude => Action::Exclude,
            MarkKind::ExcludeOnce => Action::ExcludeOnce,
            MarkKind::Sticky => Action::Pin,
            MarkKind::IncludeOnce | MarkKind::Ephemeral | MarkKind::Leased { .. } => Action::IncludeOnce,
        };
        Some(PreviewedAction { atoms: vec![row.atom], kind, toggle, action })
    }
}
