//! The thread that reads workspaces' code, stores the index in a file next to the store, and answers questions about
//! it. It keeps one workspace in memory at a time. Its queue is bounded: a newer request for names replaces the waiting
//! one, at most one check for changes waits, and any other question that does not fit is refused as busy.
//! Not for: symbols, ranking, and touchpoints (the room `code`).

use super::code_workspace::{CodeWorkspace, FRESH, LoadedWorkspace, RARER, WorkspaceFiles};
use crate::code::CodeError;
use crate::code::find::cards::{Limits, Sources, fill};
use crate::code::find::{map, names, query, rank};
use crate::code::index::build::{Change, Progress, Round};
use crate::code::index::cache::Cache;
use crate::code::parse::walk::Bounds;
use crate::code::parse::words::Analyzer;
use crate::code::tuning::Tuning;
use crate::domain::base::{Failure, FailureKind, Hash, secrets};
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::code::{CodeSearchResult, IndexStatus, NamedSymbol, ParseOutcome, SymbolSource};
use crate::engine::api::{Answer, CodeAct, Event, IndexingEvent, Ticket, ToolAnswer};
use crate::engine::jobs::{self, guarded};
use crate::engine::startup::setup::Setup;
use crate::retrieval::gate;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval after which the whole folder is read, to find changes that timestamps do not show.
const WHOLE: Duration = Duration::from_secs(30);
/// The minimum time between events about progress.
const TELL: Duration = Duration::from_millis(500);
/// The maximum number of symbols that are ranked for one question.
const RANKED: usize = 600;
/// The maximum number of workspaces whose indexes are kept on disk.
const KEPT: usize = 16;
/// The maximum number of jobs that wait.
const MOST: usize = 32;
/// The file that names the last indexed workspace.
const LAST: &str = "last";

/// A job of the thread.
pub(crate) enum Job {
    /// Answers a question by an event.
    Ask(Box<IndexQuestion>),
    /// Answers the newest request for names, which is stored outside the queue. Every typed letter requests names.
    Names,
    /// Checks the program's own workspace for changes and makes the maps that are requested.
    Refresh,
}

/// A question about a workspace's code.
pub(crate) struct IndexQuestion {
    ticket: Ticket,
    act: CodeAct,
    root: Option<PathBuf>,
    /// The encoding that counts the tokens.
    encoding: Encoding,
}

/// The newest request for names, while it waits.
type NewestNames = Arc<Mutex<Option<Box<IndexQuestion>>>>;

/// A handle to the thread. Dropping it ends the thread: reading stops, and the files that were read are kept.
pub(crate) struct CodeIndexer {
    workspace: CodeWorkspace,
    names: NewestNames,
    events: Sender<Event>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CodeIndexer {
    /// Starts the thread, which is idle until its first job. `changed` is called when something that plans use has
    /// changed.
    pub(crate) fn start(
        setup: &Setup,
        events: Sender<Event>,
        changed: impl Fn() + Send + 'static,
    ) -> Result<Self, Failure> {
        let (jobs, receiver) = sync_channel(MOST);
        let names = NewestNames::default();
        let stop = Arc::new(AtomicBool::new(false));
        let folder = PathBuf::from(&setup.workspace);
        let workspace = CodeWorkspace::new(jobs, folder, Arc::clone(&setup.counter), setup.patient);
        let worker = Worker {
            events: events.clone(),
            names: names.clone(),
            stop: Arc::clone(&stop),
            kept: setup.code.clone().filter(|_| !setup.store.read_only()),
            counter: Arc::clone(&setup.counter),
            workspace: workspace.clone(),
            changed: Box::new(changed),
            analyzer: Analyzer::default(),
        };
        let thread = Some(jobs::service("code", move || worker.run(&receiver))?);
        Ok(Self { workspace, names, events, stop, thread })
    }

    /// Returns the index that plans and tools read.
    pub(crate) fn workspace(&self) -> CodeWorkspace {
        self.workspace.clone()
    }

    /// Queues a question, which is answered by an event.
    ///
    /// # Errors
    /// Fails if too many questions wait or the thread has ended; the ticket is then not answered by an event.
    pub(crate) fn ask(
        &self,
        ticket: Ticket,
        act: CodeAct,
        root: Option<PathBuf>,
        encoding: Encoding,
    ) -> Result<(), Failure> {
        let is_names = act.is_names();
        let asked = Box::new(IndexQuestion { ticket, act, root, encoding });
        if !is_names {
            return self.workspace.send(Job::Ask(asked)).map_err(|error| unsent(&error));
        }
        // A request that replaces a waiting one keeps its place in the queue.
        let mut newest = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.is_none() {
            self.workspace.send(Job::Names).map_err(|error| unsent(&error))?;
        }
        if let Some(replaced) = newest.replace(asked) {
            let result = Ok(ToolAnswer::Symbols(Vec::new()).into());
            let _ = self.events.send(Event::Answer { ticket: replaced.ticket, result });
        }
        Ok(())
    }
}

fn unsent(error: &TrySendError<Job>) -> Failure {
    match error {
        TrySendError::Full(_) => Failure::new(FailureKind::Busy, "Too many code searches are waiting.")
            .todo("Try again when the code is indexed."),
        TrySendError::Disconnected(_) => {
            Failure::new(FailureKind::Internal, "The thread that indexes code has ended. Restart pleach.")
        }
    }
}

impl Drop for CodeIndexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.workspace.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    events: Sender<Event>,
    names: NewestNames,
    stop: Arc<AtomicBool>,
    /// The folder of the index files; `None` keeps indexes in memory only.
    kept: Option<PathBuf>,
    counter: Arc<dyn CountTokens>,
    workspace: CodeWorkspace,
    changed: Box<dyn Fn() + Send>,
    analyzer: Analyzer,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        for job in jobs {
            let asked = match job {
                Job::Refresh => {
                    let checked = guarded("indexing the code", || {
                        self.refresh();
                        Ok(())
                    });
                    if checked.is_err() {
                        self.workspace.end_check(true);
                    }
                    continue;
                }
                Job::Ask(asked) => Some(asked),
                Job::Names => self.names.lock().unwrap_or_else(PoisonError::into_inner).take(),
            };
            let Some(asked) = asked else { continue };
            let ticket = asked.ticket;
            let result = guarded("indexing the code", || self.work(*asked));
            let _ = self.events.send(Event::Answer { ticket, result });
        }
    }

    /// Checks the program's own workspace for plans. If it cannot be read, plans are made without code.
    fn refresh(&mut self) {
        let wanted = self.workspace.begin_check();
        let root = self.workspace.own();
        let before = self.read().as_ref().filter(|loaded| loaded.root == root).map(|loaded| loaded.round);
        let ready = guarded("indexing the code", || self.ready(&root, false));
        let loaded = self.read();
        let now = loaded.as_ref().map(|loaded| loaded.round);
        let drawn = loaded.as_ref().is_some_and(|loaded| self.workspace.update_maps(loaded, wanted));
        drop(loaded);
        self.workspace.end_check(ready.is_err());
        if ready.is_ok() && (drawn || before != now) {
            (self.changed)();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<LoadedWorkspace>> {
        self.workspace.loaded().read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<LoadedWorkspace>> {
        self.workspace.loaded().write().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&mut self, asked: IndexQuestion) -> Result<Answer, Failure> {
        let IndexQuestion { act, root, encoding, .. } = asked;
        let explicit = act == CodeAct::Index;
        // Code for a message comes only from the program's own workspace.
        let root = if act.is_own() { self.workspace.own() } else { self.root(root, explicit)? };
        self.ready(&root, explicit)?;
        if explicit && let Some(folder) = &self.kept {
            // This is only a convenience: without it, the next command may have to name its folder.
            let _ = std::fs::write(folder.join(LAST), root.as_os_str().as_encoded_bytes());
        }
        match act {
            CodeAct::Index => self.with(status).map(|status| Answer::Tool(ToolAnswer::Indexed(Box::new(status)))),
            CodeAct::Find { query, budget } => {
                self.find(&query, budget, encoding).map(|found| Answer::Tool(ToolAnswer::Code(Box::new(found))))
            }
            CodeAct::Map { budget, anchors } => {
                let count = |text: &str| self.counter.count(encoding, text);
                let map = |loaded: &LoadedWorkspace| {
                    map::build(&loaded.index, &WorkspaceFiles(&loaded.root), &count, budget, anchors)
                };
                self.with(map).map(|map| Answer::Tool(ToolAnswer::Map(Box::new(map))))
            }
            CodeAct::Names { typed, most } => self
                .with(|loaded| names::find(&loaded.index, &typed, most))
                .map(|found| ToolAnswer::Symbols(found).into()),
            CodeAct::Source(wanted) => self
                .with(|loaded| source(loaded, &wanted))?
                .map(|source| Answer::Tool(ToolAnswer::Source(Box::new(source)))),
        }
    }

    /// Returns the canonical path of the requested folder.
    fn root(&self, named: Option<PathBuf>, explicit: bool) -> Result<PathBuf, Failure> {
        let chosen = named.unwrap_or_else(|| if explicit { self.workspace.own() } else { self.usual() });
        let full = std::fs::canonicalize(&chosen);
        full.map_err(|error| Failure::user(format!("The folder {} can't be read: {error}.", chosen.display())))
    }

    /// Returns the program's own folder if it was indexed, or else the last indexed folder, or else the program's own
    /// folder.
    fn usual(&self) -> PathBuf {
        let own = self.workspace.own();
        let known = self.read().as_ref().is_some_and(|loaded| loaded.root == own)
            || self.kept.as_ref().is_some_and(|folder| folder.join(file_name(&own)).exists());
        let last = || {
            let bytes = std::fs::read(self.kept.as_ref()?.join(LAST)).ok()?;
            let path = PathBuf::from(String::from_utf8(bytes).ok()?);
            path.is_dir().then_some(path)
        };
        if known { own } else { last().unwrap_or(own) }
    }

    fn with<T>(&self, what: impl FnOnce(&LoadedWorkspace) -> T) -> Result<T, Failure> {
        let loaded = self.read();
        loaded.as_ref().map(what).ok_or_else(|| Failure::new(FailureKind::Internal, "No code was indexed."))
    }

    /// Loads a workspace and updates its index. Readers of the index wait only while records are added: listing and
    /// reading a few files, and computing the graph, happen without the lock.
    fn ready(&mut self, root: &Path, now: bool) -> Result<(), Failure> {
        let begun = Instant::now();
        if self.read().as_ref().is_none_or(|loaded| loaded.root != root) {
            self.write().take();
            self.workspace.forget_maps();
            let opened = self.open(root);
            *self.write() = Some(opened);
        }
        let lately = |at: Option<Instant>, limit: Duration| at.is_some_and(|at| at.elapsed() < limit);
        let long = |loaded: &LoadedWorkspace| WHOLE.max(loaded.long * RARER);
        let visibility = self.workspace.visibility();
        let (fresh, whole) = self.with(|loaded| {
            let same = loaded.visibility == visibility;
            (same && lately(loaded.seen, FRESH), !(same && lately(loaded.surveyed, long(loaded))))
        })?;
        if !now && fresh {
            return Ok(());
        }
        let bounds = Bounds { visibility, ..Bounds::default() };
        let mut round = self
            .with(|loaded| {
                let glanced = (!now && !whole)
                    .then(|| Round::recheck(&loaded.index, root, &loaded.folders, loaded.progress.more))
                    .flatten();
                glanced.map_or_else(|| Round::survey(&loaded.index, root, &bounds, &self.stop), Ok)
            })?
            .map_err(failed)?;
        round.read_ahead(root, &bounds, &self.stop);
        self.take_in(round, root, &bounds, begun)
    }

    /// Adds the files that were read to the index.
    fn take_in(&self, mut round: Round, root: &Path, bounds: &Bounds, begun: Instant) -> Result<(), Failure> {
        let (mut reported, mut long) = (Instant::now(), false);
        let mut tell = |progress: Progress| {
            if reported.elapsed() > TELL {
                (reported, long) = (Instant::now(), true);
                self.tell(progress);
            }
        };
        let mut guard = self.write();
        let Some(loaded) = guard.as_mut() else { return Ok(()) };
        let (idle, folders) = (round.is_empty(), round.folders());
        let LoadedWorkspace { index, cache, .. } = loaded;
        let mut keep = |change: Change<'_>| match (cache.as_mut(), change) {
            (Some(cache), Change::Read(record)) => cache.keep(record),
            (Some(cache), Change::Touched(path, stamp)) => cache.touched(path, stamp),
            (Some(cache), Change::Gone(path)) => cache.gone(path),
            (None, _) => {}
        };
        let quiet = &mut |_: Progress| ();
        let tell: &mut dyn FnMut(Progress) = if idle { quiet } else { &mut tell };
        let done = round.take_in(index, (root, bounds, &self.stop), &mut keep, tell);
        index.compact_if_sparse();
        let flushed = cache.as_mut().map_or(Ok(()), Cache::flush);
        if let Err(error) = flushed {
            loaded.notes = vec![error.to_string()];
            loaded.cache = None;
        }
        loaded.progress = done.map_err(failed)?;
        loaded.round += u64::from(!idle);
        if long {
            self.tell(loaded.progress);
        }
        drop(guard);
        let graph = self.with(|loaded| loaded.index.rebuilt_graph())?;
        if let Some(loaded) = self.write().as_mut() {
            if let Some(graph) = graph {
                loaded.index.put_graph(graph);
            }
            let took = begun.elapsed();
            match folders {
                Some(folders) => {
                    (loaded.folders, loaded.surveyed, loaded.long) = (folders, Some(begun), took);
                    loaded.visibility = bounds.visibility.clone();
                }
                None if idle => loaded.short = took,
                None => {}
            }
            (loaded.seen, loaded.took) = (Some(Instant::now()), took);
        }
        Ok(())
    }

    fn tell(&self, Progress { done, files, symbols, .. }: Progress) {
        let _ = self.events.send(Event::Indexing(IndexingEvent::Code { done, files, symbols }));
    }

    fn open(&self, root: &Path) -> LoadedWorkspace {
        let mut loaded = LoadedWorkspace { root: root.to_path_buf(), ..LoadedWorkspace::default() };
        let Some(folder) = &self.kept else { return loaded };
        let opened = private_folder(folder).map_err(CodeError::Cache).and_then(|()| {
            clear_old(folder);
            Cache::open(&folder.join(file_name(root)), root, &mut loaded.index)
        });
        match opened {
            Ok((cache, is_damaged)) => {
                if !cache.writes() {
                    loaded.notes.push(
                        "Another process maintains this index; the changes of this process are not saved.".into(),
                    );
                }
                if is_damaged {
                    let what = "The saved index was damaged or from another version;";
                    loaded.notes.push(format!("{what} the missing parts are indexed again."));
                }
                loaded.cache = Some(cache);
            }
            Err(error) => loaded.notes.push(error.to_string()),
        }
        loaded
    }

    fn find(&mut self, query: &str, budget: u32, encoding: Encoding) -> Result<CodeSearchResult, Failure> {
        let begun = Instant::now();
        let tuning = Tuning::default();
        let asks = gate::asks_something(query);
        let asked = query::Query { asks, ..query::read(&mut self.analyzer, query, &tuning) };
        let counter = Arc::clone(&self.counter);
        let count = |text: &str| counter.count(encoding, text);
        let look = |loaded: &LoadedWorkspace| {
            let hits = rank::rank(&loaded.index, &asked, &tuning, RANKED);
            let found = fill(&loaded.index, &hits, &WorkspaceFiles(&loaded.root), &count, Limits::within(budget));
            (found, loaded.root.clone())
        };
        let (mut found, root) = self.with(look)?;
        if !found.changed.is_empty() {
            self.ready(&root, true)?;
            found = self.with(look)?.0;
        }
        let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(CodeSearchResult { root: root.display().to_string(), items: found.items, near: found.near, elapsed_us })
    }
}

/// Returns a symbol's source from its file. Fails if the file has changed since it was indexed.
pub(crate) fn source(loaded: &LoadedWorkspace, wanted: &NamedSymbol) -> Result<SymbolSource, Failure> {
    let gone = || Failure::user(format!("{} is no longer in {}.", wanted.short, wanted.path));
    let id = names::at(&loaded.index, &wanted.path, &wanted.qualified, wanted.lines.0).ok_or_else(gone)?;
    let (symbol, file) = loaded.index.symbol(id).ok_or_else(gone)?;
    let text = WorkspaceFiles(&loaded.root).text(&file.path).filter(|text| Hash::of(text) == file.hash);
    let changing = || Failure::user(format!("{} is being changed at the moment.", file.shown)).todo("Try again.");
    let text = text.ok_or_else(changing)?;
    let whole = names::lines(&text, symbol.lines);
    let (text, masked) = secrets::mask(&whole);
    Ok(SymbolSource { named: NamedSymbol { lines: symbol.lines, ..wanted.clone() }, text: text.into_owned(), masked })
}

fn status(loaded: &LoadedWorkspace) -> IndexStatus {
    let mut status = IndexStatus {
        root: loaded.root.display().to_string(),
        read: loaded.progress.read,
        uses: loaded.index.graph().edges(),
        more: loaded.progress.more,
        elapsed_us: u64::try_from(loaded.took.as_micros()).unwrap_or(u64::MAX),
        peak_bytes: peak(),
        notes: loaded.notes.clone(),
        ..IndexStatus::default()
    };
    for file in loaded.index.files() {
        status.files += 1;
        *status.outcomes.entry(file.outcome).or_default() += 1;
        status.errors += usize::from(file.errors);
        if file.outcome == ParseOutcome::Parsed
            && let Some(language) = file.language
        {
            // The first symbol of a file is the file itself.
            let symbols = (file.count as usize).saturating_sub(1);
            status.lines += u64::from(file.lines);
            status.symbols += symbols;
            let counts = status.languages.entry(language.name().to_owned()).or_default();
            *counts = (counts.0 + 1, counts.1 + symbols);
        }
    }
    status
}

fn failed(error: CodeError) -> Failure {
    match error {
        CodeError::Cancelled => Failure::new(FailureKind::Internal, "Code indexing was stopped."),
        other => Failure::user(format!("{other}.")),
    }
}

/// Returns the name of a workspace's index file.
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

/// Removes the least recently used indexes, which can be rebuilt.
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

/// Returns the peak memory of this process in bytes; `None` if the system does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::counting::tokens::Tokenizers;
    use std::sync::mpsc::channel;

    #[test]
    fn requests_for_names_replace_each_other_and_questions_that_do_not_fit_are_refused() {
        let (jobs, queue) = sync_channel(2);
        let (events, answers) = channel();
        let workspace = CodeWorkspace::new(jobs, PathBuf::from("."), Arc::new(Tokenizers::new()), false);
        let names = NewestNames::default();
        let indexer = CodeIndexer { workspace, names: names.clone(), events, stop: Arc::default(), thread: None };
        let ask =
            |ticket, act| indexer.ask(Ticket(ticket), act, None, Encoding::O200kBase).map_err(|failure| failure.kind);
        let complete = |typed: &str| CodeAct::Names { typed: typed.into(), most: 9 };
        assert_eq!([ask(1, complete("a")), ask(2, complete("ab"))], [Ok(()), Ok(())]);
        assert_eq!([ask(3, CodeAct::Index), ask(4, CodeAct::Index)], [Ok(()), Err(FailureKind::Busy)]);
        assert_eq!(ask(5, complete("abc")), Ok(()), "it takes the place of the request that waits");
        let replaced = answers.try_iter().map(|event| match event {
            Event::Answer { ticket, result: Ok(Answer::Tool(ToolAnswer::Symbols(found))) } => (ticket.0, found.len()),
            other => panic!("{other:?}"),
        });
        assert_eq!(replaced.collect::<Vec<_>>(), [(1, 0), (2, 0)]);
        let newest = names.lock().unwrap().take().map(|asked| asked.ticket);
        assert_eq!(newest, Some(Ticket(5)));
        assert_eq!(ask(6, complete("b")), Err(FailureKind::Busy), "the queue is full");
        assert_eq!(queue.try_iter().map(|job| matches!(job, Job::Names)).collect::<Vec<_>>(), [true, false]);
        drop(queue);
        assert_eq!(ask(7, CodeAct::Index), Err(FailureKind::Internal));
    }
}
