//! State of the approval screen: the pending tool call, its hunks with their selection, and the scroll position.
//! Not for: the effect of the call (`domain::tool::consent`) or sending the decision (`update`).

use crate::domain::base::{BranchId, Fields, Hash};
use crate::domain::tool::consent::chains;
use crate::domain::tool::indirect_commands::indirect;
use crate::domain::tool::mcp::PREFIX;
use crate::domain::tool::{PendingApproval, Rule, ToolEffect, Verdict};
use crate::tui::model::list::{Scroll, shift};
use crate::tui::model::typed_line::TypedLine;
use std::sync::Arc;

/// A hunk of a file and whether it is selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HunkRef {
    /// Index of the file in the change.
    pub file: usize,
    /// Index of the hunk in the file.
    pub hunk: usize,
    /// Whether the hunk will be approved.
    pub taken: bool,
}

/// The approval screen.
#[derive(Clone, Debug)]
pub struct ApprovalScreen {
    /// The branch whose turn waits.
    pub branch: BranchId,
    /// The call that needs approval.
    pub pending: Arc<PendingApproval>,
    /// All hunks, in the order of the change.
    pub hunks: Vec<HunkRef>,
    /// Index of the hunk under the cursor.
    pub cursor: usize,
    /// The scroll position.
    pub scroll: Scroll,
    /// Whether the end of the command or the change has been on the screen.
    pub ended: bool,
    /// Whether all sentences about the protection are shown instead of the first.
    pub details: bool,
    /// The first row of each change, as last drawn.
    pub starts: Vec<usize>,
    /// Why the last key had no effect.
    pub note: Option<String>,
    /// The message to the model that is being typed for denying the call; None if no message is being typed.
    pub reason: Option<TypedLine>,
    /// When the screen opened by itself; None if a key opened it.
    pub appeared_at: Option<u64>,
}

/// How long an approval of a screen that opened by itself is ignored, in milliseconds: the key press may have been
/// intended for the previous screen.
const MEANT: u64 = 600;

impl ApprovalScreen {
    /// Creates the screen with all hunks selected.
    pub fn new(branch: BranchId, pending: Arc<PendingApproval>) -> Self {
        let hunks = match &pending.effect {
            ToolEffect::Change(changes) => changes
                .iter()
                .enumerate()
                .flat_map(|(file, change)| (0..change.hunks.len()).map(move |hunk| HunkRef { file, hunk, taken: true }))
                .collect(),
            ToolEffect::Read { .. } | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => Vec::new(),
        };
        Self {
            branch,
            pending,
            hunks,
            cursor: 0,
            scroll: Scroll::default(),
            ended: false,
            details: false,
            starts: Vec::new(),
            note: None,
            reason: None,
            appeared_at: None,
        }
    }

    /// Records the measurements of the frame: number of rows and height of the view, the number of rows after which the
    /// effect is complete, and the first row of each hunk.
    pub fn drawn(&mut self, seen: (usize, usize), end: usize, starts: Vec<usize>) {
        (self.scroll.seen, self.starts) = (seen, starts);
        if !self.ended && self.scroll.top.min(self.scroll.last()) + seen.1 >= end {
            (self.ended, self.note) = (true, None);
        }
    }

    /// Whether the screen opened so recently that a key press may have been intended for the previous screen.
    pub fn fresh(&self, now: u64) -> bool {
        self.appeared_at.is_some_and(|came| now < came.saturating_add(MEANT))
    }

    /// The selection of each file's hunks.
    pub fn chosen(&self) -> Vec<Vec<bool>> {
        let files = match &self.pending.effect {
            ToolEffect::Change(changes) => changes.len(),
            ToolEffect::Read { .. } | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => 0,
        };
        let of = |file| self.hunks.iter().filter(|taken| taken.file == file).map(|taken| taken.taken).collect();
        (0..files).map(of).collect()
    }

    /// Whether there are hunks and none is selected.
    pub fn nothing(&self) -> bool {
        !self.hunks.is_empty() && self.hunks.iter().all(|taken| !taken.taken)
    }

    /// Selects or deselects the hunk under the cursor.
    pub fn toggle(&mut self) {
        if let Some(taken) = self.hunks.get_mut(self.cursor) {
            taken.taken = !taken.taken;
        }
    }

    /// Moves by hunks and scrolls to the hunk under the cursor; without hunks, scrolls by rows.
    pub fn step(&mut self, by: i64) {
        if self.hunks.is_empty() {
            return self.scroll.by(by);
        }
        self.cursor = shift(self.cursor, by, self.hunks.len() - 1);
        if let Some(start) = self.starts.get(self.cursor) {
            self.scroll.top = start.saturating_sub(1).min(self.scroll.last());
        }
    }

    /// Identifies a part of this call in the view's cache.
    pub fn key(&self, part: usize) -> Hash {
        Fields::new("asking").text(&self.pending.tool).text(&self.pending.args).number(part as u64).finish()
    }

    /// The rules that a person may make from this call: the exact target and, for a single command, a pattern with the
    /// same first words. A command line that a shell could use to start another program gets no pattern, since `*`
    /// never matches such a line.
    pub fn rules(&self) -> Vec<Rule> {
        let rule = |on: Option<String>| Rule { tool: self.pending.tool.clone(), on, verdict: Verdict::Allow };
        match &self.pending.effect {
            ToolEffect::Run(command) => {
                let mut rules = vec![rule(Some(command.line.clone()))];
                let words: Vec<&str> = command.line.split_whitespace().collect();
                if words.len() > 2
                    && !chains(&command.line)
                    && indirect(&command.line).is_some_and(|found| found.is_empty())
                {
                    rules.push(rule(Some(format!("{} *", words[..2].join(" ")))));
                }
                rules
            }
            ToolEffect::Change(changes) => {
                let mut rules: Vec<Rule> = match changes.as_slice() {
                    [one] => vec![rule(Some(one.path.clone()))],
                    _ => Vec::new(),
                };
                let folder = changes.first().and_then(|change| change.path.rsplit_once('/'));
                rules.extend(folder.map(|(folder, _)| rule(Some(format!("{folder}/*")))));
                rules.push(rule(None));
                rules
            }
            ToolEffect::Foreign { .. } => {
                // All tools of the server: the name up to and including the separator.
                let tool = &self.pending.tool;
                let end = tool.get(PREFIX.len()..).and_then(|rest| rest.find("__"));
                let all = end.map(|end| format!("{}*", &tool[..PREFIX.len() + end + 2]));
                let all = all.map(|tool| Rule { tool, on: None, verdict: Verdict::Allow });
                std::iter::once(rule(None)).chain(all).collect()
            }
            ToolEffect::Read { .. } => vec![rule(None)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::consent::{Command, FileChange, Hunk};

    fn ask(effect: ToolEffect) -> ApprovalScreen {
        let pending = PendingApproval { index: 0, tool: "run".into(), args: "{}".into(), effect, rule: None };
        ApprovalScreen::new(BranchId(uuid::Uuid::nil()), Arc::new(pending))
    }

    #[test]
    fn hunks_are_chosen_by_file() {
        let change = |path: &str, hunks: usize| FileChange {
            path: path.into(),
            before: None,
            after: None,
            hunks: (0..hunks).map(|at| Hunk { old: at..at, new: at..at + 1 }).collect(),
        };
        let mut ask = ask(ToolEffect::Change(vec![change("src/a.rs", 2), change("src/b.rs", 1)]));
        ask.step(1);
        ask.toggle();
        assert_eq!(ask.chosen(), [vec![true, false], vec![true]]);
        assert!(!ask.nothing());
        ask.hunks.iter_mut().for_each(|taken| taken.taken = false);
        assert!(ask.nothing());
        let on: Vec<Option<String>> = ask.rules().into_iter().map(|rule| rule.on).collect();
        assert_eq!(on, [Some("src/*".into()), None]);
    }

    #[test]
    fn command_patterns_keep_the_first_two_words() {
        let line = |line: &str| Command {
            line: line.into(),
            folder: String::new(),
            seconds: 1,
            protection: Vec::new(),
            mechanisms: None,
        };
        let on = |effect| ask(effect).rules().into_iter().filter_map(|rule| rule.on).collect::<Vec<_>>();
        assert_eq!(on(ToolEffect::Run(line("cargo test --lib x"))), ["cargo test --lib x", "cargo test *"]);
        assert_eq!(on(ToolEffect::Run(line("ls"))), ["ls"]);
        assert_eq!(on(ToolEffect::Run(line("git -c a=b log"))), ["git -c a=b log"]);
        assert_eq!(
            on(ToolEffect::Run(line("ls; sleep 3; echo hi"))),
            ["ls; sleep 3; echo hi"],
            "a pattern would not match it"
        );
    }
}
