//! The text of a rules file as it is sent: cut to its limit, with secrets masked and `@file` lines replaced by the
//! files.
//! Not for: which rules files apply (`tools::workspace`).

use crate::domain::base::Safe;
use crate::domain::base::secrets;
use crate::domain::call::tokens::grouped;
use crate::domain::code::workspace_rules::plain;
use crate::engine::tools::workspace::RulesText;
use crate::tools::folder::{Folder, PathTarget, Stamp};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// The maximum depth of files that include other files.
const DEEPEST: usize = 4;

/// Reads a rules file and the files that it includes.
pub(crate) fn load(folder: &Folder, path: &Path, there: &PathTarget, most: u64) -> Result<RulesText, String> {
    let head = folder.head(path, most)?;
    let mut work = Imports { folder, left: most.saturating_sub(head.text.len() as u64), text: RulesText::default() };
    work.text.of.push((path.to_path_buf(), there.clone()));
    let whole = work.put(&ends(&head.text), path.parent().unwrap_or(Path::new("")), 0);
    let mut text = work.text;
    if head.left > 0 {
        text.notes.push(format!("{} of {} bytes left out", grouped(head.left), grouped(head.bytes)));
    }
    let (sent, masked) = secrets::mask(&whole);
    if masked > 0 {
        let unit = if masked == 1 { "secret" } else { "secrets" };
        text.notes.push(format!("{masked} possible {unit} masked"));
    }
    text.hidden = u32::try_from(Safe::hidden(&sent)).unwrap_or(u32::MAX);
    if text.hidden > 0 {
        let unit = if text.hidden == 1 { "character" } else { "characters" };
        text.notes.push(format!("{} invisible {unit}", text.hidden));
    }
    let cut = format!("\n[{} more bytes of this file are left out]\n", head.left);
    text.sent = if head.left > 0 { format!("{sent}{cut}").into() } else { sent.as_ref().into() };
    (text.raw, text.bytes, text.left) = (head.text.into(), head.bytes, head.left);
    Ok(text)
}

fn ends(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

/// Replaces lines that name a file (`@docs/style.md`) by the file, if it is inside the folder.
struct Imports<'a> {
    folder: &'a Folder,
    /// Bytes that may still be read.
    left: u64,
    text: RulesText,
}

impl Imports<'_> {
    fn put(&mut self, text: &str, from: &Path, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut fenced = false;
        for line in text.split_inclusive('\n') {
            let bare = line.trim();
            fenced ^= bare.starts_with("```") || bare.starts_with("~~~");
            let named = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")).unwrap_or(bare).strip_prefix('@');
            let named = named.filter(|name| {
                !fenced && !name.contains(char::is_whitespace) && name.contains(['.', '/']) && name.len() < 300
            });
            match named.map(|name| (name, self.import(name, from, depth))) {
                None => out.push_str(line),
                Some((name, Ok(inner))) => {
                    self.text.notes.push(format!("{} inserted", plain(name)));
                    let _ = writeln!(out, "[{0}]\n{1}\n[end of {0}]", plain(name), inner.trim_end());
                }
                Some((name, Err(why))) => {
                    self.text.notes.push(format!("{} not inserted: it {why}", plain(name)));
                    out.push_str(line);
                }
            }
        }
        out
    }

    fn import(&mut self, name: &str, from: &Path, depth: usize) -> Result<String, String> {
        let path = inside(from, name).ok_or("is outside the folder")?;
        if depth >= DEEPEST {
            return Err(format!("is nested more than {DEEPEST} files deep"));
        }
        if self.text.of.iter().any(|(other, _)| *other == path) {
            return Err("is already inserted".into());
        }
        let there = self.folder.look(&path);
        self.text.of.push((path.clone(), there.clone()));
        match there {
            PathTarget::Nothing => return Err("does not exist".into()),
            PathTarget::Refused(why) => return Err(why),
            PathTarget::File(Stamp { bytes, .. }) if bytes > self.left => return Err("is too large".into()),
            PathTarget::File(_) => {}
        }
        let head = self.folder.head(&path, self.left)?;
        self.left = self.left.saturating_sub(head.text.len() as u64);
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(self.put(&ends(&head.text), &folder, depth + 1))
    }
}

/// Resolves a path in a file relative to the topmost folder; `None` if its components lead outside.
fn inside(from: &Path, name: &str) -> Option<PathBuf> {
    let mut steps: Vec<&std::ffi::OsStr> = from.iter().collect();
    for step in Path::new(name).components() {
        match step {
            Component::Normal(step) if step != "~" => steps.push(step),
            Component::CurDir => {}
            Component::ParentDir => drop(steps.pop()?),
            _ => return None,
        }
    }
    Some(steps.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_from_the_file_are_noted() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let key = format!("sk-proj-{}", "Ab3dEf6hIj9kLm2nOp5q".repeat(2));
        for (text, most, notes, hidden) in [
            ("Be brief.".to_owned(), 1_000, vec![], 0),
            ("One\u{200b}.".to_owned(), 1_000, vec!["1 invisible character"], 1),
            ("T\u{200b}w\u{2060}o.".to_owned(), 1_000, vec!["2 invisible characters"], 2),
            (format!("key = {key}\n"), 1_000, vec!["1 possible secret masked"], 0),
            ("0123456789\n".repeat(300), 1_100, vec!["2,200 of 3,300 bytes left out"], 0),
        ] {
            std::fs::write(home.path().join("AGENTS.md"), text).unwrap();
            let path = Path::new("AGENTS.md");
            let loaded = load(&folder, path, &folder.look(path), most).unwrap();
            assert_eq!((loaded.notes, loaded.hidden), (notes.into_iter().map(String::from).collect(), hidden));
            assert!(!loaded.sent.contains(&key));
        }
    }

    #[test]
    fn a_file_is_inserted_if_there_is_room() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let path = Path::new("AGENTS.md");
        let text = "@more.md\n";
        std::fs::write(home.path().join(path), text).unwrap();
        for (more, note) in [(90, "more.md inserted"), (91, "more.md not inserted: it is too large")] {
            std::fs::write(home.path().join("more.md"), "x".repeat(more)).unwrap();
            let loaded = load(&folder, path, &folder.look(path), 90 + text.len() as u64).unwrap();
            assert_eq!(loaded.notes, [note]);
        }
    }

    #[test]
    fn byte_order_marks_and_carriage_returns_are_removed() {
        assert_eq!(ends("\u{feff}# Rules\r\nOne\n\r\nTwo"), "# Rules\nOne\n\nTwo");
    }

    #[test]
    fn included_paths_stay_inside_the_folder() {
        for (from, name, path) in [
            ("", "a.md", Some("a.md")),
            ("x/y", "a.md", Some("x/y/a.md")),
            ("x/y", "./a.md", Some("x/y/a.md")),
            ("x/y", "../a.md", Some("x/a.md")),
            ("x", "../../a.md", None),
            ("", "../a.md", None),
            ("x", "/a.md", None),
            ("x", "~/a.md", None),
            ("x", "a/~/b", None),
            ("x", "~a/b", Some("x/~a/b")),
        ] {
            assert_eq!(inside(Path::new(from), name).as_deref(), path.map(Path::new), "{from} {name}");
        }
    }
}
