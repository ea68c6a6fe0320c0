//! A folder's own settings file: how it stands, and what it would change. Also which files of a workspace steer the program,
//! so that no rule allows a tool to write them.
//! Not for: reading the file or keeping what was said of it (`config`), or servers of tools (`cards`).

use crate::domain::base::hash::Hash;
use serde::Serialize;

/// How a folder's settings file stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStanding {
    /// The folder is not trusted: the file is not read.
    Untrusted,
    /// The file cannot be used.
    Faulty,
    /// It would change something, and nobody has said yes to this text yet.
    Waits,
    /// It holds.
    Used,
    /// The person said no to this text.
    Declined,
}

/// A setting that a file changes, each value as TOML writes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Changed {
    /// Its name, dotted.
    pub key: String,
    /// What holds without the change; none where nothing is set.
    pub before: Option<String>,
    /// What would hold; none where nothing would be set.
    pub after: Option<String>,
}

impl Changed {
    /// The difference in lines, those that go marked with `-`, those that come with `+`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let marked = |sign: char, value: &Option<String>| -> Vec<String> {
            value.iter().flat_map(|text| text.split('\n')).map(|line| format!("{sign} {line}")).collect()
        };
        let mut lines = vec![self.key.clone()];
        lines.extend(marked('-', &self.before));
        lines.extend(marked('+', &self.after));
        lines
    }
}

/// A folder's settings file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FolderSettings {
    /// The file.
    pub path: String,
    /// How it stands.
    pub standing: FileStanding,
    /// The digest of what a person is asked about; none where nothing is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Hash>,
    /// The settings that it names, the ones that need no yes included.
    pub keys: Vec<String>,
    /// What it changes: against the text that was approved before, else against the settings without it.
    pub changes: Vec<Changed>,
    /// Another text of it was approved before.
    pub approved_before: bool,
    /// Nothing is recorded of the folder: it was trusted by a version that used such a file without asking.
    pub trusted_unasked: bool,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FolderSettings {
    /// The names of the settings that change, in a few words.
    #[must_use]
    pub fn names(&self) -> String {
        self.changes.iter().map(|change| change.key.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// A sentence about it where a person should know; none where there is nothing to say.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let path = &self.path;
        match self.standing {
            FileStanding::Untrusted => {
                Some(format!("{path} is not read: this folder is not trusted; /trust-folder changes that."))
            }
            FileStanding::Faulty => Some(format!(
                "{path} is not used: {} The other settings hold.",
                self.fault.as_deref().unwrap_or("it can't be read.")
            )),
            FileStanding::Waits => {
                let since = if self.approved_before { " since you approved it" } else { "" };
                let earlier = if self.trusted_unasked {
                    " Earlier versions of pleach used this file without asking, because the folder was trusted."
                } else {
                    ""
                };
                Some(format!(
                    "{path} changes {}{since}. It is not used until you approve it: /folder-settings shows it \
                        and asks.{earlier}",
                    self.names()
                ))
            }
            FileStanding::Used if !self.keys.is_empty() => Some(format!("{path} sets {}.", self.keys.join(", "))),
            FileStanding::Used | FileStanding::Declined => None,
        }
    }

    /// How it stands, in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.standing {
            FileStanding::Untrusted => "not read: this folder is not trusted".into(),
            FileStanding::Faulty => format!("not used: {}", self.fault.as_deref().unwrap_or("it can't be read")),
            FileStanding::Waits => format!("needs your approval; it changes {}", self.names()),
            FileStanding::Used => format!("used; it sets {}", self.keys.join(", ")),
            FileStanding::Declined => "not used: you denied it".into(),
        }
    }
}

/// Folders in which skills lie.
pub const SKILLS: [&str; 3] = [".claude/skills", ".agents/skills", ".pleach/skills"];

/// What a file of a workspace does to the program, where it steers it: such a file is written by a tool only after a question
/// about it alone. The names count at any depth, because the program may be started there.
#[must_use]
pub fn steers(path: &str) -> Option<&'static str> {
    let path = path.replace('\\', "/").to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        ".pleach.toml" => Some("sets prompts, model, mode and budget of pleach here, once you approve its text"),
        ".mcp.json" => Some("names programs that pleach starts with your rights, once you approve its text"),
        "agents.md" | "claude.md" => Some("is sent as instructions with every request in this folder"),
        _ => {
            let inside = |folder: &str| format!("/{path}").contains(&format!("/{folder}/"));
            SKILLS
                .iter()
                .any(|folder| inside(folder))
                .then_some("is part of a skill, which the model reads as instructions")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_steer_the_program_are_known_at_any_depth() {
        for path in [
            ".pleach.toml",
            "a/b/.pleach.toml",
            ".PLEACH.toml",
            ".mcp.json",
            "AGENTS.md",
            "docs/Claude.md",
            ".claude/skills/x/SKILL.md",
            "a/.pleach/skills/x/run.sh",
        ] {
            assert!(steers(path).is_some(), "{path}");
        }
        for path in ["pleach.toml", "src/agents.rs", "my.mcp.json", "skills/x.md", "a.claude/skills/x"] {
            assert_eq!(steers(path), None, "{path}");
        }
    }
}
