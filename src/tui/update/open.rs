//! What is opened from the chat itself: messages and pastes, the state block, questions about trust and about calls that
//! cannot be made. Not for: what a choice does (`screens::question`).

use super::send;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::BranchId;
use crate::domain::planning::plan::{Blocked, Choice};
use crate::engine::api::{BranchRequest, Request};
use crate::tui::chat::model::composer::{self, Draft};
use crate::tui::chat::update::{acts, branches};
use crate::tui::model::status::Severity;
use crate::tui::model::{Action, Focus, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::reader::model::Reader;
use crate::tui::screens::text_editor::model::{Edited, Editor};

/// Renames the branch that is selected in the panel.
pub(crate) fn rename(model: &mut Model) {
    if let Some(id) = model.panel.selected().filter(|_| model.layers.is_empty()) {
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

/// Enter in a pane.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if !model.layers.is_empty() {
        return;
    }
    match model.focus {
        Focus::Branches => {
            if let Some(id) = model.panel.selected() {
                screens::search::update::leave_here(model);
                branches::switch(model, id, out);
            } else {
                acts::fork(model, out);
            }
        }
        Focus::Tools => screens::traces::update::open(model),
        Focus::Context => screens::request::update::open(model),
        Focus::Conversation => fold(model),
        Focus::Composer => {}
    }
}

/// Begins a command in the composer.
pub(crate) fn filter(model: &mut Model) {
    if model.layers.is_empty() {
        model.focus = Focus::Composer;
        if model.composer.is_empty() {
            model.composer.paste("/");
        }
    }
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
    model.layers.push(editor);
}

/// Opens the text of the last folded paste.
pub(super) fn expand_paste(model: &mut Model) {
    let composer = &model.composer;
    let last = composer.pastes().chain(composer.files()).last().map(|(chip, text)| (chip.to_owned(), text.clone()));
    match last {
        Some((chip, text)) => model.layers.push(Reader::new(chip, text, true)),
        None => model.status.say(Severity::Notice, "The message has no folded paste or file.", model.now),
    }
}

pub(crate) fn trust(model: &mut Model) {
    let Some((folder, trusted)) = model.session.as_ref().map(|session| session.workspace.clone()) else { return };
    let (title, words, yes) = if trusted {
        ("Stop trusting this folder?", "The model will be offered no tools any more.", "yes, offer no tools")
    } else {
        let words = "The model may then read, list and search the files in this folder, and nothing outside it. \
            Requests include a map of its code and its rules (AGENTS.md), and in mode Heavy parts of its \
            code; Ctrl+O shows each. All of it is sent to the model's server. MCP servers in your settings \
            will start. Each file change and each command asks you first, unless one of your rules allows it.";
        ("Trust this folder?", words, "yes, offer tools here")
    };
    model.layers.push(Question {
        title: title.to_owned(),
        words: vec![folder, words.to_owned()],
        choices: vec![('n', "no".to_owned(), Act::Close), ('y', yes.to_owned(), Act::Trust(!trusted))],
        cursor: 0,
    });
}

/// Another answer is still coming on the branch: what now?
pub(super) fn busy(model: &mut Model, branch: BranchId, draft: Draft, failure: &Failure) {
    model.layers.push(Question {
        title: "An answer is still arriving".to_owned(),
        words: vec![failure.what.clone(), "Your message is kept in the composer.".to_owned()],
        choices: vec![
            ('w', "wait, and send it when that answer is complete".to_owned(), Act::Wait(branch, draft.clone())),
            ('f', "fork here and send it on the fork".to_owned(), Act::ForkAndSend(branch, draft)),
            ('n', "neither; keep writing".to_owned(), Act::Close),
        ],
        cursor: 0,
    });
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
    choices.push(('o', "see what doesn't fit".to_owned(), Act::Run(Action::Context)));
    choices.push(('n', "keep writing".to_owned(), Act::Close));
    let mut words = vec![failure.what.clone()];
    words.extend([failure.kept.clone(), failure.todo.clone()].into_iter().filter(|s| !s.is_empty()));
    model.layers.push(Question { title: "Too large for the budget".to_owned(), words, choices, cursor: 0 });
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
