//! Opening and closing what lies over the chat: overlay, readers, questions, prompts, editors; and their choices.
//! Not for: moving about in them (`screens::picker::update`).

use super::send;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::plan::{Blocked, Choice, RowKind};
use crate::domain::tool::consent::Consent;
use crate::engine::api::{self, BranchRequest, Item, PlanRequest, Request, SessionRequest, ToolRequest};
use crate::tui::chat::model::composer::{self, Draft};
use crate::tui::chat::update::{acts, branches, queueing};
use crate::tui::model::layer::{Act, Edited, Editor, Layer, Prompt, Purpose, Question, Reader};
use crate::tui::model::session::Session;
use crate::tui::model::status::Weight;
use crate::tui::model::{Action, Focus, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::screens::request::model::{Content, Overlay, turns_of_range};

/// Renames what is selected: the branch in the panel or the tree, or an entry of the open list.
pub(crate) fn rename(model: &mut Model, out: &mut Vec<Cmd>) {
    let branch = match (model.layers.last(), &model.session) {
        (None, _) => model.panel.selected(),
        (Some(Layer::Tree(tree)), Some(session)) => {
            tree.selected(session).and_then(|row| session.forest.branches(row).first().copied())
        }
        (Some(Layer::Tree(_)), None) => None,
        (Some(_), _) => return screens::picker::update::manage(model, Action::Rename, out),
    };
    if let Some(id) = branch {
        branches::rename_prompt(model, id);
    }
}

/// Rebuilds the state block from the messages in the window.
pub(crate) fn rebuild_state(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, Request::Branch(BranchRequest::RebuildState(branch)), Pending::Act, out);
    }
}

/// Takes the state that came with an import.
pub(crate) fn adopt_state(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, Request::Branch(BranchRequest::AdoptState(branch)), Pending::Act, out);
    }
}

/// The context overlay; the same key closes it.
pub(crate) fn overlay(model: &mut Model, out: &mut Vec<Cmd>) {
    let before = model.layers.len();
    model.layers.retain(|layer| !matches!(layer, Layer::Overlay(_)));
    if model.layers.len() < before {
        return;
    }
    let mut overlay = Overlay { arranged: model.arranged, ..Overlay::default() };
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        if let Some(plan) = model.plan.plan(branch) {
            overlay.show(Content::Plan(plan.clone()));
        } else if let Some(blocked) = model.plan.blocked(branch) {
            overlay.show(Content::Blocked(blocked.clone()));
        } else {
            model.plan.hurry(model.now);
        }
    }
    model.layers.push(Layer::Overlay(Box::new(overlay)));
    row_text(model, out);
}

/// Scrolls the overlay's detail pane by half a list's height.
pub(crate) fn scroll_detail(model: &mut Model, way: isize) {
    let by = |page: usize| i64::try_from(page / 2).unwrap_or(1).max(1);
    match model.layers.last_mut() {
        Some(Layer::Draft(desk)) => return desk.scroll_sources(by(desk.seen.2) * i64::try_from(way).unwrap_or(1)),
        Some(Layer::Capsules(shelf)) => {
            shelf.scroll = shelf.scroll.saturating_add_signed(way * 8).min(4_000);
            return;
        }
        Some(Layer::WhatIf(strip)) => {
            strip.scroll = strip.scroll.saturating_add_signed(way * 4).min(400);
        }
        Some(Layer::Compare(view)) => return view.scroll(way * 8),
        Some(Layer::Traces(screen)) => return screen.roll(by(screen.seen.1) * i64::try_from(way).unwrap_or(1)),
        Some(Layer::Workshop(shop)) => return shop.roll(i64::try_from(way).unwrap_or(1) * 8),
        Some(Layer::Toolbox(rack)) => return rack.roll(i64::try_from(way).unwrap_or(1) * 8),
        Some(Layer::Consent(ask)) => return ask.shift(by(ask.seen.1) * i64::try_from(way).unwrap_or(1)),
        Some(Layer::Diff(view)) => {
            view.scroll = view.scroll.saturating_add_signed(way * 8).min(4_000);
            return;
        }
        _ => {}
    }
    if let Some(Layer::Overlay(overlay)) = model.layers.last_mut() {
        let step = isize::try_from(overlay.page / 2).unwrap_or(1).max(1) * way;
        overlay.detail_scroll = overlay.detail_scroll.saturating_add_signed(step).min(4_000);
    }
}

/// Asks for the full text of the selected row, once a plan.
pub(crate) fn row_text(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let Some(Layer::Overlay(overlay)) = model.layers.last() else { return };
    let Some(atom) = overlay.selected_atom() else { return };
    if matches!(atom, Atom::Range { .. }) {
        return;
    }
    let waits = |what_for: Pending| model.pending.values().any(|p| *p == what_for);
    let untold = !overlay.told.contains(&atom.key()) && !waits(Pending::Lately(atom));
    if !overlay.texts.contains_key(&atom.key()) && !waits(Pending::RowText(atom)) {
        send(model, Request::Plan(PlanRequest::RowText { branch, atom }), Pending::RowText(atom), out);
        send(model, Request::Branch(BranchRequest::Steps { branch, atom: Some(atom) }), Pending::Steps(atom), out);
    }
    // Given up when the next row is asked about, and then asked again once this one is selected again.
    if untold {
        let item = Item::Atom(atom);
        send(
            model,
            Request::Plan(PlanRequest::Why { branch, item, most: Some(screens::calls::update::FEW) }),
            Pending::Lately(atom),
            out,
        );
    }
}

pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    match model.layers.last_mut() {
        Some(Layer::Overlay(overlay)) => {
            if overlay.filtering {
                overlay.filtering = false;
            } else if !unfold(overlay, model.session.as_ref()) {
                crate::tui::screens::request::update::read(model, out);
            }
            row_text(model, out);
        }
        Some(Layer::Draft(_) | Layer::Capsules(_)) => screens::summaries::update::enter(model),
        Some(Layer::WhatIf(_)) => crate::tui::screens::what_if::update::take(model, out),
        Some(Layer::Arena(_)) => crate::tui::screens::race::update::keep(model, out),
        Some(Layer::Compare(_)) => screens::compare::update::enter(model),
        Some(Layer::Calls(_) | Layer::Diff(_) | Layer::History(_)) => screens::calls::update::enter(model, out),
        Some(Layer::Ledger(_)) => crate::tui::screens::usage::update::enter(model, out),
        Some(Layer::Workshop(_)) => screens::editor::update::edit(model),
        Some(Layer::Toolbox(_)) => crate::tui::screens::tools::update::enter(model, out),
        Some(Layer::Picker(_)) => screens::picker::update::choose(model, out),
        Some(Layer::Find(_)) => screens::search::update::choose(model, out),
        Some(Layer::Tree(_)) => screens::tree::update::choose(model, out),
        Some(Layer::Question(_)) => choose(model, out),
        Some(Layer::Prompt(_)) => submit(model, out),
        Some(Layer::Raw(raw)) if raw.searching => raw.searching = false,
        Some(Layer::Raw(raw)) => raw.fold(),
        Some(Layer::Traces(screen)) => screen.enter(),
        Some(Layer::Reader(_) | Layer::Editor(_) | Layer::Consent(_) | Layer::Aside(_) | Layer::Help { .. }) => {}
        None => match model.focus {
            Focus::Branches => {
                if let Some(id) = model.panel.selected() {
                    screens::search::update::leave_here(model);
                    branches::switch(model, id, out);
                } else {
                    acts::fork(model, out);
                }
            }
            Focus::Tools => crate::tui::screens::traces::update::open(model),
            Focus::Context => overlay(model, out),
            Focus::Conversation => fold(model),
            Focus::Composer => {}
        },
    }
}

/// Opens or folds the selected row of the overlay: a turn into its messages, a range into its turns. False where the line
/// holds no others.
fn unfold(overlay: &mut Overlay, session: Option<&Session>) -> bool {
    if overlay.on_tools() {
        overlay.unfold_tools();
        return true;
    }
    let Some((row, None)) = overlay.selected() else { return false };
    let range = row.kind == RowKind::Range;
    if overlay.selected_past().is_some() || !(range || row.items.len() > 1) {
        return false;
    }
    let key = row.atom.key();
    let turns = session.filter(|_| range).map(|session| turns_of_range(&session.tree, row));
    overlay.past.extend(turns.map(|turns| (key, turns)));
    if !overlay.opened.remove(&key) {
        overlay.opened.insert(key);
    }
    overlay.list();
    true
}

/// Opens the folded parts of the selected message, or folds them.
pub(super) fn fold(model: &mut Model) {
    let Some(session) = &model.session else { return };
    let Some(slot) = model.conversation.selected() else { return };
    let id = session.tree.head(slot).id;
    if !model.conversation.opened.remove(&id) {
        model.conversation.opened.insert(id);
    }
    model.conversation.reveal = true;
}

pub(crate) fn filter(model: &mut Model) {
    if let Some(Layer::Overlay(overlay)) = model.layers.last_mut() {
        overlay.filtering = true;
    } else if let Some(Layer::Tree(grove)) = model.layers.last_mut() {
        grove.filtering = true;
    } else if let Some(Layer::Traces(screen)) = model.layers.last_mut() {
        (screen.filtering, screen.opened) = (true, false);
    } else if let Some(Layer::Raw(raw)) = model.layers.last_mut() {
        raw.searching = true;
    } else if model.layers.is_empty() {
        model.focus = Focus::Composer;
        if model.composer.is_empty() {
            model.composer.paste("/");
        }
    }
}

/// The state block, to read and edit.
pub(crate) fn state(model: &mut Model) {
    let Some(branch) = model.branch() else { return };
    let text = branch.state.as_ref().map_or("", |state| state.text.as_str());
    let version = branch.state.as_ref().map_or_else(
        || "none yet: what you write here is sent as the state".to_owned(),
        |state| format!("version {}{}", state.version, if state.edited { ", edited by you" } else { "" }),
    );
    let clean: String = composer::line_ends(text).chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let lines = clean.split('\n').map(str::to_owned).collect();
    let (title, what) = (format!("State block ({version})"), Edited::State(branch.id));
    let editor = Editor { title, area: composer::area(lines), what, fault: None, saving: None, before: None };
    model.layers.push(Layer::Editor(Box::new(editor)));
}

/// Leaving an editor whose text was changed asks what becomes of it. False where there is nothing to ask.
pub(super) fn asks_to_save(model: &mut Model) -> bool {
    let Some(Layer::Editor(editor)) = model.layers.last() else { return false };
    if !editor.area.clone().undo() {
        return false;
    }
    model.layers.push(Layer::Question(Question {
        title: "Leave without saving?".to_owned(),
        words: vec!["The text was changed.".to_owned()],
        choices: vec![
            ('n', "no, go on editing".to_owned(), Act::Close),
            ('s', "save it".to_owned(), Act::Run(Action::Save)),
            ('y', "yes, leave it as it was".to_owned(), Act::Forget),
        ],
        cursor: 0,
    }));
    true
}

pub(crate) fn save(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Layer::Editor(editor)) = model.layers.last() else { return };
    if matches!(editor.what, Edited::Request { .. }) {
        return crate::tui::screens::raw_request::update::saved(model, out);
    }
    let (what, text) = (editor.what.clone(), editor.area.lines().join("\n"));
    let below = model.layers.len().checked_sub(2).and_then(|at| model.layers.get(at));
    let versions = matches!(below, Some(Layer::Workshop(_)));
    match what {
        Edited::State(branch) if !versions => {
            model.layers.pop();
            send(model, Request::Branch(BranchRequest::EditState { branch, text }), Pending::Act, out);
        }
        Edited::Draft { branch, number } => {
            model.layers.pop();
            screens::summaries::update::save(model, branch, number, text, out);
        }
        what => return crate::tui::screens::editor::update::save(model, what, text, out),
    }
    model.plan.hurry(model.now);
}

/// Opens the text of the last folded paste.
pub(super) fn expand_paste(model: &mut Model) {
    let composer = &model.composer;
    let last = composer.pastes().chain(composer.files()).last().map(|(chip, text)| (chip.to_owned(), text.clone()));
    match last {
        Some((chip, text)) => model.layers.push(Layer::Reader(Reader::new(chip, text, true))),
        None => model.status.say(Weight::Notice, "There is no folded paste or file in the message.", model.now),
    }
}

pub(crate) fn trust(model: &mut Model) {
    let Some((folder, trusted)) = model.session.as_ref().map(|session| session.workspace.clone()) else { return };
    let (title, words, yes) = if trusted {
        ("Stop trusting this folder?", "The model will be offered no tools any more.", "yes, offer no tools")
    } else {
        let words = "The model may then read, list and search the files in this folder, and nothing outside it. A map of \
                     its code and its rules (AGENTS.md) go with calls, in mode Heavy pieces of code too: Ctrl+O shows each. \
                     All of that is sent to the model's server. Servers of tools that your settings name are started. Each \
                     change of a file and each command asks you first, unless a rule of yours allows it.";
        ("Trust this folder?", words, "yes, offer tools here")
    };
    model.layers.push(Layer::Question(Question {
        title: title.to_owned(),
        words: vec![folder, words.to_owned()],
        choices: vec![('n', "no".to_owned(), Act::Close), ('y', yes.to_owned(), Act::Trust(!trusted))],
        cursor: 0,
    }));
}

/// Another answer is still coming on the branch: what now?
pub(super) fn busy(model: &mut Model, branch: BranchId, draft: Draft, failure: &Failure) {
    model.layers.push(Layer::Question(Question {
        title: "An answer is still coming".to_owned(),
        words: vec![failure.what.clone(), "Your message is kept in the composer.".to_owned()],
        choices: vec![
            ('w', "wait, and send it when that answer is done".to_owned(), Act::Wait(branch, draft.clone())),
            ('f', "fork here and send it on the fork".to_owned(), Act::ForkAndSend(branch, draft)),
            ('n', "neither; keep writing".to_owned(), Act::Close),
        ],
        cursor: 0,
    }));
}

/// What must go does not fit, as the screen knows already.
pub(crate) fn blocked_here(model: &mut Model, branch: BranchId) {
    let sentence = model.plan.blocked(branch).map(|blocked| blocked.sentence()).unwrap_or_default();
    blocked(model, branch, &Failure::user(sentence));
}

/// What must go does not fit: the ways out.
pub(super) fn blocked(model: &mut Model, branch: BranchId, failure: &Failure) {
    let mut choices: Vec<(char, String, Act)> = Vec::new();
    if let Some(blocked) = model.plan.blocked(branch) {
        choices = ways_out(blocked);
    }
    choices.push(('o', "look at what must go".to_owned(), Act::Run(Action::Context)));
    choices.push(('n', "keep writing".to_owned(), Act::Close));
    let mut words = vec![failure.what.clone()];
    words.extend([failure.kept.clone(), failure.todo.clone()].into_iter().filter(|s| !s.is_empty()));
    model.layers.push(Layer::Question(Question { title: "It does not fit".to_owned(), words, choices, cursor: 0 }));
    model.plan.hurry(model.now);
}

fn ways_out(blocked: &Blocked) -> Vec<(char, String, Act)> {
    let way = |choice: &Choice| match choice {
        Choice::LargerBudget { at_least } => {
            let round = at_least.div_ceil(500).saturating_mul(500);
            ('b', choice.sentence(), Act::Budget(round.min(blocked.budget.most())))
        }
        Choice::OtherModel => ('m', choice.sentence(), Act::Models),
        Choice::Unpin { atoms, .. } => ('u', choice.sentence(), Act::Unpin(atoms.clone())),
        Choice::FewerTools { .. } => ('t', choice.sentence(), Act::Trust(false)),
        Choice::ShorterMessage { .. } => ('s', choice.sentence(), Act::Close),
        Choice::ShortenBodies { .. } => ('p', choice.sentence(), Act::Policy("layered".to_owned())),
    };
    blocked.choices.iter().map(way).collect()
}

/// Enter in a question.
pub(super) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Layer::Question(question)) = model.layers.last() else { return };
    let Some((_, _, act)) = question.choices.get(question.cursor).cloned() else { return };
    model.layers.pop();
    match act {
        Act::Close => {}
        Act::Run(action) => super::actions::run(model, action, None, out),
        Act::Command(line) => crate::tui::chat::update::commands::typed(model, &line, out),
        Act::ForkAndSend(branch, draft) => {
            let request = Request::Branch(BranchRequest::Fork { branch, at: None, name: None, switch: true });
            send(model, request, Pending::Fork(Some(draft)), out);
        }
        Act::Wait(branch, draft) => {
            if !queueing::put(model, branch, &draft) {
                queueing::wait_for_others(model, branch, draft, out);
            }
        }
        Act::SaveUnsaved => crate::tui::chat::update::quit::save(model),
        Act::Leave => model.quit = true,
        Act::SendQueued(branch) => drop(queueing::next(model, branch, true, out)),
        Act::Budget(cap) => override_here(model, |overrides| overrides.budget = Some(cap), out),
        Act::Policy(policy) => override_here(model, |overrides| overrides.policy = Some(policy), out),
        Act::Unpin(atoms) => {
            if let Some(branch) = model.branch().map(|branch| branch.id) {
                let items = atoms.into_iter().map(Item::Atom).collect();
                send(
                    model,
                    Request::Branch(BranchRequest::Mark { branch, items, act: api::Act::Clear }),
                    Pending::Act,
                    out,
                );
                model.plan.hurry(model.now);
            }
        }
        Act::Models => screens::picker::update::models(model, out),
        Act::Replay(run) => crate::tui::screens::race::update::replay(model, run, None, None, out),
        Act::ReplayModel(run) => crate::tui::screens::race::update::models(model, run, out),
        Act::ReplayWithout(run) => crate::tui::screens::race::update::without(model, run, out),
        Act::DeleteSession(id) => {
            send(model, Request::Session(SessionRequest::Delete { session: Some(id.to_string()) }), Pending::Act, out);
            screens::picker::update::filter_changed(model, out);
        }
        Act::RejectDraft(branch) => screens::summaries::update::reject(model, branch, out),
        Act::Redraft => screens::summaries::update::redraft(model, out),
        Act::Forget => drop(model.layers.pop()),
        Act::Always(branch, index, scope, rule) => {
            let hunks = model.layers.iter().rev().find_map(|layer| match layer {
                Layer::Consent(ask) => Some(ask.chosen()),
                _ => None,
            });
            let yes = Consent::Yes { hunks: hunks.unwrap_or_default() };
            crate::tui::screens::approval::update::give(model, (branch, index), yes, Some((scope, rule)), out);
        }
        Act::FolderServers(digest, yes) => crate::tui::screens::tools::update::say_to_file(model, digest, yes, out),
        Act::FolderSettings(digest, yes) => crate::tui::chat::update::folder::say(model, digest, yes, out),
        Act::Trust(trusted) => trusted_now(model, trusted, out),
    }
}

/// The folder is trusted, or no longer.
fn trusted_now(model: &mut Model, trusted: bool, out: &mut Vec<Cmd>) {
    if let Some(session) = &mut model.session {
        session.workspace.1 = trusted;
    }
    send(model, Request::Tool(ToolRequest::Trust { trusted }), Pending::Act, out);
    model.plan.hurry(model.now);
}

/// Changes what the branch stood on overrides.
fn override_here(model: &mut Model, change: impl FnOnce(&mut Overrides), out: &mut Vec<Cmd>) {
    if let Some(mut overrides) = model.branch().map(|branch| branch.overrides.clone()) {
        change(&mut overrides);
        branches::set_overrides(model, overrides, out);
    }
}

fn submit(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(Layer::Prompt(Prompt { text, purpose, .. })) = model.layers.pop() else { return };
    let text = text.trim().to_owned();
    if text.is_empty() && !matches!(purpose, Purpose::NewSession | Purpose::Label(_) | Purpose::Focus) {
        return;
    }
    match purpose {
        Purpose::RenameBranch(branch) => {
            send(model, Request::Branch(BranchRequest::Rename { branch, name: text }), Pending::Act, out);
        }
        Purpose::RenameSession(id) => {
            let session = id.map(|id| id.to_string());
            send(model, Request::Session(SessionRequest::Rename { session, title: Some(text) }), Pending::Act, out);
            screens::picker::update::filter_changed(model, out);
        }
        Purpose::SaveUnsaved => crate::tui::chat::update::quit::named(model, text, out),
        Purpose::CopyPolicy(preset) => crate::tui::screens::editor::update::named(model, &preset, text),
        Purpose::Focus => crate::tui::chat::update::focus::set(model, &text, out),
        Purpose::Label(node) => crate::tui::chat::update::tags::put(model, node, api::TagAct::Label(text), out),
        Purpose::Remember => crate::tui::screens::memories::update::remember(model, &text, out),
        Purpose::EditMemory(id) => {
            crate::tui::screens::memories::update::act(model, id, api::MemoryAct::Edit(Some(text), None), out);
        }
        Purpose::Refuse(branch, index) => {
            crate::tui::screens::approval::update::give(
                model,
                (branch, index),
                Consent::No { why: Some(text) },
                None,
                out,
            );
        }
        Purpose::NewSession => {
            send(model, Request::Session(SessionRequest::New { title: text }), Pending::Open, out);
        }
    }
}
