//! The program in a pseudo-terminal that answers like a real terminal, keeps every byte, and lets a test wait for the
//! screen.
//! Not for: assertions, which belong to the tests.

use super::lexer::{Token, lex};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A timeout for a loaded machine. Only failing tests wait this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A person's folders, empty at first.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    work: Option<PathBuf>,
}

impl Home {
    /// New folders with the offline model selected.
    pub(crate) fn offline() -> Self {
        let mut home = Self::fresh();
        home.set("PLEACH_PROFILE", "offline");
        home
    }

    /// New folders without any settings.
    pub(crate) fn fresh() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["config", "data", "state", "tmp", "work"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let mut home = Self { dir, env: Vec::new(), work: None };
        let path = |name: &str| home.dir.path().join(name).display().to_string();
        let mut env = vec![("HOME".to_owned(), path(""))];
        for (name, folder) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state"), ("TMPDIR", "tmp")]
        {
            env.push((name.to_owned(), path(folder)));
        }
        env.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
        env.push(("LANG".to_owned(), "C.UTF-8".to_owned()));
        home.env = env;
        home
    }

    /// New folders with a server that speaks the usual protocol.
    pub(crate) fn server(base_url: &str) -> Self {
        let mut home = Self::fresh();
        home.set("OPENAI_BASE_URL", base_url);
        home.set("OPENAI_API_KEY", "sk-test-key");
        home.set("PLEACH_MODEL", "gpt-4.1-mini");
        home
    }

    /// Sets an environment variable.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Writes the settings.
    pub(crate) fn config(&self, text: &str) {
        let dir = self.dir.path().join("config/pleach");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), text).unwrap();
    }

    /// The folder in which the program is started.
    pub(crate) fn work(&self) -> PathBuf {
        self.work.clone().unwrap_or_else(|| self.dir.path().join("work"))
    }

    /// Starts the program in another folder.
    pub(crate) fn work_in(&mut self, folder: &Path) {
        self.work = Some(folder.to_owned());
    }

    /// A file under the home folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command of the command line. Returns its output and exit code.
    pub(crate) fn cli(&self, args: &[&str]) -> (String, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(args).current_dir(self.work()).stdin(Stdio::null());
        self.set_environment(&mut command);
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (printed, output.status.code().unwrap_or(-1))
    }

    /// Sets a command's environment to exactly this home's.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.env_clear().envs(self.env.iter().cloned());
    }

    /// Runs a command with `--json` and parses its output.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let (printed, code) = self.cli(&args);
        assert_eq!(code, 0, "{args:?} said: {printed}");
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{args:?} printed no JSON ({error}): {printed}"))
    }
}

/// The modes of a terminal, and whether they were balanced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ledger {
    /// Private modes that are on.
    pub(crate) on: std::collections::BTreeSet<u32>,
    /// Keyboard flags that were pushed and not popped.
    pub(crate) pushed: i32,
    /// Titles that were pushed and not popped.
    pub(crate) titles: i32,
    /// Whether the cursor is hidden.
    pub(crate) hidden: bool,
    /// Modes that were switched off without being on, and pops without pushes.
    pub(crate) unbalanced: Vec<String>,
    /// Whether the alternate screen was ever entered.
    pub(crate) entered: bool,
}

impl Ledger {
    fn take(&mut self, token: &Token) {
        let Token::Csi(body) = token else { return };
        match body.as_str() {
            "?25l" => self.hidden = true,
            "?25h" => self.hidden = false,
            "22;2t" => self.titles += 1,
            "23;2t" => {
                self.titles -= 1;
                if self.titles < 0 {
                    self.unbalanced.push(body.clone());
                }
            }
            body if body.starts_with('>') && body.ends_with('u') => self.pushed += 1,
            body if body.starts_with('<') && body.ends_with('u') => {
                self.pushed -= 1;
                if self.pushed < 0 {
                    self.unbalanced.push(body.to_owned());
                }
            }
            body => self.mode(body),
        }
    }

    fn mode(&mut self, body: &str) {
        let Some(rest) = body.strip_prefix('?') else { return };
        let (Some(list), on) = (rest.strip_suffix(['h', 'l']), rest.ends_with('h')) else { return };
        for mode in list.split(';').filter_map(|mode| mode.parse::<u32>().ok()) {
            self.entered |= mode == 1049 && on;
            if on {
                self.on.insert(mode);
            } else if !self.on.remove(&mode) && mode != 2026 {
                // Ending a synchronized update that was not started has no effect and ensures the end.
                self.unbalanced.push(body.to_owned());
            }
        }
    }

    /// Whether all modes are off again.
    pub(crate) fn balanced(&self) -> bool {
        self.on.is_empty() && self.pushed == 0 && self.titles == 0 && !self.hidden && self.unbalanced.is_empty()
    }
}

struct State {
    parser: vt100::Parser,
    raw: Vec<u8>,
    lexed: usize,
    ledger: Ledger,
    frames: usize,
    eof: bool,
    stop: bool,
    ground: Background,
}

/// How the terminal answers a query for its background color.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Background {
    /// With an answer.
    Answers(String),
    /// Not at all.
    Mute,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

type Pen = Arc<Mutex<Option<Box<dyn Write + Send>>>>;

/// A program in a pseudo-terminal.
pub(crate) struct Pty {
    shared: Arc<Shared>,
    master: Option<Box<dyn MasterPty + Send>>,
    slave: Option<Box<dyn SlavePty + Send>>,
    pen: Pen,
    status: Receiver<u32>,
    /// The process.
    pub(crate) pid: Pid,
    /// The terminal's settings before the program started.
    pub(crate) before: String,
}

/// The state after a program has ended.
pub(crate) struct Ended {
    pub(crate) code: u32,
    pub(crate) termios: String,
    pub(crate) before: String,
    pub(crate) ledger: Ledger,
    pub(crate) raw: Vec<u8>,
    /// The text on the screen.
    pub(crate) screen: String,
}

/// Options for starting a program.
pub(crate) struct Start<'a> {
    pub(crate) home: &'a Home,
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [&'a str],
    pub(crate) size: (u16, u16),
    /// Whether the terminal is the controlling one, which sends a signal when it closes.
    pub(crate) controlling: bool,
    /// How the terminal answers a query for its background color.
    pub(crate) ground: Background,
}

impl<'a> Start<'a> {
    pub(crate) fn new(home: &'a Home) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_pleach"));
        let ground = Background::Answers("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\".to_owned());
        Self { home, program, args: &[], size: (100, 30), controlling: true, ground }
    }

    pub(crate) fn ground(mut self, ground: Background) -> Self {
        self.ground = ground;
        self
    }

    pub(crate) fn args(mut self, args: &'a [&'a str]) -> Self {
        self.args = args;
        self
    }

    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    pub(crate) fn program(mut self, program: &'a Path) -> Self {
        self.program = program;
        self
    }

    pub(crate) fn run(self) -> Pty {
        Pty::start(&self)
    }
}

/// The parser needs at least two cells.
fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count.max(2)).unwrap()
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Pty {
    /// The workbench at 100×30.
    pub(crate) fn open(home: &Home) -> Self {
        Start::new(home).run()
    }

    fn start(start: &Start<'_>) -> Self {
        let pair = native_pty_system().openpty(size(start.size.0, start.size.1)).unwrap();
        let before = format!("{:?}", pair.master.get_termios());
        let mut command = CommandBuilder::new(start.program);
        command.args(start.args);
        command.env_clear();
        for (name, value) in &start.home.env {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        command.cwd(start.home.work());
        command.set_controlling_tty(start.controlling);
        let child = pair.slave.spawn_command(command).unwrap();
        let pid = Pid::from_raw(i32::try_from(child.process_id().unwrap()).unwrap()).unwrap();
        let parser = vt100::Parser::new(cells(start.size.1), cells(start.size.0), 0);
        let state = State {
            parser,
            raw: Vec::new(),
            lexed: 0,
            ledger: Ledger::default(),
            frames: 0,
            eof: false,
            stop: false,
            ground: start.ground.clone(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let pen: Pen = Arc::new(Mutex::new(Some(pair.master.take_writer().unwrap())));
        let reader = pair.master.try_clone_reader().unwrap();
        let (theirs, answers) = (Arc::clone(&shared), Arc::clone(&pen));
        std::thread::spawn(move || read(reader, &theirs, &answers));
        let (tell, status) = channel();
        std::thread::spawn(move || wait(child, &tell));
        Self { shared, master: Some(pair.master), slave: Some(pair.slave), pen, status, pid, before }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    /// Sends bytes as a keyboard would.
    pub(crate) fn keys(&self, bytes: &str) {
        self.bytes(bytes.as_bytes());
    }

    /// Sends bytes.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        let mut pen = self.pen.lock().unwrap();
        let pen = pen.as_mut().unwrap();
        // A program that has ended reads nothing.
        let _ = pen.write_all(bytes).and_then(|()| pen.flush());
    }

    /// Sends a bracketed paste.
    pub(crate) fn paste(&self, text: &str) {
        self.keys(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// The rows on the screen.
    pub(crate) fn screen(&self) -> String {
        self.state().parser.screen().contents()
    }

    /// The current modes.
    pub(crate) fn ledger(&self) -> Ledger {
        self.state().ledger.clone()
    }

    /// The settings of the terminal.
    pub(crate) fn termios(&self) -> String {
        format!("{:?}", self.master.as_ref().unwrap().get_termios())
    }

    /// Every byte so far.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.state().raw.clone()
    }

    /// Frames so far.
    pub(crate) fn frames(&self) -> usize {
        self.state().frames
    }

    /// Waits until the screen satisfies a condition, or fails the test.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.until_within(PATIENCE, what, is_so)
    }

    /// Like [`Pty::until`], with another timeout.
    #[track_caller]
    pub(crate) fn until_within(&self, patience: Duration, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let (began, mut state) = (Instant::now(), self.state());
        loop {
            // Ignore a frame that is not complete.
            let whole = !state.ledger.on.contains(&2026);
            let screen = state.parser.screen().contents();
            if whole && is_so(&screen) {
                return screen;
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() || (state.eof && whole) {
                let why = if state.eof { "the program ended" } else { "it took too long" };
                drop(state);
                panic!("never {what} ({why}); the screen:\n{screen}");
            }
            state = self.shared.changed.wait_timeout(state, left.min(Duration::from_millis(500))).unwrap().0;
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub(crate) fn see(&self, text: &str) -> String {
        self.until(&format!("{text:?} on the screen"), |screen| screen.contains(text))
    }

    /// Waits until the output satisfies a condition.
    #[track_caller]
    pub(crate) fn until_bytes(&self, what: &str, is_so: impl Fn(&[u8], &Ledger) -> bool) {
        let (began, mut state) = (Instant::now(), self.state());
        while !is_so(&state.raw, &state.ledger) {
            let left = PATIENCE.saturating_sub(began.elapsed());
            assert!(!left.is_zero() && !state.eof, "never {what}; {} bytes came", state.raw.len());
            state = self.shared.changed.wait_timeout(state, left.min(Duration::from_millis(500))).unwrap().0;
        }
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.state().parser.screen_mut().set_size(cells(rows), cells(columns));
        self.master.as_ref().unwrap().resize(size(columns, rows)).unwrap();
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    /// The exit code, if the program ends within a time.
    pub(crate) fn gone_within(&self, time: Duration) -> Option<u32> {
        self.status.recv_timeout(time).ok()
    }

    /// Waits for the end and returns the final state.
    #[track_caller]
    pub(crate) fn ended(self) -> Ended {
        let code = self.gone_within(PATIENCE);
        let Some(code) = code else { panic!("the program did not end; the screen:\n{}", self.screen()) };
        self.ended_with(code)
    }

    /// The final state of a program that has ended.
    pub(crate) fn ended_with(mut self, code: u32) -> Ended {
        let termios = self.termios();
        drop(self.slave.take());
        let (began, mut state) = (Instant::now(), self.state());
        while !state.eof && began.elapsed() < PATIENCE {
            state = self.shared.changed.wait_timeout(state, Duration::from_millis(100)).unwrap().0;
        }
        let (ledger, raw) = (state.ledger.clone(), state.raw.clone());
        let screen = state.parser.screen().contents();
        Ended { code, termios, before: self.before.clone(), ledger, raw, screen }
    }

    /// Closes the terminal's window. One more output releases the reader.
    pub(crate) fn close_window(&mut self) {
        self.state().stop = true;
        self.keys("\x0c");
        let (began, mut state) = (Instant::now(), self.state());
        while !state.eof && began.elapsed() < PATIENCE {
            state = self.shared.changed.wait_timeout(state, Duration::from_millis(100)).unwrap().0;
        }
        drop(state);
        drop(self.slave.take());
        drop(self.pen.lock().unwrap().take());
        drop(self.master.take());
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }
}

fn wait(mut child: Box<dyn Child + Send + Sync>, tell: &std::sync::mpsc::Sender<u32>) {
    if let Ok(status) = child.wait() {
        let _ = tell.send(if status.signal().is_some() { 1_000 } else { status.exit_code() });
    }
}

fn read(mut reader: Box<dyn Read + Send>, shared: &Shared, pen: &Pen) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = reader.read(&mut buffer).unwrap_or(0);
        let mut state = shared.state.lock().unwrap();
        let stop = count == 0 || state.stop;
        let replies = take(&mut state, &buffer[..count]);
        drop(state);
        if !replies.is_empty()
            && let Some(pen) = pen.lock().unwrap().as_mut()
        {
            let _ = pen.write_all(&replies).and_then(|()| pen.flush());
        }
        if stop {
            drop(reader);
            shared.state.lock().unwrap().eof = true;
            shared.changed.notify_all();
            return;
        }
        shared.changed.notify_all();
    }
}

/// Processes output and returns the terminal's answers.
fn take(state: &mut State, bytes: &[u8]) -> Vec<u8> {
    state.raw.extend_from_slice(bytes);
    state.parser.process(bytes);
    let mut replies = Vec::new();
    while let Some((token, length)) = lex(&state.raw[state.lexed..]) {
        state.lexed += length;
        state.ledger.take(&token);
        match &token {
            Token::Csi(body) if body == "6n" => {
                let (row, column) = state.parser.screen().cursor_position();
                replies.extend(format!("\x1b[{};{}R", row + 1, column + 1).into_bytes());
            }
            Token::Csi(body) if body == "c" || body == "0c" => replies.extend(b"\x1b[?62;22c"),
            Token::Csi(body) if body == "?u" => replies.extend(b"\x1b[?0u"),
            Token::Csi(body) if body == "?2026l" => state.frames += 1,
            Token::Osc(body) if body == "11;?" => {
                if let Background::Answers(answer) = &state.ground {
                    replies.extend(answer.as_bytes());
                }
            }
            _ => {}
        }
    }
    replies
}
