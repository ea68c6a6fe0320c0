//! Options and shared state of the tools that change files or run commands.
//! Not for: carrying out changes or commands.

#[cfg(unix)]
use super::command::scratch::Scratch;
use super::{ToolFailure, shown};
use cap_std::fs::Metadata;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Options of the tools that change files or run commands.
#[derive(Clone, Debug)]
pub struct EffectOptions {
    /// The program whose `main` calls [`crate::tools::sandbox::main`]; `None` means this program.
    pub program: Option<PathBuf>,
    /// Whether commands may use the network.
    pub network: bool,
    /// Folders that commands may write, in addition to the workspace and a temporary folder.
    pub writable: Vec<PathBuf>,
    /// Folders in the home folder that commands may read, in addition to the workspace and common toolchains.
    pub readable: Vec<PathBuf>,
    /// This program's own files and folders (settings, store, state). Tools never write them, and commands cannot read
    /// them.
    pub hidden: Vec<PathBuf>,
    /// The default time limit of a command in seconds.
    pub usual: u32,
    /// The maximum time limit of a command in seconds.
    pub seconds: u32,
    /// The maximum number of processes that a command may have at the same time.
    pub processes: u32,
    /// The maximum number of bytes of a command's output that are stored. The model may receive fewer.
    pub keep: usize,
}

impl Default for EffectOptions {
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

/// The options, together with values that are computed or created once.
#[derive(Debug)]
pub(super) struct EffectTools {
    pub(super) options: EffectOptions,
    /// The canonical path of the workspace's root.
    pub(super) root: PathBuf,
    /// The protections that this system offers.
    #[cfg(unix)]
    pub(super) protections: OnceLock<Result<super::sandbox::Protections, String>>,
    /// The folder for temporary files and copied settings, created on first use.
    #[cfg(unix)]
    scratch: Mutex<Option<Arc<Scratch>>>,
    /// The thread that removes folders left behind by programs that were killed.
    #[cfg(unix)]
    clearing: Option<std::thread::JoinHandle<()>>,
}

impl EffectTools {
    pub(super) fn new(root: PathBuf, options: EffectOptions) -> Self {
        Self {
            options,
            root,
            #[cfg(unix)]
            protections: OnceLock::new(),
            #[cfg(unix)]
            scratch: Mutex::new(None),
            #[cfg(unix)]
            clearing: std::thread::Builder::new().name("scratch".into()).spawn(super::command::scratch::clear).ok(),
        }
    }
}

#[cfg(unix)]
impl EffectTools {
    /// Returns the scratch folder. Creates it on first use, and again if it was removed.
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
impl Drop for EffectTools {
    fn drop(&mut self) {
        if let Some(clearing) = self.clearing.take() {
            let _ = clearing.join();
        }
    }
}

/// Places that are never written, identified by device and inode instead of by name.
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

    /// Refuses a protected place.
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
