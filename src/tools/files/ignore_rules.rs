//! Ignore rules (`.gitignore`, `.ignore`) of the folders on a path, read through the workspace's descriptor.
//! Not for: global git settings. Only the workspace's own rules apply.

use crate::tools::Workspace;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// The maximum size of a rules file that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Parses the rules of a folder. Skips invalid patterns, as git does.
pub(crate) fn parse_rules(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// The rules of a folder, which have precedence over the rules of its parent folders.
#[derive(Clone, Default)]
pub(crate) struct Rules(Option<Rc<Level>>);

struct Level {
    own: Vec<Gitignore>,
    above: Rules,
}

impl Rules {
    /// Returns the rules inside `folder`, given the rules of its parent folder.
    pub(crate) fn enter(&self, space: &Workspace, folder: &Path) -> Self {
        let own: Vec<Gitignore> = [".ignore", ".gitignore"]
            .into_iter()
            .filter_map(|name| space.open_file(&folder.join(name)).ok())
            .filter_map(|(file, _)| {
                let mut text = Vec::new();
                file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
                parse_rules(folder, &String::from_utf8_lossy(&text))
            })
            .collect();
        if own.is_empty() { self.clone() } else { Self(Some(Rc::new(Level { own, above: self.clone() }))) }
    }

    /// Returns the rules inside `folder`, collected from the root down.
    pub(crate) fn down_to(space: &Workspace, folder: &Path) -> Self {
        let mut rules = Self::default().enter(space, Path::new(""));
        let mut path = std::path::PathBuf::new();
        for name in folder {
            path.push(name);
            rules = rules.enter(space, &path);
        }
        rules
    }

    /// Whether a path is ignored. The nearest matching rule decides.
    pub(crate) fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        if path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let mut level = self.0.as_ref();
        while let Some(here) = level {
            for rules in &here.own {
                let found = rules.matched(path, is_dir);
                if !found.is_none() {
                    return found.is_ignore();
                }
            }
            level = here.above.0.as_ref();
        }
        false
    }
}
