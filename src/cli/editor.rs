//! A text in the person's editor.
//! Not for: the workbench, which has to give its terminal away first.

use super::stop::Stop;
use crate::config::load::Environment;
use crate::domain::failure::Failure;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

/// Opens `text` in `$VISUAL`, `$EDITOR` or `vi`, and gives back what was saved. The file is readable by its owner only
/// and is deleted afterwards.
pub(super) fn edit(text: &str, env: &Environment) -> Result<String, Stop> {
    let editor = env.get("VISUAL").or_else(|| env.get("EDITOR")).unwrap_or_else(|| "vi".into());
    let path = std::env::temp_dir().join(format!("pleach-{}.md", uuid::Uuid::now_v7()));
    let edited = write(&path, text).and_then(|()| open(&editor, &path)).and_then(|()| std::fs::read_to_string(&path));
    let _ = std::fs::remove_file(&path);
    edited.map_err(|error| {
        Failure::user(format!("The editor {editor:?} did not do it: {error}."))
            .kept("The old text is as it was.")
            .todo("Set EDITOR, or give the text on standard input with `-`.")
            .into()
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// The editor's variable may hold flags, as in `code --wait`.
fn open(editor: &str, path: &Path) -> io::Result<()> {
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or_else(|| io::Error::other("no editor is named"))?;
    let status = Command::new(program).args(words).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_or_missing_editor_keeps_the_old_text() {
        for editor in ["false", "/no/such/editor --wait"] {
            let stop = edit("text", &Environment::of([("EDITOR", editor)])).unwrap_err();
            assert_eq!(stop.code(), 1);
        }
        assert_eq!(edit("text", &Environment::of([("VISUAL", "true"), ("EDITOR", "false")])).unwrap(), "text");
    }
}
