//! Tools for the model, confined to the workspace folder: read a file, list a folder, search; and, if enabled, change
//! files and run commands.
//! Not for: deciding whether tools are offered or a call is allowed (trust, rules, consent), or keeping traces
//! (`engine`).
//!
//! Only the root is opened by its path. Everything beneath it is opened through the root's descriptor, and the kernel
//! refuses paths that lead out of it, so a link that is swapped in at any time cannot lead out. Files are written only
//! through folders that are reached without links. A command runs in a child process of this program that first
//! confines itself ([`sandbox`]).

mod args;
mod command;
#[cfg(test)]
#[cfg(unix)]
mod effect_tests;
mod effects;
mod files;
pub mod folder;
pub mod locked_folder;
pub mod sandbox;
mod specs;
#[cfg(test)]
mod tests;
mod workspace;

pub use effects::EffectOptions;
pub use workspace::{ToolError, Workspace};

use crate::domain::base::Hash;
use crate::domain::tool::trace::in_lines;
use crate::domain::tool::{
    FileChange, FileVisibility, RunTools, ShortenedResult, ToolEffect, ToolObserver, ToolOutcome, ToolOutput, ToolSpec,
    ToolStatus,
};
use args::Args;
use effects::ProtectedPlaces;
use files::visible::ToolVisibility;
use workspace::{ToolFailure, ToolText, failed, path_text, shown, stop, unless_cancelled};

impl RunTools for Workspace {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = specs::reading();
        if self.effects.is_some() {
            specs.extend(specs::effects(self));
        }
        specs
    }

    fn effect(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        self.resolve_effect(name, args).map_err(failed)
    }

    fn carry_out(
        &self,
        name: &str,
        args: &str,
        effect: &ToolEffect,
        hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> ToolOutcome {
        match effect {
            _ if watch.cancelled() => ToolOutcome::unchanged(failed(ToolFailure::Cancelled)),
            ToolEffect::Change(changes) if self.effects.is_some() => files::change::carry_out(self, changes, hunks),
            #[cfg(unix)]
            ToolEffect::Run(line) if self.effects.is_some() => command::run::carry_out(self, line, watch),
            ToolEffect::Read { .. } => self.run_reader(name, args, &watch.file_visibility(), &|| watch.cancelled()),
            ToolEffect::Change(_) | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => {
                ToolOutcome::unchanged(failed(self.unknown(name)))
            }
        }
    }

    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput {
        self.run_reader(name, args, &FileVisibility::default(), cancelled).output
    }

    fn over(&self, name: &str, args: &str, text: &str) -> ToolOutcome {
        let text = in_lines(text);
        let result = match name {
            "read_file" => Args::parse(args).and_then(|args| files::read::read_stored(self.limit, &args, &text)),
            "search" => Args::parse(args).and_then(|args| files::search::search_stored(self, &args, &text)),
            other => Err(ToolFailure::Failed(format!("{other} can't read stored results."))),
        };
        to_outcome(result)
    }

    fn keeps(&self) -> usize {
        self.effects.as_ref().map_or(0, |effects| effects.options.keep)
    }

    fn files(&self, most: usize, visibility: &FileVisibility) -> (Vec<String>, bool) {
        files::attach::files(self, most, ToolVisibility::of_person(visibility))
    }

    fn text(&self, path: &str, most: u64, visibility: &FileVisibility) -> Result<String, String> {
        files::attach::text(self, path, most, ToolVisibility::of_person(visibility)).map_err(ToolFailure::reason)
    }

    fn put_back(&self, path: &str, expected: Option<Hash>, text: Option<&str>) -> Result<(), String> {
        if self.effects.is_none() {
            return Err(format!("{path} can't be changed: these tools are read-only."));
        }
        files::change::put_back(self, path, expected, text).map_err(ToolFailure::reason)
    }
}

impl Workspace {
    /// Runs a call that only reads, under the rules about which files may be shown.
    fn run_reader(
        &self,
        name: &str,
        args: &str,
        visibility: &FileVisibility,
        cancelled: &dyn Fn() -> bool,
    ) -> ToolOutcome {
        let visibility = ToolVisibility { rules: visibility, tool: name };
        to_outcome(match name {
            _ if cancelled() => Err(ToolFailure::Cancelled),
            "read_file" => Args::parse(args).and_then(|args| files::read::run(self, &args, visibility, cancelled)),
            "list_dir" => Args::parse(args).and_then(|args| files::list::run(self, &args, visibility, cancelled)),
            "search" => Args::parse(args).and_then(|args| files::search::run(self, &args, visibility, cancelled)),
            "edit_file" | "write_file" | "run" if self.effects.is_some() => {
                Err(ToolFailure::Refused(format!("{name} makes changes; it runs only after approval.")))
            }
            other => Err(self.unknown(other)),
        })
    }

    fn resolve_effect(&self, name: &str, args: &str) -> Result<ToolEffect, ToolFailure> {
        match name {
            "read_file" | "list_dir" | "search" => {
                let path = Args::parse(args)?.path()?;
                // Resolve links first, so that no rule can be bypassed by another name.
                let path = self.root.canonicalize(&path).unwrap_or(path);
                Ok(ToolEffect::Read { what: path_text(&path) })
            }
            "edit_file" if self.effects.is_some() => {
                Ok(ToolEffect::Change(vec![files::edit::edit(self, &Args::parse(args)?)?]))
            }
            "write_file" if self.effects.is_some() => {
                Ok(ToolEffect::Change(vec![files::edit::write(self, &Args::parse(args)?)?]))
            }
            #[cfg(unix)]
            "run" if self.effects.is_some() => Ok(ToolEffect::Run(command::run::prepare(self, &Args::parse(args)?)?)),
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

    /// Returns the places that are never written.
    fn protected_places(&self) -> ProtectedPlaces {
        ProtectedPlaces::of(self.effects.as_ref().map(|effects| effects.options.hidden.as_slice()).unwrap_or_default())
    }
}

fn to_outcome(result: Result<ToolText, ToolFailure>) -> ToolOutcome {
    match result {
        Ok(result) => {
            let full_bytes = result.full_bytes.max(result.body.len() as u64);
            let output = ToolOutput { status: ToolStatus::Ok, body: result.body, full_bytes };
            ToolOutcome {
                cut: result.back.map(|back| ShortenedResult { back, full: None }),
                ..ToolOutcome::unchanged(output)
            }
        }
        Err(stop) => ToolOutcome::unchanged(failed(stop)),
    }
}

/// Compares two texts as a change of a file. `None` means a missing file.
pub fn compared(path: &str, before: Option<std::sync::Arc<str>>, after: Option<&str>) -> FileChange {
    let change = files::diff::change(path, before, after.unwrap_or_default());
    FileChange { after: after.and(change.after), ..change }
}
