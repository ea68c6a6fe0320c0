//! Moving about in lists, and the lists that are filtered by typing: sessions, models, actions.
//! Not for: what acts do to the selected line (`acts`).

use super::model::{Choice, Entry, Kind, Picker};
use crate::domain::base::failure::Failure;
use crate::domain::base::time;
use crate::domain::call::model::ModelInfo;
use crate::domain::conversation::branch::SessionCard;
use crate::engine::api::{MemoryAct, ProgramRequest, Request, SessionRequest};
use crate::tui::chat::update::branches;
use crate::tui::model::layer::{Act, Layer, Prompt, Purpose, Question};
use crate::tui::model::{Action, Focus, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::update::{open, send};

/// A place moved by some steps within a list.
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step).min(last) }
}

/// Rows of a page in whatever has the focus.
fn page(model: &Model) -> u16 {
    let rows = model.size.1.saturating_sub(8).max(2);
    match model.layers.last() {
        Some(Layer::Overlay(overlay)) => overlay.page.max(2),
        Some(Layer::Find(finder)) => u16::try_from(finder.page + 1).unwrap_or(rows).max(2),
        Some(Layer::Tree(grove)) => u16::try_from(grove.page).unwrap_or(rows).max(2),
        Some(Layer::Draft(desk)) => u16::try_from(desk.seen.2).unwrap_or(rows).max(2),
        Some(Layer::Diff(view)) => view.page.max(2),
        Some(Layer::Traces(screen)) if screen.opened => u16::try_from(screen.seen.1).unwrap_or(rows).max(2),
        Some(Layer::Traces(screen)) => u16::try_from(screen.page).unwrap_or(rows).max(2),
        Some(Layer::Raw(raw)) => u16::try_from(raw.page).unwrap_or(rows).max(2),
        Some(_) => rows,
        None => model.conversation.page.max(2),
    }
}

/// Up, down, pages and ends, in whatever has the focus.
pub(crate) fn travel(model: &mut Model, run: Action, out: &mut Vec<Cmd>) {
    let page = page(model);
    let by = match run {
        Action::Up => -1,
        Action::Down => 1,
        Action::ScrollUp => -i64::from(page.saturating_sub(1)),
        Action::ScrollDown => i64::from(page.saturating_sub(1)),
        Action::Top => i64::MIN / 2,
        _ => i64::MAX / 2,
    };
    match model.layers.last_mut() {
        None => travel_pane(model, run, by),
        Some(Layer::Overlay(overlay)) => {
            overlay.step(by);
            open::row_text(model, out);
        }
        Some(Layer::Draft(desk)) => desk.step(by),
        Some(Layer::Capsules(shelf)) => shelf.step(by),
        Some(Layer::WhatIf(strip)) => strip.step(by),
        Some(Layer::Arena(arena)) => arena.step(by),
        Some(Layer::Aside(beside)) => beside.step(by),
        Some(Layer::Calls(calls)) => calls.step(by),
        Some(Layer::Workshop(shop)) => match run {
            Action::ScrollUp | Action::ScrollDown => shop.roll(by),
            _ => shop.step(by),
        },
        Some(Layer::Toolbox(rack)) => match run {
            Action::ScrollUp | Action::ScrollDown => rack.roll(by),
            _ => rack.step(by),
        },
        Some(Layer::Ledger(sheet)) => match run {
            Action::ScrollUp | Action::ScrollDown => sheet.leaf(by),
            Action::Up | Action::Down => sheet.chart = shift(sheet.chart, by, 4),
            _ => sheet.step(by),
        },
        Some(Layer::Diff(view)) => view.step(by),
        Some(Layer::History(tale)) => tale.step(by),
        Some(Layer::Compare(view)) => view.step(if by.abs() > i64::MAX / 4 { by } else { by.signum() }),
        Some(Layer::Find(finder)) => {
            finder.cursor = shift(finder.cursor, by, finder.found.messages.len().saturating_sub(1));
        }
        Some(Layer::Tree(grove)) => grove.step(by),
        Some(Layer::Consent(ask)) if matches!(run, Action::ScrollUp | Action::ScrollDown) => ask.shift(by),
        Some(Layer::Consent(ask)) => ask.step(by),
        Some(Layer::Reader(reader)) => reader.step(by),
        Some(Layer::Raw(raw)) => raw.step(by),
        Some(Layer::Help { scroll }) => *scroll = shift(*scroll, by, usize::MAX / 4),
        Some(Layer::Traces(screen)) => screen.step(by),
        Some(Layer::Picker(picker)) => picker.cursor = shift(picker.cursor, by, picker.shown.len().saturating_sub(1)),
        Some(Layer::Question(question)) => {
            question.cursor = shift(question.cursor, by, question.choices.len().saturating_sub(1));
        }
        Some(Layer::Prompt(_) | Layer::Editor(_)) => {}
    }
}

/// Scrolls what is seen by rows.
pub(crate) fn scroll(model: &mut Model, rows: i64) {
    match model.layers.last_mut() {
        Some(Layer::Reader(reader)) => reader.step(rows),
        Some(Layer::Raw(raw)) => raw.step(rows),
        Some(Layer::Overlay(overlay)) => overlay.step(rows),
        Some(Layer::Draft(desk)) => desk.step(rows),
        Some(Layer::Capsules(shelf)) => shelf.step(rows),
        Some(Layer::WhatIf(strip)) => strip.step(rows),
        Some(Layer::Arena(arena)) => arena.step(rows),
        Some(Layer::Aside(pane)) => pane.step(rows),
        Some(Layer::Calls(calls)) => calls.step(rows),
        Some(Layer::Ledger(sheet)) => sheet.step(rows),
        Some(Layer::Toolbox(rack)) => rack.step(rows),
        Some(Layer::Workshop(shop)) => shop.roll(rows),
        Some(Layer::Diff(view)) => view.step(rows),
        Some(Layer::History(tale)) => tale.step(rows),
        Some(Layer::Compare(view)) => view.scroll(isize::try_from(rows).unwrap_or(0)),
        Some(Layer::Tree(grove)) => grove.step(rows),
        Some(Layer::Consent(ask)) => ask.shift(rows),
        Some(Layer::Traces(screen)) => screen.roll(rows),
        Some(Layer::Help { scroll }) => *scroll = shift(*scroll, rows, usize::MAX),
        Some(_) => {}
        None => model.conversation.scroll += rows,
    }
}

fn travel_pane(model: &mut Model, run: Action, by: i64) {
    let page = matches!(run, Action::ScrollUp | Action::ScrollDown);
    match model.focus {
        Focus::Composer => model.conversation.scroll += by,
        Focus::Conversation if page => model.conversation.scroll += by,
        Focus::Conversation => {
            let last = model.conversation.path.len().saturating_sub(1);
            let to = shift(model.conversation.cursor, by, last);
            model.conversation.select(to);
            if run == Action::Bottom {
                model.conversation.follow();
            }
        }
        Focus::Branches => {
            model.panel.wheeled = None;
            model.panel.cursor = shift(model.panel.cursor, by, model.panel.len().saturating_sub(1));
        }
        Focus::Tools => {
            let count = model.session.as_ref().map_or(0, |session| session.traces.len());
            model.tool = shift(model.tool, by, count.saturating_sub(1));
        }
        Focus::Context => {}
    }
}

/// Opens the list of sessions, or of those that hold these words.
pub(crate) fn sessions(model: &mut Model, words: String, out: &mut Vec<Cmd>) {
    let mut picker = Picker::new(Kind::Sessions);
    picker.filter = words;
    model.layers.push(Layer::Picker(picker));
    filter_changed(model, out);
}

/// Opens the list of models.
pub(crate) fn models(model: &mut Model, out: &mut Vec<Cmd>) {
    let ticket = send(model, Request::Program(ProgramRequest::Models { profile: None }), Pending::Models, out);
    let mut picker = Picker::new(Kind::Models);
    picker.loading = true;
    picker.ticket = ticket;
    model.layers.push(Layer::Picker(picker));
}

/// The words changed: sessions are searched by the store.
pub(crate) fn filter_changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Layer::Picker(picker)) = model.layers.last() else { return };
    if picker.kind != Kind::Sessions {
        return;
    }
    let words = picker.filter.trim().to_owned();
    let request = if words.is_empty() {
        Request::Session(SessionRequest::List)
    } else {
        Request::Session(SessionRequest::Search { words })
    };
    let ticket = send(model, request, Pending::Sessions, out);
    if let Some(Layer::Picker(picker)) = model.layers.last_mut() {
        picker.loading = true;
        picker.ticket = ticket;
    }
}

pub(crate) fn awaiting(model: &mut Model, ticket: u64) -> Option<&mut Picker> {
    model.layers.iter_mut().find_map(|layer| match layer {
        Layer::Picker(picker) if picker.ticket == ticket => Some(picker),
        _ => None,
    })
}

pub(crate) fn failed(model: &mut Model, ticket: u64) {
    if let Some(picker) = awaiting(model, ticket) {
        picker.loading = false;
    }
}

fn session_entry(card: &SessionCard, offset: i32) -> Entry {
    let messages = if card.messages == 1 { "message" } else { "messages" };
    let branches = if card.branches == 1 { "branch" } else { "branches" };
    let (date, clock) = (time::date(card.updated_at, offset), time::clock(card.updated_at, offset));
    Entry {
        label: card.title.clone(),
        detail: format!("{date} {clock} · {} {messages} · {} {branches}", card.messages, card.branches),
        choice: Choice::Session(card.id),
    }
}

pub(crate) fn sessions_came(model: &mut Model, ticket: u64, cards: &[SessionCard]) {
    let entries = cards.iter().map(|card| session_entry(card, model.facts.offset)).collect();
    if let Some(picker) = awaiting(model, ticket) {
        picker.fill(entries);
    }
}

pub(crate) fn models_came(model: &mut Model, ticket: u64, by_profile: Vec<(String, Result<Vec<ModelInfo>, Failure>)>) {
    let (mut entries, mut failed) = (Vec::new(), Vec::new());
    for (profile, result) in by_profile {
        match result {
            Ok(models) => entries.extend(models.into_iter().map(|info| model_entry(&profile, info))),
            Err(failure) => failed.push(Entry {
                label: format!("{profile}: {}", failure.what),
                detail: failure.todo,
                choice: Choice::Nothing,
            }),
        }
    }
    // What can be taken comes first.
    entries.extend(failed);
    if let Some(picker) = awaiting(model, ticket) {
        picker.fill(entries);
    }
}

fn model_entry(profile: &str, info: ModelInfo) -> Entry {
    let price = info.price.map_or(String::new(), |p| format!(" · ${} in, ${} out a million", p.input, p.output));
    let detail = format!("{profile} · window {} ({}){price}", info.context_window, info.source);
    let choice = Choice::Model { profile: profile.to_owned(), model: info.name.clone() };
    Entry { label: info.name, detail, choice }
}

/// Enter in a list.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Layer::Picker(picker)) = model.layers.last() else { return };
    let Some(choice) = picker.selected().map(|entry| entry.choice.clone()) else { return };
    match choice {
        Choice::Nothing | Choice::Rule(..) => {}
        Choice::Copy(text) => {
            model.layers.pop();
            out.push(Cmd::Copy(text.to_string()));
        }
        Choice::CopyTurn(node) => {
            model.layers.pop();
            crate::tui::chat::update::copying::turn(model, node, out);
        }
        Choice::CopyBranch => {
            model.layers.pop();
            crate::tui::chat::update::copying::branch(model, out);
        }
        Choice::Memory(id) => crate::tui::screens::memories::update::act(model, id, MemoryAct::Confirm(None), out),
        Choice::Message(node) => crate::tui::screens::search::update::go(model, node, out),
        Choice::Theme(name) => {
            model.layers.pop();
            crate::tui::update::comfort::keep_theme(model, &name, out);
        }
        Choice::Action(action) => {
            model.layers.pop();
            crate::tui::update::actions::run(model, action, None, out);
        }
        Choice::Session(id) => {
            let request =
                Request::Session(SessionRequest::Open { session: Some(id.to_string()), branch: None, create: false });
            send(model, request, Pending::Open, out);
        }
        Choice::Without(run, atom) => {
            model.layers.pop();
            crate::tui::screens::race::update::replay(model, run, None, Some(atom), out);
        }
        Choice::Model { profile, model: name } => {
            let again = if let Kind::ReplayModels(run) = picker.kind { Some(run) } else { None };
            model.layers.pop();
            if let Some(run) = again {
                return crate::tui::screens::race::update::replay(model, run, Some((profile, name)), None, out);
            }
            let Some(branch) = model.branch() else { return };
            let mut overrides = branch.overrides.clone();
            (overrides.profile, overrides.model) = (Some(profile), Some(name));
            branches::set_overrides(model, overrides, out);
        }
    }
}

/// New, rename and delete in the list of sessions.
pub(crate) fn manage(model: &mut Model, run: Action, out: &mut Vec<Cmd>) {
    let Some(Layer::Picker(picker)) = model.layers.last() else { return };
    if picker.kind == Kind::Memories {
        return crate::tui::screens::memories::update::manage(model, run, out);
    }
    if picker.kind == Kind::Rules && run == Action::Delete {
        return crate::tui::screens::approval::update::take_off(model, out);
    }
    if picker.kind != Kind::Sessions {
        return;
    }
    let selected = picker.selected().map(|entry| (entry.label.clone(), entry.choice.clone()));
    match (run, selected) {
        (Action::New, _) => {
            let (title, purpose) = ("Title of the new session (may stay empty)".to_owned(), Purpose::NewSession);
            model.layers.push(Layer::Prompt(Prompt { title, text: String::new(), purpose }));
        }
        (Action::Rename, Some((text, Choice::Session(id)))) => {
            let (title, purpose) = ("Rename the session".to_owned(), Purpose::RenameSession(Some(id)));
            model.layers.push(Layer::Prompt(Prompt { title, text, purpose }));
        }
        (Action::Delete, Some((label, Choice::Session(id)))) => {
            model.layers.push(Layer::Question(Question {
                title: "Delete this session?".to_owned(),
                words: vec![label, "All its messages and branches go for good; this cannot be undone.".to_owned()],
                choices: vec![
                    ('n', "no, keep it".to_owned(), Act::Close),
                    ('y', "yes, delete it for good".to_owned(), Act::DeleteSession(id)),
                ],
                cursor: 0,
            }));
        }
        _ => {}
    }
}
