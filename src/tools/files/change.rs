//! Carries out file changes: writes the hunks that a person approved, and reports the result.
//! Not for: computing the changes (`edit`).

use super::diff;
use super::place::Place;
use crate::domain::base::Hash;
use crate::domain::tool::{FileChange, ShortenedResult, ToolOutcome, ToolOutput, ToolStatus};
use crate::tools::args::beneath;
use crate::tools::{ToolFailure, Workspace, failed};
use std::fmt::Write as _;

/// The number of unchanged lines around each change in the result.
const CONTEXT_LINES: usize = 2;

/// Writes the approved hunks of each file. Without an entry in `hunks`, all hunks of a file are approved.
pub(crate) fn carry_out(space: &Workspace, changes: &[FileChange], hunks: &[Vec<bool>]) -> ToolOutcome {
    let (mut written, mut report, mut worst) = (Vec::new(), String::new(), ToolStatus::Ok);
    for (place, change) in changes.iter().enumerate() {
        let approved = hunks.get(place).map(Vec::as_slice).unwrap_or_default();
        let refused = |at: usize| approved.get(at).is_some_and(|approved| !approved);
        let all_refused = !change.hunks.is_empty() && (0..change.hunks.len()).all(refused);
        let outcome = if all_refused { Ok(None) } else { write_one(space, change, approved).map(Some) };
        match outcome {
            Ok(done) => {
                append_report(&mut report, change, done.as_ref(), approved);
                if done.is_none() && worst == ToolStatus::Ok {
                    worst = ToolStatus::Refused;
                }
                written.extend(done);
            }
            Err(error) => {
                let out = failed(error);
                let _ = writeln!(report, "{}", out.body);
                worst = out.status;
            }
        }
    }
    let full_bytes = report.len() as u64;
    ToolOutcome {
        output: ToolOutput { status: worst, body: cut(report, space.limit), full_bytes },
        changed: written,
        exit: None,
        cut: (full_bytes > space.limit as u64).then(|| ShortenedResult {
            back: "the change itself is below; read_file shows the current file".into(),
            full: None,
        }),
    }
}

/// Writes one file and returns the change that was made.
fn write_one(space: &Workspace, change: &FileChange, approved: &[bool]) -> Result<FileChange, ToolFailure> {
    let path = beneath(&change.path)?;
    if change.after.is_none() {
        return Err(ToolFailure::Refused(format!(
            "{} was not deleted: the file tools never delete files.",
            change.path
        )));
    }
    let text = change.with(approved);
    let place = Place::find(space, &path, true)?
        .ok_or_else(|| ToolFailure::Failed(format!("The folder of {} could not be created.", change.path)))?;
    place.put(change.hash(), &text)?;
    Ok(diff::change(&change.path, change.before.clone(), &text))
}

fn append_report(report: &mut String, change: &FileChange, done: Option<&FileChange>, approved: &[bool]) {
    let refused: Vec<_> = change.hunks.iter().enumerate().filter(|(at, _)| approved.get(*at) == Some(&false)).collect();
    match done {
        Some(done) => {
            let (more, less) = done.size();
            let verb = if done.before.is_some() { "Changed" } else { "Created" };
            let lines = if more == 1 { "line" } else { "lines" };
            let _ = writeln!(report, "{verb} {}: {more} {lines} added, {less} removed.", done.path);
            report.push_str(&done.unified(CONTEXT_LINES));
        }
        None => {
            let _ = writeln!(report, "{} was not changed.", change.path);
        }
    }
    if !refused.is_empty() {
        let _ = writeln!(report, "The user denied {} of {} changes:", refused.len(), change.hunks.len());
        let rest = FileChange { hunks: refused.into_iter().map(|(_, hunk)| hunk.clone()).collect(), ..change.clone() };
        report.push_str(&rest.unified(CONTEXT_LINES));
    }
}

/// Cuts a result that is longer than `limit` bytes.
fn cut(mut report: String, limit: usize) -> String {
    if report.len() <= limit {
        return report;
    }
    let most = report.floor_char_boundary(limit);
    let end = report[..most].rfind('\n').map_or(most, |at| at + 1);
    let rest = report.len() - end;
    report.truncate(end);
    let _ = writeln!(report, "[{rest} bytes of the diff are not shown; read_file shows the current file]");
    report
}

/// Restores an earlier text of a file, for undo and redo. `None` removes the file.
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
        fn long_differences_are_cut_at_lines(report in "(é|a|\n){0,30}", limit in 0_usize..40) {
            let fits = |end: &usize| *end <= limit && report.is_char_boundary(*end);
            let ends = || (0..report.len()).filter(fits);
            let line = ends().rfind(|end| report[..*end].ends_with('\n'));
            let end = line.or_else(|| ends().next_back()).filter(|_| report.len() > limit).unwrap_or(report.len());
            let rest = report.len() - end;
            let note = format!("[{rest} bytes of the diff are not shown; read_file shows the current file]\n");
            let note = if rest > 0 { note } else { String::new() };
            prop_assert_eq!(cut(report.clone(), limit), format!("{}{note}", &report[..end]));
        }
    }
}
