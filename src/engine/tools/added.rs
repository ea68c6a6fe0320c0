//! Tools that the engine itself adds to the workspace's tools.
//! Not for: the tools themselves (`code`, `skills`).

use crate::domain::base::Hash;
use crate::domain::tool::{FileVisibility, RunTools, ToolEffect, ToolObserver, ToolOutcome, ToolOutput, ToolSpec};
use std::sync::Arc;

/// A group of read-only tools.
pub(crate) trait LookupTools: Send + Sync {
    /// Returns the tools that are available now, in a fixed order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Returns the target that a call would read, empty if the call names nothing; `None` if the tool is not part of
    /// this group.
    fn target(&self, name: &str, args: &str) -> Option<String>;

    /// Runs one call.
    fn look(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput;
}

/// The workspace's tools, followed by a group of added ones.
pub(crate) struct WithAdded<T> {
    pub(crate) inner: Arc<dyn RunTools>,
    pub(crate) added: T,
}

impl<T: LookupTools> RunTools for WithAdded<T> {
    fn specs(&self) -> Vec<ToolSpec> {
        self.inner.specs().into_iter().chain(self.added.specs()).collect()
    }

    fn effect(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        match self.added.target(name, args) {
            Some(what) => Ok(ToolEffect::Read { what }),
            None => self.inner.effect(name, args),
        }
    }

    fn carry_out(
        &self,
        name: &str,
        args: &str,
        effect: &ToolEffect,
        hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> ToolOutcome {
        match self.added.target(name, args) {
            Some(_) => ToolOutcome::unchanged(self.added.look(name, args, &|| watch.cancelled())),
            None => self.inner.carry_out(name, args, effect, hunks, watch),
        }
    }

    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput {
        match self.added.target(name, args) {
            Some(_) => self.added.look(name, args, cancelled),
            None => self.inner.run(name, args, cancelled),
        }
    }

    fn over(&self, name: &str, args: &str, text: &str) -> ToolOutcome {
        self.inner.over(name, args, text)
    }

    fn keeps(&self) -> usize {
        self.inner.keeps()
    }

    fn files(&self, most: usize, visibility: &FileVisibility) -> (Vec<String>, bool) {
        self.inner.files(most, visibility)
    }

    fn text(&self, path: &str, most: u64, visibility: &FileVisibility) -> Result<String, String> {
        self.inner.text(path, most, visibility)
    }

    fn put_back(&self, path: &str, expected: Option<Hash>, text: Option<&str>) -> Result<(), String> {
        self.inner.put_back(path, expected, text)
    }
}
