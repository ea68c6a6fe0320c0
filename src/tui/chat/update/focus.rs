//! The focus of the code search on the current branch: setting, showing, and removing it.
//! Not for: resolving it (the engine).

use super::branches;
use crate::domain::code::settings;
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::update::prelude::*;

/// Asks for the focus; an empty line removes it.
pub(crate) fn prompt(model: &mut Model) {
    let Some(text) = model.branch().map(|branch| branch.overrides.focus.join(" ")) else { return };
    let title = "Files, folders, or symbols to focus on (empty: all code)".to_owned();
    model.layers.push(Prompt { title, text: text.into(), purpose: Purpose::Focus });
}

/// Shows the focus as a notice.
pub(crate) fn show(model: &mut Model) {
    let Some(focus) = model.branch().map(|branch| branch.overrides.focus.join(", ")) else { return };
    let text = if focus.is_empty() {
        "No code focus; /focus PATH or SYMBOL … narrows the search.".to_owned()
    } else {
        format!("Code focus: {focus}; /focus none removes it.")
    };
    model.status.say(Severity::Notice, text, model.now);
}

/// Sets the focus to these names; an empty text removes it.
pub(crate) fn set(model: &mut Model, names: &str, out: &mut Vec<Cmd>) {
    branches::choose(model, |overrides| overrides.focus = settings::focus(names), out);
}
