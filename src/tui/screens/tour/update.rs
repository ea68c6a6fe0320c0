//! Advances the tour when a part is done, and leaves it.
//! Not for: the parts themselves (`model_steps`).

use super::model::{FirstPlan, Tour, planned, shape};
use super::model_steps::lost;
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::request::model::RequestScreen;
use crate::tui::update::prelude::*;

/// Starts the tour.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.tour.is_some() {
        return model.status.say(Severity::Notice, "This is the tour.", model.now);
    }
    out.push(Cmd::Tour(true));
}

/// Advances the tour after every message.
pub(crate) fn follow(model: &mut Model) {
    let Some(mut tour) = model.tour.take() else { return };
    if model.session.is_some() {
        step(model, &mut tour);
    }
    model.tour = Some(tour);
}

fn step(model: &Model, tour: &mut Tour) {
    let Some(here) = model.branch().map(|branch| branch.id) else { return };
    tour.home.get_or_insert(here);
    if tour.before.is_none() {
        tour.before = Some((here, shape(model)));
    }
    if let Some(back) = lost(model, tour) {
        tour.at.1 = back.part;
        tour.seen = back.seen;
        if back.restarts {
            (tour.before, tour.first) = (Some((here, shape(model))), None);
        }
    }
    while let Some((step, part)) = tour.part().filter(|(_, part)| (part.done)(model, tour)) {
        if tour.first.is_none() && model.layers.on::<RequestScreen>() {
            tour.first = planned(model).map(|(shown, digest)| FirstPlan {
                branch: shown.branch,
                text: shown.draft.text.clone(),
                digest,
                shape: shape(model),
            });
        }
        if !part.seen.is_empty() {
            tour.seen = part.seen;
        }
        tour.at.1 += 1;
        if tour.at.1 == step.parts.len() {
            tour.at = (tour.at.0 + 1, 0);
            tour.before = Some((here, shape(model)));
        }
    }
    if tour.ended() {
        tour.seen = "";
    }
}

/// Handles Esc when nothing else is open: leaves the tour, after a question unless it has ended. Returns false outside
/// a tour.
pub(crate) fn leave(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(tour) = &model.tour else { return false };
    if tour.ended() {
        out.push(Cmd::Tour(false));
        return true;
    }
    let choices = vec![('q', "leave the tour".to_owned(), Act::LeaveTour)];
    let key = model.keys.key(Action::Leave);
    let words = vec![
        "Your own conversation is unchanged; the tour saves nothing.".to_owned(),
        format!("{key} continues the tour, and so does typing."),
    ];
    model.layers.push(Question::new("Leave the tour?", words, choices));
    true
}
