//! Module summaries: texts about a folder or file, with author, time, source files, and whether these files have
//! changed.
//! Not for: writing them (`code::find::module_summary`, `engine`) or summaries of turns (`accepted`).

use super::accepted::{FileCover, SummarySource};
use serde::{Deserialize, Serialize};

/// A module summary. Immutable: a new version replaces it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModuleCard {
    /// The folder or file relative to the workspace, with `/`; `.` is the workspace.
    pub path: String,
    pub text: String,
    /// Who wrote it.
    pub source: SummarySource,
    /// The model, if one wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Version of the method or prompt.
    pub version: u32,
    /// The confidence in thousandths. For a text made from names and comments: the share of the files' symbols,
    /// weighted by centrality, that the text names. For a text by a model or a person: the share of the names in the
    /// text that occur in the files.
    pub confidence: u32,
    /// Milliseconds since 1970.
    pub generated_at: i64,
    /// The checked-out commit, if git knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The source files with their hashes at that time.
    pub files: Vec<FileCover>,
}

impl ModuleCard {
    /// Returns the author, as text.
    pub fn by(&self) -> String {
        match (self.source, &self.model) {
            (SummarySource::Extractive, _) => "pleach, from names and comments".into(),
            (SummarySource::Llm, Some(model)) => format!("the model {model}"),
            (SummarySource::Llm, None) => "a model".into(),
            (SummarySource::User, _) => "the user".into(),
        }
    }

    /// Returns the meaning of the confidence, as text.
    pub fn trust(&self) -> String {
        let percent = self.confidence / 10;
        match self.source {
            SummarySource::Extractive => format!("covers {percent}% of it"),
            SummarySource::Llm => format!("{percent}% of its names occur in the files"),
            SummarySource::User => "not checked".into(),
        }
    }

    /// Returns the folder relative to the workspace, empty for the workspace itself; `None` if the summary is about one
    /// file.
    pub fn folder(&self) -> Option<&str> {
        let is_file = self.files.len() == 1 && self.files[0].path == self.path;
        (!is_file).then_some(if self.path == "." { "" } else { &self.path })
    }
}

/// The staleness of a module summary.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Staleness {
    /// Changed or deleted files, at most ten.
    pub changed: Vec<String>,
    /// Number of changed or deleted files.
    pub count: u32,
    /// New files in the folder, at most ten.
    pub new: Vec<String>,
    /// Number of new files.
    pub new_count: u32,
}

impl Staleness {
    /// Maximum number of names stored of each kind.
    const MAX_STORED: usize = 10;
    /// Maximum number of names displayed of each kind.
    const MAX_DISPLAYED: usize = 3;

    /// Returns whether no file is changed or new.
    pub fn is_fresh(&self) -> bool {
        self.count == 0 && self.new_count == 0
    }

    /// Records a changed file.
    pub fn add_changed(&mut self, path: &str) {
        self.count += 1;
        if self.changed.len() < Self::MAX_STORED {
            self.changed.push(path.to_owned());
        }
    }

    /// Records a new file.
    pub fn add_new(&mut self, path: &str) {
        self.new_count += 1;
        if self.new.len() < Self::MAX_STORED {
            self.new.push(path.to_owned());
        }
    }

    /// Returns the staleness as text, such as `fresh` or `stale: 2 of 61 files changed, 1 new file since`. `of` is the
    /// number of source files.
    pub fn to_text(&self, of: usize) -> String {
        let files = if of == 1 { "file" } else { "files" };
        let changed = format!("{} of {of} {files} changed", self.count);
        let new = format!("{} new {}", self.new_count, if self.new_count == 1 { "file" } else { "files" });
        match (self.count, self.new_count) {
            (0, 0) => "fresh".into(),
            (_, 0) => format!("stale: {changed} since"),
            (0, _) => format!("stale: {new} since"),
            (..) => format!("stale: {changed}, {new} since"),
        }
    }

    /// Returns the names as text, such as `changed: a.rs, b.rs and 4 more; new: c.rs`; empty if nothing has changed.
    pub fn names(&self) -> String {
        let listed = |what: &str, names: &[String], count: u32| {
            let displayed = names.iter().take(Self::MAX_DISPLAYED).map(String::as_str).collect::<Vec<_>>();
            let rest = (count as usize).saturating_sub(displayed.len());
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            (count > 0).then(|| format!("{what}: {}{more}", displayed.join(", ")))
        };
        let both = [listed("changed", &self.changed, self.count), listed("new", &self.new, self.new_count)];
        both.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// A version of a module summary, as displayed in a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ModuleVersion {
    /// The summary.
    #[serde(flatten)]
    pub card: ModuleCard,
    /// Whether it is the current version.
    pub current: bool,
    /// The staleness; `None` except for the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Staleness>,
    pub tokens: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;

    fn stale(changed: &[&str], new: &[&str]) -> Staleness {
        let mut stale = Staleness::default();
        for path in changed {
            stale.add_changed(path);
        }
        for path in new {
            stale.add_new(path);
        }
        stale
    }

    fn card(path: &str, files: &[&str], source: SummarySource) -> ModuleCard {
        let hash = Hash::of(b"text");
        let files = files.iter().map(|path| FileCover { path: (*path).to_owned(), hash }).collect();
        let (path, text, model, commit) = (path.to_owned(), String::new(), None, None);
        ModuleCard { path, text, source, model, version: 1, confidence: 879, generated_at: 0, commit, files }
    }

    #[test]
    fn staleness_names_changed_and_new_files() {
        assert!(stale(&[], &[]).is_fresh() && !stale(&[], &["a"]).is_fresh() && !stale(&["a"], &[]).is_fresh());
        for (changed, new, words, names) in [
            (&[][..], &[][..], "fresh", ""),
            (&["a"], &[], "stale: 1 of 6 files changed since", "changed: a"),
            (&[], &["n"], "stale: 1 new file since", "new: n"),
            (&["a", "b"], &["n", "o"], "stale: 2 of 6 files changed, 2 new files since", "changed: a, b; new: n, o"),
            (&["a", "b", "c", "d", "e"], &[], "stale: 5 of 6 files changed since", "changed: a, b, c and 2 more"),
        ] {
            let stale = stale(changed, new);
            assert_eq!((stale.to_text(6), stale.names()), (words.to_owned(), names.to_owned()));
        }
        assert_eq!(stale(&["a"], &[]).to_text(1), "stale: 1 of 1 file changed since");
        let many = stale(&[], &["n"; 30]);
        assert_eq!((many.new.len(), many.new_count), (10, 30));
        let many = stale(&["c"; 30], &[]);
        assert_eq!((many.changed.len(), many.count), (10, 30));
    }

    /// Each case: path, files, and source; the folder, and the meaning of a confidence of 87.9%.
    #[test]
    fn folder_and_confidence_of_a_summary() {
        let (extractive, llm) = ("covers 87% of it", "87% of its names occur in the files");
        for (path, files, source, folder, trust) in [
            ("src/a.rs", &["src/a.rs"][..], SummarySource::Extractive, None, extractive),
            ("src", &["src/a.rs"], SummarySource::Llm, Some("src"), llm),
            ("src", &["src/a.rs", "src/b.rs"], SummarySource::User, Some("src"), "not checked"),
            (".", &["a.rs"], SummarySource::Llm, Some(""), llm),
        ] {
            let card = card(path, files, source);
            assert_eq!((card.folder(), card.trust().as_str()), (folder, trust), "{path}");
        }
    }
}
