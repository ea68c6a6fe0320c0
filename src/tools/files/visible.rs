//! What one call may show of the workspace: a person's rules, asked for each file by the name given and by its true name.
//! Not for: what the rules say (`domain::tool::visibility`), or ignore rules (`ignore_rules`).

use crate::domain::tool::visibility::{FileVisibility, READS};
use crate::tools::{ToolFailure, Workspace, shown};
use cap_std::fs::File;
use std::path::{Path, PathBuf};

/// The rules, as they hold for one tool.
#[derive(Clone, Copy)]
pub(crate) struct ToolVisibility<'a> {
    pub(crate) sight: &'a FileVisibility,
    pub(crate) tool: &'a str,
}

impl<'a> ToolVisibility<'a> {
    /// For a look of the person's own.
    pub(crate) fn of_person(sight: &'a FileVisibility) -> Self {
        Self { sight, tool: READS }
    }

    /// Whether a file, or a folder with all in it, may be shown.
    pub(crate) fn show(self, path: &Path) -> bool {
        self.sight.is_open() || self.sight.shows(self.tool, &name(path))
    }

    /// Refuses what may not be shown.
    fn check(self, path: &Path, named: &Path) -> Result<(), ToolFailure> {
        if self.show(path) {
            return Ok(());
        }
        let rule = self.sight.denies(self.tool, &name(path)).map(|rule| format!(": {}", rule.words()));
        Err(ToolFailure::Refused(format!("A rule prevents reading {}{}.", shown(named), rule.unwrap_or_default())))
    }
}

fn name(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

impl Workspace {
    /// Opens a regular file that may be shown. What was opened is asked about again by its true name, so that no link, also
    /// one that was put there just now, leads past a rule.
    pub(in crate::tools) fn open_seen(
        &self,
        path: &Path,
        eyes: ToolVisibility<'_>,
    ) -> Result<(File, u64), ToolFailure> {
        eyes.check(path, path)?;
        let opened = self.open_file(path)?;
        if !eyes.sight.is_open() {
            eyes.check(&self.true_name(&opened.0, path), path)?;
        }
        Ok(opened)
    }

    /// The name beneath the root of a file that is open.
    fn true_name(&self, file: &File, path: &Path) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            let of = |fd: i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).ok();
            if let (Some(root), Some(whole)) = (of(self.root.as_raw_fd()), of(file.as_raw_fd()))
                && let Ok(inner) = whole.strip_prefix(&root)
            {
                return inner.to_owned();
            }
        }
        let _ = file;
        self.root.canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }
}
