//! The namespaces of a command: mounts (read-only except where the command may write), processes (it sees no others),
//! and shared memory.
//! Not for: which files it may open (`landlock`), or which system calls it may make (`seccomp`).

use super::{Instructions, Namespaces};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::{CapabilitySet, UnshareFlags};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Moves this process into new namespaces. A new process namespace contains only the children of this process.
pub(crate) fn enter(instructions: &Instructions, namespaces: Namespaces) -> Result<(), String> {
    if namespaces == Namespaces::None {
        return Ok(());
    }
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    flags.set(UnshareFlags::NEWPID, namespaces == Namespaces::Full);
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // Root can do without a user namespace, in which other users' files in the workspace could not be written.
    if !(user.is_root() && unshare(flags).is_ok()) {
        unshare(flags | UnshareFlags::NEWUSER).map_err(|error| error_text("open", error))?;
        let map = |file: &str, text: String| {
            fs::write(file, text).map_err(|error| format!("{file} could not be written: {error}."))
        };
        map("/proc/self/setgroups", "deny".into())?;
        map("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
        map("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
        keep_capability().map_err(|error| error_text("capabilities", error))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|error| error_text("make mounts private", error))?;
    let writable_paths = writable_paths(instructions);
    let beneath = |place: &PathBuf| writable_paths.iter().any(|other| place != other && place.starts_with(other));
    // Make one mount for each tree, so that files can be renamed within it.
    for place in writable_paths.iter().filter(|place| !beneath(place)) {
        mount_bind_recursive(place, place).map_err(|error| error_text("mount a writable folder", error))?;
    }
    for (copy, original) in instructions.covers.iter().filter(|(copy, _)| !copy.is_empty()) {
        mount_bind(Path::new(copy), Path::new(original))
            .map_err(|error| error_text("mount a copy of a file", error))?;
    }
    make_read_only(&writable_paths)
}

/// Returns the canonical paths beneath which a command may write. The root of the workspace is first.
pub(crate) fn writable_paths(instructions: &Instructions) -> Vec<PathBuf> {
    let own: Vec<PathBuf> = instructions.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    let more = instructions.writable.iter().map(PathBuf::from).chain(std::env::var_os("TMPDIR").map(PathBuf::from));
    let more = more.filter_map(|path| path.canonicalize().ok());
    let more = more.filter(|path| !own.iter().any(|own| own.starts_with(path)));
    std::iter::once(PathBuf::from(&instructions.root)).chain(more).collect()
}

/// Mounts `/proc` for the new namespace. Must be called by its first process.
pub(crate) fn show_processes() -> Result<(), String> {
    // Mount it in another mount namespace, so that the guard still sees all processes.
    unshare(UnshareFlags::NEWNS).map_err(|error| error_text("open for /proc", error))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, None).map_err(|error| error_text("mount /proc", error))
}

fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    #[allow(deprecated, reason = "only unsharing file descriptors is unsafe, and these stay shared")]
    rustix::thread::unshare(flags)
}

fn error_text(step: &str, error: Errno) -> String {
    format!("the sandbox could not be set up (namespaces: {step}): {error}.")
}

/// Keeps the capability to mount `/proc` for the next program.
fn keep_capability() -> rustix::io::Result<()> {
    use rustix::thread::{capabilities, configure_capability_in_ambient_set, set_capabilities};
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)
}

/// Makes all mounts read-only except those at or beneath the given paths.
fn make_read_only(open: &[PathBuf]) -> Result<(), String> {
    let text = fs::read("/proc/self/mountinfo").map_err(|error| format!("the mounts could not be read: {error}."))?;
    for (place, flags) in read_only_mounts(&text, open) {
        let done = mount_remount(&place, flags | MountFlags::BIND | MountFlags::RDONLY, "");
        if let Some(error) = done.err().filter(|error| leaves_writable(*error, &place, &text)) {
            return Err(format!("{} could not be made read-only: {error}.", place.display()));
        }
    }
    Ok(())
}

/// Returns the mounts to make read-only: all except those at or beneath the given paths.
fn read_only_mounts(text: &[u8], open: &[PathBuf]) -> Vec<(PathBuf, MountFlags)> {
    let all = text.split(|byte| *byte == b'\n').filter_map(read);
    all.filter(|(place, _)| !open.iter().any(|open| place.starts_with(open))).collect()
}

/// Whether the files of a mount that could not be made read-only stay writable, judging by the error. They do not if
/// this user cannot reach the mount, or if another mount covers it.
fn leaves_writable(error: Errno, place: &Path, text: &[u8]) -> bool {
    match error {
        Errno::ACCESS | Errno::NOENT | Errno::NOTDIR => false,
        Errno::INVAL => is_on_top(place, text),
        _ => true,
    }
}

/// Whether no other mount covers this one.
fn is_on_top(place: &Path, text: &[u8]) -> bool {
    let mut above = text.split(|byte| *byte == b'\n').filter_map(read).skip_while(|(other, _)| other != place).skip(1);
    !above.any(|(other, _)| place.starts_with(other))
}

/// Parses a line of `mountinfo`: returns the mount point and its options. `None` for an automounter, or if the line is
/// too short.
fn read(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (place, options) = (fields.nth(4)?, fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    if kind == b"autofs" {
        return None;
    }
    let mut flags = MountFlags::empty();
    for option in options.split(|byte| *byte == b',') {
        flags |= match option {
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"nosymfollow" => MountFlags::NOSYMFOLLOW,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some((PathBuf::from(OsString::from_vec(unescaped(place))), flags))
}

/// Decodes characters such as spaces, which are written as a backslash and three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            whole.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            whole.push(*first);
            rest = after;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_mounts_are_recognized() {
        let lines = ["/", "/mnt", "/mnt/x", "/other", "/other"];
        let text = lines.map(|place| format!("36 35 98:0 / {place} rw - ext3 /dev/root rw")).join("\n");
        let on_top = |place: &str| is_on_top(Path::new(place), text.as_bytes());
        assert!(on_top("/") && on_top("/mnt") && on_top("/mnt/x"));
        assert!(!on_top("/other"));
        let hidden = format!("{text}\n36 35 98:0 / /mnt rw - ext3 /dev/root rw");
        assert!(!is_on_top(Path::new("/mnt/x"), hidden.as_bytes()), "mounts beneath are hidden too");
        // A mount that is covered need not be read-only. Any other failure is reported.
        let open = |error, place: &str| leaves_writable(error, Path::new(place), hidden.as_bytes());
        assert!(open(Errno::INVAL, "/") && !open(Errno::INVAL, "/mnt/x") && !open(Errno::INVAL, "/other"));
        assert!(open(Errno::PERM, "/mnt/x") && open(Errno::BUSY, "/"));
        let text = error_text("open", Errno::PERM);
        assert!(
            text.starts_with("the sandbox could not be set up (namespaces: open): Operation not permitted"),
            "{text}"
        );
        assert!([Errno::ACCESS, Errno::NOENT, Errno::NOTDIR].iter().all(|error| !open(*error, "/")));
    }

    #[test]
    fn mounts_are_read_only_except_where_writing_is_allowed() {
        let lines = [("/", "rw,nosuid"), ("/code", "rw"), ("/code/deep", "rw,noexec"), ("/srv", "rw"), ("/tmp", "ro")];
        let text = lines.map(|(place, how)| format!("36 35 98:0 / {place} {how} - ext3 /dev/root rw")).join("\n");
        let closed = |open: &[&str]| {
            let open: Vec<PathBuf> = open.iter().map(PathBuf::from).collect();
            let closed = read_only_mounts(text.as_bytes(), &open).into_iter();
            closed.map(|(place, flags)| (place.display().to_string(), flags)).collect::<Vec<_>>()
        };
        let at = |place: &str, flags| (place.to_owned(), flags);
        let (root, shop, none) = (at("/", MountFlags::NOSUID), at("/srv", MountFlags::empty()), MountFlags::empty());
        assert_eq!(closed(&["/code", "/tmp"]), [root.clone(), shop.clone()]);
        let deep = at("/code/deep", MountFlags::NOEXEC);
        assert_eq!(closed(&["/tmp/beneath"]), [root, at("/code", none), deep, shop, at("/tmp", none)]);
        assert!(closed(&["/"]).is_empty());
    }

    #[test]
    fn writable_paths_never_contain_the_programs_own_files() {
        let outer = tempfile::tempdir().unwrap();
        let whole = outer.path().canonicalize().unwrap();
        let name = |path: &str| whole.join(path).into_os_string();
        for folder in ["work", "more", "data/own"] {
            fs::create_dir_all(whole.join(folder)).unwrap();
        }
        let path = PathBuf::from;
        let mut instructions = Instructions {
            root: name("work"),
            hidden: vec![name("data/own"), name("nowhere")],
            writable: vec![name("more/../more"), name("data"), name("data/own"), name("gone")],
            ..Instructions::default()
        };
        let found: Vec<PathBuf> =
            writable_paths(&instructions).into_iter().filter(|place| place.starts_with(&whole)).collect();
        assert_eq!(found, [path(name("work")), path(name("more"))]);
        instructions.hidden = Vec::new();
        let found: Vec<PathBuf> =
            writable_paths(&instructions).into_iter().filter(|place| place.starts_with(&whole)).collect();
        assert_eq!(found, ["work", "more", "data", "data/own"].map(|place| path(name(place))));
    }

    #[test]
    fn mount_options_are_kept() {
        let all = [
            ("nosuid", MountFlags::NOSUID),
            ("nodev", MountFlags::NODEV),
            ("noexec", MountFlags::NOEXEC),
            ("nosymfollow", MountFlags::NOSYMFOLLOW),
            ("noatime", MountFlags::NOATIME),
            ("nodiratime", MountFlags::NODIRATIME),
            ("relatime", MountFlags::RELATIME),
            ("rw", MountFlags::empty()),
            ("other", MountFlags::empty()),
        ];
        let flags = |options: &str| {
            let line = format!(r"36 35 98:0 / /a\040b\134c {options} shared:1 master:2 - ext3 /dev/root rw,nosuid");
            let (place, flags) = read(line.as_bytes()).unwrap();
            assert_eq!(place, Path::new(r"/a b\c"));
            flags
        };
        for (name, flag) in all {
            assert_eq!(flags(name), flag, "{name}");
        }
        let names = all.map(|(name, _)| name).join(",");
        assert_eq!(flags(&names), all.iter().fold(MountFlags::empty(), |sum, (_, flag)| sum | *flag));
        for short in ["", "36 35 98:0 /", "36 35 98:0 / /mnt", "36 35 98:0 / /mnt rw", "36 35 98:0 / /mnt rw -"] {
            assert!(read(short.as_bytes()).is_none(), "{short}");
        }
        assert!(read(b"36 35 98:0 / /net rw - autofs auto.net rw").is_none());
    }

    #[test]
    fn mount_names_are_unescaped() {
        for (text, name) in [
            (&br"a\040b"[..], &b"a b"[..]),
            (br"\134040", b"\\040"),
            (br"a\04", br"a\04"),
            (br"a\999b", br"a\999b"),
            (br"\777", br"\777"),
            (br"\011\012", b"\t\n"),
            (b"\xC3\xA9", b"\xC3\xA9"),
            (b"\\\xFF\xFF\xFF", b"\\\xFF\xFF\xFF"),
            (b"", b""),
        ] {
            assert_eq!(unescaped(text), name, "{}", text.escape_ascii());
        }
    }
}
