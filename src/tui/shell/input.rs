//! Key, paste, and resize events of the terminal, read by a separate thread and turned into messages.
//! Not for: the meaning of keys (the key table), or signals (`system`).

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

/// Rows that one notch of the wheel scrolls.
const NOTCH: i64 = 3;
/// Keys that follow a paste sooner than this were not pressed by a person.
const BREATH: Duration = Duration::from_millis(8);
/// How long an Enter that arrived in a burst with other keys waits for more of a possible paste.
const HOLD: Duration = Duration::from_millis(40);
/// How long the reader may take to release the keys.
const PATIENCE: Duration = Duration::from_secs(1);
/// A burst of more keys than a person can press.
const FAST: usize = 3;
/// A burst of this length is a paste even without a line end: one message instead of many.
const MANY: usize = 64;

/// Reads until the terminal or the receiver is gone.
pub(crate) fn read(to: Sender<Msg>) -> std::io::Result<()> {
    // Resizes are noticed from here on; an earlier one is reported first.
    event::poll(Duration::ZERO)?;
    let (columns, rows) = crossterm::terminal::size()?;
    let _ = to.send(Msg::Terminal(TerminalMsg::Resize(columns, rows)));
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let (mut streak, mut last) = (0, Instant::now());
        // Events that were read ahead and turned out to be no answer of the terminal.
        let mut ahead: VecDeque<Event> = VecDeque::new();
        while let Some(event) = ahead.pop_front().or_else(|| event::read().ok()) {
            rest_while_held();
            if last.elapsed() > BREATH {
                streak = 0;
            }
            let msgs = match event {
                Event::Paste(text) => pasted(text),
                Event::Key(key) if background::may_begin(key) => {
                    match background::gather(key, &mut |patience| ahead.pop_front().or_else(|| more(patience))) {
                        Found::Answer(light, others) => {
                            ahead.extend(others);
                            vec![Msg::Terminal(TerminalMsg::Background(light))]
                        }
                        Found::Keys(rest) => {
                            for event in rest.into_iter().rev() {
                                ahead.push_front(event);
                            }
                            message(Event::Key(key)).into_iter().collect()
                        }
                    }
                }
                Event::Key(key) if character(key).is_some() => {
                    let (keys, next) = burst(key, streak, &mut |patience| ahead.pop_front().or_else(|| more(patience)));
                    streak += keys.len();
                    if let Some(next) = next {
                        ahead.push_front(next);
                    }
                    told(&keys, streak - keys.len())
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

/// Whether keys are left to another program.
#[derive(Default)]
struct InputGate {
    held: bool,
    resting: bool,
}

static GATE: (Mutex<InputGate>, Condvar) = (Mutex::new(InputGate { held: false, resting: false }), Condvar::new());

/// While this value exists, another program receives the keys.
pub(crate) struct InputPause;

impl Drop for InputPause {
    fn drop(&mut self) {
        GATE.0.lock().unwrap_or_else(PoisonError::into_inner).held = false;
        GATE.1.notify_all();
    }
}

/// Leaves keys to another program until the returned value is dropped; `None` if the reader did not release them. The
/// reader waits for input and is woken like by a resize.
pub(crate) fn hold() -> Option<InputPause> {
    let mut gate = GATE.0.lock().unwrap_or_else(PoisonError::into_inner);
    gate.held = true;
    let held = InputPause;
    super::system::wake_reader();
    let wait = GATE.1.wait_timeout_while(gate, PATIENCE, |gate| !gate.resting);
    let (gate, _) = wait.unwrap_or_else(PoisonError::into_inner);
    let resting = gate.resting;
    drop(gate);
    resting.then_some(held)
}

fn rest_while_held() {
    let mut gate = GATE.0.lock().unwrap_or_else(PoisonError::into_inner);
    while gate.held {
        gate.resting = true;
        GATE.1.notify_all();
        gate = GATE.1.wait(gate).unwrap_or_else(PoisonError::into_inner);
    }
    gate.resting = false;
}

/// A paste. A paste that contains its own end mark arrives as a paste followed by keys. Nobody types that fast, so
/// whatever follows in the same burst belongs to the paste and triggers no action. A single key is a key: scripts press
/// Enter.
fn pasted(text: String) -> Vec<Msg> {
    let (mut msgs, mut rest, mut keys, mut only) = (vec![Msg::Input(Input::Paste(text))], String::new(), 0_usize, None);
    while event::poll(BREATH).unwrap_or(false) {
        match event::read() {
            Ok(Event::Paste(more)) => msgs.push(Msg::Input(Input::Paste(more))),
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
            Some(Msg::Input(Input::Paste(first))) => first.push_str(&rest),
            _ => msgs.push(Msg::Input(Input::Paste(rest))),
        },
    }
    msgs
}

/// The next event, if it comes within this time.
fn more(patience: Duration) -> Option<Event> {
    if event::poll(patience).unwrap_or(false) { event::read().ok() } else { None }
}

/// The plain keys that arrive in a burst with a first one, and other events of that time. A terminal without bracketed
/// paste sends a paste this way; `streak` plain keys arrived in the same burst just before. A single key does not wait.
fn burst(
    first: KeyEvent,
    streak: usize,
    more: &mut dyn FnMut(Duration) -> Option<Event>,
) -> (Vec<KeyEvent>, Option<Event>) {
    let mut keys = vec![first];
    loop {
        let fast = streak + keys.len() >= FAST;
        let ends = keys.last().is_some_and(|key| is_line_end(*key));
        let patience = match (fast, ends) {
            (false, _) => Duration::ZERO,
            (true, false) => BREATH,
            (true, true) => HOLD,
        };
        match more(patience) {
            Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
            Some(Event::Key(key)) if character(key).is_some() => keys.push(key),
            other => return (keys, other),
        }
    }
}

/// The meaning of a burst. A line end with text before and after it in the same burst is a part of a paste and does not
/// send; neither does anything after it. A line end after a single line is Enter: scripts type this way, and the
/// message is complete.
fn told(keys: &[KeyEvent], streak: usize) -> Vec<Msg> {
    let typed = |key: &KeyEvent| !is_line_end(*key) && key.code != KeyCode::Tab;
    let begins = if streak >= FAST { 0 } else { keys.iter().position(typed).unwrap_or(keys.len()) };
    let (before, text) = keys.split_at(begins);
    let as_key = |key: &KeyEvent| message(Event::Key(*key));
    let inner = text.iter().take(text.len().saturating_sub(1)).any(|key| is_line_end(*key));
    if !inner && text.len() < MANY {
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

/// The character of a key that is part of a paste.
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
                MouseEventKind::ScrollUp => PointerAction::Wheel(-NOTCH),
                MouseEventKind::ScrollDown => PointerAction::Wheel(NOTCH),
                _ => return None,
            };
            Some(Msg::Input(Input::Mouse(Mouse { did, x: mouse.column, y: mouse.row })))
        }
        Event::FocusGained => Some(Msg::Terminal(TerminalMsg::Focus(true))),
        Event::FocusLost => Some(Msg::Terminal(TerminalMsg::Focus(false))),
        Event::Key(_) => None,
    }
}

/// Converts a key event for the key table.
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

    fn keys(text: &str) -> Vec<KeyEvent> {
        let code = |c| match c {
            '\r' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        };
        text.chars().map(|c| KeyEvent::new(code(c), KeyModifiers::NONE)).collect()
    }

    /// Keys as they are told: pastes in brackets.
    fn said(text: &str, streak: usize) -> String {
        let word = |msg: Msg| match msg {
            Msg::Input(Input::Paste(text)) => format!("[{text}]"),
            Msg::Input(Input::Key(chord)) => match chord.key {
                Key::Char(c) => c.to_string(),
                Key::Enter => "⏎".into(),
                key => format!("<{key:?}>"),
            },
            other => format!("{other:?}"),
        };
        told(&keys(text), streak).into_iter().map(word).collect()
    }

    #[test]
    fn a_line_end_inside_a_burst_is_text() {
        assert_eq!(said("one\rtwo", 0), "[one\ntwo]");
        assert_eq!(said("fn f() {\r\tg()\r}\r", 0), "[fn f() {\n\tg()\n}\n]");
        assert_eq!(said("\rtwo\r\rthree", 9), "[\ntwo\n\nthree]", "the burst began in the breath before");
        assert_eq!(said("a\r\r", 0), "[a\n\n]");
    }

    #[test]
    fn keys_stay_keys() {
        assert_eq!(said("a", 0), "a");
        assert_eq!(said("jjjx", 0), "jjjx");
        assert_eq!(said("hello\r", 0), "hello⏎", "fast typing and Enter sends");
        assert_eq!(said("\r", 0), "⏎");
        assert_eq!(said("\r", 50), "⏎", "nothing followed");
        assert_eq!(said("\rnext", 0), "⏎next", "an Enter that comes first is pressed");
        assert_eq!(said("\tf", 0), "<Tab>f");
    }

    #[test]
    fn a_long_burst_is_one_paste() {
        let long = "x".repeat(MANY);
        assert_eq!(said(&long, 0), format!("[{long}]"));
        assert_eq!(said(&format!("{long}\r"), 0), format!("[{long}]⏎"));
        assert_eq!(said(&"x".repeat(MANY - 1), 0), "x".repeat(MANY - 1));
    }

    /// Gathers from a script: events, each with the wait after which it comes, in milliseconds.
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
    fn a_key_alone_waits_for_nothing() {
        assert_eq!(gathered(&at(0, "a"), 0), (1, false, Duration::ZERO));
        assert_eq!(gathered(&at(0, "\r"), 0), (1, false, Duration::ZERO));
        // A person, however fast, presses each key long after the previous one.
        assert_eq!(gathered(&at(9, "abc\r"), 0), (1, false, Duration::ZERO));
        assert_eq!(gathered(&at(9, "\r"), 2), (1, false, HOLD), "an Enter in one breath with others waits");
    }

    #[test]
    fn a_burst_is_gathered_whole() {
        let mut script = at(0, "one\r");
        script.extend(at(30, "t"));
        script.extend(at(0, "wo"));
        assert_eq!(gathered(&script, 0).0, 7, "a pause after a line end, as between two packets");
        script.push((0, Event::Paste("p".into())));
        assert_eq!((gathered(&script, 0).0, gathered(&script, 0).1), (7, true));
        let mut slow = at(0, "one\r");
        slow.extend(at(50, "two"));
        assert_eq!(gathered(&slow, 0), (4, false, HOLD));
    }
}
