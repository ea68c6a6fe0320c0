//! Limits which files a command may read and write, using Landlock.
//! Not for: the network and other system calls (`seccomp`).
//!
//! Landlock rules only allow access. Therefore, to keep the home folder, other users' temporary files, and this
//! program's own files hidden, all siblings along the path to them are allowed one by one.

use super::{Instructions, Namespaces, toolchains};
use cap_std::fs::Dir;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The newest version of the interface that is requested. An older kernel applies the part that it knows.
const NEWEST: ABI = ABI::V9;
/// Folders that are hidden, except for allowed paths beneath them.
const HIDDEN: &[&str] = &["/home", "/root", "/run", "/var/run", "/dev", "/tmp", "/var/tmp"];
/// Paths beneath these folders that may be read.
const READABLE: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/fd",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/run/systemd/resolve",
    "/run/current-system",
    "/run/opengl-driver",
];
/// Devices that may be written.
const WRITABLE_DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];
/// The paths that may be read, and the paths that may also be written.
#[derive(Default)]
pub(crate) struct Places {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    root: Option<OwnedFd>,
}

impl Places {
    pub(crate) fn of(instructions: &Instructions, root: &Dir) -> Result<Self, String> {
        let root =
            root.try_clone().map_err(|error| format!("the workspace can't be passed to the command: {error}."))?;
        let home = std::env::home_dir().filter(|home| home.is_absolute() && home.parent().is_some());
        let own: Vec<PathBuf> =
            instructions.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
        let temporary =
            std::env::temp_dir().canonicalize().ok().and_then(|own| Some(own.parent()?.parent()?.to_owned()));
        let mut secret = toolchains::secrets(home.as_deref());
        // A file that a copy was mounted over is read through that mount. Without such a mount it stays hidden.
        let (covered, bare): (Vec<_>, Vec<_>) = instructions
            .covers
            .iter()
            .partition(|(copy, _)| !copy.is_empty() && instructions.need.namespaces != Namespaces::None);
        secret.extend(bare.iter().filter_map(|(_, original)| Path::new(original).canonicalize().ok()));
        let mut hidden: Vec<PathBuf> = HIDDEN.iter().map(PathBuf::from).collect();
        hidden.extend(own.iter().cloned().chain(home.clone()).chain(temporary).filter(|path| path.parent().is_some()));
        hidden.extend(home.as_ref().and_then(|home| home.canonicalize().ok()));
        hidden.extend(secret.iter().cloned());
        let mut read: Vec<PathBuf> = covered.iter().map(|(_, original)| PathBuf::from(original)).collect();
        beside(Path::new("/"), &hidden, &mut read);
        let mut candidates: Vec<PathBuf> = READABLE.iter().map(PathBuf::from).collect();
        candidates.extend(toolchains::readable(home.as_deref()));
        candidates.extend(
            std::env::var_os("PATH")
                .iter()
                .flat_map(std::env::split_paths)
                .filter(|path| path.is_absolute() && home.as_ref().is_none_or(|home| !home.starts_with(path))),
        );
        // Allow the whole folder, because the file in it can be replaced.
        let settings = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
        candidates.extend(settings.and_then(|file| file.parent().map(Path::to_owned)));
        // This program's own files and secrets stay hidden even in folders that are allowed.
        secret.extend(own.iter().cloned());
        for path in candidates.iter().filter_map(|path| path.canonicalize().ok()) {
            beside(&path, &secret, &mut read);
        }
        for path in instructions.readable.iter().filter_map(|path| Path::new(path).canonicalize().ok()) {
            // A path that the settings name is allowed even if it is a secret.
            let but: Vec<PathBuf> =
                secret.iter().filter(|secret| !path.starts_with(secret) || own.contains(secret)).cloned().collect();
            beside(&path, &but, &mut read);
        }
        let write = super::namespaces::writable_paths(instructions).split_off(1);
        Ok(Self { read, write, root: Some(root.into_std_file().into()) })
    }
}

/// Adds a path. If hidden paths are beneath it, adds its entries without the hidden ones instead, recursively.
fn beside(place: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>) {
    if hidden.iter().any(|hidden| place.starts_with(hidden)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(place)) {
        found.push(place.to_owned());
        return;
    }
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        // The target of a link is allowed or refused by its own path.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            beside(&entry.path(), hidden, found);
        }
    }
}

/// Confines this process permanently. Returns the version of the interface that is in effect.
pub(crate) fn confine(places: &Places, network: bool) -> Result<i32, String> {
    let status = enforce(places, network).map_err(|error| format!("landlock could not be applied: {error}."))?;
    match status {
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no landlock.".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi as i32),
        _ => Err("landlock is disabled in this kernel.".into()),
    }
}

fn enforce(places: &Places, network: bool) -> Result<(RulesetStatus, LandlockStatus), RulesetError> {
    let mut wanted = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !network {
        wanted = wanted.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut rules = wanted.create()?;
    let reading = AccessFs::from_read(NEWEST);
    // Commands can neither create nor control devices.
    let writing = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let sink = AccessFs::ReadFile | AccessFs::WriteFile;
    let sinks = WRITABLE_DEVICES.iter().map(|path| (PathBuf::from(path), sink));
    let all = places.read.iter().map(|path| (path.clone(), reading));
    let all = all.chain(places.write.iter().map(|path| (path.clone(), writing))).chain(sinks);
    for (path, access) in all {
        let Ok(place) = PathFd::new(&path) else { continue };
        rules = rules.add_rule(PathBeneath::new(place, of_kind(&path, access)))?;
    }
    if let Some(root) = &places.root {
        rules = rules.add_rule(PathBeneath::new(root, writing))?;
    }
    let status = rules.restrict_self()?;
    Ok((status.ruleset, status.landlock))
}

/// Returns the part of an access right that applies to the kind of file at a path.
fn of_kind(path: &Path, access: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_paths_are_left_out() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        for folder in ["a/b/c", "a/d", "e", "f"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("a/file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("e"), root.join("a/link")).unwrap();
        let found = |place: &str, hidden: &[&str]| {
            let hidden: Vec<PathBuf> = hidden.iter().map(|path| root.join(path)).collect();
            let mut found = Vec::new();
            beside(&root.join(place), &hidden, &mut found);
            let mut names: Vec<String> =
                found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(found("a", &[]), ["a"]);
        assert_eq!(found("a", &["a"]), [""; 0]);
        assert_eq!(found("a/b", &["a"]), [""; 0]);
        assert_eq!(found("a", &["e"]), ["a"]);
        assert_eq!(found("a", &["a/b/c"]), ["a/d", "a/file"]);
        assert_eq!(found("", &["a/b", "e"]), ["a/d", "a/file", "f"]);
        assert_eq!(found("gone", &["gone/x"]), [""; 0]);
    }

    #[test]
    fn files_get_no_folder_rights() {
        let outer = tempfile::tempdir().unwrap();
        let file = outer.path().join("file");
        fs::write(&file, "").unwrap();
        let reading = AccessFs::from_read(NEWEST);
        assert_eq!(of_kind(outer.path(), reading), reading);
        assert_eq!(of_kind(&file, reading), reading & AccessFs::from_file(NEWEST));
        assert!(!of_kind(&file, reading).contains(AccessFs::ReadDir));
    }
}
