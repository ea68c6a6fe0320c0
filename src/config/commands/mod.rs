//! The one table of commands: what `pleach NAME …` on the command line, `/NAME …` in the full-screen program and `/NAME …`
//! in `--plain` mean. Each command is declared once, with its arguments, its sentence and its example.
//! An argument has an id of its own where its name is that of a flag of all commands (`branch`, `session`, `profile`, `model`):
//! clap would take the one for the other.
//! Not for: doing what the commands say (`cli`, `tui`), or what a key can do (`keys::actions`).

pub mod args;
pub mod calls;
pub mod command;
pub mod conversation;
pub mod mark;
pub mod read;
pub mod setting;
pub mod system;
pub mod table;
#[cfg(test)]
mod tests;

/// What a command printed that was carried out inside the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// Its exit code.
    pub code: u8,
    /// What went to standard output.
    pub out: String,
    /// What went to standard error.
    pub err: String,
}

/// The example of a command, as its help shows it.
fn example(line: &str) -> String {
    format!("{EXAMPLE}{line}")
}

/// What stands before an example.
const EXAMPLE: &str = "Example: pleach ";
