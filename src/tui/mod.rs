//! The workbench: a pure model, its update, its views, and the terminal.
//! The queue to the run loop has no bound: the run loop itself sends to it, and a signal must never wait.
//! Not for: the work of the engine, which the workbench reaches only through `engine::api`.

pub mod chat;
pub mod model;
pub mod msg;
pub mod screens;
pub mod shell;
pub mod text;
pub mod theme;
pub mod update;
pub mod view;

use crate::config::keys::keymap::Keymap;
use crate::config::load::Config;
use crate::config::panels::Arrangements;
use crate::config::settings::{AUTO, Screen as ScreenSettings};
use crate::engine::api::{Event, Events, RequestSender};
use model::pending::{Pending, SessionPending};
use model::{Display, Facts, Model};
use msg::{Cmd, Done, EngineMsg, FrameMsg, HandledMessages, Msg, ProcessMsg, TerminalMsg};
pub use shell::commands::RunCommand;
use shell::configuration::Reading;
pub use shell::start::ask_about;
use shell::terminal::Screen;
pub use shell::tour::{OpenTour, TourEngine};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use text::code::Job;
use text::links::Links;
use theme::{Theme, Themes};
use view::cache::Cache;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// The shortest time between two frames while an answer arrives, if reduced motion is set.
const REDUCED_FRAME: Duration = Duration::from_millis(250);
/// How long the first frame waits for the terminal to report its background.
const BACKGROUND_TIMEOUT: Duration = Duration::from_millis(80);

/// The settings at the start of the workbench.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The key table. Its problems are shown on the screen.
    pub keymap: Keymap,
    pub themes: Themes,
    pub screen: ScreenSettings,
    /// The saved arrangements of the panels, by size of the screen.
    pub arrangements: Arrangements,
    /// Whether the terminal can be asked for its background.
    pub may_ask: bool,
    /// The session to open; None for the last one used.
    pub session: Option<String>,
    /// The branch to switch to; None for the last one used.
    pub branch: Option<String>,
    /// Whether nothing was configured before. The first screen then lists the model servers that were looked for.
    pub first_start: bool,
    /// Whether this is the offline demo.
    pub demo: bool,
    pub policies: Vec<String>,
    /// Whether links are sent to the terminal (OSC 8).
    pub links: bool,
    /// Notices for the start, such as a setting that could not be used.
    pub notices: Vec<String>,
    /// The configuration, which is loaded again when its files change.
    pub config: Option<Config>,
}

/// Why the workbench ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The user quit.
    Quit,
    /// A signal with this number.
    Signal(i32),
}

impl Exit {
    /// The exit code of the program.
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(1),
        }
    }
}

/// Why the workbench cannot run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("the workbench needs a terminal; without one, use `pleach ask` and the other commands")]
    NoTerminal,
    /// The terminal failed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
}

/// Runs the workbench until the user quits or a signal ends it. The terminal is restored in every case.
pub fn run(
    sender: Box<dyn RequestSender>,
    events: Events,
    setup: Setup,
    (commands, tour): (RunCommand, OpenTour),
) -> Result<Exit, TuiError> {
    if !io::IsTerminal::is_terminal(&io::stdin()) || !io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(TuiError::NoTerminal);
    }
    shell::terminal::install_panic_hook();
    let _back = RestoreTerminal;
    let (to, from) = channel();
    shell::system::watch(to.clone())?;
    let links = setup.links.then(Links::default);
    let screen = Screen::enter(links.clone())?;
    shell::input::read(to.clone())?;
    let back = to.clone();
    let (answers, commands) = shell::commands::start(commands, back.clone())?;
    let threads = (shell::highlight::start(back.clone())?, commands, back);
    let mut bench = Workbench::new(sender, screen, &setup, threads, tour);
    bench.cache.links = links;
    if let Some(reading) = &bench.reading {
        shell::watch::watch(reading.folders(), to.clone());
    }
    forward(events, to, answers)?;
    match bench.start(setup, &from).map_err(TuiError::from).and_then(|()| bench.run_loop(&from)) {
        // Drawing can fail before the signal arrives that explains it.
        Err(TuiError::Terminal(_)) if shell::system::terminal_closed() => Ok(Exit::Signal(1)),
        ended => ended,
    }
}

/// Restores the terminal when it is dropped.
struct RestoreTerminal;

impl Drop for RestoreTerminal {
    fn drop(&mut self) {
        shell::terminal::switch_off();
    }
}

fn forward(events: Events, to: Sender<Msg>, answers: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("events".to_owned()).spawn(move || {
        shell::commands::forward(events, &answers, &to, EngineMsg::Event);
        let _ = to.send(Msg::Engine(EngineMsg::Gone));
    })?;
    Ok(())
}

struct Workbench {
    sender: Box<dyn RequestSender>,
    screen: Screen,
    /// Sends code to the highlighter.
    colors: Sender<Job>,
    /// Sends commands to the command line's own code.
    commands: Sender<shell::commands::Line>,
    /// Where threads send their messages.
    back: Sender<Msg>,
    model: Model,
    cache: Cache,
    theme: Theme,
    themes: Themes,
    /// Name of the theme that `theme` was built from; None if it must be built again.
    applied_theme: Option<String>,
    /// Whether the terminal can be asked for its background and has not been asked yet.
    may_ask: bool,
    /// The terminal's current title.
    applied_title: Option<String>,
    reading: Option<Reading>,
    began: Instant,
    ended: Option<i32>,
    /// Input that arrived before the session was open.
    early: Vec<Msg>,
    /// Starts the engine of a tour.
    open_tour: OpenTour,
    tours: u64,
    /// The user's own workbench while the tour is shown.
    own: Option<shell::tour::OwnWorkbench>,
}

impl Workbench {
    fn new(
        sender: Box<dyn RequestSender>,
        screen: Screen,
        setup: &Setup,
        (colors, commands, back): shell::commands::Threads,
        open_tour: OpenTour,
    ) -> Self {
        let facts = Facts {
            offset: jiff::Zoned::now().offset().seconds(),
            first_start: setup.first_start,
            demo: setup.demo,
            policies: setup.policies.clone(),
            mouse: setup.screen.mouse,
            save_to: shell::style::suggested_save_path(),
            tmux: std::env::var_os("TMUX").is_some_and(|socket| !socket.is_empty()),
        };
        let mut model = Model {
            size: screen.size(),
            keys: setup.keymap.clone(),
            facts,
            display: Display {
                settings: setup.screen.clone(),
                arrangements: setup.arrangements.clone(),
                themes: setup.themes.list(),
                theme: setup.screen.theme.clone(),
            },
            ..Model::default()
        };
        model.name_keys_for_tmux();
        Self {
            sender,
            screen,
            colors,
            commands,
            back,
            theme: setup.themes.get(&model.display.theme).0,
            model,
            cache: Cache::default(),
            themes: setup.themes.clone(),
            applied_theme: None,
            may_ask: setup.may_ask,
            applied_title: None,
            reading: setup.config.clone().map(Reading::new),
            began: Instant::now(),
            ended: None,
            early: Vec::new(),
            open_tour,
            tours: 0,
            own: None,
        }
    }

    fn start(&mut self, setup: Setup, from: &Receiver<Msg>) -> io::Result<()> {
        for notice in setup.notices {
            self.model.status.say(model::status::Severity::Warning, notice, 0);
        }
        shell::terminal::mouse(setup.screen.mouse)?;
        let cmds = update::start(&mut self.model, setup.session, setup.branch);
        self.perform(cmds)?;
        if self.model.display.theme != AUTO || !self.ask_background()? {
            return Ok(());
        }
        // Most terminals answer within a few milliseconds, so that wrong colors do not flash. A later answer is used
        // too.
        let asked = Instant::now();
        let mut early = Vec::new();
        while let Some(rest) = BACKGROUND_TIMEOUT.checked_sub(asked.elapsed()) {
            let Ok(msg) = from.recv_timeout(rest) else { break };
            let answered = matches!(msg, Msg::Terminal(TerminalMsg::Background(_)));
            early.push(msg);
            if answered {
                break;
            }
        }
        early.into_iter().try_for_each(|msg| self.handle(msg))
    }

    /// Asks the terminal for its background, once. Returns false if it was asked or cannot be.
    fn ask_background(&mut self) -> io::Result<bool> {
        if !std::mem::take(&mut self.may_ask) {
            return Ok(false);
        }
        shell::background::expect();
        shell::terminal::ask_background().map(|()| true)
    }

    /// Draws, waits for a message, handles all pending messages, and draws again. The effect of a key is drawn
    /// immediately unless keys arrive faster than frames; events of the engine wait for the next frame.
    fn run_loop(&mut self, from: &Receiver<Msg>) -> Result<Exit, TuiError> {
        let mut shown: Option<Instant> = None;
        loop {
            self.draw()?;
            let drawn = Instant::now();
            let Some(first) = self.wait(from) else { return Ok(Exit::Quit) };
            let mut handled = self.handle_all(first, from)?;
            loop {
                let since = if handled.pressed { shown } else { Some(drawn) };
                let pace = self.pace(handled);
                let rest = since.and_then(|since| pace.checked_sub(since.elapsed()));
                let Some(rest) = rest.filter(|_| !self.model.quit) else { break };
                let Ok(msg) = from.recv_timeout(rest) else { break };
                handled = handled.and(self.handle_all(msg, from)?);
            }
            self.drain(from)?;
            if handled.pressed {
                shown = Some(Instant::now());
            }
            if self.should_quit()? {
                return Ok(self.ended.map_or(Exit::Quit, Exit::Signal));
            }
        }
    }

    /// Handles a message and all messages queued after it. Returns their kind.
    fn handle_all(&mut self, first: Msg, from: &Receiver<Msg>) -> io::Result<HandledMessages> {
        let mut handled = HandledMessages::of(&first);
        self.handle(first)?;
        while let Ok(msg) = from.try_recv() {
            handled = handled.and(HandledMessages::of(&msg));
            self.handle(msg)?;
        }
        Ok(handled)
    }

    /// The shortest time until the next frame.
    fn pace(&self, handled: HandledMessages) -> Duration {
        if handled.only_text && self.model.display.settings.reduced_motion { REDUCED_FRAME } else { FRAME }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The next message, or a tick when the model is due for a tick. None if all senders have been dropped.
    fn wait(&self, from: &Receiver<Msg>) -> Option<Msg> {
        let Some(wake) = self.model.next_wake() else { return from.recv().ok() };
        let rest = Duration::from_millis(wake.saturating_sub(self.now()));
        match from.recv_timeout(rest) {
            Ok(msg) => Some(msg),
            Err(RecvTimeoutError::Timeout) => Some(Msg::Tick(self.now())),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn drain(&mut self, from: &Receiver<Msg>) -> io::Result<()> {
        while let Ok(msg) = from.try_recv() {
            self.handle(msg)?;
        }
        let tick = Msg::Tick(self.now());
        self.handle(tick)
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    fn handle(&mut self, msg: Msg) -> io::Result<()> {
        if let Msg::Frame(FrameMsg::Highlighted(lines)) = msg {
            self.cache.colors.put(lines);
            return Ok(());
        }
        let Some(msg) = self.route(msg)? else { return Ok(()) };
        self.model.now = self.now();
        #[cfg(debug_assertions)]
        simulate_panic(&msg);
        match &msg {
            // Nothing works without an engine. The panic hook restores the terminal and reports the reason.
            Msg::Engine(EngineMsg::Gone) => panic!("the engine stopped: {}", shell::terminal::last_panic()),
            Msg::Process(ProcessMsg::Signal(number)) => self.ended = Some(*number),
            Msg::Terminal(TerminalMsg::Resize(width, height)) => self.screen.resize(*width, *height)?,
            Msg::Terminal(TerminalMsg::Background(Some(light))) => {
                self.themes.light = Some(*light);
                self.model.display.themes = self.themes.list();
                self.applied_theme = None;
            }
            // All other messages change only the model.
            Msg::Tick(_)
            | Msg::Input(_)
            | Msg::Terminal(TerminalMsg::Focus(_) | TerminalMsg::Background(None))
            | Msg::Process(ProcessMsg::Suspend | ProcessMsg::Resumed)
            | Msg::Config(_)
            | Msg::Engine(EngineMsg::Event(_) | EngineMsg::TourEvent(..))
            | Msg::Frame(_)
            | Msg::Done(_) => {}
        }
        if self.opening() && msg.is_typing() {
            self.early.push(msg);
            return Ok(());
        }
        let cmds = update::update(&mut self.model, msg);
        self.perform(cmds)?;
        if !self.early.is_empty() && !self.opening() {
            for msg in std::mem::take(&mut self.early) {
                self.handle(msg)?;
            }
        }
        Ok(())
    }

    /// Whether the first session is still being opened, so that typed text must wait.
    fn opening(&self) -> bool {
        self.model.session.is_none()
            && self.model.requests.any(|what_for| *what_for == Pending::Session(SessionPending::Open))
    }

    fn perform(&mut self, cmds: Vec<Cmd>) -> io::Result<()> {
        let mut tour = None;
        for cmd in cmds {
            if self.is_skipped_in_tour(&cmd) {
                continue;
            }
            match cmd {
                Cmd::Tour(open) => tour = Some(open),
                Cmd::Send(ticket, request) => self.sender.send(ticket, request),
                Cmd::Run(line, args) => drop(self.commands.send((line, args))),
                Cmd::Copy(text) => self.copy(text)?,
                Cmd::Redraw => {
                    self.model.bodies.retry();
                    self.cache.forget_rows();
                    self.screen.clear()?;
                }
                Cmd::Mouse(on) => shell::terminal::mouse(on)?,
                Cmd::Notify(text) => shell::terminal::notify(self.model.display.settings.notify, &text)?,
                Cmd::File(cmd) => self.perform_on_files(cmd)?,
                Cmd::Suspend => {
                    shell::system::suspend()?;
                    self.redraw_after_loan()?;
                }
                Cmd::Compose(text) => {
                    let result = shell::editor::release_terminal(&text)?;
                    self.redraw_after_loan()?;
                    let more = update::update(&mut self.model, Msg::Done(Done::Edited(result)));
                    self.perform(more)?;
                }
            }
        }
        tour.map_or(Ok(()), |open| self.tour(open))
    }

    /// Copies a text; on a thread if another program copies it, because that can take a long time.
    fn copy(&mut self, text: String) -> io::Result<()> {
        if let Some(native) = shell::clipboard::native() {
            let to = self.back.clone();
            let work = move || drop(to.send(Msg::Done(Done::Copied(shell::clipboard::copy(&text, Some(native))))));
            thread::Builder::new().name("clipboard".to_owned()).spawn(work)?;
            return Ok(());
        }
        let more = update::update(&mut self.model, Msg::Done(Done::Copied(shell::clipboard::copy(&text, None))));
        self.perform(more)
    }

    /// Resumes drawing after the terminal was released: its size may have changed, and everything is drawn again.
    fn redraw_after_loan(&mut self) -> io::Result<()> {
        let (width, height) = crossterm::terminal::size()?;
        self.handle(Msg::Terminal(TerminalMsg::Resize(width, height)))?;
        self.applied_title = None;
        self.screen.clear()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.apply_style()?;
        let mut wanted = Vec::new();
        self.screen.draw(|buf| {
            wanted = view::frame::draw(&mut self.model, &mut self.cache, &self.theme, buf);
            #[cfg(debug_assertions)]
            simulate_panic_in_view(buf);
        })?;
        for job in self.cache.colors.jobs() {
            // Without the thread, code has no colors.
            let _ = self.colors.send(job);
        }
        let cmds = update::update(&mut self.model, Msg::Frame(FrameMsg::Missing(wanted)));
        self.perform(cmds)
    }
}

/// Panics while a frame is drawn, once a certain word is on the screen, so that a test can check that the terminal is
/// restored.
#[cfg(debug_assertions)]
fn simulate_panic_in_view(buf: &ratatui::buffer::Buffer) {
    let wished = std::env::var_os("PLEACH_TEST_PANIC").is_some_and(|what| what == "view");
    let cells = || buf.content().iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    assert!(!wished || !cells().contains("simulate"), "simulated panic in the view");
}

/// Panics at F9, so that a test can check that the terminal is restored.
#[cfg(debug_assertions)]
fn simulate_panic(msg: &Msg) {
    use crate::config::keys::keymap::Key;
    let f9 = matches!(msg, Msg::Input(msg::Input::Key(chord)) if chord.key == Key::F(9));
    assert!(
        !f9 || std::env::var_os("PLEACH_TEST_PANIC").is_none_or(|what| what != "update"),
        "simulated panic in the update"
    );
}
