//! The modes of the terminal, which are turned on at startup and off on every exit path, and the writing of frames.
//! Not for: signals and job control (`system`) or drawing (`view`).

use super::links::LinkingBackend;
use crate::config::save::create_private;
use crate::config::settings::Notify;
use crate::tui::text::links::Links;
use crossterm::Command;
use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many bytes every terminal accepts in one OSC 52.
const MAX_OSC52_BYTES: usize = 74_000;

static ENTERED: AtomicBool = AtomicBool::new(false);
static MOUSE: AtomicBool = AtomicBool::new(false);
/// Whether the title was changed; the previous title is on the terminal's own stack.
static TITLE: AtomicBool = AtomicBool::new(false);
/// Restores the previous title. If there is no stack of titles, an empty title makes the terminal show its own.
const TITLE_BACK: &str = "\x1b]2;\x1b\\\x1b[23;2t";

/// Turns on reports of presses, drags, and the wheel, in the encoding without limits. Other movements are not reported,
/// because they would constantly wake the program.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Begins and ends one update of the screen, on terminals that support it.
const BEGIN_UPDATE: &str = "\x1b[?2026h";
const END_UPDATE: &str = "\x1b[?2026l";

/// The screen that frames are drawn on.
pub(crate) struct Screen {
    terminal: Terminal<LinkingBackend<FrameBuffer>>,
    area: Rect,
    frame: FrameBuffer,
}

/// Collects the bytes of a frame. The drawing library flushes several times per frame; [`Screen::draw`] writes the
/// whole frame at once.
#[derive(Clone)]
struct FrameBuffer(Rc<RefCell<Vec<u8>>>);

impl FrameBuffer {
    fn new() -> Self {
        let mut bytes = Vec::with_capacity(64 * 1024);
        bytes.extend_from_slice(BEGIN_UPDATE.as_bytes());
        Self(Rc::new(RefCell::new(bytes)))
    }

    /// Writes the collected bytes as one update, or nothing if no cell changed.
    fn send(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = self.0.borrow_mut();
        if bytes.len() == BEGIN_UPDATE.len() {
            return Ok(());
        }
        bytes.extend_from_slice(END_UPDATE.as_bytes());
        let written = out.write_all(&bytes).and_then(|()| out.flush());
        bytes.truncate(BEGIN_UPDATE.len());
        written
    }
}

impl Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    /// Enters the alternate screen.
    pub(crate) fn enter(links: Option<Links>) -> io::Result<Self> {
        switch_on()?;
        let (width, height) = crossterm::terminal::size()?;
        let area = Rect { x: 0, y: 0, width, height };
        let frame = FrameBuffer::new();
        let backend = LinkingBackend::new(frame.clone(), links);
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })?;
        Ok(Self { terminal, area, frame })
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> (u16, u16) {
        (self.area.width, self.area.height)
    }

    /// Handles a new size of the terminal; the next frame is drawn completely.
    pub(crate) fn resize(&mut self, width: u16, height: u16) -> io::Result<()> {
        if (width, height) != self.size() {
            self.area = Rect { x: 0, y: 0, width, height };
            self.terminal.resize(self.area)?;
        }
        Ok(())
    }

    /// Makes the next frame draw all cells. (`Terminal::clear` would ask the terminal for the position of its cursor
    /// and wait for the answer, which the input thread would read.)
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.terminal.resize(self.area)
    }

    /// Draws a frame.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| paint(frame.buffer_mut()))?;
        // Another thread may have restored the terminal meanwhile, because the program ends.
        if ENTERED.load(Ordering::SeqCst) { self.frame.send(&mut io::stdout()) } else { Ok(()) }
    }
}

fn ansi(out: &mut String, command: impl Command) {
    let _ = command.write_ansi(out);
}

/// Switches on raw mode, the alternate screen, bracketed paste, and distinct key codes. The cursor is hidden, since the
/// text area draws it.
pub(crate) fn switch_on() -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = String::new();
    ansi(&mut out, EnterAlternateScreen);
    ansi(&mut out, EnableBracketedPaste);
    ansi(&mut out, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES));
    ansi(&mut out, EnableFocusChange);
    ansi(&mut out, Hide);
    if MOUSE.load(Ordering::SeqCst) {
        out.push_str(MOUSE_ON);
    }
    write(&out)
}

/// Restores the terminal. Can be called from anywhere and more than once; only the first call has an effect.
pub(crate) fn switch_off() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = String::new();
    out.push_str(END_UPDATE);
    if MOUSE.load(Ordering::SeqCst) {
        out.push_str(MOUSE_OFF);
    }
    if TITLE.swap(false, Ordering::SeqCst) {
        out.push_str(TITLE_BACK);
    }
    ansi(&mut out, DisableFocusChange);
    ansi(&mut out, PopKeyboardEnhancementFlags);
    ansi(&mut out, DisableBracketedPaste);
    ansi(&mut out, LeaveAlternateScreen);
    ansi(&mut out, Show);
    let _ = write(&out);
    let _ = disable_raw_mode();
}

/// Captures the mouse, or releases it.
pub(crate) fn mouse(on: bool) -> io::Result<()> {
    if MOUSE.swap(on, Ordering::SeqCst) == on {
        return Ok(());
    }
    write(if on { MOUSE_ON } else { MOUSE_OFF })
}

/// Sets the title of the terminal's window; [`switch_off`] restores the previous title. The text must be sanitized.
pub(crate) fn title(text: &str) -> io::Result<()> {
    if !ENTERED.load(Ordering::SeqCst) {
        return Ok(());
    }
    let save = if TITLE.swap(true, Ordering::SeqCst) { "" } else { "\x1b[22;2t" };
    write(&format!("{save}\x1b]2;{}\x1b\\", without_controls(text)))
}

/// Restores the title while the screen stays.
pub(crate) fn restore_title() -> io::Result<()> {
    if TITLE.swap(false, Ordering::SeqCst) { write(TITLE_BACK) } else { Ok(()) }
}

/// Notifies a person who is looking at another window. The text must be sanitized.
pub(crate) fn notify(how: Notify, text: &str) -> io::Result<()> {
    match how {
        Notify::Off => Ok(()),
        Notify::Bell => write("\x07"),
        Notify::Osc9 => write(&format!("\x1b]9;{}\x1b\\", without_controls(text))),
        Notify::Osc777 => write(&format!("\x1b]777;notify;pleach;{}\x1b\\", without_controls(text).replace(';', ","))),
    }
}

/// Asks the terminal for its background color. The answer, if any, arrives as keys (see `input`).
pub(crate) fn ask_background() -> io::Result<()> {
    write("\x1b]11;?\x1b\\")
}

/// A last safeguard: nothing in the text can end the escape sequence around it.
fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Installs a panic hook. A panic of this thread restores the terminal before it is printed. A panic of another thread
/// does not touch the screen: it is logged, and the thread that waits for it reports it.
pub(crate) fn install_panic_hook() {
    let before = std::panic::take_hook();
    let mine = std::thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        let here = std::thread::current();
        if here.id() == mine {
            switch_off();
            tracing::error!("{panic}");
        } else if ENTERED.load(Ordering::SeqCst) {
            let message = format!("thread {}: {panic}", here.name().unwrap_or("without a name"));
            tracing::error!("{message}");
            *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = message;
            return;
        }
        before(panic);
    }));
}

/// The message of the last panic of another thread.
pub(crate) fn last_panic() -> String {
    LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Copies a text by the terminal if it is short enough, or else into a file, and describes how.
pub(crate) fn copy(text: &str) -> String {
    if text.len() <= MAX_OSC52_BYTES && ENTERED.load(Ordering::SeqCst) {
        let mut out = String::new();
        ansi(&mut out, CopyToClipboard::to_clipboard_from(text));
        if write(&out).is_ok() {
            return "Copied.".into();
        }
    }
    match into_file(text) {
        Ok(path) => format!("Too long for the terminal's clipboard; saved in {path}."),
        Err(why) => format!("Could not copy: {why}."),
    }
}

fn into_file(text: &str) -> io::Result<String> {
    let dir = std::env::temp_dir();
    for n in 0..1_000 {
        let path = dir.join(format!("pleach-copy-{}-{n}.txt", std::process::id()));
        match create_private(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path.display().to_string());
            }
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
        }
    }
    Err(io::Error::other("no free file name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::Backend as _;
    use ratatui::buffer::Cell;

    /// A writer that records each write, as a terminal would receive it.
    #[derive(Default)]
    struct Writes(Vec<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_frame_is_one_write_and_an_unchanged_frame_none() {
        let area = Rect { x: 0, y: 0, width: 9, height: 2 };
        let frame = FrameBuffer::new();
        let backend = LinkingBackend::new(frame.clone(), None);
        let mut terminal =
            Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) }).unwrap();
        let mut out = Writes::default();
        for text in ["one", "one", "two"] {
            let style = ratatui::style::Style::default();
            terminal.draw(|frame| _ = frame.buffer_mut().set_stringn(0, 0, text, 9, style)).unwrap();
            frame.send(&mut out).unwrap();
        }
        let [first, second] = out.0.as_slice() else { panic!("{:?}", out.0) };
        for (written, text) in [(first, "one"), (second, "two")] {
            let body = written.strip_prefix(BEGIN_UPDATE).and_then(|rest| rest.strip_suffix(END_UPDATE)).unwrap();
            assert!(body.contains(text) && !body.contains(BEGIN_UPDATE), "{body:?}");
        }
        let cell = Cell::default();
        terminal.backend_mut().draw([(0, 0, &cell)].into_iter()).unwrap();
        terminal.resize(area).unwrap();
        assert_eq!(out.0.len(), 2, "only a frame is written");
    }
}
