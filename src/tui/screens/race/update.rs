//! Updates for answers side by side: repeating a stored call, racing a prompt on several branches, and keeping or
//! archiving the results.
//! Not for: previews of the next call under other settings (`screens::what_if::update`).

use super::model::{AnswerRelations, Column, RacePending, RaceQuestion, RaceScreen};
use crate::domain::base::{Failure, RunId};
use crate::domain::call::run::CAUTION;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{Atom, Branch, Overrides};
use crate::domain::planning::variant;
use crate::domain::planning::{ContextPlan, Row, Section};
use crate::engine::api::{
    Answer, BranchRequest, CallAnswer, CallRequest, Draft, DraftKind, ItemName, ReplayedCall, TurnRequest,
};
use crate::tui::chat::update::{branches, queueing};
use crate::tui::model::row_titles::row_title;
use crate::tui::screens;
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::request::model::fixed;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Handles the answers to the requests of races and repeated calls.
pub(crate) fn answered(model: &mut Model, pending: RacePending, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    use RacePending as P;
    match (pending, result) {
        (P::Items(run), Ok(Answer::Call(CallAnswer::StoredPlan { plan, .. }))) => items(model, run, &plan),
        (P::Replay, Ok(Answer::Call(CallAnswer::Replaying(made)))) => replaying(model, *made),
        (P::Branches { variants, draft, .. }, Ok(Answer::Call(CallAnswer::Race(made)))) => {
            racing(model, &variants, &draft, made, out);
        }
        (P::Branches { of, line, .. }, Err(failure)) => {
            if model.is_current(of) && model.composer.is_empty() {
                model.composer.replace(&line, DraftKind::Message);
            }
            show_failure(model, &failure);
        }
        (P::Entry(branch, draft), Err(mut failure)) => {
            failure.kept = queueing::take_back(model, branch, draft).unwrap_or(failure.kept);
            model.conversation.failed.insert(branch, failure);
        }
        (P::Items(_) | P::Replay | P::Branches { .. } | P::Entry(..), result) => show_answer(model, result),
    }
}

/// Asks how to repeat the call of the selected message.
pub(crate) fn ask_how(model: &mut Model) {
    let found = model.session.as_ref().and_then(|session| {
        let node = session.tree.head(model.conversation.selected()?).id;
        session.run_of_answer(node).or_else(|| session.run_of_user(node))
    });
    let Some((id, name)) = found.map(|card| (card.id, card.model.clone())) else {
        let text = "No call belongs to this message; select an answer, or a question that was answered.";
        return model.status.say(Severity::Notice, text, model.now);
    };
    ask_about(model, id, &name);
}

/// Asks how to repeat a call that was sent to the model `name`.
pub(crate) fn ask_about(model: &mut Model, id: RunId, name: &str) {
    let about = format!("It was sent to {name}. The answer arrives on a scratch branch; this branch does not change.");
    let choices = vec![
        ('b', "send the same bytes".to_owned(), Act::Replay(id)),
        ('m', "send to another model".to_owned(), Act::ReplayModel(id)),
        ('w', "send without one item".to_owned(), Act::ReplayWithout(id)),
        ('n', "not now".to_owned(), Act::Close),
    ];
    model.layers.push(Question::new("Replay this call?", vec![about, CAUTION.to_owned()], choices));
}

/// Repeats a call, optionally with another profile and model, or without an item.
pub(crate) fn replay(
    model: &mut Model,
    run: RunId,
    to: Option<(String, String)>,
    without: Option<Atom>,
    out: &mut Vec<Cmd>,
) {
    let (profile, name) = to.unzip();
    let without = without.map(ItemName::Atom);
    let request = CallRequest::Replay { run: run.to_string(), profile, model: name, without };
    send(model, request, RacePending::Replay, out);
}

/// Opens the list of models to repeat a call with.
pub(crate) fn models(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    screens::picker::update::models(model, out);
    if let Some(picker) = model.layers.top_mut::<Picker>() {
        picker.kind = Kind::ReplayModels(run);
    }
}

/// Requests the items of a stored call.
pub(crate) fn without(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    send(model, CallRequest::StoredPlan { id: run.to_string() }, RacePending::Items(run), out);
}

/// Opens the list of a stored call's items, to leave one out. The cursor starts on the first item that can be marked:
/// the instructions before it are rarely the item in question.
fn items(model: &mut Model, run: RunId, plan: &ContextPlan) {
    let rows: Vec<&Row> = plan.included().filter(|row| row.section() != Some(Section::UserMessage)).collect();
    let entry = |row: &&Row| {
        let place = row.source.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let detail = format!("{} · {}", row.kind.name(), counted(row.tokens.into(), "token"));
        Entry { label: format!("{place}{}", row_title(row)), detail, choice: Choice::Without(run, row.atom) }
    };
    let mut picker = Picker::new(Kind::ReplayItems);
    picker.fill(rows.iter().map(entry).collect());
    picker.cursor = rows.iter().position(|row| fixed(row).is_none()).unwrap_or(0);
    model.layers.push(picker);
}

/// Shows that a stored call is being repeated.
fn replaying(model: &mut Model, made: ReplayedCall) {
    let title = match &made.without {
        Some((_, title)) => format!("now, without {title}"),
        None if made.exact => "now, the same bytes".to_owned(),
        None => "now, another model".to_owned(),
    };
    let (origin, branch) = (made.of.branch, made.branch.id);
    let columns = vec![
        Column { title: "then".to_owned(), branch: None, node: made.of.answer },
        Column { title, branch: Some(branch), node: None },
    ];
    add_branches(model, vec![*made.branch]);
    let screen = RaceScreen::new(AnswerRelations::Replay { origin, without: made.without }, columns);
    model.layers.push(screen);
}

fn add_branches(model: &mut Model, branches: Vec<Branch>) {
    if let Some(session) = &mut model.session {
        for branch in branches {
            session.put_branch(branch);
        }
    }
    model.refresh();
}

/// Creates a branch for each of the settings if the request fits on all of them; the question is then sent on all of
/// them. `line` is what the person typed.
pub(crate) fn race(
    model: &mut Model,
    variants: Vec<Overrides>,
    question: RaceQuestion,
    line: Arc<str>,
    out: &mut Vec<Cmd>,
) {
    let Some(of) = model.branch().map(|branch| branch.id) else { return };
    let draft = Draft { text: question.text, ..Draft::default() };
    let (branch, limits) = (of, question.limits);
    let request = CallRequest::Race { branch, variants: variants.clone(), limits, draft: draft.clone() };
    send(model, request, RacePending::Branches { variants, draft, of, line }, out);
}

/// Sends the prompt on each branch of a new race.
fn racing(model: &mut Model, variants: &[Overrides], draft: &Draft, made: Vec<Branch>, out: &mut Vec<Cmd>) {
    let mut columns = Vec::new();
    for (branch, variant) in made.iter().zip(variants) {
        let title = format!("{}: {}", branch.name, variant::title(variant));
        let request = TurnRequest::Ask { branch: branch.id, draft: draft.clone(), plan: None };
        send(model, request, RacePending::Entry(branch.id, draft.clone()), out);
        columns.push(Column { title, branch: Some(branch.id), node: None });
    }
    add_branches(model, made);
    model.layers.push(RaceScreen::new(AnswerRelations::Race, columns));
}

/// Handles Enter: switches to the selected branch; after a race, the other branches are archived.
pub(crate) fn keep(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<RaceScreen>() else { return };
    let Some(branch) = screen.selected().and_then(|column| column.branch) else {
        model.layers.pop();
        return;
    };
    let race = screen.of == AnswerRelations::Race;
    let others = if race { screen.others() } else { Vec::new() };
    if others.iter().any(|other| model.live.contains_key(other)) {
        let key = model.keys.key(Action::Leave);
        let text = format!("Other answers are still arriving: wait for them, or keep all of them with {key}.");
        return model.status.say(Severity::Warning, text, model.now);
    }
    model.layers.pop();
    model.remember_place();
    if race {
        send(model, CallRequest::KeepOne { branch }, Pending::Act, out);
    }
    branches::switch(model, branch, out);
}

/// Archives the selected branch, and closes the screen when none is left.
pub(crate) fn discard(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top_mut::<RaceScreen>() else { return };
    let Some(branch) = screen.selected().and_then(|column| column.branch) else { return };
    if model.live.contains_key(&branch) {
        let text =
            format!("The answer is still arriving: wait for it, or close it with {}.", model.keys.key(Action::Leave));
        return model.status.say(Severity::Warning, text, model.now);
    }
    screen.columns.remove(screen.cursor);
    screen.cursor = screen.cursor.min(screen.columns.len().saturating_sub(1));
    if screen.columns.iter().all(|column| column.branch.is_none()) {
        model.layers.pop();
    }
    send(model, BranchRequest::ArchiveAll { branches: vec![branch] }, Pending::Act, out);
}

/// Records that the omitted item is important: it becomes a suggested pin on the original branch (undoable).
pub(crate) fn suggest_pin(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<RaceScreen>() else { return };
    let AnswerRelations::Replay { origin, without: Some((atom, _)) } = &screen.of else {
        let text = "This works only for a replay without an item.";
        return model.status.say(Severity::Notice, text, model.now);
    };
    let (origin, atom) = (*origin, *atom);
    if !matches!(atom, Atom::Turn { .. } | Atom::Message { .. } | Atom::Episode { .. } | Atom::Preamble { .. }) {
        let text = "Only turns and messages can be suggested as pins; settings control this text.";
        return model.status.say(Severity::Notice, text, model.now);
    }
    let Some(branch) = model.session.as_mut().and_then(|session| session.branches.iter_mut().find(|b| b.id == origin))
    else {
        return;
    };
    if branch.overrides.important.contains(&atom) {
        return model.status.say(Severity::Notice, "This pin is already suggested.", model.now);
    }
    branch.overrides.important.push(atom);
    let overrides = branch.overrides.clone();
    send(model, BranchRequest::Override { branch: origin, overrides }, Pending::Act, out);
    let key = model.keys.key(Action::NextRequest);
    model.status.say(Severity::Notice, format!("The item is now suggested as a pin; {key} shows it."), model.now);
}
