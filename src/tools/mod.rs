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
mod workspace;

pub use acting::Acting;
pub use workspace::{ToolError, Workspace};

use crate::domain::base::hash::Hash;
use crate::domain::tool::consent::{FileChange, ToolEffect};
use crate::domain::tool::trace::{
    Done, RunTools, ShortenedResult, ToolObserver, ToolOutput, ToolSpec, ToolStatus, in_lines,
};
use crate::domain::tool::visibility::FileVisibility;
use acting::ProtectedPlaces;
use args::Args;
use files::visible::ToolVisibility;
use workspace::{ToolFailure, ToolText, failed, shown, stop};

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

#[cfg(test)]
#[cfg(unix)]
mod acting_tests;
mod command;
mod files;
pub mod sandbox;
#[cfg(test)]
mod tests;
