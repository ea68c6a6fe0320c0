//! `search`: finds lines that match a regular expression, with ripgrep's searcher, in files that are opened through the
//! root.
//! Not for: ranking. Matches are in the order of the tree.

use super::list::hidden_note;
use super::visible::ToolVisibility;
use super::walk::{Kind, Walk};
use crate::tools::args::Args;
use crate::tools::{ToolFailure, ToolText, Workspace, shown, stop, unless_cancelled};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::fmt::Write;
use std::io::{self, Read};
use std::path::Path;

/// The maximum number of bytes searched in one file, and in all files together.
const MAX_FILE_BYTES: u64 = 16 << 20;
const MAX_TOTAL_BYTES: u64 = 512 << 20;
/// The maximum number of characters shown of a matching line.
const MAX_LINE_CHARS: usize = 300;

pub(crate) fn run(
    space: &Workspace,
    args: &Args,
    visibility: ToolVisibility<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<ToolText, ToolFailure> {
    let mut search_run = SearchRun::new(space, args, cancelled)?;
    let path = args.path()?;
    let is_folder =
        path.as_os_str().is_empty() || space.root.metadata(&path).map_err(|error| stop(&path, &error))?.is_dir();
    let mut unread = 0;
    if is_folder {
        let mut walk = Walk::new(space, &path, usize::MAX, visibility)?;
        while let Some(entry) = walk.next() {
            unless_cancelled(cancelled)?;
            if search_run.found.cut || search_run.found.searched >= MAX_TOTAL_BYTES {
                break;
            }
            if entry.kind == Kind::File && search_run.file(&entry.path, visibility).is_err() {
                unread += 1;
            }
        }
        unread += walk.unread;
        search_run.found.hidden = walk.hidden;
    } else {
        search_run.file(&path, visibility)?;
    }
    unless_cancelled(cancelled)?;
    Ok(search_run.found.answer(unread))
}

/// Searches a stored text.
pub(crate) fn search_stored(space: &Workspace, args: &Args, text: &str) -> Result<ToolText, ToolFailure> {
    let mut search_run = SearchRun::new(space, args, &|| false)?;
    search_run.read(args.text("path")?.unwrap_or_default(), text.as_bytes())?;
    Ok(search_run.found.answer(0))
}

fn matcher(pattern: &str) -> Result<RegexMatcher, ToolFailure> {
    RegexMatcherBuilder::new().case_smart(true).line_terminator(Some(b'\n')).size_limit(4 << 20).build(pattern).map_err(
        |error| ToolFailure::Failed(format!("The pattern is not a valid regular expression for lines: {error}")),
    )
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(32 << 20))
        .build()
}

/// The state of a search.
struct SearchRun<'a> {
    space: &'a Workspace,
    matcher: RegexMatcher,
    searcher: Searcher,
    cancelled: &'a dyn Fn() -> bool,
    found: Found,
}

impl<'a> SearchRun<'a> {
    fn new(space: &'a Workspace, args: &Args, cancelled: &'a dyn Fn() -> bool) -> Result<Self, ToolFailure> {
        let matcher = matcher(args.needed("pattern")?)?;
        let most = args.number("max")?.unwrap_or(100).min(1_000);
        Ok(Self { space, matcher, searcher: searcher(), cancelled, found: Found { most, ..Found::default() } })
    }

    fn file(&mut self, path: &Path, visibility: ToolVisibility<'_>) -> Result<(), ToolFailure> {
        let (file, size) = self.space.open_visible(path, visibility)?;
        self.found.searched += size.min(MAX_FILE_BYTES);
        self.found.long_files += usize::from(size > MAX_FILE_BYTES);
        self.read(&shown(path), file.take(MAX_FILE_BYTES))
    }

    /// Searches a text with this name.
    fn read(&mut self, name: &str, text: impl Read) -> Result<(), ToolFailure> {
        let limit = self.space.limit;
        let mut sink = Lines { name, limit, cancelled: self.cancelled, found: &mut self.found };
        self.searcher
            .search_reader(&self.matcher, text, &mut sink)
            .map_err(|error| ToolFailure::Failed(format!("{name} can't be searched: {error}.")))
    }
}

/// The matches of a search.
#[derive(Default)]
struct Found {
    body: String,
    matches: u64,
    most: u64,
    searched: u64,
    long_files: usize,
    /// The number of files and folders that rules hide.
    hidden: usize,
    /// Whether a match did not fit.
    cut: bool,
    /// The size of all matches in bytes, whether shown or not.
    bytes: u64,
    lossy: bool,
}

impl Found {
    fn answer(self, unread: usize) -> ToolText {
        let mut body = self.body;
        if self.matches == 0 {
            body.push_str("[no matches]\n");
        }
        if self.lossy {
            body.push_str("[some bytes were not UTF-8 and are shown as U+FFFD]\n");
        }
        if self.cut {
            let _ = writeln!(
                body,
                "[cut after {} matches; narrow the pattern or the path, or read a file with read_file and start_line]",
                self.matches
            );
        }
        if self.searched >= MAX_TOTAL_BYTES {
            let _ = writeln!(body, "[only the first {} MB of all files were searched]", MAX_TOTAL_BYTES >> 20);
        }
        if self.long_files > 0 {
            let _ = writeln!(
                body,
                "[only the first {} MB of {} large files were searched]",
                MAX_FILE_BYTES >> 20,
                self.long_files
            );
        }
        if self.hidden > 0 {
            let _ = writeln!(body, "{}", hidden_note(self.hidden));
        }
        if unread > 0 {
            let what = if unread == 1 { "file or folder" } else { "files or folders" };
            let _ = writeln!(body, "[{unread} {what} could not be read]");
        }
        let full_bytes = if self.cut { self.bytes.max(body.len() as u64) } else { body.len() as u64 };
        let back = self.cut.then(|| "search with a narrower pattern or path, or a higher max".to_owned());
        ToolText { body, full_bytes, back }
    }
}

/// Collects the matching lines of one file.
struct Lines<'a> {
    name: &'a str,
    limit: usize,
    cancelled: &'a dyn Fn() -> bool,
    found: &'a mut Found,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let line = String::from_utf8_lossy(found.bytes());
        self.found.lossy |= matches!(line, std::borrow::Cow::Owned(_));
        let line = line.trim_end_matches(['\n', '\r']);
        let mut short: String = line.chars().take(MAX_LINE_CHARS).collect();
        if short.len() < line.len() {
            short.push('…');
        }
        let text = format!("{}:{}: {short}\n", self.name, found.line_number().unwrap_or(0));
        self.found.bytes += text.len() as u64;
        if self.found.matches >= self.found.most || self.found.body.len() + text.len() > self.limit {
            self.found.cut = true;
            return Ok(false);
        }
        self.found.matches += 1;
        self.found.body.push_str(&text);
        Ok(!(self.cancelled)())
    }
}
