//! The progress of the tour, and the state before it started.
//! Not for: the steps (`model_steps`), or recognizing a finished step (`update`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::conversation::branch::{Branch, Overrides};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::draft::Planned;
use crate::tui::chat::model::plan::DisplayedPlan;
use crate::tui::model::Model;
use crate::tui::model::keys::{Action, When};
use std::sync::Arc;

/// One of the nine steps.
pub(crate) struct Step {
    /// Its name.
    pub(crate) title: &'static str,
    /// Its parts, in order.
    pub(crate) parts: &'static [Part],
}

/// One instruction.
pub(crate) struct Part {
    /// The instruction; each `{}` stands for one of the keys.
    pub(crate) says: &'static str,
    /// The keys, with the place where each applies.
    pub(crate) keys: &'static [(Action, When)],
    /// Whether it was done.
    pub(crate) done: fn(&Model, &Tour) -> bool,
    /// The sentence shown once it was done.
    pub(crate) seen: &'static str,
}

/// The open branches, as far as a person's actions change them.
pub(crate) type Shape = Vec<(BranchId, Option<NodeId>, Vec<(Atom, MarkKind)>, Overrides)>;

/// The plan of an unsent message before any change.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FirstPlan {
    /// The branch.
    pub(crate) branch: BranchId,
    /// The message.
    pub(crate) text: Arc<str>,
    /// The digest of its request.
    pub(crate) digest: Hash,
    /// The state of the branches.
    pub(crate) shape: Shape,
}

/// A running tour.
#[derive(Debug, Default)]
pub struct Tour {
    /// The step and its part; past the last step at the end.
    pub(crate) at: (usize, usize),
    /// The result of the previous part.
    pub(crate) seen: &'static str,
    /// The state of the branches when this step started, and the current branch.
    pub(crate) before: Option<(BranchId, Shape)>,
    /// The initial branch.
    pub(crate) home: Option<BranchId>,
    /// The second step's plan.
    pub(crate) first: Option<FirstPlan>,
}

impl Tour {
    /// The part to do now; `None` at the end.
    pub(crate) fn part(&self) -> Option<(&'static Step, &'static Part)> {
        let step = super::model_steps::STEPS.get(self.at.0)?;
        Some((step, step.parts.get(self.at.1)?))
    }

    /// Whether every step was done.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.part().is_none()
    }

    /// Branches created since this step started.
    pub(crate) fn fresh<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = &'a Branch> {
        let old = self.before.as_ref().map(|(_, shape)| shape.as_slice()).unwrap_or_default();
        let branches = model.session.as_ref().map(|session| session.branches.as_slice()).unwrap_or_default();
        branches.iter().filter(|branch| !branch.archived && !old.iter().any(|(id, ..)| *id == branch.id))
    }

    /// Marks and settings of a branch when this step started.
    pub(crate) fn before(&self, branch: BranchId) -> Option<(&[(Atom, MarkKind)], &Overrides)> {
        let (_, shape) = self.before.as_ref()?;
        shape.iter().find(|(id, ..)| *id == branch).map(|(_, _, marks, overrides)| (marks.as_slice(), overrides))
    }
}

/// The current state of the open branches.
pub(crate) fn shape(model: &Model) -> Shape {
    let branches = model.session.as_ref().map(|session| session.branches.as_slice()).unwrap_or_default();
    let marks = |branch: &Branch| branch.marks.iter().map(|mark| (mark.target, mark.kind)).collect();
    let open = branches.iter().filter(|branch| !branch.archived);
    open.map(|branch| (branch.id, branch.head, marks(branch), branch.overrides.clone())).collect()
}

/// The displayed plan, if it is for the current branch and the current message.
pub(crate) fn planned(model: &Model) -> Option<(&DisplayedPlan, Hash)> {
    let shown =
        model.plan.shown.as_ref().filter(|shown| Some(shown.branch) == model.branch().map(|branch| branch.id))?;
    match &shown.solved {
        Planned::Plan { request_digest: digest, .. } if model.plan.current() => Some((shown, *digest)),
        _ => None,
    }
}

/// Rows of the tour: a title, the result of the last action, and two rows for the instruction.
const ROWS: u16 = 4;
/// On a terminal with fewer rows, the tour has only its title and one line; with fewer than the second number, nothing.
const SMALL: (u16, u16) = (18, 8);

/// The number of a terminal's rows that the tour uses.
pub(crate) fn rows(model: &Model, height: u16) -> u16 {
    match (&model.tour, height) {
        (Some(_), height) if height >= SMALL.0 => ROWS,
        (Some(_), height) if height >= SMALL.1 => 2,
        _ => 0,
    }
}
