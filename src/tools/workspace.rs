//! The workspace folder as tools see it: its root, opened once, and how a call that does not do what was asked is told.
//! Not for: what the tools do (`files`, `command`).

use super::acting::{Acting, ActingTools};
use crate::domain::tool::trace::{ToolOutput, ToolStatus};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The folder could not be opened.
    #[error("the workspace folder {path} can't be opened: {source}. Tools stay off.")]
    Root {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A call that did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolFailure {
    /// It is not allowed.
    Refused(String),
    /// It did not work.
    Failed(String),
    /// A person stopped it.
    Cancelled,
}

/// What a tool made: its text and the bytes there were before anything was cut.
#[derive(Debug)]
pub(super) struct ToolText {
    pub(super) body: String,
    pub(super) full_bytes: u64,
    /// How the rest is reached, where something was cut.
    pub(super) back: Option<String>,
}

/// The workspace folder, with the three tools that look into it, and the three that act, where it was opened for that.
#[derive(Debug)]
pub struct Workspace {
    pub(super) root: Dir,
    pub(super) limit: usize,
    pub(super) acting: Option<ActingTools>,
}

impl Workspace {
    /// Opens the folder for looking; a tool's answer holds at most about `output_limit` bytes.
    pub fn open(root: &Path, output_limit: usize) -> Result<Self, ToolError> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|source| ToolError::Root { path: root.to_owned(), source })?;
        Ok(Self { root: dir, limit: output_limit.max(256), acting: None })
    }

    /// Opens the folder for looking and for acting.
    pub fn open_acting(root: &Path, output_limit: usize, options: Acting) -> Result<Self, ToolError> {
        let space = Self::open(root, output_limit)?;
        let whole = root.canonicalize().map_err(|source| ToolError::Root { path: root.to_owned(), source })?;
        Ok(Self { acting: Some(ActingTools::new(whole, options)), ..space })
    }

    /// Opens a regular file beneath the root, never waiting for a pipe or a device.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, u64), ToolFailure> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
            options.custom_flags(i32::try_from(flags).unwrap_or(0));
        }
        let file = self.root.open_with(path, &options).map_err(|error| stop(path, &error))?;
        let meta = file.metadata().map_err(|error| stop(path, &error))?;
        if meta.is_dir() {
            return Err(ToolFailure::Failed(format!("{} is a folder; use list_dir.", shown(path))));
        }
        if !meta.is_file() {
            return Err(ToolFailure::Refused(format!(
                "{} is a pipe, a socket or a device; only regular files are read.",
                shown(path)
            )));
        }
        Ok((file, meta.len()))
    }
}

/// What the model reads of a call that did not do what was asked.
pub(super) fn failed(stop: ToolFailure) -> ToolOutput {
    let (status, body) = match stop {
        ToolFailure::Refused(why) => (ToolStatus::Refused, format!("Refused: {why}")),
        ToolFailure::Failed(why) => (ToolStatus::Failed, format!("Failed: {why}")),
        ToolFailure::Cancelled => (ToolStatus::Cancelled, "Cancelled before it was done.".to_owned()),
    };
    ToolOutput { status, full_bytes: body.len() as u64, body }
}

/// A path for messages: bounded, in one line, and readable when it is not UTF-8.
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

/// An error of the file system as a sentence. Leading out of the root comes as an error that no system call made.
pub(super) fn stop(path: &Path, error: &io::Error) -> ToolFailure {
    let path = shown(path);
    match error.kind() {
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            ToolFailure::Refused(format!("{path} is outside the workspace folder."))
        }
        io::ErrorKind::PermissionDenied => ToolFailure::Failed(format!("{path} may not be read by this user.")),
        io::ErrorKind::NotFound => ToolFailure::Failed(format!("{path} does not exist in the workspace.")),
        io::ErrorKind::NotADirectory => {
            ToolFailure::Failed(format!("{path} goes through something that is not a folder."))
        }
        _ => ToolFailure::Failed(format!("{path} can't be opened: {error}.")),
    }
}
