//! Quitting: immediately, or after asking if the store cannot be written and text would be lost.
//! Not for: writing the file (`shell`).

use super::{composing, questions};
use crate::domain::base::BranchId;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::state;
use crate::tui::chat::model::composer::text::without_marks;
use crate::tui::model::Model;
use crate::tui::model::keys::Action;
use crate::tui::msg::{Cmd, FileCmd};
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::screens::question::model::{Act, Question};
use serde_json::json;
use std::sync::Arc;

/// Name of the notice about a store that cannot be written.
pub(crate) const ROOM: &str = "room";

/// Quits, or first asks what to do with text that would be lost.
pub(crate) fn quit(model: &mut Model) {
    let lost = if model.engine.unwritable { lost(model) } else { Vec::new() };
    if lost.is_empty() {
        model.quit = true;
        return;
    }
    let words = lost.iter().map(|(what, role, text)| {
        format!("{what}: {} ({role})", counted(text.split_whitespace().count() as u64, "word"))
    });
    let beginning = "The store can't be written. You would lose:".to_owned();
    let (title, words) = ("Quit and lose this?", std::iter::once(beginning).chain(words).collect());
    let choices = [
        ('s', "save it to a file on another disk, and quit", Act::SaveUnsaved),
        ('n', "stay; pleach saves everything once there is disk space", Act::Close),
        ('l', "quit and lose it", Act::Leave),
    ];
    model.layers.close::<Question>(|asked| asked.title == title);
    questions::open(model, title, words, choices);
}

/// Asks for the file to save the text to.
pub(crate) fn save(model: &mut Model) {
    let text = model.facts.save_to.clone();
    let title = "Save the unwritten messages to this file, and quit".to_owned();
    model.layers.push(Prompt { title, text: text.into(), purpose: Purpose::SaveUnsaved });
}

/// Writes the text to the file, in lines that `pleach import` reads.
pub(crate) fn named(model: &mut Model, path: String, out: &mut Vec<Cmd>) {
    let lines = lost(model).into_iter().map(|(what, role, text)| {
        let value = json!({ "role": role, "content": &*text, "metadata": { "unsaved": what } });
        format!("{value}\n")
    });
    out.push(Cmd::File(FileCmd::SaveUnsaved(path, lines.collect())));
}

/// Handles the outcome of saving: quits, or asks for another file.
pub(crate) fn saved(model: &mut Model, path: String, result: Result<(), String>) {
    match result {
        Ok(()) => model.quit = true,
        Err(why) => {
            let key = model.keys.key(Action::Leave);
            let title = format!("That file could not be written: {why}. Type another path, or press {key}");
            model.layers.push(Prompt { title, text: path.into(), purpose: Purpose::SaveUnsaved });
        }
    }
}

/// Handles a report on the store: None if it can be written, or the reason why it cannot.
pub(crate) fn room(model: &mut Model, why: Option<String>) {
    model.engine.unwritable = why.is_some();
    model.status.end(ROOM);
    match why {
        Some(why) => model.status.alarm(ROOM, why, model.now),
        None => model.status.report(ROOM, "Disk space is available again: everything is saved.", model.now),
    }
}

/// The texts on the screen that are not in the store: a description, the role, and the text of each.
fn lost(model: &mut Model) -> Vec<(String, &'static str, Arc<str>)> {
    let written_here = model.composer.unsent();
    let name = |id: BranchId| {
        let branch = model.session.as_ref().and_then(|session| session.find(id));
        branch.map_or_else(String::new, |branch| format!(" on {}", branch.name))
    };
    let mut found = Vec::new();
    for (branch, live) in &model.live {
        if !live.user.trim().is_empty() {
            found.push((format!("the question{}", name(*branch)), "user", live.user.clone()));
        }
        let answer = state::strip(&live.text, false);
        if !answer.trim().is_empty() {
            found.push((format!("the answer{}", name(*branch)), "assistant", Arc::from(answer)));
        }
    }
    let here = model.branch().map(|branch| branch.id);
    let branches = model.session.iter().flat_map(|session| session.branches.iter()).map(|branch| branch.id);
    for branch in branches {
        let written = if Some(branch) == here { written_here.clone() } else { model.composer.unsent_on(branch) };
        let text = composing::unsent(model, branch, &written);
        if !text.trim().is_empty() && !model.composer.is_saved(branch, &text) {
            found.push((format!("your message{}", name(branch)), "user", without_marks(&text).into()));
        }
    }
    found
}
