//! What the tools that act may do, and what they keep while the workspace is open.
//! Not for: doing it.

#[cfg(unix)]
use super::command::scratch::Scratch;
use super::{ToolFailure, shown};
use cap_std::fs::Metadata;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the tools that act may do.
#[derive(Clone, Debug)]
pub struct Acting {
    /// The program that [`crate::tools::sandbox::main`] is reached by; this program where it is missing.
    pub program: Option<PathBuf>,
    /// Commands may use the network.
    pub network: bool,
    /// Folders beyond the workspace and a temporary one in which commands may write.
    pub writable: Vec<PathBuf>,
    /// Folders in the home folder that commands may read, beyond the workspace and the usual toolchains.
    pub readable: Vec<PathBuf>,
    /// This program's own files and folders (settings, store, state): never written, and not read by commands.
    pub hidden: Vec<PathBuf>,
    /// Seconds for a command that does not ask for any.
    pub usual: u32,
    /// The most seconds that a command may take.
    pub seconds: u32,
    /// The most processes that a command may have at once.
    pub processes: u32,
    /// Bytes of a command's output that are handed over to be kept, where the model reads less.
    pub keep: usize,
}

impl Default for Acting {
    fn default() -> Self {
        Self {
            program: None,
            network: false,
            writable: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            usual: 120,
            seconds: 600,
            processes: 1_024,
            keep: 2_000_000,
        }
    }
}

/// The options, with what is found out or made once.
#[derive(Debug)]
pub(super) struct ActingTools {
    pub(super) options: Acting,
    /// The workspace's root by its full name.
    pub(super) root: PathBuf,
    /// What this system can do to keep commands in.
    #[cfg(unix)]
    pub(super) means: OnceLock<Result<super::sandbox::Means, String>>,
    /// A folder for what commands need.
    #[cfg(unix)]
    scratch: Mutex<Option<Arc<Scratch>>>,
    /// Clears away what programs that were killed have left.
    #[cfg(unix)]
    clearing: Option<std::thread::JoinHandle<()>>,
}

impl ActingTools {
    pub(super) fn new(root: PathBuf, options: Acting) -> Self {
        Self {
            options,
            root,
            #[cfg(unix)]
            means: OnceLock::new(),
            #[cfg(unix)]
            scratch: Mutex::new(None),
            #[cfg(unix)]
            clearing: std::thread::Builder::new().name("scratch".into()).spawn(super::command::scratch::clear).ok(),
        }
    }
}

#[cfg(unix)]
impl ActingTools {
    /// The folder for what commands need, made when it is first needed and again when somebody has removed it.
    pub(super) fn scratch(&self) -> std::io::Result<Arc<Scratch>> {
        let mut kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scratch) = kept.as_ref().filter(|scratch| scratch.is_there()) {
            return Ok(scratch.clone());
        }
        let scratch = Arc::new(Scratch::new()?);
        *kept = Some(scratch.clone());
        Ok(scratch)
    }
}

#[cfg(unix)]
impl Drop for ActingTools {
    fn drop(&mut self) {
        if let Some(clearing) = self.clearing.take() {
            let _ = clearing.join();
        }
    }
}

/// Places beneath which nothing is written, by what they are and not by what they are called.
pub(super) struct ProtectedPlaces(Vec<(u64, u64)>);

impl ProtectedPlaces {
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let places = paths.iter().filter_map(|path| path.metadata().ok());
            Self(places.map(|meta| (meta.dev(), meta.ino())).collect())
        }
        #[cfg(not(unix))]
        {
            let _ = paths;
            Self(Vec::new())
        }
    }

    /// Refuses a place that is one of them.
    pub(super) fn check(&self, meta: &Metadata, path: &Path) -> Result<(), ToolFailure> {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            if self.0.contains(&(meta.dev(), meta.ino())) {
                return Err(ToolFailure::Refused(format!("{} belongs to pleach and is never written.", shown(path))));
            }
        }
        let _ = (meta, path);
        Ok(())
    }
}
