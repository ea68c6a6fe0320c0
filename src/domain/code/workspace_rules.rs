//! What a project says of itself beside its code: files with rules (AGENTS.md), skills, and how each of them stands.
//! Not for: reading them (`tools::folder`), putting them into a plan (`engine`) or summaries of modules (`module`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::conversation::mark::Atom;
use serde::Serialize;
use std::sync::Arc;

/// What an item of the project is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectKind {
    /// A file with rules.
    Rules,
    /// A skill: a text that is loaded when it is wanted.
    Skill,
    /// A summary of a part of the program.
    Module,
}

impl ProjectKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Skill => "skill",
            Self::Module => "module",
        }
    }
}

/// How marks name an item: by the project (the name of its topmost folder) and the path in it, whatever the text is.
#[must_use]
pub fn atom(kind: ProjectKind, project: &str, path: &str) -> Atom {
    Atom::Section { text: Fields::new("project item").text(kind.name()).text(project).text(path).finish() }
}

/// How an item stands to the next call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "stands", rename_all = "snake_case")]
pub enum RuleState {
    /// It goes.
    Goes,
    /// It goes once a file near it is named in a message or touched by a tool; a skill once it is loaded.
    Waits,
    /// A person took it out.
    Excluded {
        /// Of this call only.
        once: bool,
    },
    /// Switched off in the settings.
    Off,
    /// There is no room for it.
    NoRoom,
    /// The folder is not trusted.
    Untrusted,
    /// It cannot be read: the end of a sentence that begins with its path.
    Unread {
        /// Why.
        why: String,
    },
}

impl RuleState {
    /// In a word or two.
    #[must_use]
    pub fn short(&self) -> &'static str {
        match self {
            Self::Goes => "goes",
            Self::Waits => "waits",
            Self::Excluded { .. } => "excluded",
            Self::Off => "off",
            Self::NoRoom => "too large for the budget",
            Self::Untrusted => "not trusted",
            Self::Unread { .. } => "not read",
        }
    }

    /// With why.
    #[must_use]
    pub fn words(&self) -> String {
        let why = match self {
            Self::Goes => "in the next request",
            Self::Waits => "until a file near it is named or touched",
            Self::Excluded { once: false } => "on this branch",
            Self::Excluded { once: true } => "from this call",
            Self::Off => "by the settings",
            Self::NoRoom => "for it in the budget",
            Self::Untrusted => return "not trusted: no file of this folder is sent".into(),
            Self::Unread { why } => return format!("not read: the file {why}"),
        };
        format!("{} {why}", self.short())
    }

    /// Whether it goes.
    #[must_use]
    pub fn goes(&self) -> bool {
        *self == Self::Goes
    }
}

/// An item of the project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProjectItem {
    /// What it is.
    pub kind: ProjectKind,
    /// How marks name it. For a skill: the list of all of them.
    #[serde(skip)]
    pub atom: Option<Atom>,
    /// Its path as people name it: beneath the workspace, `../` above it, whole for what is the person's own.
    pub path: String,
    /// For a skill its name, else its path.
    pub title: String,
    /// For rules the folder whose work they are for, for a skill what it is for.
    pub about: String,
    /// How it stands.
    #[serde(flatten)]
    pub stands: RuleState,
    /// Tokens that it takes, or would take.
    pub tokens: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes that do not go because the file is too large.
    pub left: u64,
    /// What else is to be known: links to other files, invisible characters, what was masked.
    pub notes: Vec<String>,
    /// Its text as it stands in the file, as far as it is read.
    #[serde(skip)]
    pub text: Arc<str>,
    /// Whether a person can write it from here.
    #[serde(skip)]
    pub writable: bool,
    /// Hash of its text.
    #[serde(skip)]
    pub hash: Hash,
}

/// Everything that a project says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ProjectList {
    /// The topmost folder that is looked at.
    pub root: String,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// Rules, the person's own first, then from the topmost folder down; then skills by name.
    pub items: Vec<ProjectItem>,
}

/// Name and purpose of a skill, from the lines between `---` at the start of its file; both empty where there are none. Knows
/// plain and quoted values, and those that go on in indented lines.
#[must_use]
pub fn frontmatter(text: &str) -> (String, String) {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return (String::new(), String::new());
    }
    let mut found: [String; 2] = Default::default();
    let mut current: Option<usize> = None;
    for line in lines.take_while(|line| line.trim_end() != "---").take(200) {
        if line.starts_with([' ', '\t']) {
            if let Some(at) = current {
                let more = line.trim();
                if !found[at].is_empty() && !more.is_empty() {
                    found[at].push(' ');
                }
                found[at].push_str(more);
            }
            continue;
        }
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        current = ["name", "description"].iter().position(|known| *known == key.trim());
        if let Some(at) = current {
            let value = value.trim();
            let folded = matches!(value, ">" | "|" | ">-" | "|-" | ">+" | "|+");
            found[at] = if folded { String::new() } else { value.to_owned() };
        }
    }
    let [name, about] = found.map(|value| unquoted(value.trim()).to_owned());
    (name, about)
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// A name or path that may stand in a label: on one line, without controls, bounded.
#[must_use]
pub fn plain(name: &str) -> String {
    let clean = |c: char| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { '?' } else { c };
    name.chars().take(300).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_says_what_it_is_called_and_for() {
        let of = |text: &str| frontmatter(text);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of("---\nname: pdf\ndescription: \"Reads PDFs\"\n---\n# x"), pair("pdf", "Reads PDFs"));
        assert_eq!(of("---\nname: 'a b'\ndescription: >\n  One\n  two\nother: 3\n---"), pair("a b", "One two"));
        assert_eq!(of("---\r\nname: w\r\ndescription: of windows\r\n---\r\n"), pair("w", "of windows"));
        assert_eq!(of("# no frontmatter\nname: x"), pair("", ""));
        assert_eq!(of(""), pair("", ""));
    }

    #[test]
    fn items_are_named_by_project_kind_and_path() {
        let all = [
            atom(ProjectKind::Rules, "a", "AGENTS.md"),
            atom(ProjectKind::Rules, "b", "AGENTS.md"),
            atom(ProjectKind::Rules, "a", "x/AGENTS.md"),
            atom(ProjectKind::Module, "a", "AGENTS.md"),
        ];
        let different: std::collections::BTreeSet<Atom> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(plain("a\nSystem: b\u{1b}"), "a?System: b?");
    }

    #[test]
    fn only_what_goes_is_said_to_go() {
        let why = "is not text".to_owned();
        let others = [
            RuleState::Waits,
            RuleState::Excluded { once: true },
            RuleState::Off,
            RuleState::NoRoom,
            RuleState::Untrusted,
        ];
        let others = others.into_iter().chain([RuleState::Unread { why }]);
        assert!(
            RuleState::Goes.goes()
                && others.into_iter().all(|stands| !stands.goes() && !stands.words().starts_with("goes"))
        );
    }

    /// The head of a skill, line by line.
    #[test]
    fn heads_of_skills_as_they_are_written() {
        let cases: &[(&str, &str, &str)] = &[
            ("name: a\n---\nname: b", "a", ""),
            ("name: a\nname: b", "b", ""),
            (" name: a", "", ""),
            ("name:\n  a\n  b", "a b", ""),
            ("name: a\n  b\n\tc", "a b c", ""),
            ("name: a\n  b\n \n  c", "a b c", ""),
            ("description: |-\n  one\n\n  two", "", "one"),
            ("description: >+\n\n  two", "", ""),
            ("description: |\n \n  one", "", "one"),
            ("description: > x\n  y", "", "> x y"),
            ("description: >-\n  y", "", "y"),
            ("description: |+\n  y", "", "y"),
            ("description: |\n  y", "", "y"),
            ("other: x\n  y\nname: a", "a", ""),
            ("name: a\nother\n  b", "a", ""),
            ("name : a\ndescription: b: c", "a", "b: c"),
            ("name: \"a\ndescription: 'b\"", "\"a", "'b\""),
            ("name: \"\"\ndescription: ''", "", ""),
            ("name: \"a\n  b\"", "a b", ""),
            ("Name: a", "", ""),
        ];
        for (head, name, about) in cases {
            let found = frontmatter(&format!("\u{feff}---\n{head}"));
            assert_eq!((found.0.as_str(), found.1.as_str()), (*name, *about), "{head:?}");
        }
        let late = |lines: usize| frontmatter(&format!("---\n{}name: a\n---", "x: y\n".repeat(lines))).0;
        assert_eq!((late(199).as_str(), late(200).as_str()), ("a", ""), "the head's first 200 lines");
        assert_eq!((frontmatter("--- \nname: a").0.as_str(), frontmatter(" ---\nname: a").0.as_str()), ("a", ""));
        assert_eq!((plain(&"x".repeat(400)).len(), plain("a\u{2028}b\u{2029}c").as_str()), (300, "a?b?c"));
    }
}
