//! A text in the person's editor.
//! Not for: the workbench, which has to give its terminal away first.

use super::stop::Stop;
use crate::config::editor;
use crate::config::load::Environment;
use crate::domain::base::failure::Failure;

/// What was saved.
pub(super) fn edit(text: &str, env: &Environment) -> Result<String, Stop> {
    editor::edit(text, env).map_err(|error| {
        Failure::user(error.to_string())
            .kept("The old text is as it was.")
            .todo("Set EDITOR, or give the text on standard input with `-`.")
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
