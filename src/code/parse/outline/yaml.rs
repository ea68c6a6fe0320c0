//! Reads the top two levels of keys of YAML.
//! Not for: keys inside lists, or values.

use super::{Outline, lines};
use crate::domain::code::Kind;

/// Reads a settings file.
pub(super) fn read(outline: &mut Outline<'_>, text: &[u8]) {
    // The indentation of the second level under the current key: not known yet, or none.
    let mut inner: Option<usize> = None;
    let mut has_inner = false;
    // The indentation of a key whose text block continues.
    let mut block: Option<usize> = None;
    for line in lines(text) {
        let bare = line.text.trim_start();
        let indent = line.text.len() - bare.len();
        if bare.trim().is_empty() || block.is_some_and(|key| indent > key) {
            outline.body(&line);
            continue;
        }
        block = None;
        if bare.starts_with('#') {
            outline.comment(&line);
            continue;
        }
        let found = key(bare);
        let level = match indent {
            0 => 1,
            _ if has_inner && inner.is_none_or(|inner| inner == indent) => 2,
            _ => 3,
        };
        let Some((name, value)) = found.filter(|_| level < 3) else {
            // If other content, such as a list, comes before the second level, there is no second level.
            has_inner &= inner.is_some();
            outline.body(&line);
            continue;
        };
        if level == 1 {
            inner = None;
        } else {
            inner = Some(indent);
        }
        let value = value.trim();
        let bare_value = value.split_once(" #").map_or(value, |(before, _)| before).trim_end();
        let is_block = value.starts_with(['|', '>']);
        let holds_keys = bare_value.is_empty() || bare_value.starts_with('#') || is_anchor(bare_value);
        if level == 1 {
            has_inner = holds_keys;
        }
        block = is_block.then_some(indent);
        let kind = if holds_keys { Kind::Section } else { Kind::Key };
        outline.begin((kind, level), name, &line, value);
    }
}

/// Returns whether a value is only an anchor or a tag, so that keys follow.
fn is_anchor(value: &str) -> bool {
    value.starts_with(['&', '!']) && !value.contains(' ')
}

/// Returns the key of a line and its value.
fn key(line: &str) -> Option<(&str, &str)> {
    let (name, value) = if let Some(rest) = line.strip_prefix(['"', '\'']) {
        let (name, after) = rest.split_once(['"', '\''])?;
        (name, after.strip_prefix(':')?)
    } else {
        let is_end = |at: usize, c: char| c == ':' && line[at + 1..].chars().next().is_none_or(char::is_whitespace);
        let (end, _) = line.char_indices().find(|(at, c)| is_end(*at, *c))?;
        (&line[..end], &line[end + 1..])
    };
    let is_key = !name.is_empty() && !name.starts_with(['-', '{', '[', '&', '*', '?', '|', '>', '@', '`', '%']);
    is_key.then(|| (name.trim(), value))
}
