//! A preview in the overlay: the action that it is for, and its result.
//! Not for: requesting it (`update`), or computing it (the engine).

use super::model::{Content, RequestScreen};
use crate::domain::base::hash::Hash;
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::plan::Verdict;
use crate::domain::planning::what_if::ActPreview;
use crate::tui::model::keys::Action;

/// An act whose outcome is worked out before it is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreviewedAct {
    /// On what.
    pub atoms: Vec<Atom>,
    /// The mark that it would put there.
    pub kind: MarkKind,
    /// It takes the mark off again.
    pub toggle: bool,
    /// What would do it.
    pub action: Action,
}

/// For what a look ahead was made: the plan, the selected line, the taken ones.
pub type PreviewKey = (Hash, Option<Atom>, u64);

/// A look ahead: what the selected act would do to the call.
#[derive(Clone, Debug, Default)]
pub struct ActOutcome {
    /// For what.
    pub stamp: Option<PreviewKey>,
    /// When it is to be asked for.
    pub due: Option<u64>,
    /// Its ticket while it is worked out.
    pub ticket: Option<u64>,
    /// The act.
    pub wish: Option<PreviewedAct>,
    /// What came of it; a sentence where nothing could be told.
    pub found: Option<Result<Box<ActPreview>, String>>,
}

impl RequestScreen {
    /// For what a look ahead would be made now; none where there is no plan.
    #[must_use]
    pub fn stamp(&self) -> Option<PreviewKey> {
        match self.content.as_ref()? {
            Content::Plan(plan) => Some((plan.id, self.selected_atom(), self.takes)),
            Content::Blocked(_) => None,
        }
    }

    /// The act whose outcome a person may want to know: what brings in what was taken and is out, else the selected line.
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
