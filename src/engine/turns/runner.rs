//! Combines the program's own tools and the servers' tools into one runner for a branch, without tools that are
//! switched off. Results of servers that exceed the limit are stored in full, like the output of commands.
//! Not for: the list of servers (`tools::servers`), the protocol (`mcp`), or consent to a call (`consent`).

use crate::domain::tool::mcp::{self, PREFIX};
use crate::domain::tool::trace::in_lines;
use crate::domain::tool::{
    OfferedTool, RunTools, ShortenedResult, ToolEffect, ToolObserver, ToolOutcome, ToolOutput, ToolServers, ToolStatus,
};
use crate::engine::tools::selection::OWN;
use std::sync::Arc;

/// Runs the program's own tools and the servers' tools.
pub(crate) struct Runner {
    pub(crate) own: Arc<dyn RunTools>,
    pub(crate) foreign: Arc<dyn ToolServers>,
    pub(crate) offered: Arc<Vec<OfferedTool>>,
    pub(crate) off: Vec<String>,
    /// The maximum size of a result that the model reads, in bytes.
    pub(crate) limit: usize,
    /// The maximum size of a longer result that is stored, in bytes.
    pub(crate) keep: usize,
}

impl Runner {
    fn offered(&self, name: &str) -> Option<&OfferedTool> {
        self.offered.iter().find(|tool| tool.spec.name == name)
    }

    fn is_off(&self, name: &str) -> bool {
        self.off.iter().any(|key| key == OWN || key == name)
    }

    /// Returns the tools that can read a stored result, in words; `None` if they are switched off or if only the
    /// displayed part is stored.
    fn readers(&self) -> Option<(&'static str, &'static str)> {
        match (self.is_off("read_file"), self.is_off("search")) {
            _ if self.keep <= self.limit => None,
            (false, false) => Some(("read_file (start_line, lines) and search take", "read_file or search")),
            (false, true) => Some(("read_file (start_line, lines) takes", "read_file")),
            (true, false) => Some(("search takes", "search")),
            (true, true) => None,
        }
    }

    /// Calls a server's tool. If the result is too long, the model reads its beginning and its end, and the rest is
    /// stored.
    fn call(&self, server: &str, tool: &str, args: &str, watch: &dyn ToolObserver) -> ToolOutcome {
        let Some(((readers, short), path)) = self.readers().zip(watch.full_result_path()) else {
            return whole(self.foreign.call(server, tool, args, self.limit, watch));
        };
        let output = self.foreign.call(server, tool, args, self.keep, watch);
        let Some((first, last)) = mcp::ends(&output.body, self.limit) else { return whole(output) };
        let parts = if output.full_bytes > output.body.len() as u64 { " except its middle" } else { "" };
        let line = in_lines(first).matches('\n').count() + 1;
        let gone = output.full_bytes.saturating_sub((first.len() + last.len()) as u64);
        let first = first.strip_suffix('\n').unwrap_or(first);
        let body = format!(
            "{first}\n[… {gone} of {} bytes are not shown; {readers} {path:?} as path, where it continues at line \
                {line}: all of it is kept{parts} …]\n{last}",
            output.full_bytes
        );
        let back = format!("{short} with path {path}, from line {line} on");
        let cut = Some(ShortenedResult { back, full: Some(output.body) });
        ToolOutcome {
            cut,
            ..ToolOutcome::unchanged(ToolOutput { status: output.status, body, full_bytes: output.full_bytes })
        }
    }

    fn refused(name: &str) -> ToolOutput {
        ToolOutput::whole(ToolStatus::Refused, format!("Refused: the user disabled {name}."))
    }

    /// Like [`RunTools::effect`], but without the tools that are switched off.
    pub(crate) fn effect(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        if let Some(tool) = self.offered(name) {
            if mcp::is_off(&self.off, &tool.server, &tool.tool) {
                return Err(Self::refused(name));
            }
            return Ok(tool.effect());
        }
        if name.starts_with(PREFIX) {
            let body = "Failed: the tool is no longer available, because its server ended or no longer offers it.";
            return Err(ToolOutput::whole(ToolStatus::Failed, body));
        }
        if self.is_off(name) {
            return Err(Self::refused(name));
        }
        self.own.effect(name, args)
    }

    pub(crate) fn carry_out(
        &self,
        name: &str,
        args: &str,
        effect: &ToolEffect,
        hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> ToolOutcome {
        match effect {
            ToolEffect::Foreign { server, tool, .. } => self.call(server, tool, args, watch),
            _ => self.own.carry_out(name, args, effect, hunks, watch),
        }
    }

    pub(crate) fn over(&self, name: &str, args: &str, text: &str) -> ToolOutcome {
        if self.is_off(name) { ToolOutcome::unchanged(Self::refused(name)) } else { self.own.over(name, args, text) }
    }
}

/// Returns the outcome of a result that is stored only as far as the model reads it.
fn whole(output: ToolOutput) -> ToolOutcome {
    let back = (output.full_bytes > output.body.len() as u64).then(|| "ask the tool for less".to_owned());
    ToolOutcome { cut: back.map(|back| ShortenedResult { back, full: None }), ..ToolOutcome::unchanged(output) }
}
