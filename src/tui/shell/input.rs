//! Reads the terminal's events on a separate thread and turns them into messages.
//! Not for: the actions of keys (the key table) or signals (`system`).

use super::background::{self, Found};
use crate::config::keys::keymap::{Chord, Key};
use crate::tui::model::pointer::{Mouse, PointerAction};
use crate::tui::msg::{Input, Msg, TerminalMsg};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many rows one notch of the wheel scrolls.
const ROWS_PER_NOTCH: i64 = 3;
/// Keys that follow others sooner than this were not typed by a person.
const BURST_GAP: Duration = Duration::from_millis(8);
/// How long an Enter in a burst of keys waits for the rest of a possible paste.
const ENTER_WAIT: Duration = Duration::from_millis(40);
/// How long the reader may take to pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(1);
/// A burst of this many keys is faster than a person can type.
const FAST_KEYS: usize = 3;
/// A burst of this many keys is a paste and therefore one message, even without a line end.
const PASTE_KEYS: usize = 64;

/// Reads until the terminal or the receiver is closed.
pub(crate) fn read(to: Sender<Msg>) -> std::io::Result<()> {
    // From here on, changes of size are noticed, so an earlier change is sent first.
    event::poll(Duration::ZERO)?;
    let (columns, rows) = crossterm::terminal::size()?;
    let _ = to.send(Msg::Terminal(TerminalMsg::Resize(columns, rows)));
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let (mut streak, mut last) = (0, Instant::now());
        // Events that were read ahead and did not belong to a report of the terminal.
        let mut read_ahead: VecDeque<Event> = VecDeque::new();
        while let Some(event) = read_ahead.pop_front().or_else(|| event::read().ok()) {
            wait_while_paused();
            if last.elapsed() > BURST_GAP {
                streak = 0;
            }
            let msgs = match event {
                Event::Paste(text) => {
                    paste_messages(text, &mut |patience| read_ahead.pop_front().or_else(|| more(patience)))
                }
                Event::Key(key) if background::may_begin(key) => {
                    match background::read_answer(key, &mut |patience| {
                        read_ahead.pop_front().or_else(|| more(patience))
                    }) {
                        Found::Answer(light, others) => {
                            read_ahead.extend(others);
                            vec![Msg::Terminal(TerminalMsg::Background(light))]
                        }
                        Found::Keys(rest) => {
                            for event in rest.into_iter().rev() {
                                read_ahead.push_front(event);
                            }
                            message(Event::Key(key)).into_iter().collect()
                        }
                    }
                }
                Event::Key(key) if character(key).is_some() => {
                    let (keys, next) =
                        burst(key, streak, &mut |patience| read_ahead.pop_front().or_else(|| more(patience)));
                    streak += keys.len();
                    if let Some(next) = next {
                        read_ahead.push_front(next);
                    }
                    burst_messages(&keys, streak - keys.len())
                }
                event => message(event).into_iter().collect(),
            };
            last = Instant::now();
            for msg in msgs {
                if to.send(msg).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// Whether another program reads the keys.
#[derive(Default)]
struct InputGate {
    paused: bool,
    resting: bool,
}

static GATE: (Mutex<InputGate>, Condvar) = (Mutex::new(InputGate { paused: false, resting: false }), Condvar::new());

/// While this value exists, another program receives the keys.
pub(crate) struct InputPause;

impl Drop for InputPause {
    fn drop(&mut self) {
        GATE.0.lock().unwrap_or_else(PoisonError::into_inner).paused = false;
        GATE.1.notify_all();
    }
}

/// Pauses the reader until the returned value is dropped; None if it did not pause in time. The reader waits for input
/// and is woken by a signal, as if the terminal's size had changed.
pub(crate) fn pause() -> Option<InputPause> {
    let mut gate = GATE.0.lock().unwrap_or_else(PoisonError::into_inner);
    gate.paused = true;
    let paused = InputPause;
    super::system::wake_reader();
    let wait = GATE.1.wait_timeout_while(gate, PAUSE_TIMEOUT, |gate| !gate.resting);
    let (gate, _) = wait.unwrap_or_else(PoisonError::into_inner);
    let resting = gate.resting;
    drop(gate);
    resting.then_some(paused)
}

fn wait_while_paused() {
    let mut gate = GATE.0.lock().unwrap_or_else(PoisonError::into_inner);
    while gate.paused {
        gate.resting = true;
        GATE.1.notify_all();
        gate = GATE.1.wait(gate).unwrap_or_else(PoisonError::into_inner);
    }
    gate.resting = false;
}

/// Reads the keys that follow a paste immediately. A pasted text that contains the end mark of pastes arrives as a paste
/// followed by keys; nobody types that fast, so such keys are a second paste. They are not joined to the first, whose
/// fold contains exactly the pasted text. A single key is a key, since scripts press Enter that way.
fn paste_messages(text: String, more: &mut dyn FnMut(Duration) -> Option<Event>) -> Vec<Msg> {
    let paste = |text: String| Some(text).filter(|text| !text.is_empty()).map(|text| Msg::Input(Input::Paste(text)));
    let is_press = |event: &Event| matches!(event, Event::Key(key) if key.kind != KeyEventKind::Release);
    let events: Vec<Event> = std::iter::from_fn(|| more(BURST_GAP)).collect();
    let is_single = events.iter().filter(|event| is_press(event)).count() == 1;
    let (mut msgs, mut rest) = (vec![Msg::Input(Input::Paste(text))], String::new());
    for event in events {
        match event {
            Event::Key(key) if is_press(&event) && !is_single => rest.extend(character(key)),
            event => {
                msgs.extend(paste(std::mem::take(&mut rest)));
                msgs.extend(message(event));
            }
        }
    }
    msgs.extend(paste(rest));
    msgs
}

/// The next event, if it arrives within this time.
fn more(patience: Duration) -> Option<Event> {
    if event::poll(patience).unwrap_or(false) { event::read().ok() } else { None }
}

/// Reads a burst: the plain keys that follow the first one immediately, and the event that ended it. This is how a
/// terminal without bracketed paste sends a paste. `streak` plain keys arrived immediately before; a single key waits
/// for nothing.
fn burst(
    first: KeyEvent,
    streak: usize,
    more: &mut dyn FnMut(Duration) -> Option<Event>,
) -> (Vec<KeyEvent>, Option<Event>) {
    let mut keys = vec![first];
    loop {
        let fast = streak + keys.len() >= FAST_KEYS;
        let ends = keys.last().is_some_and(|key| is_line_end(*key));
        let patience = match (fast, ends) {
            (false, _) => Duration::ZERO,
            (true, false) => BURST_GAP,
            (true, true) => ENTER_WAIT,
        };
        match more(patience) {
            Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
            Some(Event::Key(key)) if character(key).is_some() => keys.push(key),
            other => return (keys, other),
        }
    }
}

/// Turns a burst into messages. A line end between other keys of a burst is part of a paste and sends nothing. A line
/// end at the very end of a single line is Enter, since scripts type that way and the message is complete.
fn burst_messages(keys: &[KeyEvent], streak: usize) -> Vec<Msg> {
    let typed = |key: &KeyEvent| !is_line_end(*key) && key.code != KeyCode::Tab;
    let begins = if streak >= FAST_KEYS { 0 } else { keys.iter().position(typed).unwrap_or(keys.len()) };
    let (before, text) = keys.split_at(begins);
    let as_key = |key: &KeyEvent| message(Event::Key(*key));
    let inner = text.iter().take(text.len().saturating_sub(1)).any(|key| is_line_end(*key));
    if !inner && text.len() < PASTE_KEYS {
        return keys.iter().filter_map(as_key).collect();
    }
    let sends = !inner && text.last().is_some_and(|key| is_line_end(*key));
    let (text, enter) = text.split_at(text.len() - usize::from(sends));
    let paste = Msg::Input(Input::Paste(text.iter().filter_map(|key| character(*key)).collect()));
    before.iter().filter_map(as_key).chain([paste]).chain(enter.iter().filter_map(as_key)).collect()
}

fn is_line_end(key: KeyEvent) -> bool {
    character(key) == Some('\n')
}

/// The character that a key represents in a paste.
fn character(key: KeyEvent) -> Option<char> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\n'),
        KeyCode::Tab if key.modifiers.is_empty() => Some('\t'),
        _ => None,
    }
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => chord(key).map(|key| Msg::Input(Input::Key(key))),
        Event::Paste(text) => Some(Msg::Input(Input::Paste(text))),
        Event::Resize(columns, rows) => Some(Msg::Terminal(TerminalMsg::Resize(columns, rows))),
        Event::Mouse(mouse) => {
            let did = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => PointerAction::Press,
                MouseEventKind::Drag(MouseButton::Left) => PointerAction::Drag,
                MouseEventKind::Up(MouseButton::Left) => PointerAction::Release,
                MouseEventKind::ScrollUp => PointerAction::Wheel(-ROWS_PER_NOTCH),
                MouseEventKind::ScrollDown => PointerAction::Wheel(ROWS_PER_NOTCH),
                _ => return None,
            };
            Some(Msg::Input(Input::Mouse(Mouse { did, x: mouse.column, y: mouse.row })))
        }
        Event::FocusGained => Some(Msg::Terminal(TerminalMsg::Focus(true))),
        Event::FocusLost => Some(Msg::Terminal(TerminalMsg::Focus(false))),
        Event::Key(_) => None,
    }
}

/// Converts a key event to a chord of the key table.
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
    fn chords_are_formatted_like_the_key_table() {
        let press = |code, modifiers| chord(KeyEvent::new(code, modifiers)).unwrap().to_string();
        assert_eq!(press(KeyCode::Char('f'), KeyModifiers::CONTROL), "Ctrl+F");
        assert_eq!(press(KeyCode::Char('X'), KeyModifiers::SHIFT), "X");
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::SHIFT), "Shift+Tab");
        assert_eq!(press(KeyCode::Enter, KeyModifiers::SHIFT), "Shift+Enter");
    }

    fn keys(text: &str) -> Vec<KeyEvent> {
        let code = |c| match c {
            '\r' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        };
        text.chars().map(|c| KeyEvent::new(code(c), KeyModifiers::NONE)).collect()
    }

    /// Formats the messages of a burst, pastes in brackets.
    fn formatted(text: &str, streak: usize) -> String {
        in_brackets(burst_messages(&keys(text), streak))
    }

    fn in_brackets(msgs: Vec<Msg>) -> String {
        let word = |msg: Msg| match msg {
            Msg::Input(Input::Paste(text)) => format!("[{text}]"),
            Msg::Input(Input::Key(chord)) => match chord.key {
                Key::Char(c) => c.to_string(),
                Key::Enter => "⏎".into(),
                key => format!("<{key:?}>"),
            },
            other => format!("{other:?}"),
        };
        msgs.into_iter().map(word).collect()
    }

    #[test]
    fn keys_right_after_a_paste_are_a_paste_of_their_own() {
        let after = |events: Vec<Event>| {
            let mut events = events.into_iter();
            in_brackets(paste_messages("pasted".into(), &mut |_| events.next()))
        };
        let typed = |text: &str| keys(text).into_iter().map(Event::Key);
        assert_eq!(after(typed(" and\rtyped").collect()), "[pasted][ and\ntyped]");
        assert_eq!(after(typed("\r").collect()), "[pasted]⏎", "a single key is a key");
        let others = [Event::Paste("next".into()), Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE))];
        assert_eq!(after(typed("a").chain(others).chain(typed("b")).collect()), "[pasted][a][next][b]");
        assert_eq!(after(Vec::new()), "[pasted]");
    }

    #[test]
    fn a_line_end_inside_a_burst_is_text() {
        assert_eq!(formatted("one\rtwo", 0), "[one\ntwo]");
        assert_eq!(formatted("fn f() {\r\tg()\r}\r", 0), "[fn f() {\n\tg()\n}\n]");
        assert_eq!(formatted("\rtwo\r\rthree", 9), "[\ntwo\n\nthree]", "the burst began before");
        assert_eq!(formatted("a\r\r", 0), "[a\n\n]");
    }

    #[test]
    fn keys_stay_keys() {
        assert_eq!(formatted("a", 0), "a");
        assert_eq!(formatted("jjjx", 0), "jjjx");
        assert_eq!(formatted("hello\r", 0), "hello⏎", "fast typing and Enter sends");
        assert_eq!(formatted("\r", 0), "⏎");
        assert_eq!(formatted("\r", 50), "⏎", "nothing followed");
        assert_eq!(formatted("\rnext", 0), "⏎next", "an Enter that comes first is pressed");
        assert_eq!(formatted("\tf", 0), "<Tab>f");
    }

    #[test]
    fn a_long_burst_is_one_paste() {
        let long = "x".repeat(PASTE_KEYS);
        assert_eq!(formatted(&long, 0), format!("[{long}]"));
        assert_eq!(formatted(&format!("{long}\r"), 0), format!("[{long}]⏎"));
        assert_eq!(formatted(&"x".repeat(PASTE_KEYS - 1), 0), "x".repeat(PASTE_KEYS - 1));
    }

    /// Reads a burst from a script of events, each with its delay in milliseconds.
    fn gathered(script: &[(u64, Event)], streak: usize) -> (usize, bool, Duration) {
        let mut rest = script.iter();
        let Some((_, Event::Key(first))) = rest.next() else { panic!("a script begins with a key") };
        let (mut rest, mut waited) = (rest.peekable(), Duration::ZERO);
        let mut more = |patience: Duration| {
            let comes = rest.peek().is_some_and(|(wait, _)| Duration::from_millis(*wait) <= patience);
            waited += if comes { Duration::from_millis(rest.peek().unwrap().0) } else { patience };
            if comes { rest.next().map(|(_, event)| event.clone()) } else { None }
        };
        let (keys, next) = burst(*first, streak, &mut more);
        (keys.len(), next.is_some(), waited)
    }

    fn at(wait: u64, text: &str) -> Vec<(u64, Event)> {
        keys(text).into_iter().map(|key| (wait, Event::Key(key))).collect()
    }

    #[test]
    fn a_single_key_does_not_wait() {
        assert_eq!(gathered(&at(0, "a"), 0), (1, false, Duration::ZERO));
        assert_eq!(gathered(&at(0, "\r"), 0), (1, false, Duration::ZERO));
        // A person, however fast, presses each key long after the previous one.
        assert_eq!(gathered(&at(9, "abc\r"), 0), (1, false, Duration::ZERO));
        assert_eq!(gathered(&at(9, "\r"), 2), (1, false, ENTER_WAIT), "an Enter right after other keys waits");
    }

    #[test]
    fn bursts_are_read_completely() {
        let mut script = at(0, "one\r");
        script.extend(at(30, "t"));
        script.extend(at(0, "wo"));
        assert_eq!(gathered(&script, 0).0, 7, "a pause after a line end, as between two packets");
        script.push((0, Event::Paste("p".into())));
        assert_eq!((gathered(&script, 0).0, gathered(&script, 0).1), (7, true));
        let mut slow = at(0, "one\r");
        slow.extend(at(50, "two"));
        assert_eq!(gathered(&slow, 0), (4, false, ENTER_WAIT));
    }
}
