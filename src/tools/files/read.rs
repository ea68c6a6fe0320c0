//! `read_file`: reads a range of lines from a text file in bounded memory.
//! Not for: finding files.

use super::visible::ToolVisibility;
use crate::tools::args::Args;
use crate::tools::{ToolFailure, ToolText, Workspace, shown, stop, unless_cancelled};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The number of bytes from the beginning of a file in which the first line is searched for.
const MAX_SEARCHED: u64 = 64 << 20;

/// The lines that were read from a file.
#[derive(Default)]
struct LinesRead {
    bytes: Vec<u8>,
    lines: u64,
    /// The number of bytes before the first line.
    skipped: u64,
    /// Whether the size limit cut off requested lines.
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
    let range = (args.number("start_line")?.unwrap_or(1), args.number("lines")?);
    let (file, size) = space.open_visible(&path, visibility)?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let start = fill(&mut reader, &path)?;
    if start.iter().take(8 << 10).any(|byte| *byte == 0) {
        return Err(ToolFailure::Failed(format!("{} is not a text file ({size} bytes).", shown(&path))));
    }
    let lines_read = read_lines(&mut reader, &path, range, space.limit, cancelled)?;
    Ok(to_text(&path, range, size, &lines_read))
}

/// Reads a range of lines from a stored text.
pub(crate) fn read_stored(limit: usize, args: &Args, text: &str) -> Result<ToolText, ToolFailure> {
    let path = PathBuf::from(args.text("path")?.unwrap_or_default());
    let range = (args.number("start_line")?.unwrap_or(1), args.number("lines")?);
    let lines_read = read_lines(&mut text.as_bytes(), &path, range, limit, &|| false)?;
    Ok(to_text(&path, range, text.len() as u64, &lines_read))
}

/// Skips the lines before line `first`, and returns the number of bytes that were skipped.
fn skip(reader: &mut impl BufRead, path: &Path, first: u64, cancelled: &dyn Fn() -> bool) -> Result<u64, ToolFailure> {
    let (mut passed, mut line) = (0_u64, 1);
    while line < first {
        unless_cancelled(cancelled)?;
        let buffer = fill(reader, path)?;
        if buffer.is_empty() {
            let had = if passed == 0 { 0 } else { line };
            return Err(ToolFailure::Failed(format!(
                "{} ends before line {first}; it has about {had} lines.",
                shown(path)
            )));
        }
        if passed >= MAX_SEARCHED {
            return Err(ToolFailure::Failed(format!(
                "Line {first} of {} is beyond the first {} MB, which is as far as this tool reads.",
                shown(path),
                MAX_SEARCHED >> 20
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

/// Reads lines from line `first` on until there are enough of them, the file ends, or the size limit is reached.
fn read_lines(
    reader: &mut impl BufRead,
    path: &Path,
    (first, wanted): (u64, Option<u64>),
    limit: usize,
    cancelled: &dyn Fn() -> bool,
) -> Result<LinesRead, ToolFailure> {
    let mut lines_read = LinesRead { skipped: skip(reader, path, first, cancelled)?, ..LinesRead::default() };
    while wanted.is_none_or(|wanted| lines_read.lines < wanted) {
        unless_cancelled(cancelled)?;
        let buffer = fill(reader, path)?;
        if buffer.is_empty() {
            return Ok(lines_read);
        }
        let room = limit - lines_read.bytes.len();
        if room == 0 {
            lines_read.cut = true;
            lines_read.inside = lines_read.bytes.last() != Some(&b'\n');
            break;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1).min(room);
        lines_read.bytes.extend_from_slice(&buffer[..end]);
        lines_read.lines += u64::from(buffer[end - 1] == b'\n');
        reader.consume(end);
    }
    // Prefer whole lines. Only a line longer than the limit is cut inside.
    if lines_read.inside
        && let Some(last) = lines_read.bytes.iter().rposition(|byte| *byte == b'\n')
    {
        lines_read.bytes.truncate(last + 1);
        lines_read.inside = false;
    }
    Ok(lines_read)
}

fn to_text(path: &Path, (first, wanted): (u64, Option<u64>), size: u64, lines_read: &LinesRead) -> ToolText {
    let text = String::from_utf8_lossy(&lines_read.bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_)) && !lines_read.inside;
    let mut body = text.into_owned();
    let rest = size.saturating_sub(lines_read.skipped);
    let next = first + lines_read.lines;
    let mut back = None;
    if body.is_empty() {
        body = format!("[{} is empty]", shown(path));
    }
    if lossy {
        note(&mut body, "[some bytes were not UTF-8 and are shown as U+FFFD]");
    }
    if lines_read.cut && lines_read.inside {
        note(&mut body, &format!("[cut inside line {first}, which is too long; {rest} bytes follow; use search]"));
        back = Some(format!("search {} for the part of line {first} that you need", shown(path)));
    } else if lines_read.cut {
        let last = next - 1;
        let follow = format!("{rest} bytes follow from line {first} on; continue with start_line {next}");
        note(&mut body, &format!("[cut after line {last}; {follow}]"));
        back = Some(format!("read_file {} with start_line {next}", shown(path)));
    } else if wanted.is_some() && (lines_read.bytes.len() as u64) < rest {
        note(&mut body, &format!("[the file continues at line {next}]"));
    }
    let full_bytes = if lines_read.cut { rest } else { body.len() as u64 };
    ToolText { body, full_bytes, back }
}

fn note(body: &mut String, text: &str) {
    if !body.ends_with('\n') {
        body.push('\n');
    }
    body.push_str(text);
    body.push('\n');
}
