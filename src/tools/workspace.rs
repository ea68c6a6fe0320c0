//! The workspace folder for the tools: its root, opened once, and the results of calls that do not succeed.
//! Not for: the work of the tools (`files`, `command`).

use super::effects::{EffectOptions, EffectTools};
use crate::domain::tool::{ToolOutput, ToolStatus};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("the workspace folder {path} can't be opened: {source}. Tools stay off.")]
pub struct ToolError {
    path: PathBuf,
    source: io::Error,
}

/// Fails if a person stopped the call.
pub(super) fn unless_cancelled(cancelled: &dyn Fn() -> bool) -> Result<(), ToolFailure> {
    if cancelled() { Err(ToolFailure::Cancelled) } else { Ok(()) }
}

/// A call that did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolFailure {
    /// The call is not allowed.
    Refused(String),
    /// The call failed.
    Failed(String),
    /// A person stopped the call.
    Cancelled,
}

impl ToolFailure {
    /// Returns the reason as a sentence.
    pub(super) fn reason(self) -> String {
        match self {
            Self::Refused(why) | Self::Failed(why) => why,
            Self::Cancelled => "Canceled before it finished.".to_owned(),
        }
    }
}

/// The text of a result, and its size in bytes before it was cut.
#[derive(Debug)]
pub(super) struct ToolText {
    pub(super) body: String,
    pub(super) full_bytes: u64,
    /// How to get the rest, if the text was cut.
    pub(super) back: Option<String>,
}

/// The workspace folder with the tools that read and, if enabled, the tools that change files or run commands.
#[derive(Debug)]
pub struct Workspace {
    pub(super) root: Dir,
    pub(super) limit: usize,
    pub(super) effects: Option<EffectTools>,
}

impl Workspace {
    /// Opens the folder for reading. Results are cut at about `output_limit` bytes.
    pub fn open(root: &Path, output_limit: usize) -> Result<Self, ToolError> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|source| ToolError { path: root.to_owned(), source })?;
        Ok(Self { root: dir, limit: output_limit.max(256), effects: None })
    }

    /// Opens the folder for reading, changing files, and running commands.
    pub fn open_with_effects(root: &Path, output_limit: usize, options: EffectOptions) -> Result<Self, ToolError> {
        let space = Self::open(root, output_limit)?;
        let whole = root.canonicalize().map_err(|source| ToolError { path: root.to_owned(), source })?;
        Ok(Self { effects: Some(EffectTools::new(whole, options)), ..space })
    }

    /// Opens a regular file beneath the root. Returns the file and its size in
    /// bytes.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, u64), ToolFailure> {
        let file = self.root.open_with(path, &without_blocking()).map_err(|error| stop(path, &error))?;
        let meta = file.metadata().map_err(|error| stop(path, &error))?;
        if meta.is_dir() {
            return Err(ToolFailure::Failed(format!("{} is a folder; use list_dir.", shown(path))));
        }
        if !meta.is_file() {
            return Err(ToolFailure::Refused(format!(
                "{} is a pipe, a socket, or a device; only regular files are read.",
                shown(path)
            )));
        }
        Ok((file, meta.len()))
    }
}

/// Returns the options for reading a file without blocking on a pipe or a device.
pub(super) fn without_blocking() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or(0));
    }
    options
}

/// Makes the result of a call that did not succeed.
pub(super) fn failed(stop: ToolFailure) -> ToolOutput {
    let (status, body) = match stop {
        ToolFailure::Refused(why) => (ToolStatus::Refused, format!("Refused: {why}")),
        ToolFailure::Failed(why) => (ToolStatus::Failed, format!("Failed: {why}")),
        cancelled @ ToolFailure::Cancelled => (ToolStatus::Cancelled, cancelled.reason()),
    };
    ToolOutput::whole(status, body)
}

/// Formats a path as in rules and on the screen.
pub(super) fn path_text(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Formats a path for messages: of limited length, on one line, and readable even if it is not UTF-8.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() {
        return ".".into();
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars().take(400) {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// Turns a file system error into a sentence. `cap_std` reports a path that leads out of the root as an error without
/// an OS code.
pub(super) fn stop(path: &Path, error: &io::Error) -> ToolFailure {
    let path = shown(path);
    match error.kind() {
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            ToolFailure::Refused(format!("{path} is outside the workspace folder."))
        }
        io::ErrorKind::PermissionDenied => ToolFailure::Failed(format!("{path} can't be read: permission denied.")),
        io::ErrorKind::NotFound => ToolFailure::Failed(format!("{path} does not exist in the workspace.")),
        io::ErrorKind::NotADirectory => {
            ToolFailure::Failed(format!("{path} goes through something that is not a folder."))
        }
        _ => ToolFailure::Failed(format!("{path} can't be opened: {error}.")),
    }
}
