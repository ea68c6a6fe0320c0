//! Which files one call may show: a person's rules, checked for the given path and for the canonical one.
//! Not for: the rules themselves (`domain::tool::visibility`), or ignore rules (`ignore_rules`).

use crate::domain::tool::visibility::{FileVisibility, READS};
use crate::tools::{ToolFailure, Workspace, shown};
use cap_std::fs::File;
use std::path::{Path, PathBuf};

/// The rules as they apply to one tool.
#[derive(Clone, Copy)]
pub(crate) struct ToolVisibility<'a> {
    pub(crate) sight: &'a FileVisibility,
    pub(crate) tool: &'a str,
}

impl<'a> ToolVisibility<'a> {
    /// For a person's own request.
    pub(crate) fn of_person(sight: &'a FileVisibility) -> Self {
        Self { sight, tool: READS }
    }

    /// Whether a file, or a folder with its contents, may be shown.
    pub(crate) fn show(self, path: &Path) -> bool {
        self.sight.is_open() || self.sight.shows(self.tool, &name(path))
    }

    /// Refuses a path that may not be shown.
    fn check(self, path: &Path, named: &Path) -> Result<(), ToolFailure> {
        if self.show(path) {
            return Ok(());
        }
        let rule = self.sight.denies(self.tool, &name(path)).map(|rule| format!(": {}", rule.to_text()));
        Err(ToolFailure::Refused(format!("A rule prevents reading {}{}.", shown(named), rule.unwrap_or_default())))
    }
}

fn name(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

impl Workspace {
    /// Opens a regular file that may be shown. Checks the canonical path of the opened file again, so that no link,
    /// even one created a moment ago, bypasses a rule.
    pub(in crate::tools) fn open_visible(
        &self,
        path: &Path,
        visibility: ToolVisibility<'_>,
    ) -> Result<(File, u64), ToolFailure> {
        visibility.check(path, path)?;
        let opened = self.open_file(path)?;
        if !visibility.sight.is_open() {
            visibility.check(&self.canonical_path(&opened.0, path), path)?;
        }
        Ok(opened)
    }

    /// The canonical path of an open file, relative to the root.
    fn canonical_path(&self, file: &File, path: &Path) -> PathBuf {
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
