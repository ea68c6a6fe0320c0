//! Draws the list of all keys, generated from the key table.
//! Not for: the hints of one pane (`composer`).

use crate::tui::chat::model::slash;
use crate::tui::view::prelude::*;

/// Width of the column with the keys.
const KEYS: usize = 24;

/// Keys that the text area handles itself, because the key table leaves them to it: those of a shell.
const WRITING: [(&str, &str); 8] = [
    ("Ctrl+A, Ctrl+E", "Go to the start or the end of the line."),
    ("Ctrl+←, Ctrl+→", "Move one word back or forward; Alt+B and Alt+F too."),
    ("Alt+<, Alt+>", "Go to the start or the end of the message."),
    ("Ctrl+W, Alt+Backspace", "Delete the word before the cursor."),
    ("Alt+D", "Delete the word after the cursor."),
    ("Ctrl+K", "Delete to the end of the line."),
    ("Ctrl+X, Ctrl+Y", "Cut the selection; paste what was cut or deleted."),
    ("Shift + movement key", "Select."),
];

/// Common tasks, with their actions.
const TASKS: &[(&str, &[Action])] = &[
    ("See each item of the next request, and why it is included or left out.", &[Action::NextRequest]),
    (
        "On an item or a message: pin it, lease it, leave it out, include it once.",
        &[Action::Pin, Action::Lease, Action::Exclude, Action::IncludeOnce],
    ),
    ("Set how much context is added: Off, Light, Heavy.", &[Action::CycleMode]),
    ("On a message: fork a branch there. Go to the list of branches.", &[Action::Fork, Action::Branches]),
    ("On a message: edit your question, or generate another answer.", &[Action::Edit, Action::Regenerate]),
    ("Undo the last change, and redo it.", &[Action::Undo, Action::Redo]),
    ("Compare the next request under other modes, policies, models, and budgets.", &[Action::WhatIf]),
    ("Summarize older turns.", &[Action::Draft]),
    ("Search this conversation, or all messages. See the whole tree.", &[Action::Filter, Action::Find, Action::Tree]),
    ("Choose a model.", &[Action::Models]),
    ("See the tool calls. Approve a pending call.", &[Action::Traces, Action::AnswerTool]),
    ("Find any other action by its name.", &[Action::Palette]),
];

fn rows(view: &ViewContext<'_>, width: usize) -> Vec<Line> {
    let keys = &view.model.keys;
    let mut rows = Vec::new();
    let put = |rows: &mut Vec<Line>, keys: &str, does: &str| rows.extend(one(keys, does, width));
    rows.push(Line::of(Ink::Heading, "Common tasks"));
    for (task, actions) in TASKS {
        let keys: Vec<String> = actions.iter().filter_map(|action| keys.key_of(*action)).collect();
        put(&mut rows, &keys.join("  "), task);
    }
    rows.push(Line::new());
    for &when in KeyPlace::ALL {
        let mut seen: Vec<Action> = Vec::new();
        for binding in keys.bindings().iter().filter(|b| b.when == when) {
            if !seen.contains(&binding.run) {
                seen.push(binding.run);
            }
        }
        if seen.is_empty() {
            continue;
        }
        rows.push(Line::of(Ink::Heading, &capitalized(when.title())));
        for action in seen {
            let here = keys.bindings().iter().filter(|b| b.when == when && b.run == action);
            let chords: Vec<String> = here.map(|b| b.on.to_string()).collect();
            put(&mut rows, &chords.join(", "), action.sentence());
        }
        if when == KeyPlace::Composer {
            for (keys, does) in WRITING {
                put(&mut rows, keys, does);
            }
        }
        rows.push(Line::new());
    }
    let unbound = Action::ALL.iter().filter(|action| keys.key_of(**action).is_none());
    rows.push(Line::of(Ink::Heading, "Without a key (use the palette, or type / and the name)"));
    for action in unbound {
        put(&mut rows, &format!("/{}", action.name()), action.sentence());
    }
    rows.push(Line::new());
    rows.push(Line::of(Ink::Heading, "Commands, as on the command line"));
    for row in slash::commands() {
        put(&mut rows, &row.usage(), &row.sentence);
    }
    rows.push(Line::new());
    rows.push(Line::of(Ink::Heading, "Short names of commands"));
    for (name, means) in slash::short_names() {
        put(&mut rows, &format!("/{name}"), &format!("/{means}"));
    }
    rows
}

/// The title with a capital first letter.
fn capitalized(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// One entry: the keys, and their effect next to or below them, wrapped.
fn one(keys: &str, does: &str, width: usize) -> Vec<Line> {
    let room = width.saturating_sub(KEYS + 4);
    let taken = text::width(keys);
    let beside = taken <= KEYS && room >= 24;
    let mut rows = Vec::new();
    let words = TextRows::plain(does, if beside { room } else { width.saturating_sub(6).max(1) }, Ink::Text);
    let indent = if beside { KEYS + 3 } else { 5 };
    let mut first = Line::of(Ink::Accent, &format!("  {keys}"));
    let mut words = words.into_iter();
    if beside {
        let lead = " ".repeat(KEYS - taken + 1);
        first = first.with(Ink::Text, &lead).and(words.next().unwrap_or_default());
    }
    rows.push(first);
    rows.extend(words.map(|line| Line::of(Ink::Text, &" ".repeat(indent)).and(line)));
    rows
}

/// Draws the list. Returns the largest scroll position.
pub(crate) fn draw(view: &ViewContext<'_>, scroll: usize, area: Rect, buf: &mut Buffer) -> usize {
    let words = [(Action::Down, "down"), (Action::ScrollDown, "next page"), (Action::Leave, "close")];
    let keys = view.keys_line(KeyPlace::Panel, &words, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Keys"), keys, area, buf);
    let rows = rows(view, usize::from(inside.width));
    let (count, page) = view.scrolled(&rows, scroll, inside, buf);
    count.saturating_sub(page)
}
