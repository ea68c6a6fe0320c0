//! The settings file of a folder: its status and its changes. Also the files of a workspace that configure the program,
//! which no rule allows a tool to write.
//! Not for: reading the file or storing decisions about it (`config`), or MCP servers (`cards`).

use crate::domain::base::hash::Hash;
use serde::Serialize;

/// The status of a folder's settings file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingsFileStatus {
    /// The folder is not trusted, so the file is not read.
    Untrusted,
    /// The file cannot be used.
    Faulty,
    /// The file would change something, and its current text has not been approved yet.
    Waits,
    /// The file is in use.
    Used,
    /// A person declined the file's current text.
    Declined,
}

/// A setting that a file changes. Values are in TOML.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SettingChange {
    /// The setting's dotted name.
    pub key: String,
    /// The value without the change; `None` if not set.
    pub before: Option<String>,
    /// The value with the change; `None` if not set.
    pub after: Option<String>,
}

impl SettingChange {
    /// Returns the name and the difference, as lines marked with `-` and `+`.
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
    /// The path for display.
    pub path: String,
    #[serde(rename = "standing")]
    pub status: SettingsFileStatus,
    /// The digest of the content to approve; `None` if no approval is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Hash>,
    /// The settings that it sets, including settings that need no approval.
    pub keys: Vec<String>,
    /// The changes, relative to the previously approved text, or to the settings without the file if there is none.
    pub changes: Vec<SettingChange>,
    /// Whether another text of the file was approved before.
    pub approved_before: bool,
    /// Whether no decision is recorded because the folder was trusted by a version of the program that used such files
    /// without asking.
    pub trusted_unasked: bool,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FolderSettings {
    /// Returns the names of the changed settings, separated by commas.
    pub fn names(&self) -> String {
        self.changes.iter().map(|change| change.key.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns a notice about the file; `None` if there is nothing to report.
    pub fn notice(&self) -> Option<String> {
        let path = &self.path;
        match self.status {
            SettingsFileStatus::Untrusted => {
                Some(format!("{path} is not read: this folder is not trusted; /trust changes that."))
            }
            SettingsFileStatus::Faulty => Some(format!(
                "{path} is not used: {} The other settings remain in effect.",
                self.fault.as_deref().unwrap_or("it can't be read.")
            )),
            SettingsFileStatus::Waits => {
                let since = if self.approved_before { " since you approved it" } else { "" };
                let earlier = if self.trusted_unasked {
                    " Earlier versions of pleach used this file without asking, because the folder was trusted."
                } else {
                    ""
                };
                Some(format!(
                    "{path} changes {}{since}. It is not used until you approve it: /folder-settings shows it \
                        and asks for approval.{earlier}",
                    self.names()
                ))
            }
            SettingsFileStatus::Used if !self.keys.is_empty() => Some(format!("{path} sets {}.", self.keys.join(", "))),
            SettingsFileStatus::Used | SettingsFileStatus::Declined => None,
        }
    }

    /// Returns the status, in a few words.
    pub fn to_text(&self) -> String {
        match self.status {
            SettingsFileStatus::Untrusted => "not read: this folder is not trusted".into(),
            SettingsFileStatus::Faulty => format!("not used: {}", self.fault.as_deref().unwrap_or("it can't be read")),
            SettingsFileStatus::Waits => format!("needs your approval; it changes {}", self.names()),
            SettingsFileStatus::Used => format!("used; it sets {}", self.keys.join(", ")),
            SettingsFileStatus::Declined => "not used: you denied it".into(),
        }
    }
}

/// Folders that contain skills.
pub const SKILLS: [&str; 3] = [".claude/skills", ".agents/skills", ".pleach/skills"];

/// Returns the effect on the program of a file in a workspace, as the end of a sentence; `None` if the file does not
/// configure the program. A tool writes such a file only after a separate approval. The names count at any depth,
/// because the program may be started there.
pub fn config_effect(path: &str) -> Option<&'static str> {
    let path = path.replace('\\', "/").to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        ".pleach.toml" => Some("sets pleach's prompts, model, mode, and budget here, once you approve its text"),
        ".mcp.json" => Some("names programs that pleach starts with your permissions, once you approve its text"),
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
    fn files_that_configure_the_program_are_known_at_any_depth() {
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
            assert!(config_effect(path).is_some(), "{path}");
        }
        for path in ["pleach.toml", "src/agents.rs", "my.mcp.json", "skills/x.md", "a.claude/skills/x"] {
            assert_eq!(config_effect(path), None, "{path}");
        }
    }
}
