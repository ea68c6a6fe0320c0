//! `edit_file` and `write_file`: computes a file's new text without writing anything.
//! Not for: writing it (`change`).

use super::diff;
use super::place::{MAX_FILE_BYTES, Place};
use crate::domain::tool::FileChange;
use crate::tools::args::Args;
use crate::tools::{ToolFailure, Workspace, path_text, shown};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// The maximum number of edits in one call.
const MOST_EDITS: usize = 200;
/// The maximum number of lines that are compared if a text does not occur in the file.
const LINES_COMPARED: usize = 5_000;
/// The maximum number of lines that are shown as the nearest match.
const LINES_SHOWN: usize = 12;

/// Computes the change of `edit_file`.
pub(crate) fn edit(space: &Workspace, args: &Args) -> Result<FileChange, ToolFailure> {
    args.needed("path")?;
    let path = args.path()?;
    let edits = args.list("edits")?.unwrap_or_default();
    if edits.is_empty() && args.text("old")?.is_none() {
        return Err(ToolFailure::Failed("The argument edits is missing.".into()));
    }
    if edits.len() > MOST_EDITS {
        return Err(ToolFailure::Failed(format!("More than {MOST_EDITS} edits in one call.")));
    }
    let place = Place::find(space, &path, false)?;
    let Some(now) = place.map(|place| place.current()).transpose()?.flatten() else {
        return Err(ToolFailure::Failed(format!("{} does not exist; write_file creates new files.", shown(&path))));
    };
    let all = args.flag("replace_all")?;
    let before = now.text;
    let crlf = all_crlf(&before);
    let mut after = before.to_string();
    // A single edit can also be given without a list, next to the path.
    let each: Vec<&Args> = if edits.is_empty() { vec![args] } else { edits.iter().collect() };
    for (index, edit) in each.iter().enumerate() {
        let old = edit.needed("old")?;
        let new = edit.text("new")?.ok_or_else(|| {
            ToolFailure::Failed(format!(
                "Edit {} has no new text; use an empty string to delete the old text.",
                index + 1
            ))
        })?;
        let replacement = Replacement { number: index + 1, path: &path, all: all || edit.flag("replace_all")? };
        after = if crlf {
            replacement.replace(&after, &to_crlf(old), &to_crlf(new))?
        } else {
            replacement.replace(&after, old, new)?
        };
        check_size(&path, &after)?;
    }
    if *before == *after {
        return Err(ToolFailure::Failed(format!(
            "Nothing would change in {}: old and new are the same.",
            shown(&path)
        )));
    }
    Ok(diff::change(&path_text(&path), Some(before), &after))
}

/// Computes the change of `write_file`.
pub(crate) fn write(space: &Workspace, args: &Args) -> Result<FileChange, ToolFailure> {
    args.needed("path")?;
    let path = args.path()?;
    let text = args.text("text")?.ok_or_else(|| ToolFailure::Failed("The argument text is missing.".into()))?;
    check_size(&path, text)?;
    if text.contains('\0') {
        return Err(ToolFailure::Failed("The text contains a NUL; only text files are written.".into()));
    }
    let now = Place::find(space, &path, false)?.map(|place| place.current()).transpose()?.flatten();
    let before: Option<Arc<str>> = now.map(|now| now.text);
    // A file with CRLF line endings keeps them. Otherwise every line would differ.
    let keep = before.as_deref().is_some_and(all_crlf) && !text.contains('\r');
    let after = if keep { to_crlf(text) } else { text.to_owned() };
    if before.as_deref() == Some(after.as_str()) {
        return Err(ToolFailure::Failed(format!("{} already has that text.", shown(&path))));
    }
    Ok(diff::change(&path_text(&path), before, &after))
}

fn check_size(path: &Path, text: &str) -> Result<(), ToolFailure> {
    if text.len() as u64 <= MAX_FILE_BYTES {
        return Ok(());
    }
    Err(ToolFailure::Failed(format!(
        "{} would have more than {} MB, the limit for written files.",
        shown(path),
        MAX_FILE_BYTES >> 20
    )))
}

/// Whether every line ends with CRLF.
fn all_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// A replacement of one text by another.
struct Replacement<'a> {
    number: usize,
    path: &'a Path,
    all: bool,
}

impl Replacement<'_> {
    fn replace(&self, text: &str, old: &str, new: &str) -> Result<String, ToolFailure> {
        let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).take(1_000).collect();
        match places.as_slice() {
            [] => Err(self.not_found(text, old)),
            [_] => Ok(text.replacen(old, new, 1)),
            // Check the size before building the text.
            _ if self.all => {
                let more = text.matches(old).count() * new.len().saturating_sub(old.len());
                if (text.len() + more) as u64 > MAX_FILE_BYTES {
                    let most = MAX_FILE_BYTES >> 20;
                    return Err(ToolFailure::Failed(format!("{} would grow beyond {most} MB.", shown(self.path))));
                }
                Ok(text.replace(old, new))
            }
            many => {
                let lines: Vec<String> = many.iter().take(10).map(|at| line_of(text, *at).to_string()).collect();
                let more = if many.len() > 10 { " and more" } else { "" };
                Err(ToolFailure::Failed(format!(
                    "The old text of edit {} occurs {} times in {} (lines {}{more}); include more of the text \
                        around it, or set replace_all. Nothing was changed.",
                    self.number,
                    many.len(),
                    shown(self.path),
                    lines.join(", ")
                )))
            }
        }
    }

    /// Returns the error for a text that does not occur, with the most similar lines.
    fn not_found(&self, text: &str, old: &str) -> ToolFailure {
        let mut message = format!(
            "The old text of edit {} does not occur in {}. Nothing was changed.",
            self.number,
            shown(self.path)
        );
        let lines: Vec<&str> = text.lines().take(LINES_COMPARED).collect();
        let wanted: Vec<&str> = old.lines().collect();
        if let Some((from, alike)) = nearest(&lines, &wanted) {
            let to = (from + wanted.len().clamp(1, LINES_SHOWN)).min(lines.len());
            let why = if alike { " (they differ only in white space)" } else { "" };
            let _ = write!(message, " The nearest lines{why}, each after its number and a bar:");
            for (at, line) in lines.iter().enumerate().take(to).skip(from) {
                let _ = write!(message, "\n{}|{}", at + 1, line.chars().take(300).collect::<String>());
            }
        }
        ToolFailure::Failed(message)
    }
}

/// Returns the line number of a byte offset, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// A line prepared for comparison: its text without white space, and its words.
struct ComparableLine<'a> {
    bare: String,
    words: Vec<&'a str>,
}

impl<'a> ComparableLine<'a> {
    fn of(line: &'a str) -> Self {
        let end = line.char_indices().nth(500).map_or(line.len(), |(at, _)| at);
        let line = line.get(..end).unwrap_or_default();
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        Self { bare: line.split_whitespace().collect(), words: words.take(40).collect() }
    }

    /// Returns 4 if the lines differ only in white space, or else 0 to 3 by the share of common words.
    fn likeness(&self, line: &Self) -> usize {
        if self.bare.is_empty() || line.bare.is_empty() {
            return 0;
        }
        if self.bare == line.bare {
            return 4;
        }
        let shared = self.words.iter().filter(|word| line.words.contains(word)).count();
        3 * shared / self.words.len().max(line.words.len()).max(1)
    }
}

/// Returns the index of the first of the most similar lines, and whether they differ only in white space. `None` if no
/// line is similar.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<(usize, bool)> {
    let wanted: Vec<ComparableLine<'_>> =
        wanted.iter().take(LINES_SHOWN).map(|line| ComparableLine::of(line)).collect();
    let lines: Vec<ComparableLine<'_>> = lines.iter().map(|line| ComparableLine::of(line)).collect();
    let mut best = (0, 0, false);
    for from in 0..lines.len() {
        let here = lines.get(from..).unwrap_or_default();
        let score = wanted.iter().zip(here).map(|(wanted, line)| wanted.likeness(line)).sum();
        if score > best.0 {
            let same =
                here.len() >= wanted.len() && wanted.iter().zip(here).all(|(wanted, line)| wanted.bare == line.bare);
            best = (score, from, same);
        }
    }
    (best.0 > 0).then_some((best.1, best.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_crlf_if_all_its_lines_end_with_it() {
        let found = ["", "a", "a\n", "a\r\n", "a\r\nb", "a\r\nb\n", "a\r"].map(all_crlf);
        assert_eq!(found, [false, false, false, true, true, false, false]);
        assert_eq!(to_crlf("a\nb\r\n"), "a\r\nb\r\n");
    }
}
