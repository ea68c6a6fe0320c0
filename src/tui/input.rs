//! Key, paste and size events of the terminal, read by a thread of their own and turned into messages.
//! Not for: what keys mean (the key table) or signals (`system`).

use crate::config::keymap::{Chord, Key};
use crate::tui::msg::Msg;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use std::sync::mpsc::Sender;
use std::thread;

/// Rows that one notch of the wheel scrolls.
const NOTCH: i64 = 3;

/// Reads until the terminal or the receiver is gone.
pub(super) fn read(to: Sender<Msg>) -> std::io::Result<()> {
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        while let Ok(event) = event::read() {
            if let Some(msg) = message(event)
                && to.send(msg).is_err()
            {
                break;
            }
        }
    })?;
    Ok(())
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
