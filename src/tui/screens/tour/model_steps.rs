//! The nine steps of the tour: the instructions, their keys, and the state of the workbench that shows that each is
//! done.
//! Not for: advancing from one to the next (`update`). `assets/guides/tour.md` describes the same steps.

use super::model::{BranchShape, Part, Step, Tour, planned, shape};
use crate::domain::base::BranchId;
use crate::domain::conversation::{Atom, Branch, Mark, MarkKind, Role};
use crate::domain::planning::RowKind;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action as A, KeyPlace as W};
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
        |model, tour| written(model) || sent(model, tour),
        "The request is planned while you type; its size is shown on the right.",
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
        &[(A::NextRequest, W::Always)],
        |model, _| written(model) && model.layers.all::<RequestScreen>().next().is_some(),
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

const EXCLUDE: [Part; 3] = [
    part(
        "Press {} to open the request again.",
        &[(A::NextRequest, W::Always)],
        |model, tour| model.layers.on::<RequestScreen>() || excluded(model, tour),
        "",
    ),
    part(
        "Press {} to leave the selected turn out. The request is planned again at once.",
        &[(A::Exclude, W::Overlay)],
        excluded,
        "The turn is left out. Its row names the key that includes it again.",
    ),
    part(
        "Press {} to go back to the conversation, where the turn is marked too.",
        &[(A::Leave, W::Always)],
        |model, tour| model.layers.is_empty() && excluded(model, tour),
        "The next request is planned without that turn.",
    ),
];

const WHAT_IF: [Part; 2] = [
    part(
        "Press {} to plan the same request under other modes, policies, layouts, and budgets.",
        &[(A::WhatIf, W::Always)],
        |model, tour| {
            let found = model.layers.top::<WhatIfScreen>().is_some_and(|screen| screen.found.is_some());
            found || configured(model, tour)
        },
        "Nothing has changed yet.",
    ),
    part(
        "Select a row with {} to see what it adds and removes; {} applies it to this branch.",
        &[(A::Down, W::Panel), (A::Open, W::Panel)],
        |model, tour| configured(model, tour) && model.layers.is_empty(),
        "Applied. You will undo it in the last step.",
    ),
];

const FORK: [Part; 2] = [
    part(
        "Press {} to go to the messages.",
        &[(A::Complete, W::Composer)],
        |model, tour| tour.forked(model) || (model.layers.is_empty() && model.focus == Focus::Conversation),
        "Letters are keys here.",
    ),
    part(
        "Press {} to fork the conversation at the selected message.",
        &[(A::Fork, W::Panel)],
        |model, tour| tour.forked(model),
        "You are on the fork. It has its own pins, exclusions, and settings.",
    ),
];

const RACE: [Part; 3] = [
    part(
        "The unsent message is now on the fork. Press {} to clear it.",
        &[(A::DeleteToStart, W::Composer)],
        |model, tour| model.composer.is_empty() || model.composer.commanding() || raced(model, tour),
        "The composer is empty.",
    ),
    part(
        "Ask two models at once. Type this and press {}: /race model:offline model:offline-brief How long is the \
            grace period?",
        &[(A::Send, W::Composer)],
        raced,
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
        |model, tour| model.branch().map(|branch| branch.id) == tour.home || more_marks(model, tour),
        "You are back on the first branch.",
    ),
    part(
        "Press {}, select a branch named race with {}, and press {} to compare it with this one.",
        &[(A::Branches, W::Always), (A::Down, W::Panel), (A::Compare, W::Branches)],
        |model, tour| compares(model, tour.home) || more_marks(model, tour),
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
        |model, tour| model.layers.is_empty() && more_marks(model, tour),
        "The picked text is part of the next request.",
    ),
];

const REPLAY: [Part; 5] = [
    part(
        "Press {} to go back to the composer.",
        &[(A::Leave, W::Always)],
        |model, _| model.layers.is_empty() && matches!(model.focus, Focus::Composer | Focus::Conversation),
        "",
    ),
    part(
        "Press {} for the messages and {} for the last one: the answer to your first question.",
        &[(A::Complete, W::Composer), (A::Bottom, W::Panel)],
        |model, _| on_answer(model) || replayed(model),
        "This answer belongs to a stored call.",
    ),
    part(
        "Press {}, then w. Choose a turn that the answer used (type a word from it) and press {}.",
        &[(A::Replay, W::Conversation), (A::Open, W::Picker)],
        |model, _| replayed(model),
        "The same call without that turn.",
    ),
    part(
        "Did the answer change? {} marks the turn as important and suggests it as a pin; {} closes the screen without marking it.",
        &[(A::Mattered, W::Variants), (A::Leave, W::Always)],
        |model, tour| is_important(model, tour) || !model.layers.on::<RaceScreen>(),
        "A call can be tested item by item.",
    ),
    part(
        "Press {} to go back to the conversation.",
        &[(A::Leave, W::Always)],
        |model, tour| model.layers.is_empty() && tour.fresh(model).next().is_some(),
        "The second answer is a branch too.",
    ),
];

const UNDO: [Part; 1] = [part(
    "Press {}, then {} repeatedly: each press undoes one action, until everything is as in step 2.",
    &[(A::Branches, W::Always), (A::Undo, W::Panel)],
    undone,
    "",
)];

/// The part of the current step to go back to.
pub(crate) struct StepBack {
    pub(crate) part: usize,
    /// The message about what happened.
    pub(crate) seen: &'static str,
    /// Whether the step starts again with the branches as they are.
    pub(crate) restarts: bool,
}

/// The part of the current step to go back to, because a person sent or deleted the message, took back an act, or closed
/// the screen that the current part needs; None if nothing is lost.
pub(crate) fn lost(model: &Model, tour: &Tour) -> Option<StepBack> {
    let back = |lost: bool, part, seen| lost.then_some(StepBack { part, seen, restarts: false });
    let open_request = model.layers.all::<RequestScreen>().next().is_some();
    let compared = || if model.layers.all::<CompareView>().next().is_some() { 2 } else { 1 };
    match tour.at {
        (0, 1) => back(model.composer.is_empty() && !sent(model, tour), 0, ""),
        (1, _) if sent(model, tour) => Some(StepBack { part: 0, seen: "That question was sent too.", restarts: true }),
        (1, 1) => back(model.composer.is_empty(), 0, ""),
        (1, 2..) => back(!open_request, 1, "The request is closed."),
        (2, 1 | 2) => back(!open_request && !marked(model, tour), 0, "Nothing is left out yet.")
            .or_else(|| back(tour.at.1 == 2 && !marked(model, tour), 1, "The turn is included again.")),
        (3, 1) => {
            let open = model.layers.all::<WhatIfScreen>().next().is_some();
            back(!open && !configured(model, tour), 0, "Nothing has changed.")
        }
        (4, 1) => {
            let here = model.focus == Focus::Conversation || !model.layers.is_empty();
            back(!here && !tour.forked(model), 0, "")
        }
        (6, 2 | 3) => back(compared() < tour.at.1 && !more_marks(model, tour), compared(), "Nothing is picked yet."),
        (7, 2) => back(model.layers.is_empty() && !on_answer(model), 1, ""),
        _ => None,
    }
}

/// Whether a message was sent on the current branch since the step began.
fn sent(model: &Model, tour: &Tour) -> bool {
    let Some(branch) = model.branch() else { return false };
    let before = tour.before.as_ref().and_then(|(_, shape)| shape.iter().find(|(id, ..)| *id == branch.id));
    model.live.contains_key(&branch.id) || before.is_some_and(|(_, head, ..)| *head != branch.head)
}

/// Whether the settings of the current branch have changed since the step began.
fn configured(model: &Model, tour: &Tour) -> bool {
    let now = model.branch().map(|branch| (branch.id, &branch.overrides));
    now.is_some_and(|(id, now)| tour.before(id).is_some_and(|(_, before)| before != now))
}

/// Whether a message is written and the displayed plan is its plan.
fn written(model: &Model) -> bool {
    let typed = !model.composer.is_empty() && !model.composer.commanding();
    typed && planned(model).is_some_and(|(shown, _)| !shown.draft.text.trim().is_empty())
}

/// Whether the branch has moved on and ends with a complete answer.
fn answered(model: &Model, tour: &Tour) -> bool {
    let Some((session, branch)) = model.session.as_ref().zip(model.branch()) else { return false };
    let before = tour.before.as_ref().and_then(|(_, shape)| shape.iter().find(|(id, ..)| *id == branch.id));
    let moved = before.map_or(branch.fork, |(_, head, ..)| *head) != branch.head;
    let answer = branch.head.and_then(|head| session.tree.get(head)).is_some_and(|head| head.role == Role::Assistant);
    moved && answer && !model.live.contains_key(&branch.id)
}

fn on_turn(model: &Model) -> bool {
    let row = model.layers.top::<RequestScreen>().and_then(RequestScreen::selected);
    row.is_some_and(|(row, _)| row.kind == RowKind::Turn)
}

/// Whether a turn was left out since the request was first opened, and the request changed.
fn excluded(model: &Model, tour: &Tour) -> bool {
    let other = tour.first.as_ref().zip(planned(model)).is_some_and(|(first, (_, digest))| first.digest != digest);
    marked(model, tour) && other
}

/// Whether the branch has an exclusion that it did not have when the request was first opened.
fn marked(model: &Model, tour: &Tour) -> bool {
    let Some(branch) = model.branch() else { return false };
    let first = tour.first.as_ref().and_then(|first| first.shape.iter().find(|(id, ..)| *id == branch.id));
    let before = first.map(|(_, _, marks, _)| marks.as_slice()).unwrap_or_default();
    branch.marks.iter().any(|mark| mark.kind.excludes() && !before.contains(&(mark.target, mark.kind)))
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

/// Whether a branch has a mark on messages of another branch that it did not have when the step began.
fn more_marks(model: &Model, tour: &Tour) -> bool {
    let branches = model.session.as_ref().map(|session| session.branches.as_slice()).unwrap_or_default();
    let is_new = |before: &[(Atom, MarkKind)], mark: &Mark| {
        mark.origin.is_some() && before.iter().all(|(target, _)| *target != mark.target)
    };
    branches.iter().any(|branch| {
        tour.before(branch.id).is_some_and(|(before, _)| branch.marks.iter().any(|mark| is_new(before, mark)))
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

fn is_important(model: &Model, tour: &Tour) -> bool {
    let home = tour.home.and_then(|id| model.session.as_ref()?.find(id));
    home.is_some_and(|home| {
        tour.before(home.id).is_some_and(|(_, before)| home.overrides.important.len() > before.important.len())
    })
}

/// Whether the branches are as they were, and the plan of the same message has the same bytes. A branch on which
/// messages were sent since then, which undo does not remove, needs the same settings and exclusions.
fn undone(model: &Model, tour: &Tour) -> bool {
    let Some(first) = &tour.first else { return true };
    let Some((shown, digest)) = planned(model).filter(|(shown, _)| shown.branch == first.branch) else { return false };
    let now = shape(model);
    let excluded = |marks: &[(Atom, MarkKind)]| -> Vec<(Atom, MarkKind)> {
        marks.iter().filter(|(_, kind)| kind.excludes()).copied().collect()
    };
    let longer = |(id, head, marks, overrides): &BranchShape| {
        let before = first.shape.iter().find(|(old, ..)| old == id);
        before.is_some_and(|(_, old_head, old_marks, old_overrides)| {
            head != old_head && overrides == old_overrides && excluded(marks) == excluded(old_marks)
        })
    };
    if now == first.shape {
        return shown.draft.text != first.text || digest == first.digest;
    }
    now.len() == first.shape.len() && now.iter().all(|branch| longer(branch) || first.shape.contains(branch))
}
