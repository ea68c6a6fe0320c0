//! A command's way into its cage: this program starts itself anew with a hidden argument, and what it then is to do comes
//! in through a pipe. First as a guard, which starts the second, watches over everything that the command starts, and ends
//! all of it; then as the one that limits and confines itself and becomes the shell. In a namespace of processes it is the
//! first of them instead: it starts the shell, says how that ended, and takes in what nobody else does.
//! Not for: deciding what runs, or reading what it says (`tools::command::run`).
//!
//! The argument gives nobody anything: whoever starts the program so gets a shell that can do less than their own.

#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod inside;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod space;
#[cfg(target_os = "linux")]
mod toolchains;

use std::ffi::OsString;

/// The hidden argument.
pub(super) const ARGUMENT: &str = "__confined";
/// The exit code of a command that was not run, because it could not be confined.
#[cfg(unix)]
pub(super) const NOT_RUN: i32 = 125;

/// Does what the hidden argument asks for, if it is there, and gives the exit code. To be called first in `main`, with the
/// program's arguments.
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
pub(super) use orders::{Means, Orders, Report, Space, Stage};

#[cfg(unix)]
mod orders {
    use serde::{Deserialize, Serialize};
    use std::ffi::OsString;

    /// What the program started anew is to be.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub(in crate::tools) enum Stage {
        /// One that finds out what can be done, and ends.
        Probe,
        /// The one that finds it out in its namespaces.
        Trial,
        /// The one that watches.
        Guard,
        /// The one that becomes the shell.
        Inside,
    }

    /// What of the system a command has for itself.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) enum Space {
        /// Nothing.
        #[default]
        None,
        /// Its own mounts: all is read-only but what it may write.
        Mounts,
        /// Its own mounts and processes.
        Whole,
    }

    /// What a system can do to keep a command in.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Means {
        /// The version of landlock's interface; 0 where there is none.
        pub(in crate::tools) landlock: i32,
        /// Whether seccomp filters system calls.
        pub(in crate::tools) seccomp: bool,
        /// Namespaces.
        pub(in crate::tools) space: Space,
    }

    /// What is to be run, and how.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Orders {
        pub(in crate::tools) stage: Stage,
        /// For the shell.
        pub(in crate::tools) line: String,
        /// The workspace's root, and what it was when it was opened: device and inode.
        pub(in crate::tools) root: OsString,
        pub(in crate::tools) identity: (u64, u64),
        /// Beneath the root.
        pub(in crate::tools) folder: OsString,
        pub(in crate::tools) network: bool,
        pub(in crate::tools) writable: Vec<OsString>,
        pub(in crate::tools) readable: Vec<OsString>,
        pub(in crate::tools) hidden: Vec<OsString>,
        /// Copies without credentials, each with the file that it stands for. Without a copy the file is hidden.
        pub(in crate::tools) covers: Vec<(OsString, OsString)>,
        pub(in crate::tools) processes: u32,
        /// Threads that this user has without the command's.
        pub(in crate::tools) threads: u64,
        /// What was found out before, or is to be tried; with less the command is not run.
        pub(in crate::tools) need: Means,
        /// The priority that the command gets back.
        pub(in crate::tools) priority: i32,
    }

    /// What the guard saw.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub(in crate::tools) struct Report {
        /// The shell's exit code.
        pub(in crate::tools) exit: Option<i32>,
        /// The signal that ended it.
        pub(in crate::tools) signal: Option<i32>,
        /// Processes that were still there when the shell had ended by itself.
        pub(in crate::tools) left: usize,
        /// There were too many processes.
        pub(in crate::tools) swarm: bool,
        /// Why nothing could be started.
        pub(in crate::tools) failed: Option<String>,
    }
}

#[cfg(unix)]
fn confined() -> u8 {
    use std::io::Write as _;
    let Some(orders) = orders_from_pipe() else {
        let _ = writeln!(std::io::stderr(), "This is how the program starts commands; by itself it is of no use.");
        return 2;
    };
    match orders.stage {
        Stage::Probe => guard::probe(orders),
        Stage::Trial => {
            let text = inside::means(orders.need.space).and_then(|means| serde_json::to_string(&means).ok());
            u8::from(text.is_none_or(|text| writeln!(std::io::stdout(), "{text}").is_err()))
        }
        Stage::Guard => {
            let report = guard::run(orders);
            let text = serde_json::to_string(&report).unwrap_or_default();
            u8::from(writeln!(std::io::stderr(), "{text}").is_err())
        }
        Stage::Inside => {
            let Err(why) = inside::run(&orders) else { return 0 };
            let _ = writeln!(std::io::stdout(), "The command was not run: {why}");
            u8::try_from(NOT_RUN).unwrap_or(1)
        }
    }
}

/// One line, from a pipe.
#[cfg(unix)]
fn orders_from_pipe() -> Option<Orders> {
    use std::io::{BufRead as _, Read as _};
    let input = std::io::stdin();
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&input).ok()?.st_mode);
    if kind != rustix::fs::FileType::Fifo {
        return None;
    }
    let mut line = Vec::new();
    // Nothing follows the line, so nothing else is read ahead.
    input.lock().take(4 << 20).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// The largest file that a command may write, in bytes.
#[cfg(unix)]
pub(super) fn largest_file() -> u64 {
    limits::FILE
}

/// This very program, also when its file has been replaced meanwhile.
#[cfg(unix)]
pub(super) fn this_program() -> std::io::Result<std::path::PathBuf> {
    let link = std::path::Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}
