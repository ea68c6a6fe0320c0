//! Describes the protection of commands on this system, for the person who approves them.
//! Not for: the protection itself (`sandbox`).

use super::credentials;
use crate::tools::effects::EffectTools;
use crate::tools::sandbox::{MAX_FILE_BYTES, Namespaces, Protections};
use std::os::unix::fs::MetadataExt as _;

/// Returns one sentence for each kind of protection.
pub(crate) fn describe(effects: &EffectTools, protections: Protections) -> Vec<String> {
    let whole = if cfg!(target_os = "linux") {
        "end: every process it starts ends with it"
    } else {
        "end: its process group ends with it; this system can't track other processes"
    };
    let bounds = format!(
        "limits: {} processes, {} GB a file, no input, no terminal",
        effects.options.processes,
        MAX_FILE_BYTES >> 30
    );
    let mut sentences =
        vec![files(effects, protections), namespaces(protections), calls(effects.options.network, protections)];
    sentences.extend(["environment: filtered, without secrets".into(), bounds, whole.into()]);
    if cfg!(target_os = "linux") {
        let owner = effects.root.metadata().ok().map(|meta| meta.uid());
        sentences.extend(privileges(rustix::process::geteuid().as_raw(), owner).map(Into::into));
    }
    if protections.namespaces == Namespaces::None {
        let hidden = credentials::copies().into_iter();
        sentences.extend(hidden.map(|(path, _)| {
            format!("hidden: {}, which may contain credentials; programs that must read them fail", path.display())
        }));
    }
    sentences
}

fn files(effects: &EffectTools, protections: Protections) -> String {
    let more = match effects.options.writable.len() {
        0 => String::new(),
        1 => " and one more folder".into(),
        count => format!(" and {count} more folders"),
    };
    // `edit_file` and `write_file` ask about such files one by one, but a command is approved as a whole.
    let writes = format!(
        "writes only in the workspace (including .git, AGENTS.md, and other files that control pleach) and a \
            temporary folder{more}"
    );
    match (protections.landlock, protections.namespaces) {
        (0, Namespaces::None) => "files: it can read and write whatever you can (no landlock on this system)".into(),
        (0, _) => {
            format!("files: it can read whatever you can, credentials too; {writes} (no landlock on this system)")
        }
        (version, _) => {
            format!(
                "files: {writes}; your home folder is hidden, except toolchains without credentials (landlock {version})"
            )
        }
    }
}

/// Returns what a command may do as this user in a workspace with this owner; `None` if not more than other users.
fn privileges(user: u32, owner: Option<u32>) -> Option<&'static str> {
    match (user, owner) {
        (0, Some(0)) => Some("privileges: none of root's; only root's own files can be written"),
        (0, _) => Some(
            "privileges: root's, only to read and write files of other users, since the workspace belongs to \
                another user",
        ),
        _ => None,
    }
}

fn namespaces(protections: Protections) -> String {
    let signals = if protections.landlock < 6 { ", and can end your processes" } else { "" };
    match protections.namespaces {
        Namespaces::Full => {
            "processes: sees only its own processes; files elsewhere keep their mode, owner, and times (namespaces)"
                .into()
        }
        Namespaces::Mounts => {
            format!("processes: sees others{signals}; files elsewhere keep their mode, owner, and times (namespaces)")
        }
        Namespaces::None if protections.seccomp => format!(
            "processes: sees others{signals}; it can change modes and times of your files anywhere, but not to set-user-id \
                or world-writable (no namespaces on this system)"
        ),
        Namespaces::None => format!(
            "processes: it can change limits and priorities of yours{signals}; it can change modes, owners, times, and \
                attributes of your files anywhere (no namespaces on this system)"
        ),
    }
}

fn calls(network: bool, protections: Protections) -> String {
    let others = if protections.namespaces == Namespaces::Full { "" } else { " and trace other processes" };
    match (protections.seccomp, network) {
        (false, false) if protections.landlock >= 4 => {
            "network: no TCP, but other sockets are open (no seccomp on this system)".into()
        }
        (false, _) => format!("network: it can use the network{others} (no seccomp on this system)"),
        (true, false) => "network: none; also no tracing, mounts, keys, or kernel modules (seccomp)".into(),
        (true, true) => "network: open; no tracing, mounts, keys, or kernel modules (seccomp)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_privileges_depend_on_the_owner_of_the_workspace() {
        let root = [Some(0), Some(1_000), None].map(|owner| privileges(0, owner).unwrap().contains("none of root's"));
        assert_eq!(root, [true, false, false]);
        assert_eq!([Some(0), Some(1_000), None].map(|owner| privileges(1_000, owner)), [None; 3]);
    }
}
