//! A project's texts for models: rule files (AGENTS.md) and skills, and their state in the next call.
//! Not for: reading them (`tools::folder`), adding them to a plan (`engine`), or module summaries (`summary::module`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::mark::Atom;
use serde::Serialize;
use std::sync::Arc;

named_enum! {
    /// The kind of a project item.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
    pub enum ProjectKind {
        /// A rule file.
        Rules = "rules",
        /// A skill: a text that is loaded on demand.
        Skill = "skill",
        /// A module summary.
        Module = "module",
    }
}

/// Returns the atom that identifies an item in marks: a hash of its kind, the project (the name of its topmost folder),
/// and the path in it, but not of its text.
pub fn atom(kind: ProjectKind, project: &str, path: &str) -> Atom {
    Atom::Section { text: Fields::new("project item").text(kind.name()).text(project).text(path).finish() }
}

/// The state of an item in the next call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "stands", rename_all = "snake_case")]
pub enum RuleState {
    /// The item is included.
    Goes,
    /// The item will be included once a message names, or a tool touches, a file near it. A skill waits until the model
    /// loads it.
    Waits,
    /// A person excluded it.
    Excluded {
        /// Whether it is excluded from this call only.
        once: bool,
    },
    /// The item is switched off in the settings.
    Off,
    /// The budget has no room for the item.
    NoRoom,
    /// The folder is not trusted.
    Untrusted,
    /// The file cannot be read.
    Unread {
        /// The reason, as the end of a sentence that begins with the file.
        why: String,
    },
}

impl RuleState {
    /// Returns the state in a word or two.
    pub fn short(&self) -> &'static str {
        match self {
            Self::Goes => "included",
            Self::Waits => "waiting",
            Self::Excluded { .. } => "excluded",
            Self::Off => "off",
            Self::NoRoom => "too large for the budget",
            Self::Untrusted => "not trusted",
            Self::Unread { .. } => "not read",
        }
    }

    /// Returns the state with its reason, as text.
    pub fn to_text(&self) -> String {
        let why = match self {
            Self::Goes => "in the next request",
            Self::Waits => "until a file near it is named or touched",
            Self::Excluded { once: false } => "on this branch",
            Self::Excluded { once: true } => "from this call",
            Self::Off => "by the settings",
            Self::NoRoom => return self.short().into(),
            Self::Untrusted => return "not trusted: no file in this folder is sent".into(),
            Self::Unread { why } => return format!("not read: the file {why}"),
        };
        format!("{} {why}", self.short())
    }

    /// Returns whether it is included.
    pub fn is_sent(&self) -> bool {
        *self == Self::Goes
    }
}

/// An item of the project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProjectItem {
    pub kind: ProjectKind,
    /// The atom that identifies it in marks; for a skill, the atom of the list of all skills.
    #[serde(skip)]
    pub atom: Option<Atom>,
    /// The path for display: relative to the workspace (with `../` for folders above it), absolute for the person's own
    /// files.
    pub path: String,
    /// A skill's name, otherwise its path.
    pub title: String,
    /// For rules: the folder that they apply to. For a skill: its purpose.
    pub about: String,
    #[serde(flatten)]
    pub state: RuleState,
    /// Tokens that it takes, or would take if it were included.
    pub tokens: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes left out because the file is too large.
    pub left: u64,
    /// Other notices: links to other files, invisible characters, masked secrets.
    pub notes: Vec<String>,
    /// The text, up to the maximum that is read.
    #[serde(skip)]
    pub text: Arc<str>,
    /// Whether a person can edit it in the program.
    #[serde(skip)]
    pub writable: bool,
    /// Hash of its text.
    #[serde(skip)]
    pub hash: Hash,
}

/// All items of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ProjectList {
    /// The topmost folder that is searched.
    pub root: String,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// Rules (the person's own first, then the project's from the topmost folder down), then skills by name.
    pub items: Vec<ProjectItem>,
}

/// Returns the name and the purpose of a skill from the frontmatter: the lines between `---` at the start of its file.
/// A missing value is empty. Supports plain and quoted values, and values continued on indented lines.
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
            let is_block_value = matches!(value, ">" | "|" | ">-" | "|-" | ">+" | "|+");
            found[at] = if is_block_value { String::new() } else { value.to_owned() };
        }
    }
    let [name, about] = found.map(|value| unquoted(value.trim()).to_owned());
    (name, about)
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// Returns a name or path for use in a label: on one line, with `?` in place of control characters, limited to 300
/// characters.
pub fn plain(name: &str) -> String {
    let clean = |c: char| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { '?' } else { c };
    name.chars().take(300).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_headers_give_name_and_purpose() {
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
    fn only_included_items_are_reported_as_included() {
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
            RuleState::Goes.is_sent()
                && others.into_iter().all(|state| !state.is_sent() && !state.to_text().starts_with("included"))
        );
    }

    /// Each case: the frontmatter of a skill, its name, and its purpose.
    #[test]
    fn skill_headers_in_all_forms() {
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
