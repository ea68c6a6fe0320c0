//! The terminal's answer about its background color (OSC 11). The key-reading library does not know such answers and
//! reports them as keys, so this module reassembles them; they never reach the screen as text, even if they are late or
//! malformed.
//! Not for: requesting the answer (`terminal`), or its effect (`theme`).

use crate::tui::theme;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the terminal was queried. Only then is a key held back to check whether it starts an answer.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The maximum time until an answer's next character: a slow connection may split it anywhere.
const PATIENCE: Duration = Duration::from_millis(100);
/// The maximum time until the second character; nobody types that fast.
const BREATH: Duration = Duration::from_millis(8);
/// The maximum length of an answer. Longer input is dropped only as long as it arrives faster than anybody types.
const LONG: usize = 64;

/// Expects an answer from now on.
pub(crate) fn expect() {
    ASKED.store(true, Ordering::SeqCst);
}

/// Whether this key may be the start of an answer.
pub(crate) fn may_begin(key: KeyEvent) -> bool {
    ASKED.load(Ordering::SeqCst) && key.kind != KeyEventKind::Release && (opens(key) || key.code == KeyCode::Esc)
}

/// The interpretation of a key and those after it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// An answer: whether the background is light, if that can be read. Also the other events that arrived meanwhile.
    Answer(Option<bool>, Vec<Event>),
    /// Not an answer: the events after the first key, unchanged.
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

/// Continues reading after a key that [`may_begin`] an answer.
pub(crate) fn gather(first: KeyEvent, more: &mut dyn FnMut(Duration) -> Option<Event>) -> Found {
    let mut came = Vec::new();
    let start = if opens(first) { "11;" } else { "]11;" };
    for wanted in start.chars() {
        let Some(event) = more(BREATH) else { return Found::Keys(came) };
        let fits = plain(&event) == Some(wanted);
        came.push(event);
        if !fits {
            return Found::Keys(came);
        }
    }
    let (mut body, mut others, mut escaped) = (String::new(), Vec::new(), false);
    while let Some(event) = more(if body.len() < LONG { PATIENCE } else { BREATH }) {
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
        // Whatever else it holds is no answer any more, and still none of a person's keys.
        body.push(plain(&Event::Key(key)).unwrap_or('?'));
    }
    Found::Answer(light(&body), others)
}

/// `rgb:1e1e/1e1e/1e1e`, with one to four digits each.
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

    fn words(text: &str) -> Vec<Event> {
        let one = |c| match c {
            '\x1b' => Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)),
            '\x07' => key('g', KeyModifiers::CONTROL),
            '\r' => Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)),
            c => key(c, KeyModifiers::NONE),
        };
        text.chars().map(one).collect()
    }

    /// The interpretation of `events` after a first key, and the number of unread events.
    fn found(first: &Event, events: Vec<Event>) -> (Found, usize) {
        let mut rest: VecDeque<Event> = events.into();
        let Event::Key(first) = first else { panic!("a key is first") };
        let found = gather(*first, &mut |_| rest.pop_front());
        (found, rest.len())
    }

    #[test]
    fn an_answer_is_read_in_all_its_forms() {
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
            let mut events = words(body);
            events.push(st.clone());
            events.extend(words("x"));
            assert_eq!(found(&open, events), (Found::Answer(wanted, Vec::new()), 1), "{body:?} with ST");
            let events = words(&format!("{body}\x07x"));
            assert_eq!(found(&open, events), (Found::Answer(wanted, Vec::new()), 1), "{body:?} with BEL");
            let events = words(&format!("]{body}\x1b\\x"));
            let parted = if let Found::Answer(_, others) = found(&esc, events).0 { others.is_empty() } else { false };
            assert!(parted, "{body:?} parted at its escapes");
        }
    }

    #[test]
    fn keys_stay_keys() {
        let open = key(']', KeyModifiers::ALT);
        assert_eq!(found(&open, Vec::new()), (Found::Keys(Vec::new()), 0));
        assert_eq!(found(&open, words("12;")), (Found::Keys(words("12")), 1));
        let esc = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        assert_eq!(found(&esc, words("j")), (Found::Keys(words("j")), 0));
        let resized = vec![Event::Resize(3, 3)];
        let mut events = words("11;rgb:0/0/");
        events.extend(resized.clone());
        events.extend(words("0\x07"));
        assert_eq!(found(&open, events), (Found::Answer(Some(false), resized), 0));
    }
}
