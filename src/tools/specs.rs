//! The specifications of the tools that are sent to the model.
//! Not for: running the tools.

use super::Workspace;
use crate::domain::tool::ToolSpec;
use serde_json::{Value, json};

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }),
    }
}

fn path(of: &str) -> Value {
    json!({"type": "string", "description": format!("{of}, relative to the workspace root")})
}

/// Returns the specifications of the read-only tools.
pub(super) fn reading() -> Vec<ToolSpec> {
    vec![
        spec(
            "read_file",
            "Reads a text file of the workspace, or a range of its lines.",
            &json!({
                "path": path("The file"),
                "start_line": {"type": "integer", "description": "First line, from 1"},
                "lines": {"type": "integer", "description": "How many lines"},
            }),
            &["path"],
        ),
        spec(
            "list_dir",
            "Lists a folder of the workspace; files that .gitignore names are left out.",
            &json!({
                "path": path("The folder; the workspace root by default"),
                "depth": {"type": "integer", "description": "How many levels, 1 by default"},
            }),
            &[],
        ),
        spec(
            "search",
            "Finds lines that match a regular expression, in one file or in all files that .gitignore does not name.",
            &json!({
                "pattern": {"type": "string", "description": "The regular expression; lowercase letters also match \
                    uppercase"},
                "path": path("Where; everywhere when left out"),
                "max": {"type": "integer", "description": "The maximum number of matches, 100 by default"},
            }),
            &["pattern"],
        ),
    ]
}

/// Returns the specifications of the tools that change files or run commands.
pub(super) fn effects(space: &Workspace) -> Vec<ToolSpec> {
    let mut specs = vec![
        spec(
            "edit_file",
            "Replaces exact pieces of a text file. A person may reject parts of the change; the result shows what was \
                applied.",
            &json!({
                "path": path("The file"),
                "edits": {
                    "type": "array",
                    "description": "Replacements, applied in order",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old": {"type": "string", "description": "The text to replace, with its white space; it \
                                must occur exactly once"},
                            "new": {"type": "string", "description": "The text to put there"},
                            "replace_all": {"type": "boolean", "description": "Replace every occurrence"},
                        },
                        "required": ["old", "new"],
                        "additionalProperties": false,
                    },
                },
            }),
            &["path", "edits"],
        ),
        spec(
            "write_file",
            "Writes a whole text file, creating or replacing it; missing folders are created.",
            &json!({"path": path("The file"), "text": {"type": "string", "description": "All of its text"}}),
            &["path", "text"],
        ),
    ];
    if let (true, Some(effects)) = (cfg!(unix), &space.effects) {
        let network = if effects.options.network { "" } else { " and no network" };
        specs.push(spec(
            "run",
            &format!(
                "Runs a shell command in the workspace, with no input{network}; it can write only there and in \
                $TMPDIR. The first line of the result says how it ended."
            ),
            &json!({
                "line": {"type": "string", "description": "The command line"},
                "folder": path("The folder to run it in; the workspace root by default"),
                "seconds": {"type": "integer", "description": format!(
                    "Time limit, {} by default, at most {}", effects.options.usual, effects.options.seconds
                )},
            }),
            &["line"],
        ));
    }
    specs
}
