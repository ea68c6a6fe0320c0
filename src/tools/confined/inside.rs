//! The process that confines itself for good and then becomes the shell.
//! Not for: watching it (`guard`).

use super::{Means, Orders};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// The shells that are tried, with the arguments that keep them from reading settings.
const SHELLS: &[(&str, &[&str])] = &[
    ("/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("/usr/bin/bash", &["--noprofile", "--norc", "-c"]),
    ("/bin/sh", &["-c"]),
];

/// What this system can do, found out by doing it.
pub(super) fn means() -> Means {
    #[cfg(target_os = "linux")]
    {
        Means {
            landlock: super::landlock::confine(&super::landlock::Places::default(), false).unwrap_or(0),
            seccomp: super::seccomp::confine(false).is_ok(),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        Means::default()
    }
}

/// Becomes the shell. Comes back only with the reason why it did not.
pub(super) fn run(orders: &Orders) -> String {
    match prepare(orders) {
        Ok(mut shell) => format!("the shell could not be started: {}.", shell.exec()),
        Err(why) => why,
    }
}

fn prepare(orders: &Orders) -> Result<Command, String> {
    let root = Dir::open_ambient_dir(Path::new(&orders.root), ambient_authority())
        .map_err(|error| format!("the workspace folder cannot be opened: {error}."))?;
    let meta = root.dir_metadata().map_err(|error| format!("the workspace folder cannot be read: {error}."))?;
    if (meta.dev(), meta.ino()) != orders.identity {
        return Err("the workspace folder is another one by now.".into());
    }
    let folder = if orders.folder.is_empty() { root.try_clone() } else { root.open_dir(Path::new(&orders.folder)) };
    let folder = folder.map_err(|error| format!("its folder cannot be opened: {error}."))?;
    rustix::process::fchdir(&folder).map_err(|error| format!("its folder cannot be entered: {error}."))?;
    let null = std::fs::File::open("/dev/null").map_err(|error| format!("/dev/null cannot be opened: {error}."))?;
    rustix::stdio::dup2_stdin(&null).map_err(|error| format!("its input cannot be closed: {error}."))?;
    super::limits::set(orders.processes)?;
    let _ = rustix::process::setpriority_process(None, orders.priority);
    let (shell, arguments) = SHELLS.iter().find(|(shell, _)| Path::new(shell).exists()).ok_or("there is no shell.")?;
    #[cfg(target_os = "linux")]
    confine(orders, &root)?;
    let mut command = Command::new(shell);
    command.args(*arguments).arg(&orders.line);
    Ok(command)
}

/// Applies what was found to be there; where that fails now, nothing is run.
#[cfg(target_os = "linux")]
fn confine(orders: &Orders, root: &Dir) -> Result<(), String> {
    if orders.need.landlock > 0 {
        let places = super::landlock::Places::of(orders, root)?;
        let version = super::landlock::confine(&places, orders.network)?;
        if version < orders.need.landlock {
            return Err("landlock does less than before.".into());
        }
    }
    give_up().map_err(|error| format!("its privileges could not be given up: {error}."))?;
    if orders.need.seccomp { super::seccomp::confine(orders.network) } else { Ok(()) }
}

/// Gives up what root has beyond files, and the hope to get it back. Some of it would see past landlock: whoever may watch
/// the system's performance may read every process's memory map and environment.
#[cfg(target_os = "linux")]
fn give_up() -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet as Set, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
    set_no_new_privs(true)?;
    let own = capabilities(None)?;
    let kept = Set::CHOWN | Set::DAC_OVERRIDE | Set::FOWNER | Set::FSETID | Set::SETGID | Set::SETUID;
    let sets =
        CapabilitySets { effective: own.effective & kept, permitted: own.permitted & kept, inheritable: Set::empty() };
    set_capabilities(None, sets)
}
