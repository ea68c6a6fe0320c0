//! Skills: folders with a SKILL.md in the workspace or in the person's home; the list of their names in the plan; the
//! tool that loads one.
//! Not for: when to search for them again (`workspace`).

use super::added::LookupTools;
use super::workspace::{Project, short};
use crate::domain::base::secrets;
use crate::domain::code::ProjectKind;
use crate::domain::code::workspace_rules::{self, frontmatter, plain};
use crate::domain::conversation::Atom;
use crate::domain::tool::folder_settings::SKILLS;
use crate::domain::tool::{ToolOutput, ToolSpec, ToolStatus};
use crate::tools::folder::{Folder, PathTarget};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of skill folders in each place.
const MOST: usize = 64;
/// The maximum bytes of a file that are read for its name, and for its text.
const FIRST: u64 = 8_192;
const LARGEST: u64 = 200_000;
/// The maximum length of a skill's description in characters.
const ABOUT: usize = 240;
/// The name of the tool.
pub(crate) const TOOL: &str = "load_skill";
/// The prefix of a skill's name in lists of files.
pub(crate) const PREFIX: &str = "skill:";

/// A skill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Skill {
    pub(crate) name: String,
    pub(crate) about: String,
    /// Its path in the form that people use.
    pub(crate) path: String,
    /// The folder that it is read from, and its path in that folder.
    place: (PathBuf, PathBuf),
    target: PathTarget,
}

/// Returns the atom of the list of skills.
pub(crate) fn atom() -> Atom {
    workspace_rules::atom(ProjectKind::Skill, "", "")
}

/// Returns all skills, by name. If two skills have the same name, the workspace's skill is used.
pub(crate) fn find(workspace: Option<&Path>, home: Option<&Path>) -> Vec<Skill> {
    let mut found: Vec<Skill> = Vec::new();
    let own = home.filter(|home| Some(*home) != workspace);
    for root in [workspace, own].into_iter().flatten() {
        let Ok(folder) = Folder::open(root) else { continue };
        for place in SKILLS {
            for name in folder.folders(Path::new(place), MOST) {
                let path = Path::new(place).join(&name).join("SKILL.md");
                let there = folder.look(&path);
                if !matches!(there, PathTarget::File(_)) {
                    continue;
                }
                let Ok(head) = folder.head(&path, FIRST) else { continue };
                let (title, about) = frontmatter(&head.text);
                let named = Some(title).filter(|title| !title.is_empty()).unwrap_or(name);
                let named: String = plain(&named).split_whitespace().collect::<Vec<_>>().join("-");
                if named.is_empty() || found.iter().any(|skill| skill.name == named) {
                    continue;
                }
                let shown = if Some(root) == workspace {
                    plain(&path.display().to_string())
                } else {
                    short(&root.join(&path), Some(root))
                };
                let about = plain(&about).chars().take(ABOUT).collect();
                let place = (root.to_path_buf(), path);
                found.push(Skill { name: named, about, path: shown, place, target: there });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Skill {
    /// Reads its text, with secrets masked, and returns the number of masked secrets.
    pub(crate) fn text(&self) -> Result<(String, usize), String> {
        let (root, path) = &self.place;
        let folder = Folder::open(root).map_err(|error| format!("{} can't be read: {error}.", self.path))?;
        let head = folder.head(path, LARGEST).map_err(|why| format!("{} {why}.", self.path))?;
        let (text, masked) = secrets::mask(&head.text);
        let more = if head.left > 0 { format!("\n[{} more bytes are left out]\n", head.left) } else { String::new() };
        Ok((format!("{text}{more}"), masked))
    }

    /// Returns the size of its file in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        if let PathTarget::File(stamp) = self.target { stamp.bytes } else { 0 }
    }
}

/// Returns the list of skills as it is sent.
pub(crate) fn listed(skills: &[Skill]) -> String {
    let line = |skill: &Skill| {
        if skill.about.is_empty() { format!("- {}", skill.name) } else { format!("- {}: {}", skill.name, skill.about) }
    };
    skills.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The tool that loads a skill.
pub(crate) struct SkillTools {
    pub(crate) project: Arc<Project>,
}

fn named(args: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(args).ok()?;
    value.get("name")?.as_str().map(str::to_owned)
}

impl LookupTools for SkillTools {
    fn specs(&self) -> Vec<ToolSpec> {
        if self.project.skills().is_empty() {
            return Vec::new();
        }
        vec![ToolSpec {
            name: TOOL.into(),
            description: "Returns the text of a skill: instructions for one kind of work. Load it before such work."
                .into(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": {"name": {"type": "string", "description": "The skill's name, as listed"}},
                "required": ["name"],
                "additionalProperties": false,
            }),
        }]
    }

    fn target(&self, name: &str, args: &str) -> Option<String> {
        (name == TOOL).then(|| named(args).unwrap_or_default())
    }

    fn look(&self, _name: &str, args: &str, _cancelled: &dyn Fn() -> bool) -> ToolOutput {
        let name = named(args);
        let skills = self.project.skills();
        let found = skills.iter().find(|skill| Some(&skill.name) == name.as_ref());
        let (status, body) = match found.map(Skill::text) {
            Some(Ok((text, _))) => (ToolStatus::Ok, text),
            Some(Err(why)) => (ToolStatus::Failed, format!("Failed: {why}")),
            None => {
                let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
                (ToolStatus::Failed, format!("Failed: there is no such skill. Known skills: {}.", names.join(", ")))
            }
        };
        ToolOutput::whole(status, body)
    }
}
