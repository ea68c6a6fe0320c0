//! The terminal's title, and names in notifications. Both are sanitized, so that no name can end the escape sequence
//! around it.
//! Not for: writing them to the terminal (`shell`).

use super::Model;
use crate::domain::base::Safe;

/// The largest number of characters of a name.
const ROOM: usize = 48;

/// The terminal's title: `pleach: session ▸ branch`, with a mark before it while an answer arrives on any branch.
pub fn title(model: &Model, ascii: bool) -> String {
    let Some(session) = &model.session else { return "pleach".to_owned() };
    let (mark, into) = if ascii { ("* ", ">") } else { ("◌ ", "▸") };
    let mark = if model.live.is_empty() { "" } else { mark };
    let branch = session.branch().map_or("", |branch| branch.name.as_str());
    format!("pleach: {mark}{} {into} {}", name(&session.card.title), name(branch))
}

/// A name for the title: one short line without control characters.
pub fn name(raw: &str) -> String {
    let safe = Safe::line(raw);
    let mut short: String = safe.as_str().chars().filter(|c| !c.is_control()).take(ROOM + 1).collect();
    if short.chars().count() > ROOM {
        short = short.chars().take(ROOM - 1).collect();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sanitized_and_short() {
        assert_eq!(name("auth-bug"), "auth-bug");
        assert_eq!(name(&"x".repeat(90)).chars().count(), ROOM);
        for bad in ["a\x1b]2;evil\x07b", "a\u{9c}b", "a\nb\x1b\\", "\u{202e}x"] {
            let clean = name(bad);
            assert!(clean.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{clean:?}");
        }
        assert_eq!(title(&Model::default(), false), "pleach");
    }
}
