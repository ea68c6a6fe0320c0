//! Describes the protection of commands on this system, for the person who approves them.
//! Not for: the protection itself (`sandbox`).

use super::credentials;
use crate::tools::effects::EffectTools;
use crate::tools::sandbox::{MAX_FILE_BYTES, Namespaces, Protections};
use std::os::unix::fs::MetadataExt as _;

/// Returns a summary in one sentence, and one sentence for each kind of protection.
pub(crate) fn describe(effects: &EffectTools, protections: Protections) -> Vec<String> {
    let whole = if cfg!(target_os = "linux") {
        "cleanup: every process that the command starts ends with the command"
    } else {
        "cleanup: the command's process group ends with the command; this system can't track other processes"
    };
    let bounds = format!(
        "limits: {} processes, {} GB per file, no input, no terminal",
        effects.options.processes,
        MAX_FILE_BYTES >> 30
    );
    let network = effects.options.network;
    let mut sentences = vec![
        summary(&more_folders(effects), network, protections),
        files(effects, protections),
        namespaces(protections),
        calls(network, protections),
    ];
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

/// Returns the protection of files and of the network in one sentence.
fn summary(more: &str, network: bool, protections: Protections) -> String {
    let network = match (protections.seccomp, network) {
        (_, true) => "network open",
        (true, false) => "no network",
        (false, false) if protections.landlock >= 4 => "no TCP, but other sockets are open",
        (false, false) => "network open (this system can't close it)",
    };
    match (protections.landlock, protections.namespaces) {
        (0, Namespaces::None) => format!("Not sandboxed: can read and write all your files; {network}."),
        (0, _) => format!("Partly sandboxed: writes only in the workspace{more}; can read all your files; {network}."),
        _ => format!("Sandboxed: writes only in the workspace{more}; home folder hidden; {network}."),
    }
}

/// Names the protection mechanisms that the system has, and the mechanisms that it lacks.
pub(crate) fn mechanisms(protections: Protections) -> String {
    let found = [
        (protections.landlock > 0, format!("landlock {}", protections.landlock), "landlock"),
        (protections.seccomp, "seccomp".to_owned(), "seccomp"),
        (protections.namespaces != Namespaces::None, "namespaces".to_owned(), "namespaces"),
    ];
    let there: Vec<&str> = found.iter().filter(|(there, ..)| *there).map(|(_, name, _)| name.as_str()).collect();
    let lacks: Vec<String> = found.iter().filter(|(there, ..)| !there).map(|(.., name)| format!("no {name}")).collect();
    let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
    let lacks = if lacks.is_empty() { String::new() } else { format!("; {} on this system", lacks.join(", ")) };
    format!("enforced by: {there}{lacks}")
}

fn more_folders(effects: &EffectTools) -> String {
    match effects.options.writable.len() {
        0 => String::new(),
        1 => " and one more folder".into(),
        count => format!(" and {count} more folders"),
    }
}

fn files(effects: &EffectTools, protections: Protections) -> String {
    let more = more_folders(effects);
    // `edit_file` and `write_file` ask about such files one by one, but a command is approved as a whole.
    let writes = format!(
        "writes only in the workspace (including .git, AGENTS.md, and other files that control pleach) and a \
            temporary folder{more}"
    );
    match (protections.landlock, protections.namespaces) {
        (0, Namespaces::None) => "files: it can read and write whatever you can; this system can't prevent that".into(),
        (0, _) => {
            format!(
                "files: it can read whatever you can, including credentials; this system can't prevent that; {writes}"
            )
        }
        _ => format!("files: {writes}; your home folder is hidden, except toolchains without credentials"),
    }
}

/// Returns a sentence about the privileges of a command that runs as root in a workspace with this owner; `None` for
/// other users.
fn privileges(user: u32, owner: Option<u32>) -> Option<&'static str> {
    match (user, owner) {
        (0, Some(0)) => Some(
            "privileges: the command runs as root, but without root's right to ignore file permissions, so it can \
                write root's own files and not those of other users",
        ),
        (0, _) => Some(
            "privileges: the command runs as root and can read and write files of other users, because the workspace \
            belongs to another user; it has no other root privileges",
        ),
        _ => None,
    }
}

fn namespaces(protections: Protections) -> String {
    let signals = if protections.landlock < 6 { ", and can end your processes" } else { "" };
    match protections.namespaces {
        Namespaces::Full => {
            "processes: sees only its own processes; files elsewhere keep their mode, owner, and times".into()
        }
        Namespaces::Mounts => {
            format!("processes: sees other processes{signals}; files elsewhere keep their mode, owner, and times")
        }
        Namespaces::None if protections.seccomp => format!(
            "processes: sees other processes{signals}; it can change modes and times of your files anywhere, but \
                not to set-user-id \
                or world-writable"
        ),
        Namespaces::None => format!(
            "processes: it can change limits and priorities of your processes{signals}; it can change modes, owners, \
            times, and attributes of your files anywhere"
        ),
    }
}

fn calls(network: bool, protections: Protections) -> String {
    let others = if protections.namespaces == Namespaces::Full { "" } else { " and trace other processes" };
    match (protections.seccomp, network) {
        (false, false) if protections.landlock >= 4 => {
            "network: no TCP, but other sockets are open; this system can't close them".into()
        }
        (false, _) => format!("network: it can use the network{others}; this system can't prevent that"),
        (true, false) => "network: none; also no tracing of processes, mounts, kernel keys, or kernel modules".into(),
        (true, true) => "network: open; no tracing of processes, mounts, kernel keys, or kernel modules".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_never_claims_more_than_the_system_enforces() {
        let of = |landlock, seccomp, namespaces| {
            let protections = Protections { landlock, seccomp, namespaces };
            (summary("", false, protections), mechanisms(protections))
        };
        let (sentence, by) = of(7, true, Namespaces::Full);
        assert_eq!(sentence, "Sandboxed: writes only in the workspace; home folder hidden; no network.");
        assert_eq!(by, "enforced by: landlock 7, seccomp, namespaces");
        let (sentence, by) = of(0, false, Namespaces::None);
        assert!(sentence.starts_with("Not sandboxed: can read and write all your files; network open"), "{sentence}");
        assert_eq!(by, "enforced by: nothing; no landlock, no seccomp, no namespaces on this system");
        let (sentence, _) = of(0, true, Namespaces::Mounts);
        assert!(sentence.starts_with("Partly sandboxed") && sentence.contains("can read all your files"), "{sentence}");
        assert!(of(3, false, Namespaces::Full).0.contains("network open"), "landlock 3 does not limit the network");
        assert!(of(4, false, Namespaces::Full).0.contains("no TCP"));
    }

    #[test]
    fn roots_privileges_depend_on_the_owner_of_the_workspace() {
        let root =
            [Some(0), Some(1_000), None].map(|owner| privileges(0, owner).unwrap().contains("without root's right"));
        assert_eq!(root, [true, false, false]);
        assert_eq!([Some(0), Some(1_000), None].map(|owner| privileges(1_000, owner)), [None; 3]);
    }
}
