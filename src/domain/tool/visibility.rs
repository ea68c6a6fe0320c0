//! The visibility of files under a person's rules: which files may be read and named. All code that shows a file's name
//! or content checks it here, for each file.
//! Not for: a whole call (`crate::domain::tool::consent::decide`), or resolving a file's real path (`tools`).

use super::consent::{Rule, ToolEffect, Verdict, decide, matches};
use std::sync::Arc;

/// The tool whose rules apply to reading a file's content, regardless of the tool that reads it.
pub const READS: &str = "read_file";

/// The rules about files for one call, or for one display to a person.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FileVisibility {
    /// The rules; empty if none hides anything.
    rules: Arc<[Rule]>,
}

impl FileVisibility {
    /// Creates the visibility under these rules, in their order. Ignores rules without a target that deny or ask,
    /// because those are about calls, not about files.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        let of_files = |rule: &Rule| rule.verdict == Verdict::Allow || rule.on.is_some();
        let rules: Vec<Rule> = rules.into_iter().filter(of_files).collect();
        let open = rules.iter().all(|rule| rule.verdict == Verdict::Allow);
        Self { rules: if open { Arc::default() } else { rules.into() } }
    }

    /// Creates the visibility for displays to the person, who need not be asked: only rules that deny reading apply.
    pub fn denying(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::new(rules.into_iter().filter(|rule| rule.verdict == Verdict::Deny && matches(&rule.tool, READS)))
    }

    /// Returns whether every file is visible.
    pub fn is_open(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether a tool may show a file, or a folder with its contents, without asking: both the rules about the
    /// tool and those about reading files allow it.
    pub fn shows(&self, tool: &str, path: &str) -> bool {
        self.rules.is_empty() || {
            let effect = ToolEffect::Read { what: path.to_owned() };
            let allows = |tool: &str| decide(self.rules.iter(), tool, &effect).0 == Verdict::Allow;
            allows(READS) && (tool == READS || allows(tool))
        }
    }

    /// Returns the rule that denies a file to a tool, or that denies all reading of it; `None` if there is none.
    pub fn denies(&self, tool: &str, path: &str) -> Option<&Rule> {
        let effect = ToolEffect::Read { what: path.to_owned() };
        let by = |tool: &str| match decide(self.rules.iter(), tool, &effect) {
            (Verdict::Deny, rule) => rule,
            _ => None,
        };
        by(tool).or_else(|| by(READS))
    }

    /// Returns the visibility after a person approved an effect: without the rules that asked about it.
    #[must_use]
    pub fn answered(&self, tool: &str, effect: &ToolEffect) -> Self {
        let asked = |rule: &&Rule| rule.verdict == Verdict::Ask && rule.applies_to(tool, effect);
        Self::new(self.rules.iter().filter(|rule| !asked(rule)).cloned())
    }

    /// Returns the patterns of the rules that deny reading some files, as written.
    pub fn denied(&self) -> Vec<&str> {
        let denies = |rule: &&Rule| rule.verdict == Verdict::Deny && matches(&rule.tool, READS);
        self.rules.iter().filter(denies).filter_map(|rule| rule.on.as_deref()).collect()
    }
}

/// Returns whether the pattern of a rule that asks or denies covers a file: by the path of the file or of a folder that
/// contains it; a pattern without `/` also covers a file by the name of the file or folder at any depth. Case is
/// ignored, because some file systems ignore it.
pub fn covers(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.to_lowercase(), path.to_lowercase());
    let mut pattern = pattern.as_str();
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    let anywhere = pattern.strip_prefix("**/");
    let anchored = pattern.starts_with('/') || pattern.trim_end_matches('/').contains('/');
    let pattern = anywhere.unwrap_or(pattern).trim_start_matches('/');
    let pattern = if pattern.len() > 1 { pattern.trim_end_matches('/') } else { pattern };
    let steps: Vec<&str> = path.split('/').filter(|step| !matches!(*step, "" | ".")).collect();
    let by_path = |first: usize| (first..=steps.len()).any(|end| matches(pattern, &steps[first..end].join("/")));
    let loose = anywhere.is_some() || !anchored;
    by_path(0) || (loose && (1..steps.len()).any(by_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, on: Option<&str>, verdict: Verdict) -> Rule {
        Rule { tool: tool.into(), on: on.map(str::to_owned), verdict }
    }

    #[test]
    fn a_rule_covers_a_file_by_path_folder_or_name() {
        for (pattern, path, covered) in [
            (".env*", ".env", true),
            (".env*", ".env.local", true),
            (".env*", "./.env", true),
            (".env*", "a/b/.env", true),
            (".env*", ".ENV", true),
            (".Env", ".env", true),
            (".env*", ".environment/x/y", true),
            (".env*", "a.env", false),
            (".env*", "", false),
            ("./.env", ".env", true),
            ("/.env", ".env", true),
            ("/.env", "a/.env", false),
            ("**/.env", ".env", true),
            ("**/.env", "a/b/.env", true),
            ("secrets", "secrets/a/b", true),
            ("secrets/", "secrets/a/b", true),
            ("secrets/", "x/secrets/a", true),
            ("secrets/*", "secrets/a/b", true),
            ("secrets/*", "x/secrets/a", false),
            ("secrets/*", "secrets", false),
            ("a/b", "a/b/c", true),
            ("a/b", "a/bc", false),
            ("*.pem", "keys/x.pem", true),
            ("*.pem", "x.pem.txt", false),
            ("*", "", true),
            ("*", "a/b", true),
        ] {
            assert_eq!(covers(pattern, path), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn all_tools_get_the_same_answer_for_a_file() {
        let visibility = FileVisibility::new([
            rule("*", Some("*.md"), Verdict::Allow),
            rule("*", Some("notes"), Verdict::Ask),
            rule("read_file", Some("keys/*"), Verdict::Deny),
            rule("search", Some("*.log"), Verdict::Deny),
            rule("*", Some(".env*"), Verdict::Deny),
        ]);
        for (tool, path, shown, denied) in [
            ("search", ".env", false, true),
            ("list_dir", "sub/.env.md", false, true),
            ("read_file", "a.log", true, false),
            ("search", "a.log", false, true),
            ("search", "keys/a", false, true),
            ("expand", "keys/a", false, true),
            ("search", "notes/a", false, false),
            ("search", "notes/a.md", true, false),
            ("search", "src/a.rs", true, false),
        ] {
            assert_eq!(
                (visibility.shows(tool, path), visibility.denies(tool, path).is_some()),
                (shown, denied),
                "{tool} {path}"
            );
        }
        let effect = ToolEffect::Read { what: "notes".into() };
        assert!(visibility.answered("search", &effect).shows("search", "notes/a"), "the person said yes to it");
        assert!(!visibility.answered("search", &effect).shows("search", ".env"));
        assert_eq!(visibility.denied(), ["keys/*", ".env*"]);
        assert!(FileVisibility::new([rule("*", None, Verdict::Allow), rule(READS, None, Verdict::Deny)]).is_open());
    }
}
