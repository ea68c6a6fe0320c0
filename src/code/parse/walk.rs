//! Lists the files of a workspace that git does not ignore, sorted by path, and decides which are parsed. Links are
//! never followed.
//! Not for: reading symbols (`file`).

use super::language::of_path;
use crate::code::CodeError;
use crate::code::index::record::FileStamp;
use crate::domain::code::{Language, ParseOutcome};
use crate::domain::tool::FileVisibility;
use crate::domain::tool::visibility::READS;
use ignore::{WalkBuilder, WalkState};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Limits for reading a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The size in bytes above which a file is listed but not parsed.
    pub largest: u64,
    /// Maximum files that are listed.
    pub files: usize,
    /// Maximum symbols that are kept.
    pub symbols: usize,
    /// Whether generated files are skipped.
    pub skip_generated: bool,
    /// A person's rules. Files that they deny are treated as missing.
    pub visibility: FileVisibility,
    /// The folder's path relative to the workspace. The rules' paths are relative to the workspace.
    pub beneath: PathBuf,
    /// The number of threads; 0 for the number of cores.
    pub threads: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            largest: 1 << 20,
            files: 200_000,
            symbols: 2_000_000,
            skip_generated: true,
            visibility: FileVisibility::default(),
            beneath: PathBuf::new(),
            threads: 0,
        }
    }
}

impl Bounds {
    /// Returns whether the rules allow reading a file.
    fn may_read(&self, path: &Path) -> bool {
        self.visibility.is_open() || self.visibility.shows(READS, &self.beneath.join(path).to_string_lossy())
    }
}

/// A listed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// The path relative to the root.
    pub path: PathBuf,
    /// The size and time.
    pub stamp: FileStamp,
    /// The language by the file's extension.
    pub language: Option<Language>,
}

/// The files and folders beneath a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files, sorted by path.
    pub files: Vec<ListedFile>,
    /// All visited folders, sorted by path, including those without files; the root is the empty path. With each
    /// folder's modification time before its names were read (see [`reliable_stamp`]).
    pub folders: Vec<(PathBuf, i64)>,
    /// Whether there were more files or folders than the limit.
    pub more: bool,
}

/// Lists files and folders that git does not ignore. The limit on files applies to folders too.
///
/// # Errors
/// When the folder itself cannot be read, or the caller asks to stop.
pub fn list(root: &Path, bounds: &Bounds, keep_going: &(dyn Fn() -> bool + Sync)) -> Result<Listing, CodeError> {
    std::fs::read_dir(root).map_err(|error| CodeError::Folder { path: root.display().to_string(), error })?;
    let started = SystemTime::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let walk = walk_of(root).threads(threads).build_parallel();
    let (listing, count, stopped) = (Mutex::new(Listing::default()), AtomicUsize::new(0), AtomicBool::new(false));
    walk.run(|| {
        Box::new(|entry| {
            if !keep_going() {
                stopped.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            if let Some(entry) = entry.ok()
                && let Some(found) = classify(root, &entry)
                && let Ok(mut listing) = listing.lock()
            {
                match found {
                    Found::File(file) if !bounds.may_read(&file.path) => {}
                    Found::File(file) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        listing.files.push(file);
                    }
                    Found::Folder(path, stamp) => listing.folders.push((path, reliable_stamp(stamp, started).changed)),
                }
            }
            // Far above the limit there is no need to continue counting.
            if count.load(Ordering::Relaxed) > bounds.files.saturating_mul(2) {
                WalkState::Quit
            } else {
                WalkState::Continue
            }
        })
    });
    if stopped.load(Ordering::Relaxed) {
        return Err(CodeError::Cancelled);
    }
    let mut listing = listing.into_inner().unwrap_or_default();
    listing.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    listing.folders.sort_unstable();
    listing.more = listing.files.len() > bounds.files || listing.folders.len() > bounds.files;
    listing.files.truncate(bounds.files);
    listing.folders.truncate(bounds.files);
    Ok(listing)
}

/// Returns a walk over what git does not ignore.
fn walk_of(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).require_git(false).follow_links(false).filter_entry(|entry| entry.file_name() != ".git");
    walk
}

/// Maximum entries of a folder that are checked for code.
const MAX_PROBED: usize = 4_000;

/// Returns whether a folder contains at least `least` files of code in supported languages among its first entries.
pub fn holds_code(root: &Path, least: usize) -> bool {
    let files = walk_of(root)
        .build()
        .take(MAX_PROBED)
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let is_code = |path: &Path| of_path(path).is_some_and(|language| !language.is_text());
    files.filter(|entry| is_code(entry.path())).nth(least.saturating_sub(1)).is_some()
}

enum Found {
    File(ListedFile),
    Folder(PathBuf, FileStamp),
}

/// Classifies an entry as a regular file or a folder by its metadata; `None` for anything else. Only the root itself
/// may be a link.
fn classify(root: &Path, entry: &ignore::DirEntry) -> Option<Found> {
    let path = entry.path().strip_prefix(root).ok()?.to_path_buf();
    let kind = entry.file_type()?;
    let stamp = || entry.metadata().ok().as_ref().map(stamp).unwrap_or_default();
    if kind.is_file() {
        let language = of_path(&path);
        return Some(Found::File(ListedFile { stamp: stamp(), language, path }));
    }
    (kind.is_dir() || path.as_os_str().is_empty()).then(|| Found::Folder(path, stamp()))
}

/// Returns the size and time of a file.
pub fn stamp(data: &std::fs::Metadata) -> FileStamp {
    let changed = data.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let changed = changed.and_then(|at| i64::try_from(at.as_nanos()).ok()).unwrap_or_default();
    FileStamp { size: data.len(), changed }
}

/// Minimum age of a change; a more recent change could be followed by another change with the same time.
const MIN_RELIABLE_AGE: Duration = Duration::from_millis(50);

/// Returns a stamp that was taken at or shortly after `at`. Its time becomes -1 when the change is too recent to be
/// distinguished from a later one.
pub fn reliable_stamp(stamp: FileStamp, at: SystemTime) -> FileStamp {
    let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_nanos(u64::try_from(stamp.changed).unwrap_or_default());
    if at.saturating_sub(changed) < MIN_RELIABLE_AGE { FileStamp { changed: -1, ..stamp } } else { stamp }
}

/// Returns the reason why a text is not parsed, if any.
pub fn refused(path: &Path, text: &[u8], bounds: &Bounds) -> Option<ParseOutcome> {
    let head = &text[..text.len().min(8_192)];
    if head.contains(&0) {
        return Some(ParseOutcome::Binary);
    }
    (bounds.skip_generated && (is_generated(path, text) || is_foreign_text(path))).then_some(ParseOutcome::Generated)
}

/// Returns whether a text file is a lock file or belongs to the copy of another project.
fn is_foreign_text(path: &Path) -> bool {
    const LOCKS: [&str; 4] = ["-lock.yaml", "-lock.yml", ".lock.yaml", "pylock.toml"];
    #[rustfmt::skip]
    const FOLDERS: [&str; 9] = [
        "dist", "external", "fixtures", "node_modules", "site-packages", "testdata", "third_party", "vendor", "vendored",
    ];
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut folders = path.parent().into_iter().flat_map(Path::components);
    of_path(path).is_some_and(Language::is_text)
        && (LOCKS.iter().any(|ending| name.ends_with(ending))
            || folders.any(|part| FOLDERS.iter().any(|folder| part.as_os_str() == *folder)))
}

/// Returns whether a file is generated, judged by its first lines, its name, or very long lines.
fn is_generated(path: &Path, text: &[u8]) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let by_name = [".min.js", ".bundle.js", ".pb.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2_grpc.py", ".g.cs"]
        .iter()
        .any(|ending| name.ends_with(ending));
    let head = String::from_utf8_lossy(&text[..text.len().min(2_000)]).to_lowercase();
    let by_header = head.lines().take(12).any(|line| {
        let comment = line.trim_start().starts_with(['/', '#', '*', '-', '<']);
        comment
            && (line.contains("@generated")
                || line.contains("do not edit")
                || line.contains("automatically generated")
                || line.contains("autogenerated")
                || line.contains("code generated by"))
    });
    let lines = text.split(|byte| *byte == b'\n').count();
    by_name || by_header || (text.len() > 20_000 && text.len() / lines > 400)
}
