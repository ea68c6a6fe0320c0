//! The message in the person's own editor, while the terminal is lent to it.
//! Not for: giving the terminal away and taking it back (`terminal`), or keeping keys from being read meanwhile (`input`).

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

/// Opens `text` in `$VISUAL`, `$EDITOR` or `vi`, and gives back what was saved, without the line end that editors add. The
/// file is readable by its owner only and is deleted afterwards. Errors are sentences.
pub(super) fn edit(text: &str) -> Result<String, String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    in_editor(&editor, text)
}

fn in_editor(editor: &str, text: &str) -> Result<String, String> {
    let path = std::env::temp_dir().join(format!("pleach-{}.md", uuid::Uuid::now_v7()));
    let edited = write(&path, text).and_then(|()| open(editor, &path)).and_then(|()| std::fs::read_to_string(&path));
    let _ = std::fs::remove_file(&path);
    let mut edited = edited.map_err(|why| {
        format!("The editor {editor:?} did not do it: {why}. The message is as it was. EDITOR names another one.")
    })?;
    if edited.ends_with('\n') && !text.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
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
    fn what_was_saved_comes_back_and_failures_say_so() {
        assert_eq!(in_editor("true", "words").as_deref(), Ok("words"));
        assert_eq!(in_editor("sed -i s/a/b/", "a cat").as_deref(), Ok("b cat"));
        for editor in ["false", "/no/such/editor --wait"] {
            assert!(in_editor(editor, "text").unwrap_err().contains("as it was"));
        }
    }
}
