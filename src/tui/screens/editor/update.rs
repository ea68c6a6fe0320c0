//! Updates of the editor: loading items with their versions, editing an item, applying a policy, and undo.
//! Not for: moving the cursor (`tui::update::travel`), or the lists of summaries and memories with their own actions
//! (`screens::summaries::update`, `screens::memories::update`).

use super::model::{EditorPending, EditorScreen, PolicyPreview};
use crate::domain::base::{Failure, FailureKind, Hash};
use crate::domain::summary::{Editability, EditableKind, PolicyFault, SummaryAuthor, SummarySource};
use crate::engine::api::{
    Answer, BranchRequest, EditableAct, EditableAnswer, FileAct, MemoryAct, MemoryRequest, ModuleAct, PlanAnswer,
    ProjectAct, Request, SessionRequest, SummaryAct, ToolRequest,
};
use crate::tui::chat::model::pending::ComposerPending;
use crate::tui::chat::update::branches;
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::screens::summaries::update_modules;
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Handles Esc among module summaries: stops one that is being written, or else closes the editor.
pub(crate) fn leave_modules(model: &mut Model, out: &mut Vec<Cmd>) {
    if !update_modules::stop(model, out) {
        model.layers.pop();
    }
}

fn change_top(model: &mut Model, change: impl FnOnce(&mut EditorScreen)) {
    if let Some(screen) = model.layers.top_mut::<EditorScreen>() {
        change(screen);
    }
}

fn top(model: &Model) -> Option<&EditorScreen> {
    model.layers.top::<EditorScreen>()
}

/// Opens the editor on a kind of item, or closes it if that kind is shown.
pub(crate) fn open(model: &mut Model, kind: EditableKind, out: &mut Vec<Cmd>) {
    let there = model.layers.all::<EditorScreen>().any(|screen| screen.kind == kind);
    model.layers.close::<EditorScreen>(|_| true);
    let Some(branch) = model.branch().map(|branch| branch.id).filter(|_| !there) else { return };
    let ticket = send(model, EditableAct::List { branch, kind }, EditorPending::List, out);
    model.status.settle();
    model.layers.push(EditorScreen::new(branch, kind, ticket));
}

/// Switches to the next or the previous kind of item.
pub(crate) fn switch_kind(model: &mut Model, step: i64, out: &mut Vec<Cmd>) {
    let Some((branch, kind)) = top(model).map(|screen| (screen.branch, screen.next(step))) else { return };
    let ticket = send(model, EditableAct::List { branch, kind }, EditorPending::List, out);
    change_top(model, |screen| *screen = EditorScreen::new(branch, kind, ticket));
}

/// Loads the items again.
fn reload(model: &mut Model, out: &mut Vec<Cmd>) {
    let open = model.layers.all::<EditorScreen>().next().map(|screen| (screen.branch, screen.kind));
    let Some((branch, kind)) = open else { return };
    let ticket = send(model, EditableAct::List { branch, kind }, EditorPending::List, out);
    for screen in model.layers.all_mut::<EditorScreen>() {
        screen.loading = Some(ticket);
    }
}

/// Handles the answers to the requests of the editor.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: EditorPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (EditorPending::List, Ok(Answer::Editable(EditableAnswer::Editables(kind, items)))) => {
            let waits = |screen: &&mut EditorScreen| screen.kind == kind && screen.loading == Some(ticket);
            if let Some(screen) = model.layers.all_mut().find(waits) {
                screen.fill(items);
            }
        }
        (EditorPending::List, Err(failure)) => {
            model.layers.close::<EditorScreen>(|screen| screen.loading == Some(ticket));
            show_failure(model, &failure);
        }
        (EditorPending::List, result) => show_answer(model, result),
        (EditorPending::Change, result) => changed(model, ticket, result, out),
        (EditorPending::TryPolicy, result) => previewed(model, ticket, result),
    }
}

/// Opens the text of the shown version for editing. A built-in policy is copied first, under a name that is asked for.
pub(crate) fn edit(model: &mut Model) {
    let Some(screen) = top(model) else { return };
    let Some(item) = screen.selected() else {
        if screen.kind == EditableKind::Rules && screen.loading.is_none() {
            let what = Edited::Rules { branch: screen.branch, path: "AGENTS.md".to_owned(), expected: None };
            return model.layers.push(Editor::new("AGENTS.md: does not exist yet", "", what));
        }
        let text = match screen.kind {
            EditableKind::Memories => "No memories yet; /remember TEXT adds a memory.",
            EditableKind::Summaries => "No summaries are in use here; draft a summary first.",
            EditableKind::Modules => "No module summaries yet; /module-summary PATH writes a module summary.",
            EditableKind::State | EditableKind::Policies | EditableKind::Rules | EditableKind::Skills => {
                "There is nothing to edit."
            }
        };
        return model.status.say(Severity::Notice, text, model.now);
    };
    let text = screen.shown().map(|version| version.text.to_string()).unwrap_or_default();
    let (title, what) = match (item.editing, item.kind) {
        (Editability::Not(why), _) => return model.status.say(Severity::Notice, why, model.now),
        (Editability::Copy, _) => return copy(model),
        (Editability::Here, EditableKind::State) => ("State block".to_owned(), Edited::State(screen.branch)),
        (Editability::Here, EditableKind::Memories) => {
            ("Memory (one line)".to_owned(), Edited::Memory(item.id.clone()))
        }
        (Editability::Here, EditableKind::Summaries) => {
            let Ok(summary) = item.id.parse::<Hash>() else { return };
            (format!("Summary of {}", item.title), Edited::Summary { branch: screen.branch, summary })
        }
        (Editability::Here, EditableKind::Rules) => {
            let expected = Some(Hash::of(text.as_bytes()));
            (item.id.clone(), Edited::Rules { branch: screen.branch, path: item.id.clone(), expected })
        }
        (Editability::Here, EditableKind::Modules) => {
            (format!("Summary of {}", item.title), Edited::Module(item.id.clone()))
        }
        (Editability::Here, EditableKind::Skills) => return,
        (Editability::Here, EditableKind::Policies) => {
            (format!("Policy {}", item.id), Edited::Policy { name: item.id.clone(), preset: None })
        }
    };
    model.layers.push(Editor::new(title, &text, what));
}

/// Asks for the name of a copy of the selected policy.
pub(crate) fn copy(model: &mut Model) {
    let policy = top(model).and_then(EditorScreen::selected).filter(|item| item.kind == EditableKind::Policies);
    let Some(name) = policy.map(|item| item.id.clone()) else { return };
    let title = format!("Name for your copy of {name}");
    model.layers.push(Prompt::new(title, format!("my-{name}"), Purpose::CopyPolicy(name)));
}

/// Opens the text of the copy for editing, once it has a name. The copy exists only after it is saved.
pub(crate) fn name_copy(model: &mut Model, preset: &str, name: String) {
    let screen = model.layers.all::<EditorScreen>().next();
    let item = screen.and_then(|screen| screen.items.iter().find(|item| item.id == preset));
    let Some(version) = item.and_then(|item| item.versions.get(item.current())) else { return };
    let title = format!("Policy {name}, a copy of {preset}: not saved yet");
    let editor = Editor::new(title, &version.text, Edited::Policy { name, preset: Some(preset.to_owned()) });
    model.layers.push(editor);
}

/// Saves an edited text. The text editor stays open until the engine accepts the text, so that nothing typed is lost.
pub(crate) fn save(model: &mut Model, what: Edited, text: String, out: &mut Vec<Cmd>) {
    if model.layers.top::<Editor>().is_some_and(|editor| editor.saving.is_some()) {
        return;
    }
    let request = match what {
        Edited::State(branch) => Request::Branch(BranchRequest::EditState { branch, text }),
        Edited::Memory(id) => Request::Memory(MemoryRequest::Change { id, act: MemoryAct::Edit(Some(text), None) }),
        Edited::Summary { branch, summary } => Request::Summary { branch, act: SummaryAct::Rewrite { summary, text } },
        Edited::Policy { name, preset } => Request::Editable(EditableAct::SavePolicy { name, text, preset }),
        Edited::Rules { branch, path, expected } => {
            Request::Tool(ToolRequest::Project(ProjectAct::Save { branch, path, text, expected }))
        }
        Edited::Module(path) => Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Edit { path, text }))),
        Edited::Draft { .. } | Edited::Request { .. } => return,
    };
    let ticket = send(model, request, EditorPending::Change, out);
    if let Some(editor) = model.layers.top_mut::<Editor>() {
        (editor.saving, editor.fault) = (Some(ticket), None);
    }
}

/// Handles the outcome of a change. If it was refused, the text editor stays open with the reason.
fn changed(model: &mut Model, ticket: u64, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    let Some(result) = update_modules::finished(model, ticket, result) else { return };
    let is_it = |editor: &Editor| editor.saving == Some(ticket);
    let (fault, text) = match result {
        Ok(Answer::Editable(EditableAnswer::Refused(fault))) => (Some(fault), String::new()),
        Err(failure) => (Some(PolicyFault { place: None, words: failure.to_string() }), String::new()),
        Ok(Answer::Editable(EditableAnswer::Policies { names, notice: text })) => {
            model.facts.policies = names;
            (None, text)
        }
        Ok(Answer::Done(text)) => (None, text),
        Ok(_) => (None, String::new()),
    };
    if let Some(fault) = fault {
        let Some(editor) = model.layers.all_mut::<Editor>().find(|editor| is_it(editor)) else {
            return model.status.say(Severity::Warning, fault.words, model.now);
        };
        if let Some((line, column)) = fault.place {
            editor.go_to(line, column);
        }
        (editor.saving, editor.fault) = (None, Some(fault.words));
        return;
    }
    let saved = model.layers.take(is_it).map(|editor| editor.what);
    if let (Some(Edited::Policy { name, .. }), Some(screen)) = (saved, model.layers.top_mut::<EditorScreen>()) {
        (screen.wanted, screen.policy_applied) = (Some(name.clone()), false);
        preview(model, name, out);
    }
    model.status.say(Severity::Notice, text, model.now);
    reload(model, out);
}

/// Includes the selected rules or the list of skills in the branch's calls, or leaves them out (undoable).
pub(crate) fn switch(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = top(model) else { return };
    let Some(item) = screen.selected() else { return };
    let path = match screen.kind {
        EditableKind::Rules if item.versions.is_empty() => {
            let text = "This folder is not trusted, so none of its files are sent; /trust changes that.";
            return model.status.say(Severity::Notice, text, model.now);
        }
        EditableKind::Rules => item.id.clone(),
        EditableKind::Skills => "skills".to_owned(),
        EditableKind::State
        | EditableKind::Summaries
        | EditableKind::Memories
        | EditableKind::Policies
        | EditableKind::Modules => return,
    };
    let act = ProjectAct::Set { branch: screen.branch, path, on: None, once: false };
    send(model, ToolRequest::Project(act), EditorPending::Change, out);
}

/// Writes the selected module summary again, by the author of the current version; pleach rewrites a summary that a
/// person wrote.
pub(crate) fn write_again(model: &mut Model, out: &mut Vec<Cmd>) {
    let screen = top(model).filter(|screen| screen.kind == EditableKind::Modules);
    let Some(item) = screen.and_then(EditorScreen::selected) else { return };
    let by = match item.source {
        Some(SummarySource::Llm) => SummaryAuthor::Model,
        Some(SummarySource::Extractive | SummarySource::User) | None => SummaryAuthor::Extractive,
    };
    let path = item.id.clone();
    update_modules::make(model, &path, by, out);
}

/// Attaches a skill to the message.
pub(crate) fn use_skill(model: &mut Model, name: &str, out: &mut Vec<Cmd>) {
    let path = format!("skill:{name}");
    model.layers.close::<EditorScreen>(|_| true);
    model.focus = Focus::Composer;
    let pending = Pending::Composer(ComposerPending::Skill(path.clone()));
    send(model, ToolRequest::Files(FileAct::Read { path }), pending, out);
}

/// Applies the selected policy to the branch (undoable), or attaches the selected skill to the message.
pub(crate) fn take(model: &mut Model, out: &mut Vec<Cmd>) {
    let skill = top(model).filter(|screen| screen.kind == EditableKind::Skills).and_then(EditorScreen::selected);
    if let Some(name) = skill.map(|item| item.id.clone()) {
        return use_skill(model, &name, out);
    }
    let Some(screen) = top(model).filter(|screen| screen.kind == EditableKind::Policies) else { return };
    let Some(item) = screen.selected() else { return };
    let name = item.id.clone();
    if item.in_use {
        return model.status.say(Severity::Notice, format!("This branch already uses {name}."), model.now);
    }
    branches::choose(model, |overrides| overrides.policy = Some(name.clone()), out);
    model.status.say(Severity::Notice, format!("This branch now uses {name}; u undoes it."), model.now);
    change_top(model, |screen| screen.policy_applied = true);
    reload(model, out);
}

/// Previews the next request under the selected policy.
pub(crate) fn try_out(model: &mut Model, out: &mut Vec<Cmd>) {
    let policy = top(model).filter(|screen| screen.kind == EditableKind::Policies).and_then(EditorScreen::selected);
    if let Some(policy) = policy.map(|item| item.id.clone()) {
        preview(model, policy, out);
    }
}

fn preview(model: &mut Model, policy: String, out: &mut Vec<Cmd>) {
    let Some(branch) = top(model).map(|screen| screen.branch) else { return };
    let draft = model.composer.next_draft();
    let request = EditableAct::TryPolicy { branch, draft, policy: policy.clone() };
    let ticket = send(model, request, EditorPending::TryPolicy, out);
    change_top(model, |screen| screen.preview = Some(PolicyPreview { policy, ticket, result: None }));
}

fn previewed(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    let came = match result {
        Ok(Answer::Plan(PlanAnswer::WhatIf(found))) => Ok(found),
        Ok(_) => Err("The draft changed in the meantime; try again.".to_owned()),
        Err(failure) if failure.kind == FailureKind::Stale => {
            Err("The branch changed in the meantime; try again.".into())
        }
        Err(failure) => Err(failure.to_string()),
    };
    for screen in model.layers.all_mut::<EditorScreen>() {
        if let Some(preview) = screen.preview.as_mut().filter(|preview| preview.ticket == ticket) {
            preview.result = Some(came.clone());
        }
    }
}

/// Handles undo and redo in the editor: for a policy or a module summary, its versions; otherwise, the session's last
/// change.
pub(crate) fn undo(model: &mut Model, forward: bool, out: &mut Vec<Cmd>) {
    let Some(screen) = top(model) else { return };
    let policy = screen.selected().filter(|item| item.kind == EditableKind::Policies && !screen.policy_applied);
    let module = screen.selected().filter(|item| item.kind == EditableKind::Modules).map(|item| item.id.clone());
    let request = match (policy, forward) {
        (None, forward) if let Some(path) = module => {
            Request::Tool(ToolRequest::Project(ProjectAct::Module(ModuleAct::Step { path, forward })))
        }
        (Some(item), _) if item.editing == Editability::Copy => {
            let key = model.keys.key_in(Action::EditText, KeyPlace::Editors);
            let text = format!("{} is built in and can't be changed; {key} copies it.", item.id);
            return model.status.say(Severity::Notice, text, model.now);
        }
        (Some(item), forward) => Request::Editable(EditableAct::StepPolicy { name: item.id.clone(), forward }),
        (None, false) => Request::Session(SessionRequest::Undo),
        (None, true) => Request::Session(SessionRequest::Redo),
    };
    send(model, request, EditorPending::Change, out);
    change_top(model, |screen| screen.policy_applied = false);
}
