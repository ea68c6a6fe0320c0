//! Module summaries as they are stored and sent: which are current in a workspace, and the text of one.
//! Not for: making them (`modules`).

use crate::code::parse::walk::Bounds;
use crate::context::render::render_forms::fenced;
use crate::domain::base::Failure;
use crate::domain::code::ProjectKind;
use crate::domain::code::workspace_rules::{atom, plain};
use crate::domain::conversation::Atom;
use crate::domain::summary::{ModuleCard, Staleness};
use crate::domain::tool::FileVisibility;
use crate::domain::tool::visibility::READS;
use crate::engine::tools::workspace::Project;
use crate::store::Store;
use std::path::{Path, PathBuf};

/// Returns the folder that a workspace's module summaries are stored under.
pub(crate) fn root_of(project: &Project) -> String {
    let workspace = &project.workspace;
    workspace.canonicalize().unwrap_or_else(|_| workspace.clone()).display().to_string()
}

/// Returns the current module summaries of a workspace with their staleness. Empty if the folder is not trusted;
/// summaries of files that a rule denies are omitted.
pub(crate) fn current(store: &Store, project: &Project) -> Result<Vec<(Atom, ModuleCard, Staleness)>, Failure> {
    if !project.settings().1 {
        return Ok(Vec::new());
    }
    let (root, denied) = (root_of(project), project.denied());
    let mut all: Vec<ModuleCard> = Vec::new();
    for (card, undone) in store.modules(&root)? {
        // A summary reveals the content of its files.
        if undone || card.files.iter().any(|file| !denied.shows(READS, &file.path)) {
            continue;
        }
        all.retain(|other| other.path != card.path);
        all.push(card);
    }
    let with_staleness = |card: ModuleCard| {
        let stale = project.stale(Path::new(&root), &card);
        (atom(ProjectKind::Module, &root, &card.path), card, stale)
    };
    Ok(all.into_iter().map(with_staleness).collect())
}

/// Returns a module summary as it is sent, labeled so that it is not mistaken for a source.
pub(crate) fn sent(card: &ModuleCard, stale: Option<&Staleness>) -> String {
    let day = jiff::Timestamp::from_millisecond(card.generated_at)
        .map_or_else(|_| "undated".into(), |at| at.strftime("%Y-%m-%d").to_string());
    let stale = stale.map_or_else(|| "fresh".into(), |stale| stale.to_text(card.files.len()));
    let label = format!(
        "Summary of {} by {}, {day}, {stale}. It is not a source: the files take precedence",
        plain(&card.path),
        plain(&card.by())
    );
    fenced(&label, &card.text)
}

/// Returns the workspace or a path in it in the form that people use.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { plain(&path.display().to_string()) }
}

/// Returns the bounds of a walk through a folder, under the person's rules for paths of the workspace.
pub(crate) fn bounds(visibility: FileVisibility, beneath: PathBuf) -> Bounds {
    Bounds { files: 20_000, visibility, beneath, ..Bounds::default() }
}
