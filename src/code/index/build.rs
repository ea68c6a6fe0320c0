//! Builds and updates the index of a folder. Unchanged files are kept; the others are read on several threads.
//! Not for: storing the index between starts (`cache`).

use super::record::{FileStamp, Record, Words};
use super::records::Index;
use crate::code::CodeError;
use crate::code::parse::file::Reader;
use crate::code::parse::language::{of_path, refine};
use crate::code::parse::walk::{Bounds, ListedFile, Listing, list, refused, reliable_stamp, stamp};
use crate::code::symbol::lines;
use crate::domain::base::Hash;
use crate::domain::code::{Language, ParseOutcome};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::SystemTime;

/// The size above which a text file is listed but not parsed: it holds data.
const MAX_TEXT_BYTES: u64 = 256 << 10;

/// Progress of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files found.
    pub files: usize,
    /// Files that are indexed.
    pub done: usize,
    /// Files that were read in this round.
    pub read: usize,
    /// Symbols indexed so far.
    pub symbols: usize,
    /// Whether there is more than the bounds allow.
    pub more: bool,
}

/// A change to an index, for callers that also store it.
#[derive(Debug)]
pub enum Change<'a> {
    /// A file was read.
    Read(&'a Record),
    /// A file has a new time and the same bytes.
    Touched(&'a Path, FileStamp),
    /// A file was removed.
    Gone(&'a Path),
}

/// The result of reading a file.
enum Outcome {
    New(Box<Record>),
    Same(PathBuf, FileStamp),
}

/// Reads one file, unless its bytes have the hash `known`. Errors become outcomes.
fn read_file(
    reader: &mut Reader,
    root: &Path,
    seen: &ListedFile,
    known: Option<Hash>,
    bounds: &Bounds,
    keep_going: &dyn Fn() -> bool,
) -> Outcome {
    let mut record = empty_record(seen);
    let Some(language) = seen.language else { return Outcome::New(Box::new(record)) };
    let largest = if language.is_text() { bounds.largest.min(MAX_TEXT_BYTES) } else { bounds.largest };
    if seen.stamp.size > largest {
        record.outcome = ParseOutcome::TooLarge;
        return Outcome::New(Box::new(record));
    }
    record.stamp = reliable_stamp(seen.stamp, SystemTime::now());
    match read_bounded(&root.join(&seen.path), largest) {
        Ok(Some(text)) => {
            record.hash = Hash::of(&text);
            if known == Some(record.hash) {
                return Outcome::Same(record.path, record.stamp);
            }
            read_text(reader, &mut record, language, &text, bounds, keep_going);
        }
        Ok(None) => record.outcome = ParseOutcome::TooLarge,
        Err(_) => record.outcome = ParseOutcome::Unreadable,
    }
    Outcome::New(Box::new(record))
}

/// Returns whether a file whose name belongs to a language would be parsed.
pub(crate) fn would_parse(root: &Path, seen: &ListedFile, bounds: &Bounds) -> bool {
    let text = || read_bounded(&root.join(&seen.path), bounds.largest).ok().flatten();
    seen.stamp.size <= bounds.largest && text().is_some_and(|text| refused(&seen.path, &text, bounds).is_none())
}

fn empty_record(seen: &ListedFile) -> Record {
    Record {
        path: seen.path.clone(),
        stamp: seen.stamp,
        hash: Hash::default(),
        outcome: ParseOutcome::NoLanguage,
        language: seen.language,
        errors: false,
        lines: 0,
        symbols: Vec::new(),
        words: Words::default(),
    }
}

fn read_text(
    reader: &mut Reader,
    record: &mut Record,
    language: Language,
    text: &[u8],
    bounds: &Bounds,
    keep_going: &dyn Fn() -> bool,
) {
    record.lines = lines(text);
    if let Some(outcome) = refused(&record.path, text, bounds) {
        record.outcome = outcome;
        return;
    }
    let language = refine(language, &record.path, text);
    let name = record.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    record.outcome = ParseOutcome::Unreadable;
    if let Some(parsed) = reader.read(language, &name, text, keep_going) {
        record.outcome = ParseOutcome::Parsed;
        record.language = Some(language);
        record.errors = parsed.errors;
        record.symbols = parsed.symbols;
        record.words = parsed.words;
    }
}

fn read_bounded(path: &Path, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(most + 1).read_to_end(&mut text)?;
    Ok((text.len() as u64 <= most).then_some(text))
}

/// The work that a survey or recheck found.
#[derive(Default)]
pub struct Round {
    pending: Vec<(ListedFile, Option<Hash>)>,
    removed: Vec<PathBuf>,
    files: usize,
    more: bool,
    read: Option<Vec<Outcome>>,
    folders: Option<Folders>,
}

/// Maximum files that are read before the index is changed.
const MAX_READ_AHEAD: usize = 64;

impl Round {
    /// Compares the whole folder with the index.
    ///
    /// # Errors
    /// When the folder cannot be read, or `stop` is set.
    pub fn survey(index: &Index, root: &Path, bounds: &Bounds, stop: &AtomicBool) -> Result<Self, CodeError> {
        let Listing { files: seen, folders, more } = list(root, bounds, &|| !stop.load(Ordering::Relaxed))?;
        let folders = Some(Folders(folders));
        let gone = index.files().filter(|file| seen.binary_search_by(|one| one.path.cmp(&file.path)).is_err());
        let removed = gone.map(|file| file.path.clone()).collect();
        let files = seen.len();
        Ok(Self { pending: changed(index, seen), removed, files, more, read: None, folders })
    }

    /// Returns the folders seen by a survey, for the next [`Round::recheck`]. `None` after a recheck.
    pub fn folders(&mut self) -> Option<Folders> {
        self.folders.take()
    }

    /// Compares only known files and folders, by size and time. Returns `None` if that is not enough because names in a
    /// folder, an ignore rule, or the existence of a file changed.
    pub fn recheck(index: &Index, root: &Path, folders: &Folders, more: bool) -> Option<Self> {
        if !folders.same(root) {
            return None;
        }
        let mut seen = Vec::new();
        for file in index.files() {
            let data = std::fs::symlink_metadata(root.join(&file.path)).ok().filter(std::fs::Metadata::is_file)?;
            let stamp = stamp(&data);
            if stamp == file.stamp {
                continue;
            }
            if is_ignore_file(&file.path) {
                return None;
            }
            seen.push(ListedFile { path: file.path.clone(), stamp, language: of_path(&file.path) });
        }
        Some(Self { files: index.files().count(), pending: changed(index, seen), more, ..Self::default() })
    }

    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.removed.is_empty()
    }

    /// Reads the files in advance if there are few, so that the index is locked only briefly afterward.
    pub fn read_ahead(&mut self, root: &Path, bounds: &Bounds, stop: &AtomicBool) {
        if self.pending.len() <= MAX_READ_AHEAD {
            let mut read = Vec::new();
            read_all(root, bounds, stop, &self.pending, &mut |outcome| read.push(outcome));
            self.read = Some(read);
        }
    }

    /// Updates an index except for its graph (see [`Index::refresh`]). `changed` receives every change, and
    /// `on_progress` the progress.
    ///
    /// # Errors
    /// When `stop` is set. The index keeps the files that were already read.
    pub fn take_in(
        self,
        index: &mut Index,
        (root, bounds, stop): (&Path, &Bounds, &AtomicBool),
        changed: &mut dyn FnMut(Change<'_>),
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Progress, CodeError> {
        let mut progress = Progress { files: self.files, more: self.more, ..Progress::default() };
        for path in &self.removed {
            index.remove(path);
            changed(Change::Gone(path));
        }
        progress.done = self.files.saturating_sub(self.pending.len());
        progress.symbols = index.len();
        on_progress(progress);
        let mut apply = |outcome| {
            progress.done += 1;
            match outcome {
                Outcome::Same(path, stamp) => {
                    index.touch(&path, stamp);
                    changed(Change::Touched(&path, stamp));
                }
                Outcome::New(record) => {
                    progress.read += 1;
                    if index.len() + record.symbols.len() > bounds.symbols {
                        progress.more = true;
                    } else {
                        changed(Change::Read(&record));
                        index.insert(&record);
                    }
                }
            }
            progress.symbols = index.len();
            on_progress(progress);
        };
        match self.read {
            Some(read) => read.into_iter().for_each(&mut apply),
            None => read_all(root, bounds, stop, &self.pending, &mut apply),
        }
        if self.pending.len() > 1_000 {
            index.shrink();
        }
        if stop.load(Ordering::Relaxed) { Err(CodeError::Cancelled) } else { Ok(progress) }
    }
}

/// Returns the files whose stamp differs from the index, with the hash that the index has for each.
fn changed(index: &Index, seen: Vec<ListedFile>) -> Vec<(ListedFile, Option<Hash>)> {
    let each = seen.into_iter().filter_map(|one| {
        let file = index.file_at(&one.path);
        let hash = file.filter(|file| file.outcome != ParseOutcome::Unreadable).map(|file| file.hash);
        file.is_none_or(|file| file.stamp != one.stamp).then_some((one, hash))
    });
    each.collect()
}

/// Returns whether a file contains ignore rules.
fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

/// Modification times of all visited folders, including those without files. Adding or removing a name changes its
/// folder's time.
#[derive(Default, Clone, Debug, PartialEq, Eq)]
pub struct Folders(pub(crate) Vec<(PathBuf, i64)>);

impl Folders {
    /// Returns whether no folder has changed.
    pub fn same(&self, root: &Path) -> bool {
        let mut whole = PathBuf::new();
        let mut is_unchanged = |(folder, at): &(PathBuf, i64)| {
            whole.clear();
            whole.push(root);
            whole.push(folder);
            *at >= 0 && changed_at(&whole) == *at
        };
        !self.0.is_empty() && self.0.iter().all(&mut is_unchanged)
    }
}

/// Returns when a folder was changed, in nanoseconds since 1970; -1 if that is unknown, or so recent that another
/// change could have the same time.
fn changed_at(folder: &Path) -> i64 {
    let data = std::fs::symlink_metadata(folder).ok().filter(std::fs::Metadata::is_dir);
    data.map_or(-1, |data| reliable_stamp(stamp(&data), SystemTime::now()).changed)
}

/// Updates an index from a folder. `changed` receives every change, and `on_progress` the progress.
///
/// # Errors
/// When the folder cannot be read, or `stop` is set. The index keeps the files that were already read.
pub fn renew(
    index: &mut Index,
    root: &Path,
    bounds: &Bounds,
    stop: &AtomicBool,
    changed: &mut dyn FnMut(Change<'_>),
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Progress, CodeError> {
    let round = Round::survey(index, root, bounds, stop)?;
    let done = round.take_in(index, (root, bounds, stop), changed, on_progress);
    index.refresh();
    done
}

/// Reads files on several threads. `apply` receives each outcome as it arrives.
fn read_all(
    root: &Path,
    bounds: &Bounds,
    stop: &AtomicBool,
    pending: &[(ListedFile, Option<Hash>)],
    apply: &mut dyn FnMut(Outcome),
) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if bounds.threads == 0 { cores } else { bounds.threads }.min(pending.len());
    let next = AtomicUsize::new(0);
    let work = |send: &dyn Fn(Outcome) -> bool| {
        let keep_going = || !stop.load(Ordering::Relaxed);
        let mut reader = Reader::default();
        while let Some((seen, known)) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = read_file(&mut reader, root, seen, *known, bounds, &keep_going);
            // Reading that was stopped halfway is not a failure of the file.
            if !keep_going() || !send(outcome) {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Outcome>(threads * 4);
        let mut started = 0;
        for _ in 0..threads {
            let (send, work) = (send.clone(), &work);
            let thread = std::thread::Builder::new().name("code-reader".into());
            let run = move || work(&|outcome| send.send(outcome).is_ok());
            started += usize::from(thread.spawn_scoped(scope, run).is_ok());
        }
        drop(send);
        receive.into_iter().for_each(&mut *apply);
        if started == 0 && threads > 0 {
            // No thread could be started, so the files are read here.
            let apply = std::cell::RefCell::new(apply);
            work(&|outcome| {
                (*apply.borrow_mut())(outcome);
                true
            });
        }
    });
}
