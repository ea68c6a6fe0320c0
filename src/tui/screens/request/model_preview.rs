//! A preview in the overlay: the action that it is for, and its result.
//! Not for: requesting it (`update`), or computing it (the engine).

use super::model::{Content, RequestScreen};
use crate::domain::base::hash::Hash;
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::plan::Verdict;
use crate::domain::planning::what_if::ActPreview;
use crate::tui::model::keys::Action;

/// An action whose effect is computed before it is carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreviewedAct {
    /// Its items.
    pub atoms: Vec<Atom>,
    /// The mark that it would set.
    pub kind: MarkKind,
    /// It removes the mark.
    pub toggle: bool,
    /// The action.
    pub action: Action,
}

/// The origin of a preview: the plan, the current line, and the selection.
pub type PreviewKey = (Hash, Option<Atom>, u64);

/// The preview of the current action.
#[derive(Clone, Debug, Default)]
pub struct ActOutcome {
    /// Its origin.
    pub stamp: Option<PreviewKey>,
    /// When it is to be requested.
    pub due: Option<u64>,
    /// Its ticket while it is computed.
    pub ticket: Option<u64>,
    /// The action.
    pub wish: Option<PreviewedAct>,
    /// Its result, or a sentence if it is not available.
    pub found: Option<Result<Box<ActPreview>, String>>,
}

impl RequestScreen {
    /// The origin of a preview made now; `None` if there is no plan.
    #[must_use]
    pub fn stamp(&self) -> Option<PreviewKey> {
        match self.content.as_ref()? {
            Content::Plan(plan) => Some((plan.id, self.selected_atom(), self.takes)),
            Content::Blocked(_) => None,
        }
    }

    /// The action to preview: including the left-out items among the selected ones, else an action on the current line.
    #[must_use]
    pub fn wish(&self) -> Option<PreviewedAct> {
        let rows = self.content.as_ref()?.rows();
        let include = |atoms: Vec<Atom>| PreviewedAct {
            atoms,
            kind: MarkKind::IncludeOnce,
            toggle: false,
            action: Action::IncludeOnce,
        };
        if !self.taken.is_empty() {
            let goes = |atom: &Atom| rows.iter().any(|row| row.atom == *atom && row.included());
            let out: Vec<Atom> = self.taken().into_iter().filter(|atom| !goes(atom)).collect();
            return (!out.is_empty()).then(|| include(out));
        }
        if let Some(turn) = self.selected_past() {
            return Some(include(vec![turn.atom]));
        }
        let entry = *self.entries.get(self.cursor)?;
        let (row, item) = self.selected()?;
        if item.is_some() || row.included() || self.fixed(entry).is_some() {
            return None;
        }
        let remedy = match &row.verdict {
            Verdict::Out { remedy, .. } => remedy.as_ref()?.action.as_str(),
            _ => "pin",
        };
        let undone = |kind, action| PreviewedAct { atoms: vec![row.atom], kind, toggle: true, action };
        Some(match remedy {
            "exclude" => undone(MarkKind::Exclude, Action::Exclude),
            "exclude-once" => undone(MarkKind::ExcludeOnce, Action::ExcludeOnce),
            "pin" => PreviewedAct { kind: MarkKind::Sticky, action: Action::Pin, ..include(vec![row.atom]) },
            _ => include(vec![row.atom]),
        })
    }
}
