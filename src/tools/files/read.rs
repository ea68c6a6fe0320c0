//! `read_file`: a range of lines from a text file, with bounded memory.
//! Not for: finding files.

use super::visible::ToolVisibility;
use crate::tools::args::Args;
use crate::tools::{ToolFailure, ToolText, Workspace, shown, stop};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// How far into a file the first line is looked for, in bytes.
const REACH: u64 = 64 << 20;

/// The lines read from a file.
#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    lines: u64,
    /// Bytes before the first line.
    skipped: u64,
    /// Whether the size limit cut off lines that were asked for.
    cut: bool,
    /// Whether the cut is inside a line.
    inside: bool,
}

pub(crate) fn run(
    space: &Workspace,
    args: &Args,
    visibility: ToolVisibility<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<ToolText, ToolFailure> {
    args.needed("path")?;
    let path = args.path()?;
    let first = args.number("start_line")?.unwrap_or(1);
    let wanted = args.number("lines")?;
    let (file, size) = space.open_visible(&path, visibility)?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let start = reader.fill_buf().map_err(|error| stop(&path, &error))?;
    if start.iter().take(8 << 10).any(|byte| *byte == 0) {
        return Err(ToolFailure::Failed(format!("{} is not a text file ({size} bytes).", shown(&path))));
    }
    let mut taken = Taken { skipped: skip(&mut reader, &path, first, cancelled)?, ..Taken::default() };
    take(&mut reader, &path, wanted, space.limit, &mut taken, cancelled)?;
    Ok(answer(&path, first, wanted, size, &taken))
}

/// Reads lines of a stored text.
pub(crate) fn over(limit: usize, args: &Args, text: &str) -> Result<ToolText, ToolFailure> {
    let path = PathBuf::from(args.text("path")?.unwrap_or_default());
    let first = args.number("start_line")?.unwrap_or(1);
    let wanted = args.number("lines")?;
    let mut reader = text.as_bytes();
    let mut taken = Taken { skipped: skip(&mut reader, &path, first, &|| false)?, ..Taken::default() };
    take(&mut reader, &path, wanted, limit, &mut taken, &|| false)?;
    Ok(answer(&path, first, wanted, text.len() as u64, &taken))
}

/// Skips the lines before the first one asked for.
fn skip(reader: &mut impl BufRead, path: &Path, first: u64, cancelled: &dyn Fn() -> bool) -> Result<u64, ToolFailure> {
    let (mut passed, mut line) = (0_u64, 1);
    while line < first {
        if cancelled() {
            return Err(ToolFailure::Cancelled);
        }
        let buffer = fill(reader, path)?;
        if buffer.is_empty() {
            let had = if passed == 0 { 0 } else { line };
            return Err(ToolFailure::Failed(format!(
                "{} ends before line {first}; it has about {had} lines.",
                shown(path)
            )));
        }
        if passed >= REACH {
            return Err(ToolFailure::Failed(format!(
                "Line {first} of {} is beyond the first {} MB, which is as far as this tool reads.",
                shown(path),
                REACH >> 20
            )));
        }
        let mut used = buffer.len();
        for (at, byte) in buffer.iter().enumerate() {
            if *byte == b'\n' {
                line += 1;
                if line == first {
                    used = at + 1;
                    break;
                }
            }
        }
        passed += used as u64;
        reader.consume(used);
    }
    Ok(passed)
}

fn fill<'a>(reader: &'a mut impl BufRead, path: &Path) -> Result<&'a [u8], ToolFailure> {
    reader.fill_buf().map_err(|error| stop(path, &error))
}

/// Reads lines until there are enough, the file ends, or the size limit is reached.
fn take(
    reader: &mut impl BufRead,
    path: &Path,
    wanted: Option<u64>,
    limit: usize,
    taken: &mut Taken,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), ToolFailure> {
    while wanted.is_none_or(|wanted| taken.lines < wanted) {
        if cancelled() {
            return Err(ToolFailure::Cancelled);
        }
        let buffer = fill(reader, path)?;
        if buffer.is_empty() {
            return Ok(());
        }
        let room = limit - taken.bytes.len();
        if room == 0 {
            taken.cut = true;
            taken.inside = taken.bytes.last() != Some(&b'\n');
            break;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1).min(room);
        taken.bytes.extend_from_slice(&buffer[..end]);
        taken.lines += u64::from(buffer[end - 1] == b'\n');
        reader.consume(end);
    }
    // Prefer whole lines. Only a line longer than the limit is cut inside.
    if taken.inside
        && let Some(last) = taken.bytes.iter().rposition(|byte| *byte == b'\n')
    {
        taken.bytes.truncate(last + 1);
        taken.inside = false;
    }
    Ok(())
}

fn answer(path: &Path, first: u64, wanted: Option<u64>, size: u64, taken: &Taken) -> ToolText {
    let text = String::from_utf8_lossy(&taken.bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_)) && !taken.inside;
    let mut body = text.into_owned();
    let rest = size.saturating_sub(taken.skipped);
    let next = first + taken.lines;
    let mut full_bytes = body.len() as u64;
    let mut back = None;
    if body.is_empty() {
        body = format!("[{} is empty]", shown(path));
    }
    if lossy {
        note(&mut body, "[some bytes were not UTF-8 and are shown as U+FFFD]");
    }
    if taken.cut && taken.inside {
        note(&mut body, &format!("[cut inside line {first}, which is too long; {rest} bytes follow; use search]"));
        back = Some(format!("search {} for the part of line {first} that you need", shown(path)));
        full_bytes = rest;
    } else if taken.cut {
        note(
            &mut body,
            &format!(
                "[cut after line {}; {rest} bytes follow from line {first} on; continue with start_line \
                {next}]",
                next - 1
            ),
        );
        back = Some(format!("read_file {} with start_line {next}", shown(path)));
        full_bytes = rest;
    } else if wanted.is_some() && (taken.bytes.len() as u64) < rest {
        note(&mut body, &format!("[the file continues at line {next}]"));
    }
    let full_bytes = if taken.cut { full_bytes } else { body.len() as u64 };
    ToolText { body, full_bytes, back }
}

fn note(body: &mut String, text: &str) {
    if !body.ends_with('\n') {
        body.push('\n');
    }
    body.push_str(text);
    body.push('\n');
}
