//! Texts of files and symbols that are appended to a message: writing their headings, and finding them in a message.
//! Not for: reading files, or attaching them (`tui::chat::model::composer`).

const FILE: &str = "File ";

/// Returns the heading line of an attached text: `File src/a.rs:` or `File src/a.rs, lines 3 to 9 (parse):`.
pub fn heading(place: &str) -> String {
    format!("{FILE}{place}:")
}

/// Returns a fence of backticks for a text, longer than any run of backticks in it, so that the text cannot close it.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns the path in a place such as `src/a.rs, lines 3 to 9 (parse)`.
pub fn path(place: &str) -> &str {
    lines(place).map_or(place, |(path, _)| path)
}

/// Returns the path and the first and last line of a place; `None` if it has no lines.
fn lines(place: &str) -> Option<(&str, (u32, u32))> {
    let (path, rest) = place.rsplit_once(", lines ")?;
    let (first, rest) = rest.split_once(" to ")?;
    let last = rest.split_once(" (").map_or(rest, |(last, _)| last);
    Some((path, (first.parse().ok()?, last.parse().ok()?)))
}

/// A text attached to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttachedText<'a> {
    /// The file.
    pub path: &'a str,
    /// The first and last line, from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
    pub text: &'a str,
}

/// Returns the texts attached to a message, in order.
pub fn attached_texts(message: &str) -> Vec<AttachedText<'_>> {
    let mut found = Vec::new();
    let mut rest = message;
    while let Some(at) = rest.find("\n\nFile ") {
        rest = &rest[at + 2..];
        let Some((head, body)) = rest.split_once('\n') else { break };
        let Some(place) = head.strip_prefix(FILE).and_then(|head| head.strip_suffix(':')) else { continue };
        let fence: String = body.chars().take_while(|c| *c == '`').collect();
        let Some((_, body)) = body.split_once('\n').filter(|_| fence.len() >= 3) else { continue };
        let close = format!("\n{fence}");
        let Some(end) = body.find(&close) else { continue };
        let (path, lines) = lines(place).map_or((place, None), |(path, lines)| (path, Some(lines)));
        found.push(AttachedText { path, lines, text: &body[..end] });
        rest = &body[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_texts_are_found() {
        let message = "why?\n\nFile src/a.rs:\n````rs\nfn x() {} // ```\n````\n\nFile b/c d.py, lines 3 to 9 (A.go):\n```py\ndef go():\n  pass\n```";
        let found = attached_texts(message);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], AttachedText { path: "src/a.rs", lines: None, text: "fn x() {} // ```" });
        assert_eq!((found[1].path, found[1].lines), ("b/c d.py", Some((3, 9))));
        assert_eq!(path("b/c d.py, lines 3 to 9 (A.go)"), "b/c d.py");
        for none in ["", "File x:\n```\n```", "a\n\nFile x:\nno fence", "a\n\nFile x:\n```\nopen"] {
            assert_eq!(attached_texts(none), [], "{none}");
        }
    }
}
