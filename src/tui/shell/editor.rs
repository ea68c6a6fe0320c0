//! Opens the message in the person's own editor, which takes over the terminal until it exits.
//! Not for: switching the terminal's modes (`terminal`), or pausing the input thread (`input`).

use super::{input, system, terminal};
use crate::config::editor;
use crate::config::load::Environment;
use std::io;

/// Releases the terminal to the person's editor until it exits. Returns the saved text, or why there is
/// none.
pub(crate) fn release_terminal(text: &str) -> io::Result<Result<String, String>> {
    let Some(_held) = input::pause() else {
        return Ok(Err("The editor could not take over the terminal; your message is unchanged.".to_owned()));
    };
    terminal::switch_off();
    let released = system::release_terminal();
    let result = editor::edit(text, &Environment::of_process())
        .map_err(|error| format!("{error} Your message is unchanged. Set EDITOR to use another editor."));
    drop(released);
    terminal::switch_on()?;
    Ok(result)
}
