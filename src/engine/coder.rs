//! The code of workspaces: a thread of its own reads it, keeps what it knows in a file beside the store, and answers
//! questions about it. One workspace at a time is held in memory.
//! Not for: symbols, ranking, touchpoints (`code`).

use super::api::{Answer, CodeAct, Event, Ticket};
use super::setup::Setup;
use crate::code::CodeError;
use crate::code::build::{Change, Progress, renew};
use crate::code::cache::Cache;
use crate::code::cards::{Limits, Sources, fill};
use crate::code::index::Index;
use crate::code::tuning::Tuning;
use crate::code::walk::Bounds;
use crate::code::words::Analyzer;
use crate::code::{query, rank, scaffold};
use crate::domain::code::{CodeFound, Fate, IndexStatus, Scaffold};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::hash::Hash;
use crate::domain::tokens::{CountTokens, Encoding};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long what is known of a workspace counts as fresh while questions follow each other.
const FRESH: Duration = Duration::from_secs(2);
/// At most one event about progress in this time.
const TELL: Duration = Duration::from_millis(500);
/// Symbols that are ranked for one question.
const RANKED: usize = 600;
/// Workspaces whose indexes are kept on disk.
const KEPT: usize = 16;
/// The file that names the workspace that was indexed last.
const LAST: &str = "last";

struct Job {
    ticket: Ticket,
    act: CodeAct,
    root: Option<PathBuf>,
    /// How tokens are counted.
    encoding: Encoding,
}

/// The thread. Dropping it ends it: what is being read is given up, what was read is kept.
pub(super) struct Coder {
    jobs: Option<Sender<Job>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Coder {
    /// Starts the thread; it does nothing until it is asked.
    pub(super) fn start(setup: &Setup, events: Sender<Event>) -> Self {
        let (jobs, receiver) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            events,
            stop: Arc::clone(&stop),
            workspace: PathBuf::from(&setup.workspace),
            kept: setup.code.clone().filter(|_| !setup.store.read_only()),
            counter: Arc::clone(&setup.counter),
            held: None,
            analyzer: Analyzer::default(),
        };
        let run = move || worker.run(&receiver);
        let thread = std::thread::Builder::new().name("pleach-code".into()).spawn(run).ok();
        Self { jobs: Some(jobs), stop, thread }
    }

    /// Asks; the answer comes as an event.
    pub(super) fn ask(
        &self,
        ticket: Ticket,
        act: CodeAct,
        root: Option<PathBuf>,
        encoding: Encoding,
    ) -> Result<(), Failure> {
        let gone = || Failure::new(FailureKind::Internal, "The thread that reads code is gone.");
        self.jobs.as_ref().ok_or_else(gone)?.send(Job { ticket, act, root, encoding }).map_err(|_| gone())
    }
}

impl Drop for Coder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A workspace in memory.
struct Held {
    root: PathBuf,
    index: Index,
    cache: Option<Cache>,
    progress: Progress,
    notes: Vec<String>,
    /// When it was last compared with the folder.
    seen: Option<Instant>,
    took: Duration,
}

struct Worker {
    events: Sender<Event>,
    stop: Arc<AtomicBool>,
    workspace: PathBuf,
    /// The folder of the files.
    kept: Option<PathBuf>,
    counter: Arc<dyn CountTokens>,
    held: Option<Held>,
    analyzer: Analyzer,
}

/// Reads files of the workspace as they are now.
struct Disk<'a>(&'a Path);

impl Sources for Disk<'_> {
    fn text(&self, path: &Path) -> Option<Arc<[u8]>> {
        std::fs::read(self.0.join(path)).ok().map(Into::into)
    }
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let ticket = job.ticket;
            let result = self.work(job);
            let _ = self.events.send(Event::Answer { ticket, result });
        }
    }

    fn work(&mut self, job: Job) -> Result<Answer, Failure> {
        let explicit = job.act == CodeAct::Index;
        let root = self.root(job.root, explicit)?;
        self.ready(&root, explicit)?;
        if explicit && let Some(folder) = &self.kept {
            // Only a convenience: without it the next command may have to name its folder.
            let _ = std::fs::write(folder.join(LAST), root.as_os_str().as_encoded_bytes());
        }
        match job.act {
            CodeAct::Index => Ok(Answer::Indexed(Box::new(self.status()?))),
            CodeAct::Find { query, budget } => {
                self.find(&query, budget, job.encoding).map(|found| Answer::Code(Box::new(found)))
            }
            CodeAct::Map { budget, anchors } => {
                self.map(budget, anchors, job.encoding).map(|map| Answer::Map(Box::new(map)))
            }
        }
    }

    /// The folder that is meant, in full.
    fn root(&self, named: Option<PathBuf>, explicit: bool) -> Result<PathBuf, Failure> {
        let chosen = named.unwrap_or_else(|| if explicit { self.workspace.clone() } else { self.usual() });
        let full = std::fs::canonicalize(&chosen);
        full.map_err(|error| Failure::user(format!("{} cannot be read: {error}.", chosen.display())))
    }

    /// The program's own folder if it was indexed, else the one indexed last, else its own.
    fn usual(&self) -> PathBuf {
        let own = std::fs::canonicalize(&self.workspace).unwrap_or_else(|_| self.workspace.clone());
        let known = self.held.as_ref().is_some_and(|held| held.root == own)
            || self.kept.as_ref().is_some_and(|folder| folder.join(file_name(&own)).exists());
        let last = || {
            let bytes = std::fs::read(self.kept.as_ref()?.join(LAST)).ok()?;
            let path = PathBuf::from(String::from_utf8(bytes).ok()?);
            path.is_dir().then_some(path)
        };
        if known { own } else { last().unwrap_or(own) }
    }

    fn held(&self) -> Result<&Held, Failure> {
        self.held.as_ref().ok_or_else(|| Failure::new(FailureKind::Internal, "No code was read."))
    }

    /// Brings a workspace into memory and up to date.
    fn ready(&mut self, root: &Path, now: bool) -> Result<(), Failure> {
        let begun = Instant::now();
        if self.held.as_ref().is_none_or(|held| held.root != root) {
            self.held = None;
            self.held = Some(self.open(root));
        }
        let Some(held) = &mut self.held else { return Ok(()) };
        if !now && held.seen.is_some_and(|seen| seen.elapsed() < FRESH) {
            return Ok(());
        }
        let (events, mut told) = (&self.events, None::<Instant>);
        let Held { index, cache, .. } = held;
        let mut keep = |change: Change<'_>| match (cache.as_mut(), change) {
            (Some(cache), Change::Read(record)) => cache.keep(record),
            (Some(cache), Change::Touched(path, stamp)) => cache.touched(path, stamp),
            (Some(cache), Change::Gone(path)) => cache.gone(path),
            (None, _) => {}
        };
        let mut tell = |progress: Progress| {
            if told.is_none_or(|at| at.elapsed() > TELL) {
                told = Some(Instant::now());
                let Progress { done, files, symbols, .. } = progress;
                let _ = events.send(Event::Coding { done, files, symbols });
            }
        };
        let renewed = renew(index, root, &Bounds::default(), &self.stop, &mut keep, &mut tell);
        let flushed = cache.as_mut().map_or(Ok(()), Cache::flush);
        held.progress = renewed.map_err(failed)?;
        if let Err(error) = flushed {
            held.notes = vec![error.to_string()];
            held.cache = None;
        }
        (held.seen, held.took) = (Some(Instant::now()), begun.elapsed());
        Ok(())
    }

    fn open(&self, root: &Path) -> Held {
        let mut held = Held {
            root: root.to_path_buf(),
            index: Index::default(),
            cache: None,
            progress: Progress::default(),
            notes: Vec::new(),
            seen: None,
            took: Duration::ZERO,
        };
        let Some(folder) = &self.kept else { return held };
        let opened = private_folder(folder).map_err(CodeError::Cache).and_then(|()| {
            clear_old(folder);
            Cache::open(&folder.join(file_name(root)), root, &mut held.index)
        });
        match opened {
            Ok((cache, loaded)) => {
                if !cache.writes() {
                    held.notes.push("Another process keeps this index; what is read here is not saved.".into());
                }
                if loaded.damaged {
                    held.notes.push(
                        "The saved index was damaged or of another version; what it lacked is read again.".into(),
                    );
                }
                held.cache = Some(cache);
            }
            Err(error) => held.notes.push(error.to_string()),
        }
        held
    }

    fn status(&self) -> Result<IndexStatus, Failure> {
        let held = self.held()?;
        let mut status = IndexStatus {
            root: held.root.display().to_string(),
            read: held.progress.read,
            uses: held.index.graph().edges(),
            more: held.progress.more,
            elapsed_us: u64::try_from(held.took.as_micros()).unwrap_or(u64::MAX),
            peak_bytes: peak(),
            notes: held.notes.clone(),
            ..IndexStatus::default()
        };
        for file in held.index.files() {
            status.files += 1;
            *status.fates.entry(file.fate).or_default() += 1;
            status.errors += usize::from(file.errors);
            if file.fate == Fate::Parsed
                && let Some(language) = file.language
            {
                // The file itself is the first of its symbols.
                let symbols = (file.count as usize).saturating_sub(1);
                status.lines += u64::from(file.lines);
                status.symbols += symbols;
                let of = status.languages.entry(language.name().to_owned()).or_default();
                *of = (of.0 + 1, of.1 + symbols);
            }
        }
        Ok(status)
    }

    fn find(&mut self, query: &str, budget: u32, encoding: Encoding) -> Result<CodeFound, Failure> {
        let begun = Instant::now();
        let tuning = Tuning::default();
        let asked = query::read(&mut self.analyzer, query, &tuning);
        let mut found = self.look(&asked, budget, encoding, &tuning)?;
        if !found.changed.is_empty() {
            let root = self.held()?.root.clone();
            self.ready(&root, true)?;
            found = self.look(&asked, budget, encoding, &tuning)?;
        }
        let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let root = self.held()?.root.display().to_string();
        Ok(CodeFound { root, items: found.items, near: found.near, elapsed_us })
    }

    fn look(
        &self,
        asked: &query::Query,
        budget: u32,
        encoding: Encoding,
        tuning: &Tuning,
    ) -> Result<crate::code::cards::Found, Failure> {
        let held = self.held()?;
        let hits = rank::rank(&held.index, asked, tuning, RANKED);
        let count = |text: &str| self.counter.count(encoding, text);
        Ok(fill(&held.index, &hits, &Disk(&held.root), &count, Limits::within(budget)))
    }

    fn map(&self, budget: u32, anchors: usize, encoding: Encoding) -> Result<Scaffold, Failure> {
        let held = self.held()?;
        let count = |text: &str| self.counter.count(encoding, text);
        Ok(scaffold::scaffold(&held.index, &Disk(&held.root), &count, budget, anchors))
    }
}

fn failed(error: CodeError) -> Failure {
    match error {
        CodeError::Cancelled => Failure::new(FailureKind::Internal, "Reading the code was ended."),
        other => Failure::user(format!("{other}.")),
    }
}

/// The name of a workspace's file.
fn file_name(root: &Path) -> String {
    format!("{}.index", &Hash::of(root.as_os_str().as_encoded_bytes()).to_string()[..16])
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes the indexes that were not used for longest; they can be made again.
fn clear_old(folder: &Path) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "index"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_unstable();
    let old = files.len().saturating_sub(KEPT);
    for (_, path) in files.into_iter().take(old) {
        let _ = std::fs::remove_file(path);
    }
}

/// The most memory that this process held, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1_024)
}
