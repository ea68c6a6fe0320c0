//! Edits a text in the user's editor.
//! Not for: the workbench, which has to release its terminal first.

use super::stop::Stop;
use crate::config::editor;
use crate::config::load::Environment;
use crate::domain::base::Failure;

/// Returns the text that the editor saved.
pub(super) fn edit(text: &str, env: &Environment) -> Result<String, Stop> {
    editor::edit(text, env).map_err(|error| {
        Failure::user(error.to_string())
            .kept("The text is unchanged.")
            .todo("Set EDITOR, or pass the text on standard input with `-`.")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_editor_keeps_the_old_text() {
        let stop = edit("text", &Environment::of([("EDITOR", "false")])).unwrap_err();
        assert_eq!(stop.code(), 1);
    }
}
