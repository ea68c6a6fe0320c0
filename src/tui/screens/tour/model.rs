//! State of the tour: the current step, and the branches as they were when the step began.
//! Not for: the steps (`model_steps`), or advancing from one to the next (`update`).

use crate::domain::base::{BranchId, Hash, NodeId};
use crate::domain::conversation::{Atom, Branch, MarkKind, Overrides};
use crate::domain::planning::Planned;
use crate::tui::chat::model::plan::DisplayedPlan;
use crate::tui::model::Model;
use crate::tui::model::keys::{Action, KeyPlace};
use std::sync::Arc;

/// A step of the tour.
pub(crate) struct Step {
    /// Its name.
    pub(crate) title: &'static str,
    /// The parts of the step, in order.
    pub(crate) parts: &'static [Part],
}

/// One thing to do in a step.
pub(crate) struct Part {
    /// The instruction; each `{}` is replaced by one of the keys.
    pub(crate) says: &'static str,
    /// The actions of the instruction, with the section of the key table in which each applies.
    pub(crate) keys: &'static [(Action, KeyPlace)],
    /// Whether the person has done it.
    pub(crate) done: fn(&Model, &Tour) -> bool,
    /// The message once it is done; empty keeps the previous one.
    pub(crate) seen: &'static str,
}

/// The state of a branch that a person's actions change: its head, marks, and overrides.
pub(crate) type BranchShape = (BranchId, Option<NodeId>, Vec<(Atom, MarkKind)>, Overrides);

/// The state of all open branches.
pub(crate) type Shape = Vec<BranchShape>;

/// The plan of an unsent message before the person changed anything.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FirstPlan {
    pub(crate) branch: BranchId,
    /// Text of the message.
    pub(crate) text: Arc<str>,
    /// Digest of its request.
    pub(crate) digest: Hash,
    /// The branches at that time.
    pub(crate) shape: Shape,
}

/// A running tour.
#[derive(Debug, Default)]
pub struct Tour {
    /// Indices of the step and of the part in it; after the last step, the tour has ended.
    pub(crate) at: (usize, usize),
    /// The message about the part done last.
    pub(crate) seen: &'static str,
    /// The current branch and all open branches when this step began.
    pub(crate) before: Option<(BranchId, Shape)>,
    /// The branch where the tour began.
    pub(crate) home: Option<BranchId>,
    /// The plan of the second step's message, which undo restores.
    pub(crate) first: Option<FirstPlan>,
}

impl Tour {
    /// The current step and part; None at the end.
    pub(crate) fn part(&self) -> Option<(&'static Step, &'static Part)> {
        let step = super::model_steps::STEPS.get(self.at.0)?;
        Some((step, step.parts.get(self.at.1)?))
    }

    /// Whether every step is done.
    pub fn ended(&self) -> bool {
        self.part().is_none()
    }

    /// Branches created since this step began.
    pub(crate) fn fresh<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = &'a Branch> {
        let old = self.before.as_ref().map(|(_, shape)| shape.as_slice()).unwrap_or_default();
        let branches = model.session.as_ref().map(|session| session.branches.as_slice()).unwrap_or_default();
        branches.iter().filter(|branch| !branch.archived && !old.iter().any(|(id, ..)| *id == branch.id))
    }

    /// Whether the current branch did not exist when the request was first opened.
    pub(crate) fn forked(&self, model: &Model) -> bool {
        let old = self.first.as_ref().map(|first| first.shape.as_slice()).unwrap_or_default();
        !old.is_empty() && model.branch().is_some_and(|branch| !old.iter().any(|(id, ..)| *id == branch.id))
    }

    /// Marks and overrides of a branch when this step began.
    pub(crate) fn before(&self, branch: BranchId) -> Option<(&[(Atom, MarkKind)], &Overrides)> {
        let (_, shape) = self.before.as_ref()?;
        shape.iter().find(|(id, ..)| *id == branch).map(|(_, _, marks, overrides)| (marks.as_slice(), overrides))
    }
}

/// The open branches as they are now.
pub(crate) fn shape(model: &Model) -> Shape {
    let branches = model.session.as_ref().map(|session| session.branches.as_slice()).unwrap_or_default();
    let marks = |branch: &Branch| branch.marks.iter().map(|mark| (mark.target, mark.kind)).collect();
    let open = branches.iter().filter(|branch| !branch.archived);
    open.map(|branch| (branch.id, branch.head, marks(branch), branch.overrides.clone())).collect()
}

/// The displayed plan with its request digest, if it is the current plan of the current branch.
pub(crate) fn planned(model: &Model) -> Option<(&DisplayedPlan, Hash)> {
    let shown =
        model.plan.shown.as_ref().filter(|shown| Some(shown.branch) == model.branch().map(|branch| branch.id))?;
    let Planned::Plan { request_digest: digest, .. } = &shown.solved else { return None };
    model.plan.current().then_some((shown, *digest))
}
