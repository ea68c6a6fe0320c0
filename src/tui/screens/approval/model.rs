//! A tool call that needs approval: the part of it that was shown, and the selected changes.
//! Not for: the effect of the call (`domain::tool::consent`), or approving it (`update`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::BranchId;
use crate::domain::tool::consent::{PendingApproval, Rule, ToolEffect, Verdict, chains};
use crate::domain::tool::indirect_commands::indirect;
use crate::domain::tool::mcp::PREFIX;
use std::sync::Arc;

/// Context lines around a change.
pub const AROUND: usize = 3;

/// One change of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HunkRef {
    /// The file, by its index.
    pub file: usize,
    /// The change, by its index.
    pub hunk: usize,
    /// Whether it is selected for approval.
    pub taken: bool,
}

/// The tool call on the screen.
#[derive(Clone, Debug)]
pub struct ApprovalScreen {
    /// The branch on which it waits.
    pub branch: BranchId,
    /// The call.
    pub asking: Arc<PendingApproval>,
    /// All changes, in order.
    pub hunks: Vec<HunkRef>,
    /// The change with the cursor.
    pub cursor: usize,
    /// Scrolled rows.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
    /// Whether its end was on the screen.
    pub ended: bool,
    /// The row at which each change started when last drawn.
    pub starts: Vec<usize>,
    /// A note about the last key if it had no effect.
    pub note: Option<String>,
    /// When the screen opened automatically; `None` if a key opened it.
    pub came: Option<u64>,
}

/// For this time, an approval on a screen that opened automatically is ignored: the key may have been meant for the
/// previous screen.
const MEANT: u64 = 600;

impl ApprovalScreen {
    /// A screen on which all changes are selected.
    #[must_use]
    pub fn new(branch: BranchId, asking: Arc<PendingApproval>) -> Self {
        let hunks = match &asking.effect {
            ToolEffect::Change(changes) => changes
                .iter()
                .enumerate()
                .flat_map(|(file, change)| (0..change.hunks.len()).map(move |hunk| HunkRef { file, hunk, taken: true }))
                .collect(),
            ToolEffect::Look { .. } | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => Vec::new(),
        };
        Self {
            branch,
            asking,
            hunks,
            cursor: 0,
            scroll: 0,
            seen: (0, 0),
            ended: false,
            starts: Vec::new(),
            note: None,
            came: None,
        }
    }

    /// Records a drawn frame: total and visible rows, and the row at which each change starts.
    pub fn drawn(&mut self, seen: (usize, usize), starts: Vec<usize>) {
        (self.seen, self.starts) = (seen, starts);
        if !self.ended && self.scroll + seen.1 >= seen.0 {
            (self.ended, self.note) = (true, None);
        }
    }

    /// Whether an approval may have been meant for the previous screen.
    #[must_use]
    pub fn fresh(&self, now: u64) -> bool {
        self.came.is_some_and(|came| now < came.saturating_add(MEANT))
    }

    /// The selected changes, by file.
    #[must_use]
    pub fn chosen(&self) -> Vec<Vec<bool>> {
        let files = match &self.asking.effect {
            ToolEffect::Change(changes) => changes.len(),
            ToolEffect::Look { .. } | ToolEffect::Run(_) | ToolEffect::Foreign { .. } => 0,
        };
        let of = |file| self.hunks.iter().filter(|taken| taken.file == file).map(|taken| taken.taken).collect();
        (0..files).map(of).collect()
    }

    /// Whether there are changes and none is selected.
    #[must_use]
    pub fn nothing(&self) -> bool {
        !self.hunks.is_empty() && self.hunks.iter().all(|taken| !taken.taken)
    }

    /// Selects or deselects the change with the cursor.
    pub fn toggle(&mut self) {
        if let Some(taken) = self.hunks.get_mut(self.cursor) {
            taken.taken = !taken.taken;
        }
    }

    /// Moves to the next change and makes it visible; without changes, scrolls by rows.
    pub fn step(&mut self, by: i64) {
        if self.hunks.is_empty() {
            return self.shift(by);
        }
        let last = i64::try_from(self.hunks.len() - 1).unwrap_or(0);
        let here = i64::try_from(self.cursor).unwrap_or(0);
        self.cursor = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
        if let Some(start) = self.starts.get(self.cursor) {
            self.scroll = start.saturating_sub(1).min(self.seen.0.saturating_sub(self.seen.1));
        }
    }

    /// Scrolls by rows.
    pub fn shift(&mut self, by: i64) {
        let last = i64::try_from(self.seen.0.saturating_sub(self.seen.1)).unwrap_or(0);
        let here = i64::try_from(self.scroll).unwrap_or(0);
        self.scroll = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
    }

    /// A key for the view's cache that distinguishes the texts of calls.
    #[must_use]
    pub fn key(&self, part: usize) -> Hash {
        Fields::new("asking").text(&self.asking.tool).text(&self.asking.args).number(part as u64).finish()
    }

    /// The rules that can be made from the call: an exact rule and, for a single command, a pattern. A line in which a
    /// shell or the program could start another program has no pattern: a star never matches it.
    #[must_use]
    pub fn rules(&self) -> Vec<Rule> {
        let rule = |on: Option<String>| Rule { tool: self.asking.tool.clone(), on, verdict: Verdict::Allow };
        match &self.asking.effect {
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
                // All of the server's: the name up to where its own begins.
                let tool = &self.asking.tool;
                let end = tool.get(PREFIX.len()..).and_then(|rest| rest.find("__"));
                let all = end.map(|end| format!("{}*", &tool[..PREFIX.len() + end + 2]));
                let all = all.map(|tool| Rule { tool, on: None, verdict: Verdict::Allow });
                std::iter::once(rule(None)).chain(all).collect()
            }
            ToolEffect::Look { .. } => vec![rule(None)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::consent::{Command, FileChange, Hunk};

    fn ask(effect: ToolEffect) -> ApprovalScreen {
        let asking = PendingApproval { index: 0, tool: "run".into(), args: "{}".into(), effect, rule: None };
        ApprovalScreen::new(BranchId(uuid::Uuid::nil()), Arc::new(asking))
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
    fn the_like_of_a_command_begins_with_its_first_two_words() {
        let line =
            |line: &str| Command { line: line.into(), folder: String::new(), seconds: 1, protection: Vec::new() };
        let on = |effect| ask(effect).rules().into_iter().filter_map(|rule| rule.on).collect::<Vec<_>>();
        assert_eq!(on(ToolEffect::Run(line("cargo test --lib x"))), ["cargo test --lib x", "cargo test *"]);
        assert_eq!(on(ToolEffect::Run(line("ls"))), ["ls"]);
        assert_eq!(on(ToolEffect::Run(line("git -c a=b log"))), ["git -c a=b log"]);
        assert_eq!(
            on(ToolEffect::Run(line("ls; sleep 3; echo hi"))),
            ["ls; sleep 3; echo hi"],
            "a star would not speak for it"
        );
    }
}
