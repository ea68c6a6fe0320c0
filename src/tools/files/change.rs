//! Carries out file changes: writes the hunks that a person approved, and reports the result.
//! Not for: working out the changes (`edit`).

use super::diff;
use super::place::Place;
use crate::domain::base::hash::Hash;
use crate::domain::tool::consent::FileChange;
use crate::domain::tool::trace::{ShortenedResult, ToolOutcome, ToolOutput, ToolStatus};
use crate::tools::args::beneath;
use crate::tools::{ToolFailure, Workspace, failed};
use std::fmt::Write as _;

/// Context lines around each change in the result.
const AROUND: usize = 2;

/// Writes the approved hunks of each file.
pub(crate) fn carry_out(space: &Workspace, changes: &[FileChange], hunks: &[Vec<bool>]) -> ToolOutcome {
    let (mut written, mut said, mut worst) = (Vec::new(), String::new(), ToolStatus::Ok);
    for (place, change) in changes.iter().enumerate() {
        let taken = hunks.get(place).map(Vec::as_slice).unwrap_or_default();
        let refused = |at: usize| taken.get(at).is_some_and(|taken| !taken);
        let all_refused = !change.hunks.is_empty() && (0..change.hunks.len()).all(refused);
        let outcome = if all_refused { Ok(None) } else { one(space, change, taken).map(Some) };
        match outcome {
            Ok(done) => {
                tell(&mut said, change, done.as_ref(), taken);
                if done.is_none() && worst == ToolStatus::Ok {
                    worst = ToolStatus::Refused;
                }
                written.extend(done);
            }
            Err(error) => {
                let out = failed(error);
                let _ = writeln!(said, "{}", out.body);
                worst = out.status;
            }
        }
    }
    let full_bytes = said.len() as u64;
    ToolOutcome {
        output: ToolOutput { status: worst, body: cut(said, space.limit), full_bytes },
        changed: written,
        exit: None,
        cut: (full_bytes > space.limit as u64).then(|| ShortenedResult {
            back: "the change itself stands below it; read_file shows the file as it is".into(),
            full: None,
        }),
    }
}

/// Writes one file and returns the change that was really made.
fn one(space: &Workspace, change: &FileChange, taken: &[bool]) -> Result<FileChange, ToolFailure> {
    let path = beneath(&change.path)?;
    if change.after.is_none() {
        return Err(ToolFailure::Refused(format!("{}: files are never deleted.", change.path)));
    }
    let text = change.with(taken);
    let place = Place::find(space, &path, true)?
        .ok_or_else(|| ToolFailure::Failed(format!("The folder of {} could not be created.", change.path)))?;
    place.put(change.hash(), &text)?;
    Ok(diff::change(&change.path, change.before.clone(), &text))
}

fn tell(said: &mut String, change: &FileChange, done: Option<&FileChange>, taken: &[bool]) {
    let refused: Vec<_> = change.hunks.iter().enumerate().filter(|(at, _)| taken.get(*at) == Some(&false)).collect();
    match done {
        Some(done) => {
            let (more, less) = done.size();
            let verb = if done.before.is_some() { "Changed" } else { "Created" };
            let lines = if more == 1 { "line" } else { "lines" };
            let _ = writeln!(said, "{verb} {}: {more} {lines} added, {less} removed.", done.path);
            said.push_str(&done.unified(AROUND));
        }
        None => {
            let _ = writeln!(said, "{} was not changed.", change.path);
        }
    }
    if !refused.is_empty() {
        let _ = writeln!(said, "A person denied {} of {} changes:", refused.len(), change.hunks.len());
        let rest = FileChange { hunks: refused.into_iter().map(|(_, hunk)| hunk.clone()).collect(), ..change.clone() };
        said.push_str(&rest.unified(AROUND));
    }
}

/// Cuts a long diff in the result.
fn cut(mut said: String, limit: usize) -> String {
    if said.len() <= limit {
        return said;
    }
    let most = (0..=limit).rev().find(|at| said.is_char_boundary(*at)).unwrap_or(0);
    let end = said[..most].rfind('\n').map_or(most, |at| at + 1);
    let rest = said.len() - end;
    said.truncate(end);
    let _ = writeln!(said, "[{rest} bytes of the difference are not shown; read_file shows the file as it is now]");
    said
}

/// Restores an earlier text of a file, for undo and redo.
pub(crate) fn put_back(
    space: &Workspace,
    path: &str,
    expected: Option<Hash>,
    text: Option<&str>,
) -> Result<(), ToolFailure> {
    let place = beneath(path).and_then(|path| Place::find(space, &path, text.is_some()))?;
    match (place, text) {
        (Some(place), Some(text)) => place.put(expected, text),
        (Some(place), None) => place.remove(expected),
        (None, _) if expected.is_none() => Ok(()),
        (None, _) => Err(ToolFailure::Failed(format!("{path} no longer exists; nothing was changed."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A long text ends after its last line that fits, or with a character if no line does, and says how much is
        /// missing.
        #[test]
        fn long_differences_are_cut_at_lines(said in "(é|a|\n){0,30}", limit in 0_usize..40) {
            let fits = |end: &usize| *end <= limit && said.is_char_boundary(*end);
            let ends = || (0..said.len()).filter(fits);
            let line = ends().rfind(|end| said[..*end].ends_with('\n'));
            let end = line.or_else(|| ends().next_back()).filter(|_| said.len() > limit).unwrap_or(said.len());
            let rest = said.len() - end;
            let note = format!("[{rest} bytes of the difference are not shown; read_file shows the file as it is now]\n");
            let note = if rest > 0 { note } else { String::new() };
            prop_assert_eq!(cut(said.clone(), limit), format!("{}{note}", &said[..end]));
        }
    }
}
