//! The message in the person's own editor, while the terminal is lent to it.
//! Not for: giving the terminal away and taking it back (`terminal`), or keeping keys from being read meanwhile (`input`).

use crate::config::editor;
use crate::config::load::Environment;

/// What was saved. Errors are sentences.
pub(crate) fn edit(text: &str) -> Result<String, String> {
    editor::edit(text, &Environment::of_process())
        .map_err(|error| format!("{error} Your message is unchanged. Set EDITOR to use another editor."))
}
