//! Walks the folders of the workspace in a fixed order, through descriptors and without following links.
//! Not for: using the entries.

use super::ignore_rules::Rules;
use super::visible::ToolVisibility;
use crate::tools::{ToolFailure, Workspace, stop};
use std::path::{Path, PathBuf};

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, which is listed but never followed.
    Link,
    /// A pipe, a socket, or a device.
    Other,
}

/// An entry of a folder.
pub(crate) struct Entry {
    /// The path relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// A walk with an explicit stack, so that trees can have any depth.
pub(crate) struct Walk<'a> {
    space: &'a Workspace,
    visibility: ToolVisibility<'a>,
    /// The folder where the walk starts, and its canonical path unless it is the root.
    start: (PathBuf, Option<PathBuf>),
    stack: Vec<(Entry, usize, Rules)>,
    depth: usize,
    /// The number of entries that rules hide.
    pub(crate) hidden: usize,
    /// The number of folders that could not be read.
    pub(crate) unread: usize,
}

impl<'a> Walk<'a> {
    /// Starts a walk inside `folder`, which must be readable. Descends at most `depth` levels.
    pub(crate) fn new(
        space: &'a Workspace,
        folder: &Path,
        depth: usize,
        visibility: ToolVisibility<'a>,
    ) -> Result<Self, ToolFailure> {
        let whole = space.root.canonicalize(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok();
        let start = (folder.to_owned(), whole.filter(|_| !folder.as_os_str().is_empty()));
        let mut walk = Self { space, visibility, start, stack: Vec::new(), depth, hidden: 0, unread: 0 };
        let rules = Rules::down_to(space, folder);
        walk.read(folder, 1, &rules)?;
        Ok(walk)
    }

    /// Returns the next entry. A folder precedes its contents.
    pub(crate) fn next(&mut self) -> Option<Entry> {
        let (entry, level, rules) = self.stack.pop()?;
        if entry.kind == Kind::Folder && level < self.depth {
            let rules = rules.enter(self.space, &entry.path);
            if self.read(&entry.path, level + 1, &rules).is_err() {
                self.unread += 1;
            }
        }
        Some(entry)
    }

    /// Whether the rules allow showing an entry, by its path and by its canonical path.
    fn may_show(&self, path: &Path) -> bool {
        let whole = self.start.1.as_ref().and_then(|whole| Some(whole.join(path.strip_prefix(&self.start.0).ok()?)));
        self.visibility.show(path) && whole.is_none_or(|whole| self.visibility.show(&whole))
    }

    fn read(&mut self, folder: &Path, level: usize, rules: &Rules) -> Result<(), ToolFailure> {
        let at = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = self.space.root.read_dir(at).map_err(|error| stop(folder, &error))?;
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| stop(folder, &error))?;
            let path = folder.join(entry.file_name());
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Kind::Folder,
                Ok(kind) if kind.is_file() => Kind::File,
                Ok(kind) if kind.is_symlink() => Kind::Link,
                Ok(_) => Kind::Other,
                Err(_) => continue,
            };
            if rules.is_ignored(&path, kind == Kind::Folder) {
                continue;
            }
            if self.may_show(&path) {
                found.push(Entry { path, kind });
            } else {
                self.hidden += 1;
            }
        }
        found.sort_unstable_by(|a, b| b.path.cmp(&a.path));
        self.stack.extend(found.into_iter().map(|entry| (entry, level, rules.clone())));
        Ok(())
    }
}
