//! The effect of a tool call, determined before the call runs; the rules about calls; and the person's approval.
//! Not for: determining or carrying out the effect (`tools`), or asking (`engine`).

use super::folder_settings::config_effect;
use super::indirect_commands::spells;
use super::mcp::PREFIX;
use super::visibility::covers;
use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// The effect of a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolEffect {
    /// The call reads something and changes nothing.
    Read {
        /// The target as rules name it: a path relative to the workspace, or empty.
        what: String,
    },
    /// The call changes files.
    Change(Vec<FileChange>),
    /// The call runs a command.
    Run(Command),
    /// The call goes to a tool of an external server; its effect is unknown.
    Foreign {
        /// The server's name in the settings.
        server: String,
        tool: String,
        /// Whether the server says that the tool only reads.
        looks: bool,
    },
}

impl ToolEffect {
    /// Returns the targets as rules name them: paths, a command line, or the tool of a server.
    pub fn targets(&self) -> Vec<&str> {
        match self {
            Self::Read { what } => vec![what],
            Self::Change(changes) => changes.iter().map(|change| change.path.as_str()).collect(),
            Self::Run(command) => vec![&command.line],
            Self::Foreign { tool, .. } => vec![tool],
        }
    }

    /// Returns the first changed file that configures the program, with its effect on the program; `None` if there is
    /// none.
    pub fn config_change(&self) -> Option<(&str, &'static str)> {
        let Self::Change(changes) = self else { return None };
        changes.iter().find_map(|change| Some((change.path.as_str(), config_effect(&change.path)?)))
    }
}

/// The index of a rerun, which is in no answer.
pub const BESIDE: usize = usize::MAX;

/// The beginning of the result of a call that a person denied, as the model reads it.
pub const DENIED_BY_PERSON: &str = "[refused] The person denied this call. Nothing was done.";

/// The beginning of the result of a call that was canceled, as the model reads it.
pub const CANCELED: &str = "[cancelled]";

/// A command to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The whole line, as passed to the shell.
    pub line: String,
    /// The working folder relative to the workspace; empty for its root.
    pub folder: String,
    /// Timeout in seconds.
    pub seconds: u32,
    /// The confinement: first a summary in one sentence, then a sentence for each kind of protection, such as
    /// `network: none`.
    pub protection: Vec<String>,
    /// The mechanisms of the system that enforce it, in one sentence; a detail that approvals on the screen omit.
    pub mechanisms: Option<String>,
}

impl Command {
    /// Returns all sentences about the confinement, the mechanisms last.
    pub fn confinement(&self) -> impl Iterator<Item = &String> {
        self.protection.iter().chain(&self.mechanisms)
    }
}

/// A file before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// Path relative to the workspace, with `/`.
    pub path: String,
    /// The current text; `None` if the file does not exist.
    pub before: Option<Arc<str>>,
    /// The new text; `None` if the file is deleted.
    pub after: Option<Arc<str>>,
    /// The differences, in order.
    pub hunks: Vec<Hunk>,
}

/// A range of lines where a file differs. Lines are numbered from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// The range of lines in the current text.
    pub old: Range<usize>,
    /// The range of lines in the new text.
    pub new: Range<usize>,
}

impl FileChange {
    /// Returns the hash of the current text; `None` if the file does not exist.
    pub fn hash(&self) -> Option<Hash> {
        self.before.as_ref().map(|text| Hash::of(text.as_bytes()))
    }

    /// Returns the file's text with only the chosen hunks applied (`true`: chosen). Hunks beyond the end of the list
    /// are chosen.
    pub fn with(&self, taken: &[bool]) -> String {
        let before: Vec<&str> = self.before.as_deref().unwrap_or_default().split_inclusive('\n').collect();
        let after: Vec<&str> = self.after.as_deref().unwrap_or_default().split_inclusive('\n').collect();
        let mut text = String::new();
        let mut at = 0;
        for (place, hunk) in self.hunks.iter().enumerate() {
            text.extend(between(&before, at..hunk.old.start));
            let take = taken.get(place).copied().unwrap_or(true);
            text.extend(if take { between(&after, hunk.new.clone()) } else { between(&before, hunk.old.clone()) });
            at = hunk.old.end;
        }
        text.extend(between(&before, at..before.len()));
        text
    }

    /// Returns the numbers of added and of removed lines.
    pub fn size(&self) -> (usize, usize) {
        self.hunks.iter().fold((0, 0), |(more, less), hunk| (more + hunk.new.len(), less + hunk.old.len()))
    }

    /// Returns the change as a unified diff with `around` lines of context.
    pub fn unified(&self, around: usize) -> String {
        let (before, after) = self.lines();
        let name = |there: bool| if there { self.path.as_str() } else { "/dev/null" };
        let mut diff = format!("--- {}\n+++ {}\n", name(self.before.is_some()), name(self.after.is_some()));
        for (at, hunk) in self.hunks.iter().enumerate() {
            let shown = self.shown(at, around, before.len());
            let (lead, tail) = (hunk.old.start - shown.start, shown.end.saturating_sub(hunk.old.end));
            let counts = (hunk.old.len() + lead + tail, hunk.new.len() + lead + tail);
            let new_start = hunk.new.start - lead + 1;
            let _ = writeln!(diff, "@@ -{},{} +{new_start},{} @@", shown.start + 1, counts.0, counts.1);
            write_hunk(&mut diff, hunk, shown, &before, &after);
        }
        diff
    }

    /// Returns the lines of one hunk of [`unified`](Self::unified), without its header; empty if there is no such hunk.
    pub fn hunk_lines(&self, at: usize, around: usize) -> String {
        let (before, after) = self.lines();
        let mut lines = String::new();
        if let Some(hunk) = self.hunks.get(at) {
            write_hunk(&mut lines, hunk, self.shown(at, around, before.len()), &before, &after);
        }
        lines
    }

    /// Returns the lines of the current text and of the new text.
    fn lines(&self) -> (Vec<&str>, Vec<&str>) {
        let [before, after] =
            [&self.before, &self.after].map(|text| text.as_deref().unwrap_or_default().lines().collect());
        (before, after)
    }

    /// Returns the lines of the current text that a diff shows with a hunk: its own and at most `around` lines of
    /// context above and below. The context has no line of another hunk, and none that the hunk above shows.
    fn shown(&self, at: usize, around: usize, lines: usize) -> Range<usize> {
        let end = |at: usize| {
            let next = self.hunks.get(at + 1).map_or(lines, |next| next.old.start);
            (self.hunks[at].old.end + around).min(next)
        };
        let above = at.checked_sub(1).map_or(0, end);
        self.hunks[at].old.start.saturating_sub(around).max(above)..end(at)
    }
}

/// Appends the lines of a hunk and of its context, each with its sign.
fn write_hunk(diff: &mut String, hunk: &Hunk, shown: Range<usize>, before: &[&str], after: &[&str]) {
    let context =
        [(' ', shown.start..hunk.old.start), ('-', hunk.old.clone())].map(|(sign, range)| (sign, before, range));
    let new = [('+', after, hunk.new.clone()), (' ', before, hunk.old.end..shown.end)];
    for (sign, lines, range) in context.into_iter().chain(new) {
        for line in between(lines, range) {
            let _ = writeln!(diff, "{sign}{line}");
        }
    }
}

/// Returns a range of lines; none if it is out of bounds.
fn between<'a>(lines: &[&'a str], range: Range<usize>) -> impl Iterator<Item = &'a str> {
    lines.get(range).unwrap_or_default().iter().copied()
}

/// The verdict of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Allowed without asking.
    Allow,
    /// A person must be asked.
    Ask,
    /// Denied without asking.
    Deny,
}

/// Where a rule applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// The rule applies in one session.
    Session,
    /// The rule applies in one folder, in every session.
    Folder,
    /// The rule applies everywhere; it is from the settings.
    Config,
}

/// The names of the program's own tools.
pub const PROGRAM_TOOLS: [&str; 9] = [
    "read_file",
    "list_dir",
    "search",
    "edit_file",
    "write_file",
    "run",
    "request_code_context",
    "expand",
    "load_skill",
];

/// Returns whether a rule with this tool pattern can match a call: a call of one of the program's own tools, or of a
/// tool of a server, whose names are known only while the server runs.
pub fn names_a_tool(pattern: &str) -> bool {
    let start = pattern.split('*').next().unwrap_or_default();
    let can_be_foreign = start.starts_with(PREFIX) || (start.len() < pattern.len() && PREFIX.starts_with(start));
    can_be_foreign || PROGRAM_TOOLS.iter().any(|tool| matches(pattern, tool))
}

/// A rule about tool calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The tool's name; `*` matches any run of characters.
    pub tool: String,
    /// The target: a path or a command line, in which `*` matches any run of characters. `None` matches any target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    pub verdict: Verdict,
}

impl Rule {
    /// Returns the rule as text, such as `deny * ".env*"`.
    pub fn to_text(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask about",
            Verdict::Deny => "deny",
        };
        let on = self.on.as_ref().map_or_else(String::new, |on| format!(" {on:?}"));
        format!("{verdict} {}{on}", self.tool)
    }

    /// Returns whether the rule applies to a call with this effect. A rule that allows must match all targets of the
    /// call. A rule that asks or denies applies if it matches any of them; if they are files, also a folder that
    /// contains one (see [`covers`]).
    pub fn applies_to(&self, tool: &str, effect: &ToolEffect) -> bool {
        let targets = effect.targets();
        let all = self.verdict == Verdict::Allow;
        let files = !all && matches!(effect, ToolEffect::Read { .. } | ToolEffect::Change(_));
        let applies = |pattern: &String, target: &str| matches(pattern, target) || (files && covers(pattern, target));
        let on = |target: &&str| self.on.as_ref().is_none_or(|pattern| applies(pattern, target));
        matches(&self.tool, tool)
            && if targets.is_empty() {
                self.on.is_none()
            } else if all {
                targets.iter().all(on)
            } else {
                targets.iter().any(on)
            }
    }
}

/// Decides about a call, and returns the rule that decided. Matching rules take precedence in this order: rules that
/// deny, rules that allow, rules that ask. Without a matching rule, reading is allowed and anything else must be asked.
///
/// A command line with which a shell could start another program (`;`, `|`, `&`, a new line, `$(`, a backquote, `>`, or
/// `<`) is never allowed by a pattern with a star, because the star would match the other program too. The same applies
/// to a line whose program would run another one (`git -c core.sshCommand=…`), unless the pattern contains the words
/// that do so (see [`spells`]). A change to a file that configures the program is never allowed by a rule.
#[allow(clippy::needless_pass_by_value, reason = "an iterator, which is cloned for each verdict")]
pub fn decide<'a>(
    rules: impl Iterator<Item = &'a Rule> + Clone,
    tool: &str,
    effect: &ToolEffect,
) -> (Verdict, Option<&'a Rule>) {
    let changes_config = effect.config_change().is_some();
    let safe = |rule: &&Rule| match effect {
        _ if rule.verdict != Verdict::Allow => true,
        ToolEffect::Run(command) => admits(rule.on.as_deref(), &command.line),
        _ => !changes_config,
    };
    for verdict in [Verdict::Deny, Verdict::Allow, Verdict::Ask] {
        let applies = |rule: &&Rule| rule.verdict == verdict && rule.applies_to(tool, effect) && safe(rule);
        if let Some(rule) = rules.clone().find(applies) {
            return (verdict, Some(rule));
        }
    }
    (if matches!(effect, ToolEffect::Read { .. }) { Verdict::Allow } else { Verdict::Ask }, None)
}

/// Returns whether a matching pattern of a rule may allow a command line.
fn admits(pattern: Option<&str>, line: &str) -> bool {
    match pattern {
        Some(pattern) if !pattern.contains('*') => true,
        Some(pattern) if pattern != "*" => !chains(line) && spells(pattern, line),
        _ => !chains(line),
    }
}

/// Returns whether a shell could run more than one program for a line, or redirect input or output.
pub fn chains(line: &str) -> bool {
    line.contains([';', '|', '&', '\n', '\r', '`', '<', '>']) || line.contains("$(")
}

/// Returns whether a text matches a pattern, in which `*` matches any run of characters, even an empty one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            let Some(at) = rest.find(middle) else { return false };
            rest = &rest[at + middle.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last: &str| rest.ends_with(last))
}

/// A person's answer to a request for approval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Consent {
    /// Approved. For changes of files, only the chosen hunks (`true`: chosen). Hunks beyond the lists are chosen.
    Yes {
        /// The choices by file, in the order of the effect.
        hunks: Vec<Vec<bool>>,
    },
    /// Denied; the model reads the reason.
    No {
        /// A short reason, if given.
        why: Option<String>,
    },
    /// Denied, because there was nobody to ask.
    Unasked,
}

/// A tool call that waits for approval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingApproval {
    /// Index of the call in the answer.
    pub index: usize,
    pub tool: String,
    /// The arguments, verbatim.
    pub args: String,
    pub effect: ToolEffect,
    /// The rule that asks; `None` if no rule matches.
    pub rule: Option<Rule>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(tool: &str, on: Option<&str>, verdict: Verdict) -> Rule {
        Rule { tool: tool.into(), on: on.map(str::to_owned), verdict }
    }

    fn run(line: &str) -> ToolEffect {
        ToolEffect::Run(Command {
            line: line.into(),
            folder: String::new(),
            seconds: 60,
            protection: Vec::new(),
            mechanisms: None,
        })
    }

    fn verdict(rules: &[Rule], tool: &str, effect: &ToolEffect) -> Verdict {
        decide(rules.iter(), tool, effect).0
    }

    #[test]
    fn deny_beats_allow_and_a_star_matches_no_second_command() {
        let rules = [
            rule("run", Some("cargo test*"), Verdict::Allow),
            rule("run", Some("*--release*"), Verdict::Deny),
            rule("edit_file", Some("src/*"), Verdict::Allow),
        ];
        assert_eq!(verdict(&rules, "run", &run("cargo test --lib")), Verdict::Allow);
        assert_eq!(verdict(&rules, "run", &run("cargo test --release")), Verdict::Deny);
        assert_eq!(verdict(&rules, "run", &run("cargo build")), Verdict::Ask);
        let git = [rule("run", Some("git *"), Verdict::Allow), rule("run", Some("git -C sub *"), Verdict::Allow)];
        for (line, wanted) in [
            ("git status", Verdict::Allow),
            ("git -C sub status", Verdict::Allow),
            ("git -C other status", Verdict::Ask),
            ("git -c core.sshCommand=x fetch", Verdict::Ask),
            ("git --exec-path=x status", Verdict::Ask),
            ("git fetch --upload-pack=x .", Verdict::Ask),
            ("git status; rm -rf x", Verdict::Ask),
            ("git log $(rm x)", Verdict::Ask),
        ] {
            assert_eq!(verdict(&git, "run", &run(line)), wanted, "{line}");
        }
        assert_eq!(verdict(&[rule("run", None, Verdict::Allow)], "run", &run("sh -c x")), Verdict::Allow, "anything");
        for tail in ["; rm -rf ~", " && curl x", " | sh", "\nrm x", " $(rm x)", " `rm x`", " > /etc/passwd", " & rm x"]
        {
            assert_eq!(verdict(&rules, "run", &run(&format!("cargo test{tail}"))), Verdict::Ask, "{tail:?}");
        }
        let change = |path: &str| FileChange { path: path.into(), before: None, after: None, hunks: Vec::new() };
        assert_eq!(verdict(&rules, "edit_file", &ToolEffect::Change(vec![change("src/a.rs")])), Verdict::Allow);
        let both = ToolEffect::Change(vec![change("src/a.rs"), change("build.rs")]);
        assert_eq!(verdict(&rules, "edit_file", &both), Verdict::Ask, "one of them is not allowed");
        let steering = ToolEffect::Change(vec![change("a/.pleach.toml")]);
        for on in [None, Some("*"), Some("a/.pleach.toml")] {
            assert_eq!(verdict(&[rule("*", on, Verdict::Allow)], "edit_file", &steering), Verdict::Ask, "{on:?}");
        }
        assert_eq!(verdict(&[rule("*", None, Verdict::Deny)], "edit_file", &steering), Verdict::Deny);
        assert_eq!(verdict(&[], "read_file", &ToolEffect::Read { what: "a".into() }), Verdict::Allow);
        let foreign = ToolEffect::Foreign { server: "s".into(), tool: "t".into(), looks: true };
        assert_eq!(verdict(&[], "s/t", &foreign), Verdict::Ask, "what a server says of itself allows nothing");
    }

    #[test]
    fn a_rule_names_a_tool_of_the_program_or_of_a_server() {
        for known in PROGRAM_TOOLS.into_iter().chain(["*", "*_file", "mcp__a__*", "mcp__a__t", "mc*", "m*sum"]) {
            assert!(names_a_tool(known), "{known}");
        }
        for unknown in ["", "read_fil", "Run", "mcp", "mcp_", "a/t", "x*", "run_*"] {
            assert!(!names_a_tool(unknown), "{unknown}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("a*", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a-b-b-c", true),
            ("abc", "abcd", false),
            ("*.rs", "src/a.rs", true),
            ("ab*ba", "aba", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    /// Returns a change whose only hunk replaces the whole text.
    fn whole(before: &str, after: &str) -> FileChange {
        let count = |text: &str| text.split_inclusive('\n').count();
        FileChange {
            path: "f".into(),
            before: Some(before.into()),
            after: Some(after.into()),
            hunks: vec![Hunk { old: 0..count(before), new: 0..count(after) }],
        }
    }

    #[test]
    fn hunks_are_chosen_one_by_one() {
        let change = FileChange {
            path: "f".into(),
            before: Some("a\nb\nc\nd\n".into()),
            after: Some("A\nb\nc\nD\ne\n".into()),
            hunks: vec![Hunk { old: 0..1, new: 0..1 }, Hunk { old: 3..4, new: 3..5 }],
        };
        assert_eq!(change.with(&[]), "A\nb\nc\nD\ne\n");
        assert_eq!(change.with(&[false, true]), "a\nb\nc\nD\ne\n");
        assert_eq!(change.with(&[true, false]), "A\nb\nc\nd\n");
        assert_eq!(change.with(&[false, false]), "a\nb\nc\nd\n");
        assert_eq!(change.size(), (3, 2));
        let diff = change.unified(1);
        assert!(diff.contains("@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -3,2 +3,3 @@\n c\n-d\n+D\n+e\n"), "{diff}");
    }

    #[test]
    fn hunks_that_are_near_share_no_line() {
        let change = FileChange {
            path: "f".into(),
            before: Some("a\nb\nc\nd\n".into()),
            after: Some("c\nD\n".into()),
            hunks: vec![Hunk { old: 0..2, new: 0..0 }, Hunk { old: 3..4, new: 1..2 }],
        };
        assert_eq!(change.with(&[]), "c\nD\n");
        assert_eq!(change.unified(3), "--- f\n+++ f\n@@ -1,3 +1,1 @@\n-a\n-b\n c\n@@ -4,1 +2,1 @@\n-d\n+D\n");
        let hunks: Vec<String> = (0..3).map(|at| change.hunk_lines(at, 3)).collect();
        assert_eq!(hunks, ["-a\n-b\n c\n", "-d\n+D\n", ""]);
    }

    proptest! {
        #[test]
        fn all_hunks_or_none(before in "[ab\n]{0,12}", after in "[ab\n]{0,12}") {
            let change = whole(&before, &after);
            prop_assert_eq!(change.with(&[true]), after);
            prop_assert_eq!(change.with(&[false]), before);
        }
    }
}
