//! Parses the terminal's report of its background color (OSC 11). The input library does not know this report and
//! returns its characters as keys, so it is reassembled here and never reaches the screen as text, even if it arrives
//! late or malformed.
//! Not for: requesting the report (`terminal`), or choosing a theme by it (`theme`).

use crate::tui::theme;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the report was requested and has not arrived. A key is held back, to see whether it begins a report, only in
/// this state.
static REQUESTED: AtomicBool = AtomicBool::new(false);
/// How long to wait for the next character of a report, which a slow connection may split anywhere.
const CHARACTER_TIMEOUT: Duration = Duration::from_millis(100);
/// How long to wait for the characters that begin a report; nobody types that fast.
const START_TIMEOUT: Duration = Duration::from_millis(8);
/// The longest report, in characters. A longer report is discarded only while it arrives faster than anybody types.
const MAX_REPORT: usize = 64;

/// Expects a report from now on.
pub(crate) fn expect() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Whether this key may be the beginning of a report.
pub(crate) fn may_begin(key: KeyEvent) -> bool {
    REQUESTED.load(Ordering::SeqCst) && key.kind != KeyEventKind::Release && (opens(key) || key.code == KeyCode::Esc)
}

/// The meaning of a key and of the events after it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A report: whether the background is light, if that can be parsed; and events of other kinds that arrived
    /// meanwhile.
    Answer(Option<bool>, Vec<Event>),
    /// No report: the events after the first key, to be handled as usual.
    Keys(Vec<Event>),
}

fn opens(key: KeyEvent) -> bool {
    key.code == KeyCode::Char(']') && key.modifiers == KeyModifiers::ALT
}

fn plain(event: &Event) -> Option<char> {
    match event {
        Event::Key(KeyEvent { code: KeyCode::Char(c), modifiers, .. })
            if !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(*c)
        }
        _ => None,
    }
}

/// Continues to read after a key for which [`may_begin`] returned true.
pub(crate) fn read_answer(first: KeyEvent, more: &mut dyn FnMut(Duration) -> Option<Event>) -> Found {
    let mut events = Vec::new();
    let start = if opens(first) { "11;" } else { "]11;" };
    for wanted in start.chars() {
        let Some(event) = more(START_TIMEOUT) else { return Found::Keys(events) };
        let fits = plain(&event) == Some(wanted);
        events.push(event);
        if !fits {
            return Found::Keys(events);
        }
    }
    let (mut body, mut others, mut escaped) = (String::new(), Vec::new(), false);
    while let Some(event) = more(if body.len() < MAX_REPORT { CHARACTER_TIMEOUT } else { START_TIMEOUT }) {
        let Event::Key(key) = event else {
            others.push(event);
            continue;
        };
        let bell = key.code == KeyCode::Char('g') && key.modifiers == KeyModifiers::CONTROL;
        let slash = key.code == KeyCode::Char('\\');
        if bell || (slash && (escaped || key.modifiers == KeyModifiers::ALT)) {
            break;
        }
        escaped = key.code == KeyCode::Esc;
        // Other keys make the report invalid, but they are still not a person's keys.
        body.push(plain(&Event::Key(key)).unwrap_or('?'));
    }
    // The terminal is asked once, so that every later Esc counts as a key immediately.
    REQUESTED.store(false, Ordering::SeqCst);
    Found::Answer(light(&body), others)
}

/// Parses `rgb:1e1e/1e1e/1e1e`, with one to four digits per channel.
fn light(body: &str) -> Option<bool> {
    let channels = body.strip_prefix("rgb:").or_else(|| body.strip_prefix("rgba:"))?;
    let read = |text: &str| {
        let digits = u32::try_from(text.len()).ok().filter(|n| (1..=4).contains(n))?;
        let value = u32::from_str_radix(text, 16).ok()?;
        u16::try_from(value * 65_535 / (16_u32.pow(digits) - 1)).ok()
    };
    let mut parts = channels.split('/').map(read);
    let rgb = (parts.next()??, parts.next()??, parts.next()??);
    Some(theme::is_light(rgb))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn key(c: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), modifiers))
    }

    fn typed(text: &str) -> Vec<Event> {
        let one = |c| match c {
            '\x1b' => Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)),
            '\x07' => key('g', KeyModifiers::CONTROL),
            '\r' => Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)),
            c => key(c, KeyModifiers::NONE),
        };
        text.chars().map(one).collect()
    }

    /// Gathers from `events` after a first key; returns also how many events are left.
    fn found(first: &Event, events: Vec<Event>) -> (Found, usize) {
        let mut rest: VecDeque<Event> = events.into();
        let Event::Key(first) = first else { panic!("a key is first") };
        let found = read_answer(*first, &mut |_| rest.pop_front());
        (found, rest.len())
    }

    #[test]
    fn reports_are_parsed_in_all_forms() {
        let open = key(']', KeyModifiers::ALT);
        let st = key('\\', KeyModifiers::ALT);
        let esc = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        for (body, wanted) in [
            ("11;rgb:1e1e/1e1e/1e1e", Some(false)),
            ("11;rgb:FFFF/ffff/FFff", Some(true)),
            ("11;rgb:f/f/f", Some(true)),
            ("11;rgba:00/00/00/ff", Some(false)),
            ("11;rgb:zz/zz/zz", None),
            ("11;rgb:12345/1/1", None),
            ("11;rgb:ff/ff", None),
            ("11;rm -rf /\r", None),
        ] {
            let mut events = typed(body);
            events.push(st.clone());
            events.extend(typed("x"));
            assert_eq!(found(&open, events), (Found::Answer(wanted, Vec::new()), 1), "{body:?} with ST");
            let events = typed(&format!("{body}\x07x"));
            assert_eq!(found(&open, events), (Found::Answer(wanted, Vec::new()), 1), "{body:?} with BEL");
            let events = typed(&format!("]{body}\x1b\\x"));
            let parted = matches!(found(&esc, events).0, Found::Answer(_, others) if others.is_empty());
            assert!(parted, "{body:?} parted at its escapes");
        }
    }

    #[test]
    fn keys_stay_keys() {
        let open = key(']', KeyModifiers::ALT);
        assert_eq!(found(&open, Vec::new()), (Found::Keys(Vec::new()), 0));
        assert_eq!(found(&open, typed("12;")), (Found::Keys(typed("12")), 1));
        let esc = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        assert_eq!(found(&esc, typed("j")), (Found::Keys(typed("j")), 0));
        let resized = vec![Event::Resize(3, 3)];
        let mut events = typed("11;rgb:0/0/");
        events.extend(resized.clone());
        events.extend(typed("0\x07"));
        assert_eq!(found(&open, events), (Found::Answer(Some(false), resized), 0));
    }
}
