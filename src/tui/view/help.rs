//! All keys, made from the key table.
//! Not for: the hints of one pane (`composer`).

use super::{Look, paint};
use crate::tui::model::{Action, When};
use crate::tui::text::{self, Line};
use crate::tui::theme::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What the text area itself does with keys that the table leaves to it.
const WRITING: [(&str, &str); 8] = [
    ("Ctrl+A, Ctrl+E", "Go to the start or the end of the line."),
    ("Ctrl+←, Ctrl+→", "Go a word back or on; Alt+B and Alt+F too."),
    ("Alt+<, Alt+>", "Go to the start or the end of the message."),
    ("Ctrl+W, Alt+Backspace", "Delete the word before the cursor."),
    ("Alt+D", "Delete the word behind the cursor."),
    ("Ctrl+K", "Delete to the end of the line."),
    ("Ctrl+X, Ctrl+Y", "Cut what is selected; put in what was cut or deleted."),
    ("Shift and a movement", "Select."),
];

fn rows(look: &Look<'_>) -> Vec<Line> {
    let keys = &look.model.keys;
    let mut rows = Vec::new();
    for when in When::ALL {
        let mut seen: Vec<Action> = Vec::new();
        for binding in keys.bindings().iter().filter(|b| b.when == when) {
            if !seen.contains(&binding.run) {
                seen.push(binding.run);
            }
        }
        if seen.is_empty() {
            continue;
        }
        rows.push(Line::of(Ink::Heading, when.title()));
        for action in seen {
            let here = keys.bindings().iter().filter(|b| b.when == when && b.run == action);
            let chords: Vec<String> = here.map(|b| b.on.to_string()).collect();
            rows.push(one(&chords.join(", "), action));
        }
        rows.push(Line::new());
    }
    rows.push(Line::of(Ink::Heading, "in the message, as in a shell"));
    for (keys, does) in WRITING {
        let pad = 22_usize.saturating_sub(text::width(keys));
        rows.push(Line::of(Ink::Accent, &format!("  {keys}{} ", " ".repeat(pad))).with(Ink::Text, does));
    }
    rows.push(Line::new());
    let unbound = Action::ALL.iter().filter(|action| keys.key_of(**action).is_none());
    rows.push(Line::of(Ink::Heading, "without a key (palette, or a slash before the name)"));
    rows.extend(unbound.map(|action| one(&format!("/{}", action.name()), *action)));
    rows.push(Line::new());
    rows.push(Line::of(Ink::Heading, "commands with words"));
    for command in crate::tui::model::slash::WORDED {
        let name = format!("/{} {}", command.name, command.words);
        rows.push(Line::of(Ink::Accent, &format!("  {name:<32} ")).with(Ink::Text, command.sentence));
    }
    rows
}

fn one(keys: &str, action: Action) -> Line {
    let pad = 22_usize.saturating_sub(text::width(keys));
    Line::of(Ink::Accent, &format!("  {keys}{} ", " ".repeat(pad))).with(Ink::Text, action.sentence())
}

pub(super) fn draw(look: &Look<'_>, scroll: usize, area: Rect, buf: &mut Buffer) {
    paint::wipe(area, buf);
    let inside = look.frame(Line::of(Ink::Heading, "Keys"), true, area, buf);
    let rows = rows(look);
    let last = rows.len().saturating_sub(usize::from(inside.height));
    let from = scroll.min(last);
    paint::lines(look.theme, rows.iter().skip(from), inside, buf);
    let count = |n: usize| u64::try_from(n).unwrap_or(0);
    paint::thumb(look.theme, count(from), count(rows.len()), u64::from(inside.height), inside, buf);
}

/// How far the help can be scrolled at most, at a height.
pub(super) fn last(look: &Look<'_>, area: Rect) -> usize {
    rows(look).len().saturating_sub(usize::from(super::layout::inside(area).height))
}
