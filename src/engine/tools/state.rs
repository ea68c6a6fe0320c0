//! The engine's tool state: the servers, the last read file names, and whether the folder is trusted.
//! Not for: calling servers (`mcp`), or approving their tools (`servers`).

use super::workspace::Project;
use crate::domain::base::Hash;
use crate::domain::tool::{ConfiguredServers, FileVisibility, RunTools, ServerState};
use crate::engine::api::{Request, Ticket};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The state of tools.
pub(crate) struct Tools {
    pub(crate) servers: ServerRegistry,
    /// The names of the workspace's files.
    pub(crate) files: FileNames,
    /// Rules, skills, and module summaries of the workspace.
    pub(crate) project: Arc<Project>,
    /// Whether the workspace folder is trusted.
    pub(crate) trusted: bool,
}

/// The state of tool servers.
#[derive(Default)]
pub(crate) struct ServerRegistry {
    /// The configured servers, as last read.
    pub(crate) named: ConfiguredServers,
    /// Whether a request needed servers.
    pub(crate) wanted: bool,
    /// Requests that wait until all servers have started.
    pub(crate) waiting: Vec<(Ticket, Request)>,
    /// The last reported state of each server.
    pub(crate) reported_states: BTreeMap<String, ServerState>,
    /// Tools that were reported because they differ from the approved ones.
    pub(crate) reported_tools: BTreeSet<(String, Hash)>,
    /// The digest of the folder's server file that was reported.
    pub(crate) reported_file: Option<Hash>,
}

/// The maximum number of file names.
pub(crate) const MOST: usize = 50_000;

/// How long a list of names is used before it is read again.
pub(crate) const FRESH: Duration = Duration::from_secs(5);

/// The time at which names were read, the rules that applied, the names, and whether there are more.
pub(crate) type Names = Option<(Instant, FileVisibility, Arc<Vec<String>>, bool)>;

/// The last read file names.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileNames(pub(crate) Arc<Mutex<Names>>);

impl FileNames {
    /// Returns the names and whether there are more. Old names are read again; one thread reads while others wait.
    pub(crate) fn names(&self, tools: &dyn RunTools, visibility: &FileVisibility) -> (Arc<Vec<String>>, bool) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = held.as_ref().filter(|(at, under, ..)| at.elapsed() < FRESH && under == visibility);
        if let Some((_, _, names, more)) = fresh {
            return (names.clone(), *more);
        }
        let (names, more) = tools.files(MOST, visibility);
        let names = Arc::new(names);
        *held = Some((Instant::now(), visibility.clone(), names.clone(), more));
        (names, more)
    }
}
