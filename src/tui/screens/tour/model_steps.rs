//! The nine steps of the tour: the instructions, their keys, and the state of the workbench that shows that each is
//! done.
//! Not for: advancing from one to the next (`update`). `assets/guides/tour.md` describes the same steps.

use super::model::{Part, Step, Tour, planned, shape};
use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::mark::{Atom, Mark, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::planning::plan::RowKind;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action as A, When as W};
use crate::tui::screens::calls::model::HistoryScreen;
use crate::tui::screens::compare::model::CompareView;
use crate::tui::screens::race::model::{AnswerRelations, RaceScreen};
use crate::tui::screens::request::model::RequestScreen;
use crate::tui::screens::what_if::model::WhatIfScreen;

/// Creates a part.
const fn part(
    says: &'static str,
    keys: &'static [(A, W)],
    done: fn(&Model, &Tour) -> bool,
    seen: &'static str,
) -> Part {
    Part { says, keys, done, seen }
}

/// All steps.
pub(crate) const STEPS: [Step; 9] = [
    Step { title: "Ask", parts: &ASK },
    Step { title: "Why", parts: &WHY },
    Step { title: "Exclude", parts: &EXCLUDE },
    Step { title: "What if?", parts: &WHAT_IF },
    Step { title: "Fork", parts: &FORK },
    Step { title: "Race", parts: &RACE },
    Step { title: "Compare", parts: &COMPARE },
    Step { title: "Replay", parts: &REPLAY },
    Step { title: "Undo everything", parts: &UNDO },
];

const ASK: [Part; 2] = [
    part(
        "This is a real conversation about a bug. Type a question, for example: Which fix should ship first?",
        &[],
        |model, _| written(model),
        "The request is planned while you type; its size is shown at the right.",
    ),
    part(
        "Press {} to send exactly that request.",
        &[(A::Send, W::Composer)],
        answered,
        "The answer came from the built-in offline model.",
    ),
];

const WHY: [Part; 5] = [
    part(
        "Type the next question, but do not send it, for example: And what about the late tab?",
        &[],
        |model, _| written(model),
        "Planned, not sent.",
    ),
    part(
        "Press {} to see every item of this request, included or left out, with its tokens and reason.",
        &[(A::Context, W::Always)],
        |model, _| written(model) && model.layers.on::<RequestScreen>(),
        "These items would be sent.",
    ),
    part(
        "Press {} until a turn is selected. Its reason and its text are shown with it.",
        &[(A::Down, W::Panel)],
        |model, _| on_turn(model),
        "A turn is selected.",
    ),
    part(
        "Press {} to see which calls sent this turn.",
        &[(A::ItemHistory, W::Overlay)],
        |model, _| model.layers.on::<HistoryScreen>(),
        "Each call is stored with its plan.",
    ),
    part(
        "Press {} to go back to the request.",
        &[(A::Leave, W::Always)],
        |model, _| model.layers.on::<RequestScreen>(),
        "You know why each item is included.",
    ),
];

const EXCLUDE: [Part; 2] = [
    part(
        "Press {} to leave the selected turn out. The request is planned again at once.",
        &[(A::Exclude, W::Overlay)],
        excluded,
        "The turn is left out. Its row names the key that includes it again.",
    ),
    part(
        "Press {} to go back to the conversation, where the turn is marked too.",
        &[(A::Leave, W::Always)],
        |model, _| model.layers.is_empty(),
        "Your unsent question is still here.",
    ),
];

const WHAT_IF: [Part; 2] = [
    part(
        "Press {} to plan the same request under other modes, policies, layouts, and budgets.",
        &[(A::WhatIf, W::Always)],
        |model, _| model.layers.top::<WhatIfScreen>().is_some_and(|screen| screen.found.is_some()),
        "Nothing has changed yet.",
    ),
    part(
        "Select a row with {} to see what it adds and removes; {} applies it to this branch.",
        &[(A::Down, W::Panel), (A::Open, W::Panel)],
        |model, tour| {
            let home = model.branch().map(|branch| (branch.id, &branch.overrides));
            home.is_some_and(|(id, now)| tour.before(id).is_some_and(|(_, before)| before != now))
                && model.layers.is_empty()
        },
        "Applied. You will undo it in the last step.",
    ),
];

const FORK: [Part; 2] = [
    part(
        "Press {} to go to the messages.",
        &[(A::Complete, W::Composer)],
        |model, _| model.layers.is_empty() && model.focus == Focus::Conversation,
        "Letters are keys here.",
    ),
    part(
        "Press {} to fork the conversation at the selected message.",
        &[(A::Fork, W::Panel)],
        |model, tour| {
            let here = model.branch().map(|branch| branch.id);
            tour.fresh(model).any(|branch| Some(branch.id) == here)
        },
        "You are on the fork. It has its own pins, exclusions, and settings.",
    ),
];

const RACE: [Part; 3] = [
    part(
        "The unsent message is now on the fork. Press {} to clear it.",
        &[(A::DeleteToStart, W::Composer)],
        |model, _| model.composer.is_empty(),
        "The composer is empty.",
    ),
    part(
        "Ask two models at once. Type this and press {}: /race model:offline model:offline-brief How long is the \
            grace period?",
        &[(A::Send, W::Composer)],
        |model, tour| raced(model, tour) && model.layers.on::<RaceScreen>(),
        "Two models, two answers, each with its own plan.",
    ),
    part(
        "Read both. Press {} to keep both answers as branches.",
        &[(A::Leave, W::Always)],
        |model, tour| raced(model, tour) && model.layers.is_empty(),
        "Both answers are branches now.",
    ),
];

const COMPARE: [Part; 4] = [
    part(
        "Press {} for the list of branches, then {} and {} to switch to the first one.",
        &[(A::Branches, W::Always), (A::Top, W::Panel), (A::Open, W::Panel)],
        |model, tour| model.branch().map(|branch| branch.id) == tour.home,
        "You are back on the first branch.",
    ),
    part(
        "Press {}, select a branch named race with {}, and press {} to compare it with this one.",
        &[(A::Branches, W::Always), (A::Down, W::Panel), (A::Compare, W::Branches)],
        |model, tour| compares(model, tour.home),
        "Both branches, from where they diverge.",
    ),
    part(
        "Press {} to go to the other side, then {} to pick its turn for your branch.",
        &[(A::NextPane, W::Panel), (A::PickOver, W::Compare)],
        more_marks,
        "Picked: a pinned text that links to its source.",
    ),
    part(
        "Press {} to go back to the conversation.",
        &[(A::Leave, W::Always)],
        |model, _| model.layers.is_empty(),
        "The picked text is part of the next request.",
    ),
];

const REPLAY: [Part; 4] = [
    part(
        "Press {}, then {} for the messages and {} for the last one: the answer to your first question.",
        &[(A::Leave, W::Always), (A::Complete, W::Composer), (A::Bottom, W::Panel)],
        |model, _| on_answer(model),
        "This answer belongs to a stored call.",
    ),
    part(
        "Press {}, then w. Choose a turn that the answer used (type a word of it) and press {}.",
        &[(A::Replay, W::Conversation), (A::Open, W::Picker)],
        |model, _| replayed(model),
        "The same call without that turn.",
    ),
    part(
        "Did the answer change? {} marks the turn as important and suggests it as a pin; {} closes without that.",
        &[(A::Mattered, W::Variants), (A::Leave, W::Always)],
        |model, tour| mattered(model, tour) || !model.layers.on::<RaceScreen>(),
        "A call can be tested item by item.",
    ),
    part(
        "Press {} to go back to the conversation.",
        &[(A::Leave, W::Always)],
        |model, _| model.layers.is_empty(),
        "The second answer is a branch too.",
    ),
];

const UNDO: [Part; 1] = [part(
    "Press {}, then {} repeatedly: each press undoes one action, until the branches are as in step 2.",
    &[(A::Branches, W::Always), (A::Undo, W::Panel)],
    undone,
    "",
)];

/// Whether a message is written and the displayed plan is its plan.
fn written(model: &Model) -> bool {
    let typed = !model.composer.is_empty() && !model.composer.commanding();
    typed && planned(model).is_some_and(|(shown, _)| !shown.draft.text.trim().is_empty())
}

/// Whether the branch has moved on and ends with a complete answer.
fn answered(model: &Model, tour: &Tour) -> bool {
    let Some((session, branch)) = model.session.as_ref().zip(model.branch()) else { return false };
    let before = tour.before.as_ref().and_then(|(_, shape)| shape.iter().find(|(id, ..)| *id == branch.id));
    let moved = before.is_some_and(|(_, head, ..)| *head != branch.head);
    let answer = branch.head.and_then(|head| session.tree.get(head)).is_some_and(|head| head.role == Role::Assistant);
    moved && answer && !model.live.contains_key(&branch.id)
}

fn on_turn(model: &Model) -> bool {
    let row = model.layers.top::<RequestScreen>().and_then(RequestScreen::selected);
    row.is_some_and(|(row, _)| row.kind == RowKind::Turn)
}

/// Whether a turn was newly left out and the request changed.
fn excluded(model: &Model, tour: &Tour) -> bool {
    let Some(branch) = model.branch() else { return false };
    let before = tour.before(branch.id).map(|(marks, _)| marks).unwrap_or_default();
    let fresh = |mark: &crate::domain::conversation::mark::Mark| {
        mark.kind.excludes() && !before.contains(&(mark.target, mark.kind))
    };
    let other = tour.first.as_ref().zip(planned(model)).is_some_and(|(first, (_, digest))| first.digest != digest);
    branch.marks.iter().any(fresh) && other
}

/// Whether at least two branches of a new race have their answers.
fn raced(model: &Model, tour: &Tour) -> bool {
    let Some(session) = &model.session else { return false };
    let answered = |branch: &&Branch| {
        let head = branch.head.filter(|head| Some(*head) != branch.fork);
        head.is_some_and(|head| session.run_of_answer(head).is_some()) && !model.live.contains_key(&branch.id)
    };
    tour.fresh(model).filter(|branch| session.races.contains_key(&branch.id)).filter(answered).count() >= 2
}

/// Whether `home` is compared with another branch.
fn compares(model: &Model, home: Option<BranchId>) -> bool {
    let branches = model.layers.top::<CompareView>().and_then(CompareView::branches);
    branches.is_some_and(|(one, other)| Some(one) == home || Some(other) == home)
}

/// Whether the first branch has a mark on messages of another branch that it did not have when the step began.
fn more_marks(model: &Model, tour: &Tour) -> bool {
    let home = tour.home.and_then(|id| model.session.as_ref()?.find(id));
    let is_new = |before: &[(Atom, MarkKind)], mark: &Mark| {
        mark.origin.is_some() && before.iter().all(|(target, _)| *target != mark.target)
    };
    home.is_some_and(|home| {
        tour.before(home.id).is_some_and(|(before, _)| home.marks.iter().any(|mark| is_new(before, mark)))
    })
}

fn on_answer(model: &Model) -> bool {
    let Some(session) = model.session.as_ref().filter(|_| model.layers.is_empty()) else { return false };
    let selected = model.conversation.selected().map(|slot| session.tree.head(slot).id);
    model.focus == Focus::Conversation && selected.is_some_and(|node| session.run_of_answer(node).is_some())
}

/// Whether a stored call was repeated without an item and both answers are complete.
fn replayed(model: &Model) -> bool {
    let Some(screen) = model.layers.top::<RaceScreen>() else { return false };
    let without = matches!(&screen.of, AnswerRelations::Replay { without: Some(_), .. });
    without && screen.columns.iter().all(|column| column.answer(model.session.as_ref(), &model.live).is_some())
}

fn mattered(model: &Model, tour: &Tour) -> bool {
    let home = tour.home.and_then(|id| model.session.as_ref()?.find(id));
    home.is_some_and(|home| {
        tour.before(home.id).is_some_and(|(_, before)| home.overrides.mattered.len() > before.mattered.len())
    })
}

/// Whether the branches are as they were, and the plan of the same message has the same bytes.
fn undone(model: &Model, tour: &Tour) -> bool {
    let Some(first) = &tour.first else { return true };
    let Some((shown, digest)) = planned(model).filter(|(shown, _)| shown.branch == first.branch) else { return false };
    shape(model) == first.shape && (shown.draft.text != first.text || digest == first.digest)
}
