//! Makes and renews an index of a folder: what has not changed is kept, the rest is read on several threads.
//! Not for: keeping it between starts (`cache`).

use super::record::{FileStamp, Record, Words};
use super::records::Index;
use crate::code::CodeError;
use crate::code::parse::file::Reader;
use crate::code::parse::language::settled;
use crate::code::parse::walk::{Bounds, Listing, Seen, list, refused, sure};
use crate::domain::base::hash::Hash;
use crate::domain::code::symbols::{Language, ParseOutcome};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::SystemTime;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files listed.
    pub files: usize,
    /// Files that are known now.
    pub done: usize,
    /// Of them, read in this round.
    pub read: usize,
    /// Symbols so far.
    pub symbols: usize,
    /// Whether there is more than the bounds allow.
    pub more: bool,
}

/// What happens to an index while it is renewed, for those who keep it elsewhere too.
#[derive(Debug)]
pub enum Change<'a> {
    /// A file was read.
    Read(&'a Record),
    /// A file has a new time and the same bytes.
    Touched(&'a Path, FileStamp),
    /// A file is gone.
    Gone(&'a Path),
}

/// What a look at a file gave.
enum Outcome {
    New(Box<Record>),
    Same(PathBuf, FileStamp),
}

/// Reads one file; not again when its bytes have the hash `known`. Any error is a fate.
fn read_file(
    reader: &mut Reader,
    root: &Path,
    seen: &Seen,
    known: Option<Hash>,
    bounds: &Bounds,
    go_on: &dyn Fn() -> bool,
) -> Outcome {
    let mut record = unread(seen);
    let Some(language) = seen.language else { return Outcome::New(Box::new(record)) };
    if seen.stamp.size > bounds.largest {
        record.fate = ParseOutcome::TooLarge;
        return Outcome::New(Box::new(record));
    }
    record.stamp = sure(seen.stamp, SystemTime::now());
    match read_bounded(&root.join(&seen.path), bounds.largest) {
        Ok(Some(text)) => {
            record.hash = Hash::of(&text);
            if known == Some(record.hash) {
                return Outcome::Same(record.path, record.stamp);
            }
            read_text(reader, &mut record, language, &text, bounds, go_on);
        }
        Ok(None) => record.fate = ParseOutcome::TooLarge,
        Err(_) => record.fate = ParseOutcome::Unreadable,
    }
    Outcome::New(Box::new(record))
}

/// Whether a file that is in a language by its name would be parsed.
pub(crate) fn reads(root: &Path, seen: &Seen, bounds: &Bounds) -> bool {
    let text = || read_bounded(&root.join(&seen.path), bounds.largest).ok().flatten();
    seen.stamp.size <= bounds.largest && text().is_some_and(|text| refused(&seen.path, &text, bounds).is_none())
}

fn unread(seen: &Seen) -> Record {
    Record {
        path: seen.path.clone(),
        stamp: seen.stamp,
        hash: Hash::default(),
        fate: ParseOutcome::NoLanguage,
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
    go_on: &dyn Fn() -> bool,
) {
    record.lines = u32::try_from(text.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX);
    if let Some(fate) = refused(&record.path, text, bounds) {
        record.fate = fate;
        return;
    }
    let language = settled(language, &record.path, text);
    let name = record.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    record.fate = ParseOutcome::Unreadable;
    if let Some(parsed) = reader.read(language, &name, text, go_on) {
        record.fate = ParseOutcome::Parsed;
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

/// What a look at a folder gave to do.
#[derive(Default)]
pub struct Round {
    todo: Vec<(Seen, Option<Hash>)>,
    gone: Vec<PathBuf>,
    files: usize,
    more: bool,
    read: Option<Vec<Outcome>>,
    folders: Option<Folders>,
}

/// So many files are read before an index is touched.
const AHEAD: usize = 64;

impl Round {
    /// Compares the whole folder with what is known of it.
    ///
    /// # Errors
    /// When the folder cannot be read, or `stop` is set.
    pub fn survey(index: &Index, root: &Path, bounds: &Bounds, stop: &AtomicBool) -> Result<Self, CodeError> {
        let listing = list(root, bounds, &|| !stop.load(Ordering::Relaxed))?;
        let folders = Some(Folders::of(&listing));
        let Listing { files: seen, more, .. } = listing;
        let gone = index
            .files()
            .filter(|file| seen.binary_search_by(|one| one.path.cmp(&file.path)).is_err())
            .map(|file| file.path.clone())
            .collect();
        let files = seen.len();
        Ok(Self { todo: changed(index, seen), gone, files, more, read: None, folders })
    }

    /// The folders as a look at the whole found them, for the next [`Round::glance`]; none after a glance.
    pub fn folders(&mut self) -> Option<Folders> {
        self.folders.take()
    }

    /// Compares only files and folders that are known, by size and time; none where that is not enough: a folder's names, a
    /// rule of what is ignored, or a file's being there has changed.
    #[must_use]
    pub fn glance(index: &Index, root: &Path, folders: &Folders, more: bool) -> Option<Self> {
        if !folders.same(root) {
            return None;
        }
        let mut seen = Vec::new();
        for file in index.files() {
            let data = std::fs::symlink_metadata(root.join(&file.path)).ok().filter(std::fs::Metadata::is_file)?;
            let stamp = crate::code::parse::walk::stamp(&data);
            if stamp == file.stamp {
                continue;
            }
            if is_rule(&file.path) {
                return None;
            }
            seen.push(Seen {
                path: file.path.clone(),
                stamp,
                language: crate::code::parse::language::of_path(&file.path),
            });
        }
        Some(Self { files: index.files().count(), todo: changed(index, seen), more, ..Self::default() })
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.todo.is_empty() && self.gone.is_empty()
    }

    /// Reads what is to be read, where that is little, so that the index need not be held meanwhile.
    pub fn read_ahead(&mut self, root: &Path, bounds: &Bounds, stop: &AtomicBool) {
        if self.todo.len() <= AHEAD {
            let mut read = Vec::new();
            read_all(root, bounds, stop, &self.todo, &mut |outcome| read.push(outcome));
            self.read = Some(read);
        }
    }

    /// Brings an index up to date, but for the graph (see [`Index::refresh`]). `changed` hears of every change, `told` of
    /// progress.
    ///
    /// # Errors
    /// When `stop` is set; what was read until then is in the index.
    pub fn take_in(
        self,
        index: &mut Index,
        (root, bounds, stop): (&Path, &Bounds, &AtomicBool),
        changed: &mut dyn FnMut(Change<'_>),
        told: &mut dyn FnMut(Progress),
    ) -> Result<Progress, CodeError> {
        let mut progress = Progress { files: self.files, more: self.more, ..Progress::default() };
        for path in &self.gone {
            index.remove(path);
            changed(Change::Gone(path));
        }
        progress.done = self.files.saturating_sub(self.todo.len());
        progress.symbols = index.len();
        told(progress);
        let mut take = |outcome| {
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
            told(progress);
        };
        match self.read {
            Some(read) => read.into_iter().for_each(&mut take),
            None => read_all(root, bounds, stop, &self.todo, &mut take),
        }
        if self.todo.len() > 1_000 {
            index.shrink();
        }
        if stop.load(Ordering::Relaxed) { Err(CodeError::Cancelled) } else { Ok(progress) }
    }
}

/// Of the files seen, those that are not as they were read.
fn changed(index: &Index, seen: Vec<Seen>) -> Vec<(Seen, Option<Hash>)> {
    let each = seen.into_iter().filter_map(|one| {
        let file = index.file_at(&one.path);
        let hash = file.filter(|file| file.fate != ParseOutcome::Unreadable).map(|file| file.hash);
        file.is_none_or(|file| file.stamp != one.stamp).then_some((one, hash))
    });
    each.collect()
}

/// Whether a file says what is ignored.
fn is_rule(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

/// When the folders that were gone through were changed, those that held no file too: a new name, or one that is gone,
/// changes its folder's time.
#[derive(Default, Clone, Debug, PartialEq, Eq)]
pub struct Folders(Vec<(PathBuf, i64)>);

impl Folders {
    /// The folders of a listing.
    #[must_use]
    pub fn of(listing: &Listing) -> Self {
        Self(listing.folders.clone())
    }

    /// Whether none has changed.
    #[must_use]
    pub fn same(&self, root: &Path) -> bool {
        let mut whole = PathBuf::new();
        let mut as_it_was = |(folder, at): &(PathBuf, i64)| {
            whole.clear();
            whole.push(root);
            whole.push(folder);
            *at >= 0 && changed_at(&whole) == *at
        };
        !self.0.is_empty() && self.0.iter().all(&mut as_it_was)
    }
}

/// When a folder was changed, in nanoseconds since 1970; -1 where that is unknown, or so lately that another change could
/// leave no trace.
fn changed_at(folder: &Path) -> i64 {
    let data = std::fs::symlink_metadata(folder).ok().filter(std::fs::Metadata::is_dir);
    data.map_or(-1, |data| sure(crate::code::parse::walk::stamp(&data), SystemTime::now()).changed)
}

/// Brings an index up to date with a folder. `changed` hears of every change, `told` of progress.
///
/// # Errors
/// When the folder cannot be read, or `stop` is set; what was read until then is in the index.
pub fn renew(
    index: &mut Index,
    root: &Path,
    bounds: &Bounds,
    stop: &AtomicBool,
    changed: &mut dyn FnMut(Change<'_>),
    told: &mut dyn FnMut(Progress),
) -> Result<Progress, CodeError> {
    let round = Round::survey(index, root, bounds, stop)?;
    let done = round.take_in(index, (root, bounds, stop), changed, told);
    index.refresh();
    done
}

/// Reads files on several threads; `take` gets what they give, as it comes.
fn read_all(
    root: &Path,
    bounds: &Bounds,
    stop: &AtomicBool,
    todo: &[(Seen, Option<Hash>)],
    take: &mut dyn FnMut(Outcome),
) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if bounds.threads == 0 { cores } else { bounds.threads }.min(todo.len());
    let next = AtomicUsize::new(0);
    let work = |send: &dyn Fn(Outcome) -> bool| {
        let go_on = || !stop.load(Ordering::Relaxed);
        let mut reader = Reader::default();
        while let Some((seen, known)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = read_file(&mut reader, root, seen, *known, bounds, &go_on);
            // A file whose reading was ended halfway is none that could not be read.
            if !go_on() || !send(outcome) {
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
        receive.into_iter().for_each(&mut *take);
        if started == 0 && threads > 0 {
            // The system gives no threads: it is done here, slowly.
            let take = std::cell::RefCell::new(take);
            work(&|outcome| {
                (*take.borrow_mut())(outcome);
                true
            });
        }
    });
}
