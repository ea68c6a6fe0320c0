//! The workspace's code index, shared with the planner and the tools, and the map made from it. The code indexer's
//! thread keeps it up to date; readers never wait for that thread unless a single command asked them to. At most one
//! check for changes waits in that thread's queue.
//! Not for: reading files (`code_indexer`), or the code that is part of a plan (`plans::sources::code`).

use super::code_indexer::Job;
use crate::code::find::cards::Sources;
use crate::code::find::map;
use crate::code::find::module_summary::describing_rank;
use crate::code::index::build::{Folders, Progress};
use crate::code::index::cache::Cache;
use crate::code::index::records::Index;
use crate::code::parse::walk::holds_code;
use crate::domain::base::{Fields, Hash, SessionId};
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::code::CodeMap;
use crate::domain::tool::{FileVisibility, Rule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

/// How long a single command waits for the code to be read before it continues without code.
const PATIENCE: Duration = Duration::from_secs(20);
/// The minimum time between two checks for changes.
pub(crate) const FRESH: Duration = Duration::from_secs(2);
/// The minimum time between two checks while a plan is on the screen.
const WATCH: Duration = Duration::from_secs(3);
/// The minimum pause between checks, as a multiple of the duration of a check.
pub(crate) const RARER: u32 = 50;
/// The minimum number of files in supported languages for a folder to count as containing code.
const FEW: usize = 5;
/// The maximum number of cached maps, one for each request.
const MAPS: usize = 4;

/// A workspace in memory.
#[derive(Default)]
pub(crate) struct LoadedWorkspace {
    pub(crate) root: PathBuf,
    pub(crate) index: Index,
    pub(crate) cache: Option<Cache>,
    pub(crate) folders: Folders,
    pub(crate) progress: Progress,
    pub(crate) notes: Vec<String>,
    /// When it was last checked for changes, and when the whole folder was last read.
    pub(crate) seen: Option<Instant>,
    pub(crate) surveyed: Option<Instant>,
    /// The rules about files that applied when it was read.
    pub(crate) visibility: FileVisibility,
    pub(crate) took: Duration,
    /// The duration of the last check of known files and of the last check of the whole folder.
    pub(crate) short: Duration,
    pub(crate) long: Duration,
    /// A counter of changes.
    pub(crate) round: u64,
}

/// Reads files of the workspace as they are now.
pub(crate) struct WorkspaceFiles<'a>(pub(crate) &'a Path);

impl Sources for WorkspaceFiles<'_> {
    fn text(&self, path: &Path) -> Option<Arc<[u8]>> {
        let path = self.0.join(path);
        let plain = std::fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
        plain.then(|| std::fs::read(path).ok().map(Into::into)).flatten()
    }
}

/// A request for a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapRequest {
    pub(crate) encoding: Encoding,
    /// The token budget of the map.
    pub(crate) tokens: u32,
    /// The number of central symbols.
    pub(crate) anchors: usize,
}

/// A map with the digest of its sources.
struct BuiltMap {
    request: MapRequest,
    of: Hash,
    map: Arc<CodeMap>,
}

#[derive(Default)]
struct State {
    /// Whether a check is queued.
    asked: bool,
    /// The number of finished checks.
    rounds: u64,
    maps: Vec<BuiltMap>,
    wanted: Option<MapRequest>,
    /// The denials of each session's rules; under `None` the denials of the folder and the settings.
    denied: BTreeMap<Option<SessionId>, Vec<Rule>>,
    /// All denials together.
    visibility: FileVisibility,
    /// When the folder could not be read; no check is requested for a while after that.
    failed: Option<Instant>,
}

struct Inner {
    loaded: RwLock<Option<LoadedWorkspace>>,
    jobs: Mutex<Option<SyncSender<Job>>>,
    state: Mutex<State>,
    wake: Condvar,
    workspace: PathBuf,
    counter: Arc<dyn CountTokens>,
    patient: bool,
    holds_code: OnceLock<bool>,
}

/// The code index of a workspace. Clones share it.
#[derive(Clone)]
pub(crate) struct CodeWorkspace(Arc<Inner>);

impl CodeWorkspace {
    pub(crate) fn new(jobs: SyncSender<Job>, workspace: PathBuf, counter: Arc<dyn CountTokens>, patient: bool) -> Self {
        let (loaded, state, wake) = (RwLock::default(), Mutex::default(), Condvar::new());
        let (jobs, holds_code) = (Mutex::new(Some(jobs)), OnceLock::new());
        Self(Arc::new(Inner { loaded, jobs, state, wake, workspace, counter, patient, holds_code }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lock of the loaded workspace; only the code indexer's thread writes.
    pub(crate) fn loaded(&self) -> &RwLock<Option<LoadedWorkspace>> {
        &self.0.loaded
    }

    /// Returns the canonical path of the program's own workspace.
    pub(crate) fn own(&self) -> PathBuf {
        std::fs::canonicalize(&self.0.workspace).unwrap_or_else(|_| self.0.workspace.clone())
    }

    /// Returns the last component of the workspace's path.
    pub(crate) fn name(&self) -> String {
        self.own().file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Sends a job to the code indexer's thread. Never blocks.
    pub(crate) fn send(&self, job: Job) -> Result<(), TrySendError<Job>> {
        match &*self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.try_send(job),
            None => Err(TrySendError::Disconnected(job)),
        }
    }

    /// Closes the queue of jobs and wakes all waiting readers.
    pub(crate) fn close(&self) {
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.end_check(false);
    }

    /// Whether the workspace contains code: at least a few files in supported languages.
    pub(crate) fn holds_code(&self) -> bool {
        *self.0.holds_code.get_or_init(|| holds_code(&self.0.workspace, FEW))
    }

    /// Requests a check if the last one is long enough ago. The longer a check takes, the less often checks run. Called
    /// while a plan that contains code is on the screen.
    pub(crate) fn watch(&self) {
        let due =
            |loaded: &LoadedWorkspace| loaded.seen.is_none_or(|seen| seen.elapsed() > WATCH.max(loaded.short * RARER));
        if self.look(due).unwrap_or(false) {
            self.refresh();
        }
    }

    /// Requests a check for changes, unless one was just made or is queued. A single command waits for it.
    pub(crate) fn refresh(&self) {
        if let Some(before) = self.request_check().filter(|_| self.0.patient) {
            self.wait(before, PATIENCE, &|| false);
        }
    }

    /// Requests a check for changes and waits for it, at most this long.
    pub(crate) fn settle(&self, most: Duration, cancelled: &dyn Fn() -> bool) {
        if let Some(before) = self.request_check() {
            self.wait(before, most, cancelled);
        }
    }

    /// Requests a check if one is due. Returns the number of checks finished before it; `None` if none is due.
    fn request_check(&self) -> Option<u64> {
        let lately = |loaded: &LoadedWorkspace| loaded.seen.is_some_and(|seen| seen.elapsed() < FRESH);
        let fresh = self.look(lately).unwrap_or(false);
        let mut state = self.state();
        let rests = state.failed.is_some_and(|since| since.elapsed() < PATIENCE);
        if (fresh && state.wanted.is_none()) || rests {
            return None;
        }
        // Must not wait for a check that cannot be queued.
        state.asked = state.asked || self.send(Job::Refresh).is_ok();
        state.asked.then_some(state.rounds)
    }

    fn wait(&self, before: u64, most: Duration, cancelled: &dyn Fn() -> bool) {
        let begun = Instant::now();
        let mut state = self.state();
        while state.rounds == before && begun.elapsed() < most && !cancelled() {
            let waited = self.0.wake.wait_timeout(state, Duration::from_millis(100));
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
    }

    /// Records that the code indexer's thread begins a check; later requests need another one. Returns the map that is
    /// requested.
    pub(crate) fn begin_check(&self) -> Option<MapRequest> {
        let mut state = self.state();
        state.asked = false;
        state.wanted
    }

    /// Records that a check is done and wakes waiting readers.
    pub(crate) fn end_check(&self, failed: bool) {
        let mut state = self.state();
        state.rounds += 1;
        state.failed = failed.then(Instant::now);
        self.0.wake.notify_all();
    }

    /// Sets the denials of a session's rules, or of the rules that apply without a session, and returns all denials
    /// together. If they changed, readers see nothing until the workspace was read again under the new denials.
    pub(crate) fn apply_denials(&self, session: Option<SessionId>, rules: Vec<Rule>) -> FileVisibility {
        let mut state = self.state();
        if state.denied.get(&session) != Some(&rules) {
            state.denied.insert(session, rules);
            let visibility = FileVisibility::denying(state.denied.values().flatten().cloned());
            if visibility != state.visibility {
                state.visibility = visibility;
                state.maps.clear();
            }
        }
        state.visibility.clone()
    }

    /// Returns all denials together.
    pub(crate) fn visibility(&self) -> FileVisibility {
        self.state().visibility.clone()
    }

    /// Reads the program's own workspace; `None` if it is not loaded, is being changed, or was read under other rules.
    pub(crate) fn look<T>(&self, with: impl FnOnce(&LoadedWorkspace) -> T) -> Option<T> {
        let loaded = match self.0.loaded.try_read() {
            Ok(loaded) => loaded,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let current = |loaded: &&LoadedWorkspace| {
            loaded.seen.is_some() && loaded.root == self.own() && loaded.visibility == self.visibility()
        };
        loaded.as_ref().filter(current).map(with)
    }

    /// Reads the program's own workspace, retrying while it is not available. For threads that may wait.
    pub(crate) fn wait_with_loaded<T>(
        &self,
        most: Duration,
        cancelled: &dyn Fn() -> bool,
        with: impl Fn(&LoadedWorkspace) -> T,
    ) -> Option<T> {
        let begun = Instant::now();
        loop {
            let result = self.look(&with);
            if result.is_some() || begun.elapsed() > most || cancelled() {
                return result;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the last map made for a request, which may be outdated. If there is no map, requests it.
    pub(crate) fn map(&self, request: MapRequest) -> Option<Arc<CodeMap>> {
        let found = self.kept(request);
        if found.is_none() {
            self.state().wanted = Some(request);
        }
        found
    }

    /// Makes outdated maps again, and the requested one. Returns whether a map changed.
    pub(crate) fn update_maps(&self, loaded: &LoadedWorkspace, wanted: Option<MapRequest>) -> bool {
        let known: Vec<(MapRequest, Hash)> = self.state().maps.iter().map(|made| (made.request, made.of)).collect();
        let new = wanted.filter(|request| known.iter().all(|(known, _)| known != request));
        let mut changed = false;
        for (request, before) in
            known.into_iter().map(|(request, of)| (request, Some(of))).chain(new.map(|request| (request, None)))
        {
            let of = source_digest(loaded, self.kept(request).as_deref());
            if before == Some(of) {
                continue;
            }
            let count = |text: &str| self.0.counter.count(request.encoding, text);
            let map = map::build(&loaded.index, &WorkspaceFiles(&loaded.root), &count, request.tokens, request.anchors);
            let of = source_digest(loaded, Some(&map));
            changed |= self.kept(request).is_none_or(|old| *old != map);
            let mut state = self.state();
            if state.visibility != loaded.visibility {
                continue;
            }
            state.maps.retain(|made| made.request != request);
            state.maps.push(BuiltMap { request, of, map: Arc::new(map) });
            let over = state.maps.len().saturating_sub(MAPS);
            state.maps.drain(..over);
        }
        let mut state = self.state();
        state.wanted = state.wanted.filter(|request| Some(*request) != wanted);
        changed
    }

    fn kept(&self, request: MapRequest) -> Option<Arc<CodeMap>> {
        self.state().maps.iter().find(|made| made.request == request).map(|made| made.map.clone())
    }

    /// Clears the maps, because another workspace replaces the current one.
    pub(crate) fn forget_maps(&self) {
        self.state().maps.clear();
    }
}

/// Returns the digest of a map's sources: the names of the files, the files that describe their folders, and
/// the files whose symbols it names. A map is not made again for every change of a file, so that a server can use its
/// cached prefix.
fn source_digest(loaded: &LoadedWorkspace, map: Option<&CodeMap>) -> Hash {
    let files = loaded.index.files().filter(|file| file.count > 0);
    let describes = |shown: &str| describing_rank(shown.rsplit('/').next().unwrap_or_default()).is_some();
    let names = files.fold(Fields::new("map"), |fields, file| {
        fields.text(&file.shown).optional(describes(&file.shown).then_some(file.hash))
    });
    let anchors = map.map(|map| map.anchors.as_slice()).unwrap_or_default();
    let of = |fields: Fields, path: &str| {
        let hash = loaded.index.file_at(Path::new(path)).map(|file| file.hash);
        fields.text(path).optional(hash)
    };
    anchors.iter().fold(names, |fields, anchor| of(fields, &anchor.path)).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::counting::tokens::Tokenizers;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn no_check_is_awaited_that_cannot_be_queued() {
        let (jobs, receiver) = sync_channel(1);
        let workspace = CodeWorkspace::new(jobs, PathBuf::from("."), Arc::new(Tokenizers::new()), true);
        assert_eq!([workspace.request_check(), workspace.request_check()], [Some(0), Some(0)]);
        assert_eq!(receiver.try_iter().count(), 1, "one check is queued for both");
        workspace.begin_check();
        workspace.send(Job::Refresh).unwrap();
        assert_eq!(workspace.request_check(), None, "the queue is full");
        drop(receiver);
        assert_eq!([workspace.request_check(), workspace.request_check()], [None, None]);
    }
}
