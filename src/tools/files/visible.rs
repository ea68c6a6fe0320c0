//! Decides which files a call may show: applies a person's rules to the given path and to the canonical path.
//! Not for: the rules themselves (`domain::tool::visibility`), or ignore rules (`ignore_rules`).

use crate::domain::tool::FileVisibility;
use crate::domain::tool::visibility::READS;
use crate::tools::{ToolFailure, Workspace, path_text, shown};
use cap_std::fs::File;
use std::path::{Path, PathBuf};

/// The visibility rules for one tool.
#[derive(Clone, Copy)]
pub(crate) struct ToolVisibility<'a> {
    pub(crate) rules: &'a FileVisibility,
    pub(crate) tool: &'a str,
}

impl<'a> ToolVisibility<'a> {
    /// Returns the rules for a person's own request.
    pub(crate) fn of_person(rules: &'a FileVisibility) -> Self {
        Self { rules, tool: READS }
    }

    /// Whether a file, or a folder with its contents, may be shown.
    pub(crate) fn show(self, path: &Path) -> bool {
        self.rules.is_open() || self.rules.shows(self.tool, &path_text(path))
    }

    /// Fails if a path may not be shown. `named` is the path for the message.
    fn check(self, path: &Path, named: &Path) -> Result<(), ToolFailure> {
        if self.show(path) {
            return Ok(());
        }
        let rule = self.rules.denies(self.tool, &path_text(path)).map(|rule| format!(": {}", rule.to_text()));
        Err(ToolFailure::Refused(format!("A rule prevents reading {}{}.", shown(named), rule.unwrap_or_default())))
    }
}

impl Workspace {
    /// Opens a regular file that may be shown. The canonical path of the opened file is checked too, so that no link
    /// bypasses a rule, even if it was created a moment ago.
    pub(in crate::tools) fn open_visible(
        &self,
        path: &Path,
        visibility: ToolVisibility<'_>,
    ) -> Result<(File, u64), ToolFailure> {
        visibility.check(path, path)?;
        let opened = self.open_file(path)?;
        if !visibility.rules.is_open() {
            visibility.check(&self.canonical_path(&opened.0, path), path)?;
        }
        Ok(opened)
    }

    /// Returns the canonical path of an open file, relative to the root.
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
