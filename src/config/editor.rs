//! Edits a text in the user's editor.
//! Not for: releasing the terminal (the workbench), or using the text.

use super::load::Environment;
use super::save::create_private;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

/// The editor did not start or it failed; the text is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("The editor {editor:?} failed: {why}.")]
pub struct EditorError {
    editor: String,
    why: io::Error,
}

/// Opens `text` in `$VISUAL`, `$EDITOR`, or `vi`, and returns the saved text, without the line end that editors add.
/// Only the owner can read the temporary file, which is deleted afterward.
pub fn edit(text: &str, env: &Environment) -> Result<String, EditorError> {
    let named = |name: &str| env.get(name).filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let path = std::env::temp_dir().join(format!("pleach-{}.md", uuid::Uuid::now_v7()));
    let written = create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    let edited = written.and_then(|()| open(&editor, &path)).and_then(|()| std::fs::read_to_string(&path));
    let _ = std::fs::remove_file(&path);
    let mut edited = edited.map_err(|why| EditorError { editor, why })?;
    if edited.ends_with('\n') && !text.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}

/// Runs the editor on a file. The variable can contain flags, as in `code --wait`.
fn open(editor: &str, path: &Path) -> io::Result<()> {
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or_else(|| io::Error::other("no editor is set"))?;
    let status = Command::new(program).args(words).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it exited with {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_text_is_returned_and_failures_are_reported() {
        let with = |editor, text| edit(text, &Environment::of([("EDITOR", editor)]));
        assert_eq!(with("true", "words").unwrap(), "words");
        assert_eq!(with("sed -i s/a/b/", "a cat").unwrap(), "b cat");
        for editor in ["false", "/no/such/editor --wait"] {
            assert!(with(editor, "text").unwrap_err().to_string().contains(editor));
        }
        let both = Environment::of([("VISUAL", "true"), ("EDITOR", "false")]);
        assert_eq!(edit("text", &both).unwrap(), "text");
    }
}
