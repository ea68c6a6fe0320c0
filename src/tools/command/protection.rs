//! What keeps a command in on this system, and what does not, in the words that a person reads before a yes.
//! Not for: doing it (`sandbox`).

use super::credentials;
use crate::tools::acting::ActingTools;
use crate::tools::sandbox::{Means, Space, largest_file};
use std::os::unix::fs::MetadataExt as _;

/// A sentence for each part.
pub(crate) fn told(acts: &ActingTools, means: Means) -> Vec<String> {
    let whole = if cfg!(target_os = "linux") {
        "every process it starts ends with it"
    } else {
        "its process group ends with it; this system tells no more"
    };
    let bounds = format!(
        "limits: {} processes, {} GB a file, no input, no terminal",
        acts.options.processes,
        largest_file() >> 30
    );
    let mut said = vec![files(acts, means), namespaces(means), calls(acts.options.network, means)];
    said.extend(["filtered environment, no secrets".into(), bounds, whole.into()]);
    if cfg!(target_os = "linux") && rustix::process::geteuid().is_root() {
        let own = acts.root.metadata().is_ok_and(|meta| meta.uid() == 0);
        said.push(if own {
            "privileges: none of root's; only root's own files can be written".into()
        } else {
            "privileges: root's, only to read and write files of other users, since the workspace belongs to \
                another user"
                .into()
        });
    }
    if means.space == Space::None {
        let hidden = credentials::copies().into_iter();
        said.extend(hidden.map(|(path, _)| {
            format!("hidden: {}, which may contain credentials; programs that must read them fail", path.display())
        }));
    }
    said
}

fn files(acts: &ActingTools, means: Means) -> String {
    let more = match acts.options.writable.len() {
        0 => String::new(),
        1 => " and one more folder".into(),
        count => format!(" and {count} more folders"),
    };
    // `edit_file` and `write_file` are asked about such files alone; a command is asked about as a whole.
    let writes = format!(
        "writes only in the workspace (.git, and AGENTS.md and other files that control pleach, too) and a temporary \
            folder{more}"
    );
    match (means.landlock, means.space) {
        (0, Space::None) => "no landlock on this system: the command can read and write whatever you can".into(),
        (0, _) => format!(
            "no landlock on this system: the command can read whatever you can, credentials too; \
            {writes}"
        ),
        (version, _) => {
            format!("landlock {version}: {writes}; your home folder is hidden, except toolchains without credentials")
        }
    }
}

fn namespaces(means: Means) -> String {
    let signals = if means.landlock < 6 { " and can end yours" } else { "" };
    match means.space {
        Space::Whole => {
            "namespaces: sees only its own processes; files elsewhere keep their mode, owner and times".into()
        }
        Space::Mounts => {
            format!("namespaces: files elsewhere keep their mode, owner and times; sees other processes{signals}")
        }
        Space::None if means.seccomp => format!(
            "no namespaces on this system: the command can change modes and times of your files anywhere (not to \
                set-user-id or world-writable), and sees other processes{signals}"
        ),
        Space::None => format!(
            "no namespaces on this system: the command can change modes, owners, times and attributes of your \
                files anywhere, and limits and priorities of your processes{signals}"
        ),
    }
}

fn calls(network: bool, means: Means) -> String {
    let others = if means.space == Space::Whole { "" } else { " and reach into other processes" };
    match (means.seccomp, network) {
        (false, false) if means.landlock >= 4 => "no seccomp on this system: no TCP, but other sockets".into(),
        (false, _) => format!("no seccomp on this system: the command can use the network{others}"),
        (true, false) => "seccomp: no network; no tracing, mounts, keys or kernel modules".into(),
        (true, true) => "seccomp: the network is open; no tracing, mounts, keys or kernel modules".into(),
    }
}
