//! `list_dir`: lists the entries of a folder with their sizes, down to a given depth.
//! Not for: the contents of files.

use super::visible::ToolVisibility;
use super::walk::{Kind, Walk};
use crate::tools::args::Args;
use crate::tools::{ToolFailure, ToolText, Workspace, shown, unless_cancelled};
use std::fmt::Write;

/// The maximum number of entries that are visited.
const MAX_ENTRIES: usize = 20_000;

pub(crate) fn run(
    space: &Workspace,
    args: &Args,
    visibility: ToolVisibility<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<ToolText, ToolFailure> {
    let path = args.path()?;
    let depth = args.number("depth")?.unwrap_or(1).min(64);
    let mut walk = Walk::new(space, &path, usize::try_from(depth).unwrap_or(64), visibility)?;
    let (mut body, mut full, mut seen, mut left) = (String::new(), 0_u64, 0_usize, 0_usize);
    let mut odd_names = false;
    while let Some(entry) = walk.next() {
        unless_cancelled(cancelled)?;
        if seen >= MAX_ENTRIES {
            left += 1;
            break;
        }
        seen += 1;
        odd_names |= entry.path.to_str().is_none();
        let mut line = shown(&entry.path);
        match entry.kind {
            Kind::Folder => line.push('/'),
            Kind::File => {
                if let Ok(meta) = space.root.symlink_metadata(&entry.path) {
                    let _ = write!(line, "  {}", size(meta.len()));
                }
            }
            Kind::Link => line.push_str("  (link)"),
            Kind::Other => line.push_str("  (pipe, socket, or device)"),
        }
        line.push('\n');
        full += line.len() as u64;
        if left == 0 && body.len() + line.len() <= space.limit {
            body.push_str(&line);
        } else {
            left += 1;
        }
    }
    if body.is_empty() && left == 0 {
        body.push_str("[empty, or all entries are ignored]\n");
    }
    if odd_names {
        body.push_str("[names that are not UTF-8 are shown with U+FFFD; this tool can't open them]\n");
    }
    if walk.hidden > 0 {
        let _ = writeln!(body, "{}", hidden_note(walk.hidden));
    }
    if walk.unread > 0 {
        let folders = if walk.unread == 1 { "folder" } else { "folders" };
        let _ = writeln!(body, "[{} {folders} could not be read]", walk.unread);
    }
    if left > 0 {
        let more = if seen >= MAX_ENTRIES { "more" } else { &left.to_string() };
        let _ = writeln!(body, "[{more} entries are not shown; list a subfolder or use a smaller depth]");
    }
    let full_bytes = if left > 0 { full } else { body.len() as u64 };
    let back = (left > 0).then(|| "list_dir of a subfolder, or a smaller depth".to_owned());
    Ok(ToolText { body, full_bytes, back })
}

/// Returns the note about entries that rules hide. It does not name them.
pub(crate) fn hidden_note(count: usize) -> String {
    let what = if count == 1 { "1 file or folder is".to_owned() } else { format!("{count} files or folders are") };
    format!("[{what} hidden by the user's rules]")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes.div_ceil(1_024)),
        _ => format!("{} MB", bytes.div_ceil(1_048_576)),
    }
}
