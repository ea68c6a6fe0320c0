//! Read-only tools for the model, confined to the workspace folder: read a file, list a folder, search.
//! Not for: deciding whether tools are offered (trust) or keeping traces (`engine`).
//!
//! Only the root is opened by its name. Everything beneath is opened through the root's descriptor, which the kernel
//! keeps from leading out, so that a link swapped at the worst moment leads nowhere either.

mod args;
mod attach;
mod list;
mod read;
mod rules;
mod search;
mod walk;

use crate::domain::trace::{RunTools, ToolOutput, ToolSpec, ToolStatus};
use args::Args;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The folder could not be opened.
    #[error("the workspace folder {path} cannot be opened: {source}. Tools stay off.")]
    Root {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A call that did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    /// It is not allowed.
    Refused(String),
    /// It did not work.
    Failed(String),
    /// A person stopped it.
    Cancelled,
}

/// What a tool made: its text and the bytes there were before anything was cut.
#[derive(Debug)]
struct Made {
    body: String,
    full_bytes: u64,
}

/// The workspace folder, with the three tools that look into it.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    limit: usize,
}

impl Workspace {
    /// Opens the folder; a tool's answer holds at most about `output_limit` bytes.
    pub fn open(root: &Path, output_limit: usize) -> Result<Self, ToolError> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|source| ToolError::Root { path: root.to_owned(), source })?;
        Ok(Self { root: dir, limit: output_limit.max(256) })
    }

    /// Opens a regular file beneath the root, never waiting for a pipe or a device.
    fn open_file(&self, path: &Path) -> Result<(File, u64), Stop> {
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
            return Err(Stop::Failed(format!("{} is a folder; use list_dir.", shown(path))));
        }
        if !meta.is_file() {
            return Err(Stop::Refused(format!(
                "{} is a pipe, a socket or a device; only regular files are read.",
                shown(path)
            )));
        }
        Ok((file, meta.len()))
    }
}

impl RunTools for Workspace {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |name: &str, description: &str, properties: serde_json::Value, required: &[&str]| ToolSpec {
            name: name.into(),
            description: description.into(),
            parameters: json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false
            }),
        };
        let path = |of: &str| json!({"type": "string", "description": format!("{of}, relative to the workspace root")});
        vec![
            spec(
                "read_file",
                "Reads a text file of the workspace, or some of its lines.",
                json!({
                    "path": path("The file"),
                    "start_line": {"type": "integer", "description": "First line, from 1"},
                    "lines": {"type": "integer", "description": "How many lines"},
                }),
                &["path"],
            ),
            spec(
                "list_dir",
                "Lists a folder of the workspace; files that .gitignore names are left out.",
                json!({
                    "path": path("The folder; the root when left out"),
                    "depth": {"type": "integer", "description": "How many levels, 1 by default"},
                }),
                &[],
            ),
            spec(
                "search",
                "Finds lines that match a regular expression, in one file or in all files that .gitignore does not name.",
                json!({
                    "pattern": {"type": "string", "description": "The regular expression; lower case also finds upper case"},
                    "path": path("Where; everywhere when left out"),
                    "max": {"type": "integer", "description": "Most matches, 100 by default"},
                }),
                &["pattern"],
            ),
        ]
    }

    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput {
        let made = match name {
            _ if cancelled() => Err(Stop::Cancelled),
            "read_file" => Args::parse(args).and_then(|args| read::run(self, &args, cancelled)),
            "list_dir" => Args::parse(args).and_then(|args| list::run(self, &args, cancelled)),
            "search" => Args::parse(args).and_then(|args| search::run(self, &args, cancelled)),
            other => Err(Stop::Failed(format!(
                "There is no tool {:?}; there are read_file, list_dir and search.",
                other.chars().take(60).collect::<String>()
            ))),
        };
        let (status, body, full) = match made {
            Ok(made) => (ToolStatus::Ok, made.body, Some(made.full_bytes)),
            Err(Stop::Refused(why)) => (ToolStatus::Refused, format!("Refused: {why}"), None),
            Err(Stop::Failed(why)) => (ToolStatus::Failed, format!("Failed: {why}"), None),
            Err(Stop::Cancelled) => (ToolStatus::Cancelled, "Cancelled before it was done.".to_owned(), None),
        };
        let full_bytes = full.unwrap_or(0).max(body.len() as u64);
        ToolOutput { status, body, full_bytes }
    }

    fn files(&self, most: usize) -> (Vec<String>, bool) {
        attach::files(self, most)
    }

    fn text(&self, path: &str, most: u64) -> Result<String, String> {
        attach::text(self, path, most).map_err(|stop| match stop {
            Stop::Refused(why) | Stop::Failed(why) => why,
            Stop::Cancelled => "It was stopped.".to_owned(),
        })
    }
}

/// A path for messages: bounded, in one line, and readable when it is not UTF-8.
fn shown(path: &Path) -> String {
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
fn stop(path: &Path, error: &io::Error) -> Stop {
    let path = shown(path);
    match error.kind() {
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            Stop::Refused(format!("{path} leads out of the workspace folder."))
        }
        io::ErrorKind::PermissionDenied => Stop::Failed(format!("{path} may not be read by this user.")),
        io::ErrorKind::NotFound => Stop::Failed(format!("{path} does not exist in the workspace.")),
        io::ErrorKind::NotADirectory => Stop::Failed(format!("{path} goes through something that is no folder.")),
        _ => Stop::Failed(format!("{path} cannot be opened: {error}.")),
    }
}

#[cfg(test)]
mod tests;
