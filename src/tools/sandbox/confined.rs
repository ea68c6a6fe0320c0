//! The process that confines itself permanently and then becomes the shell. As the first process of a namespace, it
//! starts the shell instead.
//! Not for: supervising it (`guard`).

use super::{Instructions, Namespaces, Protections, Report};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, wait};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// The shells to try, with arguments that prevent them from reading startup files.
const SHELLS: &[(&str, &[&str])] = &[
    ("/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("/usr/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("/bin/sh", &["-c"]),
];

/// Returns the protections that this system offers, found by trying them, or `None` if the namespaces are not
/// available.
pub(crate) fn protections(namespaces: Namespaces) -> Option<Protections> {
    #[cfg(target_os = "linux")]
    {
        if namespaces == Namespaces::Full {
            super::namespaces::show_processes().ok()?;
        }
        Some(Protections {
            landlock: super::landlock::confine(&super::landlock::Places::default(), false).unwrap_or(0),
            seccomp: super::seccomp::confine(false, namespaces).is_ok(),
            namespaces,
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        (namespaces == Namespaces::None).then(Protections::default)
    }
}

/// Becomes the shell, or starts the shell and stays until all processes have ended.
///
/// # Errors
/// Returns a sentence that says why there is no shell.
pub(crate) fn run(instructions: &Instructions) -> Result<(), String> {
    let to_text = |error: std::io::Error| format!("the shell could not be started: {error}.");
    let mut shell = prepare(instructions)?;
    if instructions.need.namespaces == Namespaces::Full {
        run_as_init(shell).map_err(to_text)
    } else {
        Err(to_text(shell.exec()))
    }
}

/// Starts the shell, reports how it ended, and reaps orphans. When this process ends, all other processes of the
/// namespace end too.
fn run_as_init(mut shell: Command) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        if is_alone() {
            return Err(std::io::Error::other("its guard was ended"));
        }
    }
    let child = shell.stderr(std::io::stdout().as_fd().try_clone_to_owned()?).process_group(0).spawn()?;
    let pid = Pid::from_child(&child);
    // This process stays out of the shell's group. The kernel ends the first process of a namespace only when none of
    // its numbers is in use, and a group's number is in use while the group has a member.
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == pid => {
                let (exit, signal) = (status.exit_status(), status.terminating_signal());
                let text = serde_json::to_string(&Report { exit, signal, ..Report::default() })?;
                std::io::stderr().write_all(format!("{text}\n").as_bytes())?;
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Ok(()),
        }
    }
}

/// Whether the guard ended before it could end this process. In that case, nobody reads the report.
#[cfg(target_os = "linux")]
fn is_alone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let report = std::io::stderr();
    let mut on = [PollFd::new(&report, PollFlags::empty())];
    matches!(poll(&mut on, Some(&Timespec::default())), Ok(count) if count > 0)
}

fn prepare(instructions: &Instructions) -> Result<Command, String> {
    #[cfg(target_os = "linux")]
    if instructions.need.namespaces == Namespaces::Full {
        super::namespaces::show_processes()?;
    }
    let root = Dir::open_ambient_dir(Path::new(&instructions.root), ambient_authority())
        .map_err(|error| format!("the workspace folder can't be opened: {error}."))?;
    let meta = root.dir_metadata().map_err(|error| format!("the workspace folder can't be read: {error}."))?;
    if (meta.dev(), meta.ino()) != instructions.identity {
        return Err("the workspace folder was replaced by another one.".into());
    }
    let folder =
        if instructions.folder.is_empty() { root.try_clone() } else { root.open_dir(Path::new(&instructions.folder)) };
    let folder = folder.map_err(|error| format!("its folder can't be opened: {error}."))?;
    rustix::process::fchdir(&folder).map_err(|error| format!("its folder can't be entered: {error}."))?;
    let null = std::fs::File::open("/dev/null").map_err(|error| format!("/dev/null can't be opened: {error}."))?;
    rustix::stdio::dup2_stdin(&null).map_err(|error| format!("its input can't be closed: {error}."))?;
    super::limits::set(instructions.processes, instructions.threads)?;
    let _ = rustix::process::setpriority_process(None, instructions.priority);
    let (shell, arguments) = SHELLS.iter().find(|(shell, _)| Path::new(shell).exists()).ok_or("there is no shell.")?;
    #[cfg(target_os = "linux")]
    confine(instructions, &root, meta.uid())?;
    let mut command = Command::new(shell);
    command.args(*arguments).arg(&instructions.line);
    Ok(command)
}

/// Applies the protections that the probe found. If one of them fails now, no command runs.
#[cfg(target_os = "linux")]
fn confine(instructions: &Instructions, root: &Dir, owner: u32) -> Result<(), String> {
    if instructions.need.landlock > 0 {
        let places = super::landlock::Places::of(instructions, root)?;
        let version = super::landlock::confine(&places, instructions.network)?;
        if version < instructions.need.landlock {
            return Err("landlock gives less protection than before.".into());
        }
    }
    drop_privileges(owner).map_err(|error| format!("its privileges could not be given up: {error}."))?;
    if instructions.need.seccomp {
        super::seccomp::confine(instructions.network, instructions.need.namespaces)
    } else {
        Ok(())
    }
}

/// Drops root's privileges permanently. Only in a workspace of another user does root keep the privilege that is needed
/// to write that user's files.
#[cfg(target_os = "linux")]
fn drop_privileges(owner: u32) -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet as Set, CapabilitySets, capabilities, set_capabilities};
    use rustix::thread::{clear_ambient_capability_set, remove_capability_from_bounding_set, set_no_new_privs};
    set_no_new_privs(true)?;
    let own = capabilities(None)?;
    if own.effective.contains(Set::SETPCAP) {
        // Stop at the first number that the kernel does not know.
        let _ = (0..64).try_for_each(|number| remove_capability_from_bounding_set(Set::from_bits_retain(1 << number)));
    }
    let kept = if owner == rustix::process::geteuid().as_raw() { Set::empty() } else { Set::DAC_OVERRIDE };
    clear_ambient_capability_set()?;
    let sets =
        CapabilitySets { effective: own.effective & kept, permitted: own.permitted & kept, inheritable: Set::empty() };
    set_capabilities(None, sets)
}
