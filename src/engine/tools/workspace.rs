//! Rules and skills of the workspace: finds them, and reads them again when they change. The planner's thread and the
//! polling thread read files; the engine's own thread uses only known data.
//! Not for: putting them into a plan (`plans::sources::rules`), requests about them (`workspace_rules`), or module
//! summaries (`summaries::modules`).

use super::skills::{self, Skill};
use crate::code::index::arrived::NewFiles;
use crate::domain::base::{BranchId, Hash};
use crate::domain::code::ProjectKind;
use crate::domain::code::workspace_rules::{atom, plain};
use crate::domain::conversation::Atom;
use crate::domain::planning::{ContextPlan, RowKind};
use crate::domain::summary::{FileCover, ModuleCard, Staleness};
use crate::domain::tool::FileVisibility;
use crate::domain::tool::consent::matches;
use crate::engine::plans::sources::rule_text::load;
use crate::engine::startup::setup::{ProjectSetup, Setup};
use crate::engine::summaries::module_cards;
use crate::tools::folder::{Folder, PathTarget, repository};
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The names of rules files; the first that exists in a folder is used.
pub(crate) const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The maximum number of rules files around named or touched paths; four times as many folders are checked.
pub(crate) const AROUND: usize = 24;
/// Why the rules in a folder that git ignores are not sent.
const IGNORED: &str = "is in a folder that git ignores";
/// The number of cached texts at which a cache is cleared.
const KEPT: usize = 200;

/// A rules file.
#[derive(Clone, Debug)]
pub(crate) struct RulesFile {
    pub(crate) atom: Atom,
    /// Its path in the form that people use.
    pub(crate) path: String,
    /// The folder that the rules apply to, in words; empty for the person's own rules.
    pub(crate) folder: String,
    /// Whether these are the person's own rules, not the project's.
    pub(crate) own: bool,
    /// Whether it is sent only because a path near it is named or touched.
    pub(crate) nested: bool,
    /// Whether it is switched off in the settings.
    pub(crate) off: bool,
    pub(crate) found: Result<Arc<RulesText>, String>,
}

/// The text of a rules file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesText {
    /// The text as it is sent: with secrets masked and included files inserted.
    pub(crate) sent: Arc<str>,
    /// The part of the file's text that is read.
    pub(crate) raw: Arc<str>,
    pub(crate) bytes: u64,
    pub(crate) left: u64,
    /// The number of invisible characters.
    pub(crate) hidden: u32,
    pub(crate) notes: Vec<String>,
    /// The files that the text was made from, with their state at the time of reading.
    pub(crate) of: Vec<(PathBuf, PathTarget)>,
}

/// Rules files, farthest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesFiles {
    pub(crate) list: Vec<RulesFile>,
    /// The number of files that are left out because the folder is not trusted.
    pub(crate) untrusted: u32,
}

/// The state that needs no file reads.
struct KnownState {
    set: ProjectSetup,
    trusted: bool,
    atoms: HashSet<Atom>,
    sent: HashMap<BranchId, HashMap<Atom, Hash>>,
    skills: Arc<Vec<Skill>>,
    /// The files that a person's rules deny reading.
    denied: FileVisibility,
}

/// The data that was read from files.
#[derive(Default)]
struct Read {
    texts: HashMap<PathBuf, Arc<RulesText>>,
    /// The files that the last search checked: the root folder, the path in it, and its state.
    checked: Vec<(PathBuf, PathBuf, PathTarget)>,
    polls: u32,
    /// The hashes of files, with the files' state at the time of reading.
    hashes: HashMap<PathBuf, (PathTarget, Option<Hash>)>,
    /// Files that were added to folders after summaries of them were made, by folder and the summary's time.
    arrived: HashMap<(PathBuf, i64), Arc<NewFiles>>,
}

/// The rules and skills of a workspace.
pub(crate) struct Project {
    pub(crate) workspace: PathBuf,
    known: Mutex<KnownState>,
    read: Mutex<Read>,
}

/// The topmost folder that is searched, opened, and the workspace's path in it.
pub(crate) struct WorkspaceTop {
    pub(crate) folder: Folder,
    pub(crate) path: PathBuf,
    pub(crate) below: PathBuf,
    /// The folder's own name, which is the project's name.
    pub(crate) name: String,
}

impl Project {
    pub(crate) fn new(setup: &Setup) -> Arc<Self> {
        let workspace = PathBuf::from(&setup.workspace);
        let known = KnownState {
            set: setup.settings.project.clone(),
            trusted: setup.settings.trusted,
            atoms: HashSet::new(),
            sent: HashMap::new(),
            skills: Arc::default(),
            denied: FileVisibility::default(),
        };
        let project = Self { workspace, known: Mutex::new(known), read: Mutex::default() };
        project.find_skills();
        Arc::new(project)
    }

    fn known(&self) -> MutexGuard<'_, KnownState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the settings or the trust.
    pub(crate) fn configure(&self, set: Option<ProjectSetup>, trusted: bool) {
        let mut known = self.known();
        known.trusted = trusted;
        if let Some(set) = set {
            known.set = set;
        }
        drop(known);
        self.find_skills();
    }

    /// Sets the files that a person's rules deny reading.
    pub(crate) fn apply_denials(&self, denied: FileVisibility) {
        let before = std::mem::replace(&mut self.known().denied, denied);
        if before != self.denied() {
            self.read().arrived.clear();
        }
    }

    /// Returns the files that a person's rules deny reading.
    pub(crate) fn denied(&self) -> FileVisibility {
        self.known().denied.clone()
    }

    pub(crate) fn settings(&self) -> (ProjectSetup, bool) {
        let known = self.known();
        (known.set.clone(), known.trusted)
    }

    /// Whether an atom names an item of the project.
    pub(crate) fn knows(&self, atom: &Atom) -> bool {
        self.known().atoms.contains(atom)
    }

    /// Registers an atom of the project that is not a rules file.
    pub(crate) fn learn(&self, atom: Atom) {
        self.known().atoms.insert(atom);
    }

    /// Copies to a fork the record of the texts that the last call of its parent contained.
    pub(crate) fn inherit(&self, from: BranchId, to: BranchId) {
        let mut known = self.known();
        if let Some(sent) = known.sent.get(&from).cloned() {
            known.sent.insert(to, sent);
        }
    }

    /// Records which texts of the project a call contained.
    pub(crate) fn record_sent(&self, branch: BranchId, plan: &ContextPlan) {
        let ours = plan.included().filter(|row| matches!(row.kind, RowKind::Rules | RowKind::Module));
        let texts = ours.filter_map(|row| Some((row.atom, row.text?))).collect();
        self.known().sent.insert(branch, texts);
    }

    /// The hash of an item's text in the last call of a branch.
    pub(crate) fn last_sent(&self, branch: BranchId, atom: &Atom) -> Option<Hash> {
        self.known().sent.get(&branch)?.get(atom).copied()
    }

    /// Returns the topmost folder whose rules apply: the root of the repository, or the workspace.
    pub(crate) fn top(&self) -> Option<WorkspaceTop> {
        let workspace = self.workspace.canonicalize().ok()?;
        let path = repository(&workspace);
        let below = workspace.strip_prefix(&path).ok()?.to_path_buf();
        let name = path.file_name().map(|name| plain(&name.to_string_lossy())).unwrap_or_default();
        let folder = Folder::open(&path).ok()?.without(self.denied(), &below);
        Some(WorkspaceTop { folder, path, below, name })
    }

    /// Returns the rules that apply while these paths in the workspace are named or touched: the person's own rules,
    /// then the rules from the topmost folder down to the nearest.
    pub(crate) fn rules_files(&self, near: &[String], most: usize) -> RulesFiles {
        let (set, trusted) = self.settings();
        let mut rules_files = RulesFiles::default();
        if !set.rules {
            return rules_files;
        }
        let mut read = self.read();
        if read.texts.len() > KEPT {
            read.texts.clear();
        }
        let mut checked = Vec::new();
        let mut search = Search { set: &set, read: &mut read, checked: &mut checked };
        if let Some(own) = set.own.as_ref().and_then(|own| Some((own, Folder::open(own).ok()?))) {
            rules_files.list.extend(search.own(own.0, &own.1));
        }
        if let Some(top) = self.top() {
            let mut nested = 0;
            for place in places(&top, near, most) {
                match trusted {
                    true if place.nested && nested == most => {}
                    true => {
                        let found = search.rules_file(&top, &place);
                        nested += usize::from(place.nested && found.is_some());
                        rules_files.list.extend(found);
                    }
                    false if place.nested => {}
                    false => rules_files.untrusted += u32::from(search.name(&top, &place).is_some()),
                }
            }
        }
        read.checked = checked;
        drop(read);
        let mut known = self.known();
        known.atoms.extend(rules_files.list.iter().map(|rules_file| rules_file.atom));
        rules_files
    }

    /// Returns the names of rules files that are left out because the folder is not trusted, without reading them.
    pub(crate) fn untrusted(&self) -> Vec<String> {
        let (set, _) = self.settings();
        let Some(top) = self.top() else { return Vec::new() };
        let mut read = Read::default();
        let mut search = Search { set: &set, read: &mut read, checked: &mut Vec::new() };
        let named = places(&top, &[], 0).into_iter().filter_map(|spot| {
            let (name, _) = search.name(&top, &spot)?;
            Some(format!("{}{name}", spot.shown))
        });
        named.collect()
    }

    /// Returns which files of a module summary have changed, and which were added to its folder. A file is read again
    /// only if it was written since the last check, a folder only if a name was added or removed.
    pub(crate) fn stale(&self, root: &Path, card: &ModuleCard) -> Staleness {
        let mut stale = self.changed(root, &card.files);
        let Some(folder) = card.folder().and_then(|folder| root.join(folder).canonicalize().ok()) else { return stale };
        let Ok(beneath) = folder.strip_prefix(root) else { return stale };
        let key = (folder.clone(), card.generated_at);
        let held = self.read().arrived.get(&key).cloned().filter(|arrived| arrived.is_current(&folder));
        let arrived = held.unwrap_or_else(|| {
            let known: HashSet<&Path> =
                card.files.iter().filter_map(|file| Path::new(&file.path).strip_prefix(beneath).ok()).collect();
            let found = NewFiles::look(&folder, &module_cards::bounds(self.denied(), beneath.to_owned()), &|path| {
                known.contains(Path::new(path))
            });
            let found = Arc::new(found);
            let mut read = self.read();
            if read.arrived.len() > KEPT {
                read.arrived.clear();
            }
            read.arrived.insert(key, found.clone());
            found
        });
        for file in &arrived.files {
            stale.add_new(&beneath.join(file).to_string_lossy());
        }
        stale
    }

    fn changed(&self, root: &Path, files: &[FileCover]) -> Staleness {
        const LARGEST: u64 = 4 << 20;
        let mut stale = Staleness::default();
        let Ok(folder) = Folder::open(root) else { return stale };
        let mut read = self.read();
        if read.hashes.len() > 20_000 {
            read.hashes.clear();
        }
        for file in files {
            let path = Path::new(&file.path);
            let there = folder.look(path);
            let known = read.hashes.get(&root.join(path)).filter(|(was, _)| *was == there).map(|(_, hash)| *hash);
            let hash = known.unwrap_or_else(|| {
                let hash = folder.hash(path, LARGEST);
                read.hashes.insert(root.join(path), (there.clone(), hash));
                hash
            });
            if hash != Some(file.hash) {
                stale.add_changed(&file.path);
            }
        }
        stale
    }

    /// Returns the skills that the last search found.
    pub(crate) fn skills(&self) -> Arc<Vec<Skill>> {
        self.known().skills.clone()
    }

    /// Searches for skills. Returns whether they changed.
    fn find_skills(&self) -> bool {
        let (set, trusted) = self.settings();
        let workspace = self.workspace.canonicalize().ok().filter(|_| trusted);
        let found = if set.skills { skills::find(workspace.as_deref(), set.home.as_deref()) } else { Vec::new() };
        let atom = skills::atom();
        let mut known = self.known();
        known.atoms.insert(atom);
        let changed = *known.skills != found;
        if changed {
            known.skills = Arc::new(found);
        }
        changed
    }

    /// Whether anything that was read has changed. Searches for skills at every fourth call.
    pub(crate) fn poll(&self) -> bool {
        let mut read = self.read();
        read.polls = read.polls.wrapping_add(1);
        let skills = read.polls.is_multiple_of(4);
        let mut open: HashMap<PathBuf, Option<Folder>> = HashMap::new();
        let mut changed = false;
        for (root, path, before) in &mut read.checked {
            let folder = open.entry(root.clone()).or_insert_with(|| Folder::open(root).ok());
            let now = folder.as_ref().map_or(PathTarget::Nothing, |folder| folder.look(path));
            changed |= now != *before;
            *before = now;
        }
        drop(read);
        if skills { self.find_skills() || changed } else { changed }
    }
}

/// A folder that may contain a rules file.
struct RuleFolder {
    /// Its path relative to the topmost folder.
    folder: PathBuf,
    /// The prefix of the file's name in the form that people use.
    shown: String,
    words: String,
    nested: bool,
}

/// Returns the folders from the topmost down to the workspace, then the folders around the paths in `near`.
fn places(top: &WorkspaceTop, near: &[String], most: usize) -> Vec<RuleFolder> {
    let steps: Vec<Component<'_>> = top.below.components().collect();
    let mut found = Vec::new();
    for depth in 0..=steps.len() {
        let folder: PathBuf = steps[..depth].iter().collect();
        let up = steps.len() - depth;
        let words = match up {
            0 => "the workspace".to_owned(),
            _ if depth == 0 => format!("all of {}", top.name),
            _ => plain(&format!("{}/", folder.display())),
        };
        found.push(RuleFolder { folder, shown: "../".repeat(up), words, nested: false });
    }
    let mut inner: Vec<PathBuf> = near.iter().filter_map(|path| beneath(path)).flat_map(|path| around(&path)).collect();
    inner.sort();
    inner.dedup();
    for folder in inner.into_iter().take(most * 4) {
        let shown = plain(&format!("{}/", folder.display()));
        found.push(RuleFolder { folder: top.below.join(&folder), words: shown.clone(), shown, nested: true });
    }
    found
}

/// Normalizes a path inside the workspace; `None` if its components lead outside.
pub(crate) fn beneath(path: &str) -> Option<PathBuf> {
    let steps = Path::new(path).components().filter(|step| *step != Component::CurDir);
    steps.map(|step| Some(step).filter(|step| matches!(step, Component::Normal(_)))).collect()
}

/// Returns a path and its parent folders below the workspace. A path that is not a folder contains no rules file.
fn around(path: &Path) -> Vec<PathBuf> {
    path.ancestors().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf).collect()
}

struct Search<'a> {
    set: &'a ProjectSetup,
    read: &'a mut Read,
    checked: &'a mut Vec<(PathBuf, PathBuf, PathTarget)>,
}

impl Search<'_> {
    /// Returns the name of the rules file that is used in a folder.
    fn name(&mut self, top: &WorkspaceTop, spot: &RuleFolder) -> Option<(&'static str, PathTarget)> {
        self.first(&top.path, &top.folder, &spot.folder)
    }

    fn first(&mut self, root: &Path, folder: &Folder, inner: &Path) -> Option<(&'static str, PathTarget)> {
        for name in NAMES {
            let path = inner.join(name);
            let there = folder.look(&path);
            self.checked.push((root.to_path_buf(), path, there.clone()));
            if there != PathTarget::Nothing {
                return Some((name, there));
            }
        }
        None
    }

    fn rules_file(&mut self, top: &WorkspaceTop, spot: &RuleFolder) -> Option<RulesFile> {
        let (name, there) = self.name(top, spot)?;
        let path = spot.folder.join(name);
        let foreign = spot.nested && top.folder.ignored(&spot.folder);
        let shown = format!("{}{name}", spot.shown);
        let off = self.set.off.iter().any(|pattern| matches(pattern, &shown));
        Some(RulesFile {
            atom: atom(ProjectKind::Rules, &top.name, &path.to_string_lossy()),
            folder: spot.words.clone(),
            own: false,
            nested: spot.nested,
            off,
            // Rules that came with a package are not the project's rules.
            found: if foreign { Err(IGNORED.into()) } else { self.text(&top.path, &top.folder, &path, &there) },
            path: shown,
        })
    }

    fn own(&mut self, root: &Path, folder: &Folder) -> Option<RulesFile> {
        let (name, there) = self.first(root, folder, Path::new(""))?;
        let shown = short(&root.join(name), self.set.home.as_deref());
        let off = self.set.off.iter().any(|pattern| matches(pattern, &shown));
        Some(RulesFile {
            atom: atom(ProjectKind::Rules, "", name),
            folder: String::new(),
            own: true,
            nested: false,
            off,
            found: self.text(root, folder, Path::new(name), &there),
            path: shown,
        })
    }

    /// Returns the text of a file, read again if it or an included file has changed.
    fn text(
        &mut self,
        root: &Path,
        folder: &Folder,
        path: &Path,
        there: &PathTarget,
    ) -> Result<Arc<RulesText>, String> {
        if let PathTarget::Refused(why) = there {
            return Err(why.clone());
        }
        let key = root.join(path);
        let known = self.read.texts.get(&key).filter(|text| {
            text.of.first().is_some_and(|(_, first)| first == there)
                && text.of.iter().skip(1).all(|(path, before)| folder.look(path) == *before)
        });
        let text = if let Some(text) = known {
            text.clone()
        } else {
            let made = Arc::new(load(folder, path, there, u64::from(self.set.limit.max(256)))?);
            self.read.texts.insert(key, made.clone());
            made
        };
        self.checked.extend(text.of.iter().skip(1).map(|(path, was)| (root.to_path_buf(), path.clone(), was.clone())));
        Ok(text)
    }
}

/// Returns a path with `~` for the home folder.
pub(crate) fn short(path: &Path, home: Option<&Path>) -> String {
    let inner = home.and_then(|home| path.strip_prefix(home).ok());
    plain(&inner.map_or_else(|| path.display().to_string(), |inner| format!("~/{}", inner.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project(workspace: &Path, checked: &[(&Path, &str)]) -> Project {
        let known = KnownState {
            set: ProjectSetup { rules: true, ..ProjectSetup::default() },
            trusted: true,
            atoms: HashSet::new(),
            sent: HashMap::new(),
            skills: Arc::default(),
            denied: FileVisibility::default(),
        };
        let look = |(root, path): &(&Path, &str)| {
            let there = Folder::open(root).map_or(PathTarget::Nothing, |folder| folder.look(Path::new(path)));
            (root.to_path_buf(), PathBuf::from(path), there)
        };
        let read = Read { checked: checked.iter().map(look).collect(), ..Read::default() };
        Project { workspace: workspace.to_owned(), known: Mutex::new(known), read: Mutex::new(read) }
    }

    #[test]
    fn a_change_of_a_checked_file_is_reported_once() {
        let outer = tempfile::tempdir().unwrap();
        let (one, two) = (outer.path().join("one"), outer.path().join("two"));
        fs::create_dir_all(&one).unwrap();
        fs::write(one.join("AGENTS.md"), "first").unwrap();
        let project = project(&one, &[(&one, "AGENTS.md"), (&one, "CLAUDE.md"), (&two, "AGENTS.md")]);
        let seen = |changed: bool, why: &str| {
            assert_eq!(project.poll(), changed, "{why}");
            for _ in 0..5 {
                assert!(!project.poll(), "{why}: only once");
            }
        };
        seen(false, "nothing was done");
        fs::write(one.join("AGENTS.md"), "longer than before").unwrap();
        seen(true, "a file was changed");
        fs::write(one.join("CLAUDE.md"), "new").unwrap();
        seen(true, "a file came");
        fs::write(one.join("other.md"), "new").unwrap();
        seen(false, "that file is not checked");
        fs::create_dir_all(&two).unwrap();
        seen(false, "an empty folder came");
        fs::write(two.join("AGENTS.md"), "new").unwrap();
        seen(true, "a file came into it");
        fs::remove_file(one.join("AGENTS.md")).unwrap();
        seen(true, "a file went");
        fs::remove_file(one.join("CLAUDE.md")).unwrap();
        fs::remove_file(two.join("AGENTS.md")).unwrap();
        seen(true, "two went");
    }

    /// Only what lies from the workspace up to its top, and only by name.
    #[test]
    fn files_with_rules_of_an_untrusted_folder_are_named() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a");
        fs::create_dir_all(inner.join("b")).unwrap();
        fs::create_dir(outer.path().join(".git")).unwrap();
        let named = || project(&inner, &[]).untrusted();
        assert_eq!(named(), [""; 0]);
        for file in ["CLAUDE.md", "a/AGENTS.md", "a/b/AGENTS.md"] {
            fs::write(outer.path().join(file), "words").unwrap();
        }
        assert_eq!(named(), ["../CLAUDE.md", "AGENTS.md"]);
    }

    #[test]
    fn rules_of_inner_folders_are_bounded_in_number() {
        let outer = tempfile::tempdir().unwrap();
        let near: Vec<String> = ["a/x", "b/x", "c/x"].map(str::to_owned).into();
        for folder in ["", "a", "b", "c"] {
            fs::create_dir_all(outer.path().join(folder)).unwrap();
            fs::write(outer.path().join(folder).join("AGENTS.md"), "words").unwrap();
        }
        let found = [0, 1, 2, 3, 4].map(|most| project(outer.path(), &[]).rules_files(&near, most).list.len());
        assert_eq!(found, [1, 2, 3, 4, 4], "beside the workspace's own");
    }

    #[test]
    fn rules_are_read_again_when_they_or_a_file_that_they_include_change() {
        let outer = tempfile::tempdir().unwrap();
        let project = project(outer.path(), &[]);
        for (own, more) in [("Be brief.", "first"), ("Be brief.", "second try"), ("Be very brief.", "second try")] {
            fs::write(outer.path().join("AGENTS.md"), format!("{own}\n\n@more.md\n")).unwrap();
            fs::write(outer.path().join("more.md"), more).unwrap();
            for _ in 0..2 {
                let text = project.rules_files(&[], 1).list[0].found.clone().unwrap();
                assert_eq!(&*text.sent, format!("{own}\n\n[more.md]\n{more}\n[end of more.md]\n"));
            }
        }
    }

    #[test]
    fn folders_are_listed_from_the_top_down_followed_by_those_around_paths() {
        let outer = tempfile::tempdir().unwrap();
        let top = |below: &str| WorkspaceTop {
            folder: Folder::open(outer.path()).unwrap(),
            path: outer.path().to_owned(),
            below: PathBuf::from(below),
            name: "repo".into(),
        };
        let described = |below: &str, near: &[&str], most: usize| -> Vec<String> {
            let near: Vec<String> = near.iter().map(|path| (*path).to_owned()).collect();
            let all = places(&top(below), &near, most).into_iter();
            all.map(|place| {
                format!("{} | {} | {} | {}", place.folder.display(), place.shown, place.words, place.nested)
            })
            .collect()
        };
        assert_eq!(described("", &[], 9), [" |  | the workspace | false"]);
        assert_eq!(
            described("a/b", &[], 9),
            [" | ../../ | all of repo | false", "a | ../ | a/ | false", "a/b |  | the workspace | false"]
        );
        assert_eq!(
            described("a", &["x/y", "./x", "x/../z", "", "/etc"], 9),
            [
                " | ../ | all of repo | false",
                "a |  | the workspace | false",
                "a/x | x/ | x/ | true",
                "a/x/y | x/y/ | x/y/ | true"
            ]
        );
        assert_eq!(described("", &["a/b/c/d/e/f"], 1).len(), 1 + 4, "four times as many are checked");
        assert_eq!(short(Path::new("/home/me/x"), Some(Path::new("/home/me"))), "~/x");
        assert_eq!(short(Path::new("/home/you/x"), Some(Path::new("/home/me"))), "/home/you/x");
    }
}
