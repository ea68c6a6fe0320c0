//! Tools for the model, confined to the workspace folder: read a file, list a folder, search; and, where asked for, change
//! files and run commands.
//! Not for: deciding whether tools are offered or a call is allowed (trust, rules, consent), or keeping traces (`engine`).
//!
//! Only the root is opened by its name. Everything beneath is opened through the root's descriptor, which the kernel
//! keeps from leading out, so that a link swapped at the worst moment leads nowhere either. Files are written only through
//! folders reached without any link. A command runs in a child of this program that confines itself first ([`sandbox`]).

mod acting;
mod args;
pub mod folder;
mod specs;

pub use acting::Acting;

use crate::domain::base::hash::Hash;
use crate::domain::tool::consent::{FileChange, ToolEffect};
use crate::domain::tool::trace::{
    Done, RunTools, ShortenedResult, ToolObserver, ToolOutput, ToolSpec, ToolStatus, in_lines,
};
use crate::domain::tool::visibility::FileVisibility;
use acting::{ActingTools, ProtectedPlaces};
use args::Args;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use files::visible::ToolVisibility;
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
enum ToolFailure {
    /// It is not allowed.
    Refused(String),
    /// It did not work.
    Failed(String),
    /// A person stopped it.
    Cancelled,
}

/// What a tool made: its text and the bytes there were before anything was cut.
#[derive(Debug)]
struct ToolText {
    body: String,
    full_bytes: u64,
    /// How the rest is reached, where something was cut.
    back: Option<String>,
}

/// The workspace folder, with the three tools that look into it, and the three that act, where it was opened for that.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    limit: usize,
    acting: Option<ActingTools>,
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
    fn open_file(&self, path: &Path) -> Result<(File, u64), ToolFailure> {
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

impl RunTools for Workspace {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = specs::looking();
        if self.acting.is_some() {
            specs.extend(specs::acting(self));
        }
        specs
    }

    fn deed(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        self.work_out(name, args).map_err(failed)
    }

    fn carry_out(
        &self,
        name: &str,
        args: &str,
        deed: &ToolEffect,
        hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> Done {
        match deed {
            _ if watch.cancelled() => Done::said(failed(ToolFailure::Cancelled)),
            ToolEffect::Change(changes) if self.acting.is_some() => files::change::carry_out(self, changes, hunks),
            #[cfg(unix)]
            ToolEffect::Run(line) if self.acting.is_some() => command::run::carry_out(self, line, watch),
            ToolEffect::Look { .. } => self.look(name, args, &watch.sight(), &|| watch.cancelled()),
            ToolEffect::Change(_) | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => {
                Done::said(failed(self.unknown(name)))
            }
        }
    }

    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput {
        self.look(name, args, &FileVisibility::default(), cancelled).output
    }

    fn over(&self, name: &str, args: &str, text: &str) -> Done {
        let text = in_lines(text);
        let made = match name {
            "read_file" => Args::parse(args).and_then(|args| files::read::over(self.limit, &args, &text)),
            "search" => Args::parse(args).and_then(|args| files::search::over(self, &args, &text)),
            other => Err(ToolFailure::Failed(format!("{other} does not read what was kept of a result."))),
        };
        done(made)
    }

    fn keeps(&self) -> usize {
        self.acting.as_ref().map_or(0, |acts| acts.options.keep)
    }

    fn files(&self, most: usize, sight: &FileVisibility) -> (Vec<String>, bool) {
        files::attach::files(self, most, ToolVisibility::of_person(sight))
    }

    fn text(&self, path: &str, most: u64, sight: &FileVisibility) -> Result<String, String> {
        files::attach::text(self, path, most, ToolVisibility::of_person(sight)).map_err(|stop| match stop {
            ToolFailure::Refused(why) | ToolFailure::Failed(why) => why,
            ToolFailure::Cancelled => "It was stopped.".to_owned(),
        })
    }
    fn put_back(&self, path: &str, expected: Option<Hash>, text: Option<&str>) -> Result<(), String> {
        if self.acting.is_none() {
            return Err(format!("{path} can't be changed: these tools only read."));
        }
        files::change::put_back(self, path, expected, text).map_err(|stop| match stop {
            ToolFailure::Refused(why) | ToolFailure::Failed(why) => why,
            ToolFailure::Cancelled => "Cancelled before it was done.".to_owned(),
        })
    }
}

impl Workspace {
    /// Does a call that only looks.
    fn look(&self, name: &str, args: &str, sight: &FileVisibility, cancelled: &dyn Fn() -> bool) -> Done {
        let eyes = ToolVisibility { sight, tool: name };
        done(match name {
            _ if cancelled() => Err(ToolFailure::Cancelled),
            "read_file" => Args::parse(args).and_then(|args| files::read::run(self, &args, eyes, cancelled)),
            "list_dir" => Args::parse(args).and_then(|args| files::list::run(self, &args, eyes, cancelled)),
            "search" => Args::parse(args).and_then(|args| files::search::run(self, &args, eyes, cancelled)),
            "edit_file" | "write_file" | "run" if self.acting.is_some() => {
                Err(ToolFailure::Refused(format!("{name} changes things; it runs only after a decision.")))
            }
            other => Err(self.unknown(other)),
        })
    }

    fn work_out(&self, name: &str, args: &str) -> Result<ToolEffect, ToolFailure> {
        match name {
            "read_file" | "list_dir" | "search" => {
                let path = Args::parse(args)?.path()?;
                // A link is named by what it leads to, so that no rule is passed by another name.
                let path = self.root.canonicalize(&path).unwrap_or(path);
                let what: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
                Ok(ToolEffect::Look { what: what.join("/") })
            }
            "edit_file" if self.acting.is_some() => {
                Ok(ToolEffect::Change(vec![files::edit::edit(self, &Args::parse(args)?)?]))
            }
            "write_file" if self.acting.is_some() => {
                Ok(ToolEffect::Change(vec![files::edit::write(self, &Args::parse(args)?)?]))
            }
            #[cfg(unix)]
            "run" if self.acting.is_some() => Ok(ToolEffect::Run(command::run::deed(self, &Args::parse(args)?)?)),
            other => Err(self.unknown(other)),
        }
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let names: Vec<String> = self.specs().into_iter().map(|spec| spec.name).collect();
        let (last, others) =
            names.split_last().map(|(last, others)| (last.as_str(), others.join(", "))).unwrap_or_default();
        let name: String = name.chars().take(60).collect();
        ToolFailure::Failed(format!("There is no tool {name:?}; tools are {others} and {last}."))
    }

    /// The places beneath which nothing is written.
    fn kept(&self) -> ProtectedPlaces {
        ProtectedPlaces::of(self.acting.as_ref().map(|acts| acts.options.hidden.as_slice()).unwrap_or_default())
    }
}

fn done(made: Result<ToolText, ToolFailure>) -> Done {
    match made {
        Ok(made) => {
            let full_bytes = made.full_bytes.max(made.body.len() as u64);
            let output = ToolOutput { status: ToolStatus::Ok, body: made.body, full_bytes };
            Done { cut: made.back.map(|back| ShortenedResult { back, full: None }), ..Done::said(output) }
        }
        Err(stop) => Done::said(failed(stop)),
    }
}

/// A text before and after, as the change of a file.
#[must_use]
pub fn compared(path: &str, before: Option<std::sync::Arc<str>>, after: Option<&str>) -> FileChange {
    let change = files::diff::change(path, before, after.unwrap_or_default());
    FileChange { after: after.and(change.after), ..change }
}

/// What the model reads of a call that did not do what was asked.
fn failed(stop: ToolFailure) -> ToolOutput {
    let (status, body) = match stop {
        ToolFailure::Refused(why) => (ToolStatus::Refused, format!("Refused: {why}")),
        ToolFailure::Failed(why) => (ToolStatus::Failed, format!("Failed: {why}")),
        ToolFailure::Cancelled => (ToolStatus::Cancelled, "Cancelled before it was done.".to_owned()),
    };
    ToolOutput { status, full_bytes: body.len() as u64, body }
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
fn stop(path: &Path, error: &io::Error) -> ToolFailure {
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

#[cfg(test)]
#[cfg(unix)]
mod acting_tests;
mod command;
mod files;
pub mod sandbox;
#[cfg(test)]
mod tests;
