//! The table of commands, shared by `pleach NAME …` on the command line, `/NAME …` in the full-screen program, and
//! `/NAME …` in `--plain`. Each command is declared once, with its arguments, description, and example. An argument
//! that is named like a flag of all commands (`branch`, `session`, `profile`, `model`) needs a different id, because
//! clap would confuse the two.
//! Not for: running the commands (`cli`, `tui`), or the actions of keys (`keys::actions`).

pub mod args;
pub mod calls;
pub mod command;
pub mod conversation;
pub mod mark;
mod number;
pub mod read;
pub mod setting;
pub mod system;
pub mod table;
#[cfg(test)]
mod tests;
pub mod usage_error;

/// The output of a command that ran inside the full-screen program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// The exit code.
    pub code: u8,
    /// The text for standard output.
    pub out: String,
    /// The text for standard error.
    pub err: String,
}

/// The example in a command's help.
fn example(line: &str) -> String {
    format!("{EXAMPLE_PREFIX}{line}")
}

const EXAMPLE_PREFIX: &str = "Example: pleach ";
