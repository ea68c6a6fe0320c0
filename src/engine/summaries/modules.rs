//! Module summaries: summaries of parts of the workspace's program, made from its code on another thread and stored
//! with the hashes of their files. Mode Heavy sends them with a line that says who made them, when, and whether they
//! are stale.
//! Not for: how code is summarized (`code::find::module_summary`), or rules files (`plans::sources::rules`).

use super::module_cards::{bounds, root_of, sent, shown};
use super::module_model::{self, ProgressReporter};
use super::state::{ModuleResult, PendingModule};
use crate::code::find::module_summary::{self, Summary};
use crate::code::index::build::renew;
use crate::code::index::records::Index;
use crate::domain::base::{BranchId, Failure, FailureKind, secrets};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{Backend, CountTokens, Encoding};
use crate::domain::summary::{
    Editability, Editable, EditableKind, FileCover, ModuleCard, ModuleVersion, Staleness, SummaryAuthor, SummarySource,
    Version,
};
use crate::domain::tool::FileVisibility;
use crate::engine::api::{Answer, EditableAnswer, ModuleAct, Ticket, ToolAnswer};
use crate::engine::calls::auxiliary_call::auxiliary_call;
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, SummaryReport};
use crate::engine::indexing::code_workspace::WorkspaceFiles;
use crate::engine::jobs::CancelToken;
use crate::engine::summaries::state::Summaries;
use crate::engine::tools::state::Tools;
use crate::engine::tools::workspace::{Project, beneath};
use crate::engine::tools::workspace_rules::project_changed;
use crate::store::Store;
use crate::store::types::Write;
use std::path::Path;

/// The maximum number of files of one summary.
const FILES: usize = 400;
/// The maximum length of an edited summary in characters.
const LONGEST: usize = 8_000;

impl Core {
    /// Handles a request about module summaries.
    pub(crate) fn module_act(&mut self, ticket: Ticket, act: ModuleAct) -> Result<(), Failure> {
        let result = match act {
            ModuleAct::Make { branch, path, by } => return self.make_module(ticket, branch, &path, by),
            ModuleAct::List { branch } => {
                let encoding = self.rules(&self.sessions.branch(branch)?)?.model.encoding;
                let counter = self.setup.counter.as_ref();
                versions(&self.store, &self.tools.project, counter, encoding)
                    .map(|found| ToolAnswer::Modules(found).into())
            }
            ModuleAct::Edit { path, text } => self.edit_module(&path, &text),
            ModuleAct::Step { path, forward } => self.step_module(&path, forward),
            ModuleAct::Stop { branch } => self.summaries.stop_module(branch),
        };
        self.answer_now(ticket, result)
    }

    fn make_module(&mut self, ticket: Ticket, id: BranchId, path: &str, by: SummaryAuthor) -> Result<(), Failure> {
        let kept = |failure: Failure| failure.kept("Nothing was changed.");
        if !self.tools.trusted {
            let failure = Failure::user("This folder is not trusted, so none of its files are read.");
            return Err(kept(failure.todo("/trust changes that.")));
        }
        let branch = self.sessions.branch(id)?;
        let rules = if by == SummaryAuthor::Model { Some(self.rules(&branch)?) } else { None };
        let rules = rules.filter(|rules| rules.profile.backend != Backend::Offline);
        let instead = by == SummaryAuthor::Model && rules.is_none();
        let by = if rules.is_some() { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
        let provider = rules.as_ref().map(|rules| self.setup.servers.provider(&rules.profile)).transpose()?;
        let root = self.tools.module_root();
        let outside = || kept(Failure::user(format!("{path:?} is outside this folder.")));
        let path = beneath(path.trim()).ok_or_else(outside)?;
        let name = shown(&path);
        self.summaries.modules.ensure_idle(&name)?;
        let mut call = rules.map(|rules| auxiliary_call(&self.setup, &self.store, &branch, rules, provider));
        let progress = ProgressReporter::new(self.events.clone(), id, &path, by);
        let (now, denied) = (self.setup.now(), self.tools.project.denied());
        let ended = move |result: Result<ModuleCard, Failure>, root, runs| {
            let result = result.map_err(|failure| failure.kept("Nothing was changed."));
            let made = ModuleResult { ticket, root, result, runs, instead };
            Inbox::Summary(SummaryReport::Module(Box::new(made)))
        };
        let lost_root = root.clone();
        let lost = move |failure| ended(Err(failure), lost_root, Vec::new());
        let cancel = self.jobs.report("module", lost, move |cancel| {
            let mut runs = Vec::new();
            let made =
                make(Path::new(&root), &path, now, cancel, (&progress, &denied)).and_then(|card| match &mut call {
                    Some(call) => {
                        call.cancel = cancel.clone();
                        module_model::rewrite_by_model(call, Path::new(&root), card, &mut runs, &progress)
                    }
                    None => Ok(card),
                });
            ended(made, root, runs)
        });
        self.summaries.modules.0.push(PendingModule { ticket, branch: id, path: name, cancel });
        Ok(())
    }

    /// Stores a finished module summary and requests new plans for the screen.
    pub(crate) fn finish_module_summary(&mut self, made: ModuleResult) {
        let ModuleResult { ticket, root, result, runs, instead } = made;
        let counted = if runs.is_empty() { "" } else { " The call counts as usage." };
        // A summary that finished before it could be stopped is not kept either.
        let result = if self.summaries.modules.end(ticket) {
            Err(Failure::user("Stopped.").kept(format!("No part of the summary was kept.{counted}")))
        } else {
            result
        };
        for run in runs {
            self.show_run(run);
        }
        let stored = result.and_then(|card| {
            let files = if card.files.len() == 1 { "file" } else { "files" };
            let how = if instead { " (the offline model can't summarize, so from names and comments)" } else { "" };
            let notice = format!(
                "Summarized {} from {} {files}{how}; mode Heavy sends it, marked as a summary.",
                card.path,
                grouped(card.files.len() as u64)
            );
            self.store.write(vec![Write::PutModule { root, card: Box::new(card) }])?;
            Ok(Answer::Done(notice))
        });
        let done = stored.is_ok();
        self.answer(ticket, stored);
        if done {
            project_changed(&mut self.plans, &mut self.turns);
        }
    }

    fn edit_module(&mut self, path: &str, text: &str) -> Result<Answer, Failure> {
        let root = self.tools.module_root();
        let now = self.setup.now();
        let old = self.store.modules(&root)?.into_iter().rev().find(|(card, undone)| card.path == path && !undone);
        let gone = || Failure::user(format!("There is no summary of {path:?}.")).kept("Your text is kept.");
        let (old, _) = old.ok_or_else(gone)?;
        let text = text.trim();
        if text.is_empty() {
            return Err(Failure::user("A summary needs text.").todo("u restores the previous version."));
        }
        let length = text.chars().count();
        if length > LONGEST {
            let [length, most] = [length, LONGEST].map(|count| grouped(count as u64));
            let failure = Failure::user(format!("The summary has {length} characters; at most {most} can be saved."));
            return Err(failure.kept("Your text is kept."));
        }
        if text == old.text.trim() {
            return Ok(Answer::Done("There is no change to save.".into()));
        }
        let text = text.to_owned();
        let card = ModuleCard { text, source: SummarySource::User, model: None, generated_at: now, ..old };
        self.store.write(vec![Write::PutModule { root, card: Box::new(card) }])?;
        project_changed(&mut self.plans, &mut self.turns);
        Ok(Answer::Done(format!("The summary of {path} now has your text; u undoes it.")))
    }

    fn step_module(&mut self, path: &str, forward: bool) -> Result<Answer, Failure> {
        let (root, path) = (self.tools.module_root(), path.to_owned());
        let step = Write::StepModule { root, path: path.clone(), forward };
        self.store.write(vec![step]).map_err(|error| match error {
            crate::store::types::StoreError::Moved if forward => {
                Failure::user("There is no undone version to restore.")
            }
            crate::store::types::StoreError::Moved => Failure::user(format!("There is no summary of {path:?}.")),
            other => other.into(),
        })?;
        project_changed(&mut self.plans, &mut self.turns);
        let what = if forward { "now at the next version" } else { "back at the previous version" };
        Ok(Answer::Done(format!("The summary of {path} is {what}.")))
    }

    /// Lists module summaries as editable texts with their versions, on a separate thread.
    pub(crate) fn list_module_summaries(&self, ticket: Ticket, branch: BranchId) -> Result<(), Failure> {
        let encoding = self.rules(&self.sessions.branch(branch)?)?.model.encoding;
        let (store, project) = (self.store.clone(), self.tools.project.clone());
        let counter = self.setup.counter.clone();
        self.jobs.answer("module", ticket, move |cancel| {
            let made = versions(&store, &project, counter.as_ref(), encoding);
            cancel.check()?;
            made.map(|all| Answer::Editable(EditableAnswer::Editables(EditableKind::Modules, editables(&all))))
        });
        Ok(())
    }
}

impl Tools {
    fn module_root(&self) -> String {
        root_of(&self.project)
    }
}

impl Summaries {
    fn stop_module(&mut self, branch: BranchId) -> Result<Answer, Failure> {
        let stopped = self.modules.stop(branch);
        if stopped.is_empty() {
            return Err(Failure::user("No module is being summarized."));
        }
        Ok(Answer::Done(format!("Stopping the summary of {}.", stopped.join(", "))))
    }
}

/// Returns all versions, newest first within each path.
fn versions(
    store: &Store,
    project: &Project,
    counter: &dyn CountTokens,
    encoding: Encoding,
) -> Result<Vec<ModuleVersion>, Failure> {
    let root = root_of(project);
    let mut found: Vec<ModuleVersion> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (card, undone) in store.modules(&root)?.into_iter().rev() {
        let current = !undone && seen.insert(card.path.clone());
        let stale = current.then(|| project.stale(Path::new(&root), &card));
        let tokens = counter.count(encoding, &sent(&card, stale.as_ref()));
        found.push(ModuleVersion { card, current, stale, tokens });
    }
    found.sort_by(|a, b| a.card.path.cmp(&b.card.path));
    Ok(found)
}

fn editables(all: &[ModuleVersion]) -> Vec<Editable> {
    let mut editables: Vec<Editable> = Vec::new();
    for one in all {
        let card = &one.card;
        if editables.last().is_none_or(|editable| editable.id != card.path) {
            editables.push(Editable {
                kind: EditableKind::Modules,
                id: card.path.clone(),
                title: card.path.clone(),
                note: "undone; U restores it".into(),
                source: None,
                editing: Editability::Not("All versions are undone; U restores a version."),
                in_use: false,
                versions: Vec::new(),
            });
        }
        let Some(editable) = editables.last_mut() else { continue };
        if one.current {
            let mut stale = one.stale.as_ref().map_or_else(String::new, |stale| stale.to_text(card.files.len()));
            if let Some(names) = one.stale.as_ref().map(Staleness::names).filter(|names| !names.is_empty()) {
                stale = format!("{stale} ({names})");
            }
            let tokens = grouped(u64::from(one.tokens));
            let commit = card
                .commit
                .as_ref()
                .map_or_else(String::new, |commit| format!("; commit {}", commit.chars().take(8).collect::<String>()));
            let short = if stale == "fresh" { String::new() } else { "stale; ".to_owned() };
            editable.note =
                format!("{short}{stale}; {tokens} tokens (estimated); by {}; {}{commit}", card.by(), card.trust());
            editable.source = Some(card.source);
            editable.in_use = one.stale.as_ref().is_some_and(Staleness::is_fresh);
            editable.editing = Editability::Here;
        }
        let at = editable.versions.len();
        editable.versions.push(Version {
            what: match card.source {
                SummarySource::Extractive => "by pleach".into(),
                SummarySource::Llm => "by the model".into(),
                SummarySource::User => "by you".into(),
            },
            at: Some(card.generated_at),
            text: card.text.as_str().into(),
            current: one.current,
            from: Some(at + 1),
        });
    }
    for editable in &mut editables {
        let count = editable.versions.len();
        for (at, version) in editable.versions.iter_mut().enumerate() {
            version.what = format!("version {}, {}", count - at, version.what);
        }
        if let Some(last) = editable.versions.last_mut() {
            last.from = None;
        }
    }
    editables
}

/// Reads a folder, or one file, and makes an extractive summary of it.
fn make(
    root: &Path,
    path: &Path,
    now: i64,
    cancel: &CancelToken,
    (progress, visibility): (&ProgressReporter, &FileVisibility),
) -> Result<ModuleCard, Failure> {
    let shown = shown(path);
    let whole = root.join(path).canonicalize();
    let whole = whole.map_err(|error| Failure::user(format!("The path {shown} can't be read: {error}.")))?;
    if !whole.starts_with(root) {
        return Err(Failure::user(format!("{shown} is outside this folder.")));
    }
    let (folder, only) = if whole.is_dir() {
        (whole, None)
    } else {
        let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
        (whole.parent().unwrap_or(root).to_path_buf(), name)
    };
    let mut index = Index::default();
    let inner = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let bounds = bounds(visibility.clone(), inner.to_owned());
    renew(&mut index, &folder, &bounds, &cancel.0, &mut |_| {}, &mut |read| progress.report_reading(read))
        .map_err(|error| Failure::user(format!("{error}.")))?;
    let made = module_summary::summary(&index, &WorkspaceFiles(&folder), &shown, only.as_deref());
    let none = || Failure::user(format!("{shown} has no code in a supported language."));
    let Summary { text, files, confidence } = made.ok_or_else(none)?;
    if files.len() > FILES {
        return Err(Failure::new(FailureKind::User, format!("{shown} has {} code files.", files.len()))
            .todo(format!("Choose a smaller part: at most {FILES} files fit in one summary.")));
    }
    let cover = |(name, hash): (String, _)| FileCover { path: inner.join(name).to_string_lossy().into_owned(), hash };
    let (text, _) = secrets::mask(&text);
    Ok(ModuleCard {
        path: shown,
        text: text.into_owned(),
        source: SummarySource::Extractive,
        model: None,
        version: module_summary::VERSION,
        confidence,
        generated_at: now,
        commit: commit(root),
        files: files.into_iter().map(cover).collect(),
    })
}

/// Returns the commit that is checked out in the repository of a folder; `None` without one.
fn commit(folder: &Path) -> Option<String> {
    let git = folder.ancestors().take(32).map(|path| path.join(".git")).find(|path| path.is_dir())?;
    let read = |name: &str| {
        let text = std::fs::read_to_string(git.join(name)).ok()?;
        (text.len() < 1 << 20).then_some(text)
    };
    let is = |text: &str| text.len() >= 40 && text.len() <= 64 && text.chars().all(|c| c.is_ascii_hexdigit());
    let head = read("HEAD")?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().to_owned()).filter(|t| is(t)) };
    if name.contains("..") {
        return None;
    }
    let loose = read(name).map(|text| text.trim().to_owned());
    let packed = || {
        let all = read("packed-refs")?;
        all.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' ').map(str::to_owned))
    };
    loose.or_else(packed).filter(|text| is(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_out_commit_is_read_from_loose_and_packed_refs() {
        let home = tempfile::tempdir().unwrap();
        let (git, inside) = (home.path().join(".git"), home.path().join("src/deep"));
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        std::fs::create_dir_all(&inside).unwrap();
        let put = |name: &str, text: &str| std::fs::write(git.join(name), text).unwrap();
        let (one, two) = ("1a".repeat(20), "2b".repeat(20));
        assert_eq!(commit(&inside), None);
        put("HEAD", "ref: refs/heads/main\n");
        assert_eq!(commit(&inside), None, "nothing was committed yet");
        put("packed-refs", &format!("# pack-refs with: peeled\n{two} refs/heads/maintained\n{one} refs/heads/main\n"));
        assert_eq!(commit(&inside), Some(one.clone()));
        put("refs/heads/main", &format!("{two}\n"));
        assert_eq!(commit(&inside), Some(two));
        put("HEAD", &format!("{one}\n"));
        assert_eq!(commit(&inside), Some(one));
        for bad in ["ref: ../../secret", "no commit", ""] {
            put("HEAD", bad);
            assert_eq!(commit(&inside), None, "{bad:?}");
        }
    }
}
