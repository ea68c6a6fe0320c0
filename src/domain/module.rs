//! Summaries of parts of a program: what is said of a folder or file, by whom, when, from which files, and whether these are
//! still as they were.
//! Not for: writing them (`code::module`, `engine`) or summaries of turns (`capsule`).

use super::capsule::{CapsuleSource, FileCover};
use serde::{Deserialize, Serialize};

/// A summary of a part of a program. Never changed: another version takes its place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModuleCard {
    /// The folder or file beneath the workspace, with `/`; `.` is the workspace.
    pub path: String,
    /// What is said of it.
    pub text: String,
    /// Who wrote it.
    pub source: CapsuleSource,
    /// The model, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Version of the method, or of the prompt, that made it.
    pub version: u32,
    /// In thousandths: of one made from names and comments, the share of the symbols' centrality that lies in the files which
    /// it names; of a model's or a person's, the share of the names in it that stand in the files.
    pub confidence: u32,
    /// Milliseconds since 1970.
    pub generated_at: i64,
    /// The commit that was checked out, where git knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files that it was made from, as they were.
    pub files: Vec<FileCover>,
}

impl ModuleCard {
    /// Who wrote it, in words.
    #[must_use]
    pub fn by(&self) -> String {
        match (self.source, &self.model) {
            (CapsuleSource::Extractive, _) => "pleach, from names and comments".into(),
            (CapsuleSource::Llm, Some(model)) => format!("the model {model}"),
            (CapsuleSource::Llm, None) => "a model".into(),
            (CapsuleSource::User, _) => "the user".into(),
        }
    }
}

impl ModuleCard {
    /// What its confidence says, in words.
    #[must_use]
    pub fn trust(&self) -> String {
        let percent = self.confidence / 10;
        match self.source {
            CapsuleSource::Extractive => format!("speaks of {percent} % of it"),
            CapsuleSource::Llm => format!("{percent} % of the names in it stand in the files"),
            CapsuleSource::User => "nobody checked it".into(),
        }
    }
}

/// How a summary stands to its files.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Staleness {
    /// Files that are no longer as they were, at most ten of them.
    pub changed: Vec<String>,
    /// How many those are.
    pub count: u32,
}

impl Staleness {
    /// `fresh`, or `stale: 2 of 61 files changed`.
    #[must_use]
    pub fn words(&self, of: usize) -> String {
        match self.count {
            0 => "fresh".into(),
            count => format!("stale: {count} of {of} files changed since"),
        }
    }
}

/// A version of a summary, as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ModuleVersion {
    /// It.
    #[serde(flatten)]
    pub card: ModuleCard,
    /// It is the one that counts.
    pub current: bool,
    /// For the one that counts: how it stands to its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Staleness>,
    /// Tokens of it as it is sent.
    pub tokens: u32,
}
