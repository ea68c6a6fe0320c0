//! Lists and reads files for a person who attaches them to a message, under the same rules as for the model's tools.
//! Not for: the model's tools (`read`, `list`).

use super::visible::ToolVisibility;
use super::walk::{Kind, Walk};
use crate::domain::call::tokens::grouped;
use crate::tools::{ToolFailure, Workspace, shown, stop};
use std::io::Read as _;
use std::path::Path;

/// The maximum depth of folders that are searched.
const MAX_DEPTH: usize = 64;

/// Returns the sorted paths of at most `most` files that no rule excludes, and whether there are more.
pub(crate) fn files(space: &Workspace, most: usize, visibility: ToolVisibility<'_>) -> (Vec<String>, bool) {
    let Ok(mut walk) = Walk::new(space, Path::new(""), MAX_DEPTH, visibility) else { return (Vec::new(), false) };
    let mut names = Vec::new();
    while let Some(entry) = walk.next() {
        if entry.kind != Kind::File {
            continue;
        }
        let Some(name) = entry.path.to_str().filter(|name| !name.chars().any(char::is_control)) else { continue };
        if names.len() >= most {
            return (names, true);
        }
        names.push(name.to_owned());
    }
    (names, false)
}

/// Returns the whole text of a file of at most `most` bytes.
pub(crate) fn text(
    space: &Workspace,
    path: &str,
    most: u64,
    visibility: ToolVisibility<'_>,
) -> Result<String, ToolFailure> {
    let path = Path::new(path);
    let (file, size) = space.open_visible(path, visibility)?;
    let too_large = |size: u64| {
        ToolFailure::Refused(format!("{} has {} bytes, more than {}.", shown(path), grouped(size), grouped(most)))
    };
    if size > most {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| stop(path, &error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| ToolFailure::Refused(format!("{} is not a text file.", shown(path))))
}
