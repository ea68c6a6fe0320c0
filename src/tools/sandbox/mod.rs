//! Starts a command in its sandbox. This program starts itself again with a hidden argument and sends the instructions
//! through a pipe. The first new process is the guard: it starts the second one, supervises all processes of the
//! command, and ends them. The second process limits and confines itself and then becomes the shell. In a process
//! namespace it is the first process instead: it starts the shell, reports how the shell ended, and reaps orphans.
//! Not for: choosing the command, or reading its output (`tools::command::run`).
//!
//! The argument gives nobody additional rights: a person who starts the program with it gets a shell that can do less
//! than their own.

#[cfg(unix)]
mod confined;
#[cfg(unix)]
mod guard;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod toolchains;

use std::ffi::OsString;

/// The hidden argument.
pub(super) const ARGUMENT: &str = "__confined";
/// The exit code of a command that was not run because it could not be confined.
#[cfg(unix)]
const NOT_RUN: i32 = 125;

/// Handles the hidden argument if it is present, and returns the exit code; otherwise returns `None`. Must be called
/// first in `main`, with the program's arguments.
pub fn main(mut args: impl Iterator<Item = OsString>) -> Option<u8> {
    let asked = args.nth(1).is_some_and(|arg| arg == ARGUMENT) && args.next().is_none();
    #[cfg(unix)]
    {
        asked.then(confined)
    }
    #[cfg(not(unix))]
    {
        asked.then_some(2)
    }
}

#[cfg(unix)]
pub(super) use limits::MAX_FILE_BYTES;

#[cfg(unix)]
pub(super) use instructions::{Instructions, Namespaces, Protections, Report, Stage};

#[cfg(unix)]
mod instructions {
    use serde::{Deserialize, Serialize};
    use std::ffi::OsString;

    /// The role of a process that this program starts.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) enum Stage {
        /// Probes the protections and ends.
        #[default]
        Probe,
        /// Probes the protections inside the namespaces.
        Trial,
        /// Supervises the command.
        Guard,
        /// Becomes the shell.
        Confined,
    }

    /// The namespaces of a command.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) enum Namespaces {
        #[default]
        None,
        /// Its own mounts: everything is read-only except the paths that it may write.
        Mounts,
        /// Its own mounts and processes.
        Full,
    }

    /// The protections that a system offers for a command.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Protections {
        /// The version of Landlock's interface, or 0 if there is none.
        pub(in crate::tools) landlock: i32,
        /// Whether seccomp filters system calls.
        pub(in crate::tools) seccomp: bool,
        pub(in crate::tools) namespaces: Namespaces,
    }

    /// The instructions for a new process.
    #[derive(Clone, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Instructions {
        pub(in crate::tools) stage: Stage,
        /// The command line for the shell.
        pub(in crate::tools) line: String,
        /// The workspace's root, with the device and inode that it had when it was opened.
        pub(in crate::tools) root: OsString,
        pub(in crate::tools) identity: (u64, u64),
        /// The working folder, relative to the root.
        pub(in crate::tools) folder: OsString,
        pub(in crate::tools) network: bool,
        pub(in crate::tools) writable: Vec<OsString>,
        pub(in crate::tools) readable: Vec<OsString>,
        pub(in crate::tools) hidden: Vec<OsString>,
        /// Copies of settings without credentials, each with the file that it replaces. An empty name of a copy means
        /// that the file is hidden.
        pub(in crate::tools) covers: Vec<(OsString, OsString)>,
        pub(in crate::tools) processes: u32,
        /// The number of the user's threads, without the command's.
        pub(in crate::tools) threads: u64,
        /// The protections to probe, or the protections that the probe found. If fewer are available, the command is
        /// not run.
        pub(in crate::tools) need: Protections,
        /// The priority that the command gets.
        pub(in crate::tools) priority: i32,
    }

    /// The guard's report about a command.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Report {
        /// The shell's exit code.
        pub(in crate::tools) exit: Option<i32>,
        /// The signal that ended the shell.
        pub(in crate::tools) signal: Option<i32>,
        /// The number of processes that were still running after the shell ended on its own.
        pub(in crate::tools) left: usize,
        /// Whether there were too many processes.
        pub(in crate::tools) too_many: bool,
        /// Why the command could not be started.
        pub(in crate::tools) failed: Option<String>,
    }
}

#[cfg(unix)]
fn confined() -> u8 {
    use std::io::Write as _;
    let Some(instructions) = instructions_from_pipe() else {
        let _ = writeln!(std::io::stderr(), "pleach starts commands this way; do not run it yourself.");
        return 2;
    };
    match instructions.stage {
        Stage::Probe => guard::probe(instructions),
        Stage::Trial => {
            let text = confined::protections(instructions.need.namespaces)
                .and_then(|protections| serde_json::to_string(&protections).ok());
            u8::from(text.is_none_or(|text| writeln!(std::io::stdout(), "{text}").is_err()))
        }
        Stage::Guard => {
            let report = guard::run(instructions);
            let text = serde_json::to_string(&report).unwrap_or_default();
            u8::from(writeln!(std::io::stderr(), "{text}").is_err())
        }
        Stage::Confined => {
            let Err(why) = confined::run(&instructions) else { return 0 };
            let _ = writeln!(std::io::stdout(), "The command was not run: {why}");
            u8::try_from(NOT_RUN).unwrap_or(1)
        }
    }
}

/// Reads one line of instructions from the pipe.
#[cfg(unix)]
fn instructions_from_pipe() -> Option<Instructions> {
    use std::io::{BufRead as _, Read as _};
    let input = std::io::stdin();
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&input).ok()?.st_mode);
    if kind != rustix::fs::FileType::Fifo {
        return None;
    }
    let mut line = Vec::new();
    // Nothing follows the line, so the reader buffers nothing else.
    input.lock().take(4 << 20).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// Returns the path of this program, even if its file was replaced meanwhile.
#[cfg(unix)]
pub(super) fn this_program() -> std::io::Result<std::path::PathBuf> {
    let link = std::path::Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}
