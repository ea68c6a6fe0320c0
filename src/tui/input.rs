//! Key, paste and size events of the terminal, read by a thread of their own and turned into messages.
//! Not for: what keys mean (the key table) or signals (`system`).

use crate::config::keymap::{Chord, Key};
use crate::tui::msg::Msg;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// Rows that one notch of the wheel scrolls.
const NOTCH: i64 = 3;
/// Keys that follow a paste sooner than this were not pressed by a person.
const BREATH: Duration = Duration::from_millis(8);

/// Reads until the terminal or the receiver is gone.
pub(super) fn read(to: Sender<Msg>) -> std::io::Result<()> {
    // From here on changes of size are noticed; one that came before is told first.
    event::poll(Duration::ZERO)?;
    let (columns, rows) = crossterm::terminal::size()?;
    let _ = to.send(Msg::Resize(columns, rows));
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        while let Ok(event) = event::read() {
            let msgs = match event {
                Event::Paste(text) => pasted(text),
                event => message(event).into_iter().collect(),
            };
            for msg in msgs {
                if to.send(msg).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// A paste. One that holds the mark of its own end comes as a paste and then as keys; nobody types that fast, so what
/// follows in the same breath belongs to it and does nothing by itself. One key alone is a key: scripts press Enter.
fn pasted(text: String) -> Vec<Msg> {
    let (mut msgs, mut rest, mut keys, mut only) = (vec![Msg::Paste(text)], String::new(), 0_usize, None);
    while event::poll(BREATH).unwrap_or(false) {
        match event::read() {
            Ok(Event::Paste(more)) => msgs.push(Msg::Paste(more)),
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                keys += 1;
                rest.extend(character(key));
                only = Some(key);
            }
            Ok(event) => msgs.extend(message(event)),
            Err(_) => break,
        }
    }
    match only {
        Some(key) if keys == 1 => msgs.extend(message(Event::Key(key))),
        _ if rest.is_empty() => {}
        _ => match msgs.first_mut() {
            Some(Msg::Paste(first)) => first.push_str(&rest),
            _ => msgs.push(Msg::Paste(rest)),
        },
    }
    msgs
}

/// The character of a key that was a character of a paste.
fn character(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => chord(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Msg::Wheel(-NOTCH)),
            MouseEventKind::ScrollDown => Some(Msg::Wheel(NOTCH)),
            _ => None,
        },
        Event::Key(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

/// A key event as the key table knows it.
fn chord(event: KeyEvent) -> Option<Chord> {
    let key = match event.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::F(n) => Key::F(n),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    };
    let has = |modifier| event.modifiers.contains(modifier);
    let (ctrl, alt, shift) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT), has(KeyModifiers::SHIFT));
    let key = match key {
        Key::Char(c) if ctrl => Key::Char(c.to_ascii_lowercase()),
        Key::Char(c) if shift && c.is_ascii_lowercase() => Key::Char(c.to_ascii_uppercase()),
        Key::Tab if shift => Key::BackTab,
        key => key,
    };
    let shift = shift && !matches!(key, Key::Char(_) | Key::BackTab);
    Some(Chord { key, ctrl, alt, shift })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_like_the_table_writes_them() {
        let press = |code, modifiers| chord(KeyEvent::new(code, modifiers)).unwrap().to_string();
        assert_eq!(press(KeyCode::Char('f'), KeyModifiers::CONTROL), "Ctrl+F");
        assert_eq!(press(KeyCode::Char('X'), KeyModifiers::SHIFT), "X");
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), "Shift+Tab");
        assert_eq!(press(KeyCode::Enter, KeyModifiers::SHIFT), "Shift+Enter");
    }
}
