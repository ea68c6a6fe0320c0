//! A read-only folder: reads texts of limited size, lists folders, and returns stamps that detect changes without
//! reading. Links never lead out of the folder.
//! Not for: the model's tools (`files`), or the meaning of the texts.

use super::files::ignore_rules::{MAX_BYTES, parse_rules};
use super::workspace::without_blocking;
use crate::domain::base::Hash;
use crate::domain::tool::FileVisibility;
use crate::domain::tool::visibility::READS;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ignore::gitignore::Gitignore;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file's size, modification time, and inode, which detect changes without reading the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stamp {
    /// The size in bytes.
    pub bytes: u64,
    /// The modification time, in nanoseconds since 1970.
    pub written: u128,
    /// The inode, or 0 on systems without inodes.
    pub number: u64,
}

/// The target of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PathTarget {
    Nothing,
    /// A regular file.
    File(Stamp),
    /// A path that is not read. The reason completes a sentence that begins with the path.
    Refused(String),
}

/// The beginning of a text file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The text, cut at a line end.
    pub text: String,
    /// The size of the whole file in bytes.
    pub bytes: u64,
    /// The number of bytes left out at the end.
    pub left: u64,
}

/// The reason why a file that a rule denies is not read.
const DENIED: &str = "can't be read because of one of your rules";

/// A read-only folder.
#[derive(Debug)]
pub struct Folder {
    root: Dir,
    /// The rules that deny files. Their paths are relative to `workspace`, a path beneath the root.
    denied: FileVisibility,
    workspace: PathBuf,
}

impl Folder {
    /// Opens a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(|root| Self {
            root,
            denied: FileVisibility::default(),
            workspace: PathBuf::new(),
        })
    }

    /// Adds rules that deny files. The paths of the rules are relative to `workspace`, a folder beneath this one.
    #[must_use]
    pub fn without(self, denied: FileVisibility, workspace: &Path) -> Self {
        Self { denied, workspace: workspace.to_owned(), ..self }
    }

    /// Whether a rule denies a file, by the given path or by its canonical path.
    fn denies(&self, path: &Path) -> bool {
        let named = |path: &Path| {
            let path = path.strip_prefix(&self.workspace).unwrap_or(path);
            self.denied.denies(READS, &path.to_string_lossy()).is_some()
        };
        !self.denied.is_open() && (named(path) || self.root.canonicalize(path).is_ok_and(|whole| named(&whole)))
    }

    /// Returns the target of a path beneath the root.
    pub fn look(&self, path: &Path) -> PathTarget {
        match self.root.metadata(path) {
            Ok(_) if self.denies(path) => PathTarget::Refused(DENIED.into()),
            Ok(meta) if meta.is_file() => {
                let written = meta.modified().ok().map(cap_std::time::SystemTime::into_std);
                let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_nanos();
                PathTarget::File(Stamp { bytes: meta.len(), written, number: number(&meta) })
            }
            Ok(meta) if meta.is_dir() => PathTarget::Refused("is a folder".into()),
            Ok(_) => PathTarget::Refused("is a pipe, a socket, or a device".into()),
            Err(_) if self.root.symlink_metadata(path).is_err() => PathTarget::Nothing,
            Err(error) => PathTarget::Refused(refusal(&error)),
        }
    }

    /// Reads at most `most` bytes from the beginning of a text file, cut at the end of a character and, if possible, of
    /// a line.
    ///
    /// # Errors
    /// The reason completes a sentence that begins with the path.
    pub fn head(&self, path: &Path, most: u64) -> Result<Head, String> {
        if self.denies(path) {
            return Err(DENIED.into());
        }
        let file = self.root.open_with(path, &without_blocking()).map_err(|error| refusal(&error))?;
        let meta = file.metadata().map_err(|error| refusal(&error))?;
        if !meta.is_file() {
            return Err("is not a regular file".into());
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(|error| refusal(&error))?;
        let whole = meta.len().max(bytes.len() as u64);
        let cut = whole > bytes.len() as u64;
        let valid = match std::str::from_utf8(&bytes) {
            Ok(_) => bytes.len(),
            // The limit split a character.
            Err(error) if cut && error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Err("is not UTF-8 text".into()),
        };
        bytes.truncate(valid);
        if bytes.contains(&0) {
            return Err("is not text".into());
        }
        if let (true, Some(end)) = (cut, bytes.iter().rposition(|byte| *byte == b'\n')) {
            bytes.truncate(end + 1);
        }
        let left = whole - bytes.len() as u64;
        Ok(Head { text: String::from_utf8(bytes).unwrap_or_default(), bytes: whole, left })
    }

    /// Returns the hash of a file's bytes, or `None` if the file is missing, larger than `most` bytes, or not readable.
    pub fn hash(&self, path: &Path, most: u64) -> Option<Hash> {
        let PathTarget::File(stamp) = self.look(path) else { return None };
        let file = self.root.open(path).ok().filter(|_| stamp.bytes <= most)?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(Hash::of(&bytes))
    }

    /// Whether `.gitignore` files exclude a folder or a folder that contains it. The nearest matching rule decides.
    pub fn ignored(&self, folder: &Path) -> bool {
        let mut levels: Vec<Gitignore> = Vec::new();
        let mut path = PathBuf::new();
        for step in std::iter::once(None).chain(folder.iter().map(Some)) {
            if let Some(step) = step {
                path.push(step);
                let matched_rule =
                    levels.iter().rev().map(|rules| rules.matched(&path, true)).find(|found| !found.is_none());
                if matched_rule.is_some_and(|found| found.is_ignore()) {
                    return true;
                }
            }
            if let Ok(head) = self.head(&path.join(".gitignore"), MAX_BYTES) {
                levels.extend(parse_rules(&path, &head.text));
            }
        }
        false
    }

    /// Returns the sorted names of at most `most` subfolders. Names that are not UTF-8 or that contain control
    /// characters are left out.
    pub fn folders(&self, path: &Path, most: usize) -> Vec<String> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let Ok(entries) = self.root.read_dir(path) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.chars().any(char::is_control))
            .filter(|name| self.root.metadata(path.join(name)).is_ok_and(|meta| meta.is_dir()))
            .take(most)
            .collect();
        names.sort();
        names
    }
}

#[cfg(unix)]
fn number(meta: &cap_std::fs::Metadata) -> u64 {
    use cap_std::fs::MetadataExt as _;
    meta.ino()
}

#[cfg(not(unix))]
fn number(_: &cap_std::fs::Metadata) -> u64 {
    0
}

/// Describes an error. `cap_std` reports a path that leads out of the root as an error without an OS code.
fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => "is a link that leads outside the \
            folder"
            .into(),
        io::ErrorKind::PermissionDenied => "can't be read: permission denied".into(),
        io::ErrorKind::NotFound => "is a link without a target".into(),
        _ => format!("can't be read ({error})"),
    }
}

/// Returns the root of the repository that a folder belongs to: the nearest folder at or above it that contains `.git`,
/// provided that all folders in between have the same owner. Returns the folder itself if there is none.
pub fn repository(folder: &Path) -> PathBuf {
    const MAX_PARENTS: usize = 32;
    let owner = owner_of(folder);
    let own = |path: &&Path| owner_of(path) == owner;
    let found = folder.ancestors().take(MAX_PARENTS).take_while(own).find(|path| path.join(".git").exists());
    found.unwrap_or(folder).to_path_buf()
}

#[cfg(unix)]
fn owner_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|meta| meta.uid())
}

#[cfg(not(unix))]
fn owner_of(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn texts_are_read_inside_the_folder_and_cut_at_line_ends() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("in");
        fs::create_dir_all(inside.join("b")).unwrap();
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        fs::write(inside.join("t"), "one\ntwo\nthréé\n").unwrap();
        fs::write(inside.join("latin"), b"caf\xe9 au lait").unwrap();
        fs::write(inside.join("nul"), b"a\0b").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink("t", inside.join("inner")).unwrap();
        symlink("gone", inside.join("dangling")).unwrap();
        let folder = Folder::open(&inside).unwrap();
        let head = |name: &str, most| folder.head(Path::new(name), most);
        assert_eq!(head("t", 100).unwrap().text, "one\ntwo\nthréé\n");
        let cut = head("inner", 12).unwrap();
        assert_eq!((cut.text.as_str(), cut.bytes, cut.left), ("one\ntwo\n", 16, 8));
        for (name, why) in
            [("latin", "UTF-8"), ("nul", "not text"), ("out", "leads outside"), ("dangling", "without a target")]
        {
            assert!(head(name, 100).unwrap_err().contains(why), "{name}");
        }
        assert!(matches!(folder.look(Path::new("out")), PathTarget::Refused(why) if why.contains("leads outside")));
        assert!(matches!(folder.look(Path::new("t")), PathTarget::File(stamp) if stamp.bytes == 16));
        assert!(matches!(folder.look(Path::new("a")), PathTarget::Refused(why) if why == "is a folder"));
        let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        assert!(matches!(folder.look(Path::new("socket")), PathTarget::Refused(why) if why.contains("a socket")));
        assert_eq!(folder.look(Path::new("none")), PathTarget::Nothing);
        let before = folder.look(Path::new("t"));
        let written = fs::metadata(inside.join("t")).unwrap().modified().unwrap();
        fs::write(inside.join("new"), "six\ntwo\nthréé\n").unwrap();
        fs::File::options().append(true).open(inside.join("new")).unwrap().set_modified(written).unwrap();
        fs::rename(inside.join("new"), inside.join("t")).unwrap();
        assert_ne!(folder.look(Path::new("t")), before, "another file of the same size and time");
        assert_eq!(folder.folders(Path::new(""), 9), ["a", "b"]);
    }

    #[test]
    fn gitignored_folders_are_recognized() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/keep/x")).unwrap();
        fs::write(place.path().join(".gitignore"), "node_modules/\n/a/*\n!/a/keep/\n").unwrap();
        fs::write(place.path().join("a/keep/.gitignore"), "x\n").unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for (path, ignored) in [
            ("", false),
            ("src", false),
            ("b/node_modules/p", true),
            ("a/q", true),
            ("a/keep", false),
            ("a/keep/x/y", true),
        ] {
            assert_eq!(folder.ignored(Path::new(path)), ignored, "{path}");
        }
    }

    #[test]
    fn repository_is_the_nearest_folder_with_git() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("repo/a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(repository(&deep), deep);
        fs::create_dir_all(place.path().join("repo/.git")).unwrap();
        assert_eq!(repository(&deep), place.path().join("repo"));
        // Only root can change the owner of a folder.
        if std::os::unix::fs::chown(place.path().join("repo"), Some(12_345), None).is_ok() {
            assert_eq!(repository(&deep), deep, "the repository belongs to another user");
        }
    }

    #[test]
    fn rule_denies_a_file_by_every_name() {
        use crate::domain::tool::consent::{Rule, Verdict};
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("work/inner")).unwrap();
        for (name, text) in
            [("work/open", "open"), ("work/secret", "secret"), ("work/inner/key", "key"), ("outside", "out")]
        {
            fs::write(place.path().join(name), text).unwrap();
        }
        symlink("secret", place.path().join("work/link")).unwrap();
        symlink("open", place.path().join("work/hidden")).unwrap();
        let deny = |on: &str| Rule { tool: READS.into(), on: Some(on.into()), verdict: Verdict::Deny };
        let rules = FileVisibility::new([deny("secret"), deny("hidden"), deny("inner/*"), deny("outside")]);
        let folder = Folder::open(place.path()).unwrap().without(rules, Path::new("work"));
        for (path, denied) in [
            ("work/open", false),
            ("work/secret", true),
            ("work/link", true),
            ("work/hidden", true),
            ("work/inner/key", true),
            ("outside", true),
            ("work/gone", false),
        ] {
            assert_eq!(folder.denies(Path::new(path)), denied, "{path}");
            assert_eq!(folder.head(Path::new(path), 9).is_err(), denied || path == "work/gone", "{path}");
            let refused = folder.look(Path::new(path)) == PathTarget::Refused(DENIED.into());
            assert_eq!((refused, folder.hash(Path::new(path), 9).is_none()), (denied, denied || path == "work/gone"));
        }
        let open = Folder::open(place.path()).unwrap().without(FileVisibility::default(), Path::new("work"));
        assert!(!open.denies(Path::new("work/secret")));
    }

    #[test]
    fn texts_and_hashes_are_bounded() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("t"), "ab\ncd\né").unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let path = Path::new("t");
        for (most, text) in
            [(0, ""), (1, "a"), (2, "ab"), (3, "ab\n"), (5, "ab\n"), (6, "ab\ncd\n"), (7, "ab\ncd\n"), (8, "ab\ncd\né")]
        {
            let head = folder.head(path, most).unwrap();
            assert_eq!((head.text.as_str(), head.bytes, head.left), (text, 8, 8 - text.len() as u64), "{most}");
        }
        assert_eq!(folder.hash(path, 8), Some(Hash::of("ab\ncd\né".as_bytes())));
        assert_eq!((folder.hash(path, 7), folder.hash(Path::new("gone"), 9)), (None, None));
        for name in ["c", "a", "b"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        symlink("a", place.path().join("d")).unwrap();
        symlink("t", place.path().join("e")).unwrap();
        assert_eq!(folder.folders(Path::new(""), 9), ["a", "b", "c", "d"]);
        assert_eq!(folder.folders(Path::new(""), 2).len(), 2);
        assert_eq!(folder.folders(Path::new("gone"), 2), [""; 0]);
    }
}
