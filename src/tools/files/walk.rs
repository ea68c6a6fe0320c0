//! Walks folders of the workspace in a fixed order, by descriptor, without following links.
//! Not for: what is done with the entries.

use super::ignore_rules::Rules;
use super::visible::ToolVisibility;
use crate::tools::{ToolFailure, Workspace, stop};
use std::path::{Path, PathBuf};

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link; it is named, never followed.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// One entry on the way.
pub(crate) struct Entry {
    /// Beneath the root.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) kind: Kind,
}

/// Folders still to be read, and entries still to be handed out: an explicit stack, for trees of any depth.
pub(crate) struct Walk<'a> {
    space: &'a Workspace,
    eyes: ToolVisibility<'a>,
    /// The folder that it starts in, and the true name of that where a link led there.
    start: (PathBuf, Option<PathBuf>),
    stack: Vec<(Entry, usize, Rules)>,
    depth: usize,
    /// Entries that the person's rules keep back.
    pub(crate) withheld: usize,
    /// Folders that could not be read.
    pub(crate) unread: usize,
}

impl<'a> Walk<'a> {
    /// Starts inside `folder`, which must be readable, and goes `depth` levels down.
    pub(crate) fn new(
        space: &'a Workspace,
        folder: &Path,
        depth: usize,
        eyes: ToolVisibility<'a>,
    ) -> Result<Self, ToolFailure> {
        let whole = space.root.canonicalize(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok();
        let start = (folder.to_owned(), whole.filter(|_| !folder.as_os_str().is_empty()));
        let mut walk = Self { space, eyes, start, stack: Vec::new(), depth, withheld: 0, unread: 0 };
        let rules = Rules::down_to(space, folder);
        walk.read(folder, 1, &rules)?;
        Ok(walk)
    }

    /// The next entry; a folder comes before what is in it.
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

    /// Whether the rules let an entry be shown, by the name it is reached by and by its true one.
    fn may_show(&self, path: &Path) -> bool {
        let whole = self.start.1.as_ref().and_then(|whole| Some(whole.join(path.strip_prefix(&self.start.0).ok()?)));
        self.eyes.show(path) && whole.is_none_or(|whole| self.eyes.show(&whole))
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
            if rules.leave_out(&path, kind == Kind::Folder) {
                continue;
            }
            if self.may_show(&path) {
                found.push(Entry { path, kind });
            } else {
                self.withheld += 1;
            }
        }
        found.sort_unstable_by(|a, b| b.path.cmp(&a.path));
        self.stack.extend(found.into_iter().map(|entry| (entry, level, rules.clone())));
        Ok(())
    }
}
