//! The workbench: a pure model, its update, its views, and the terminal beneath.
//! Not for: anything that the engine does; it is talked to through `engine::api` only.

pub mod chat;
pub mod model;
pub mod msg;
pub mod screens;
pub mod shell;
pub mod text;
pub mod theme;
pub mod update;
pub mod view;

use crate::config::keys::keymap::{Key, Keymap};
use crate::config::load::Config;
use crate::config::panes::Arrangements;
use crate::config::settings::{AUTO, Screen as ScreenSettings};
use crate::engine::api::{Door, Event, Events};
use model::pending::{Pending, SessionPending};
use model::{Facts, Model};
use msg::{Cmd, Msg, Taken};
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

/// The shortest time from frame to frame.
const FRAME: Duration = Duration::from_millis(16);
/// The same while words come, for a person who wants little motion.
const CALM: Duration = Duration::from_millis(250);
/// How long the first frame waits for the terminal to tell its ground.
const GROUND: Duration = Duration::from_millis(80);

/// What the workbench is started with.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches from the command line and the settings")]
pub struct Setup {
    /// The key table (problems in it are said on the screen).
    pub keymap: Keymap,
    /// The themes there are.
    pub themes: Themes,
    /// Settings of the screen.
    pub screen: ScreenSettings,
    /// How screens of each size were arranged last.
    pub arrangements: Arrangements,
    /// The terminal can be asked for its ground.
    pub may_ask: bool,
    /// The session to open; the last used when none.
    pub session: Option<String>,
    /// The branch to stand on; the last used when none.
    pub branch: Option<String>,
    /// Nothing was set up before: the first screen says what was looked for.
    pub first_start: bool,
    /// The offline tour.
    pub demo: bool,
    /// The policies there are, by name.
    pub policies: Vec<String>,
    /// Give addresses to the terminal (OSC 8).
    pub links: bool,
    /// Sentences to say at the start (a setting that could not be used, …).
    pub notices: Vec<String>,
    /// The configuration, to be read again when it changes.
    pub config: Option<Config>,
}

/// How the workbench ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The person quit.
    Quit,
    /// A signal asked for it; its number.
    Signal(i32),
}

impl Exit {
    /// The exit code of the program.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(1),
        }
    }
}

/// The workbench cannot run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal.
    #[error("the workbench needs a terminal; without one, use `pleach ask` and the other commands")]
    NoTerminal,
    /// The terminal failed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
}

/// Runs the workbench until the person quits or a signal ends it. The terminal is given back on every way out.
pub fn run(
    door: Box<dyn Door>,
    events: Events,
    setup: Setup,
    (commands, tour): (RunCommand, OpenTour),
) -> Result<Exit, TuiError> {
    if !io::IsTerminal::is_terminal(&io::stdin()) || !io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(TuiError::NoTerminal);
    }
    shell::terminal::guard_panics();
    let _back = GiveBack;
    let (to, from) = channel();
    shell::system::watch(to.clone())?;
    let links = setup.links.then(Links::default);
    let screen = Screen::enter(links.clone())?;
    shell::input::read(to.clone())?;
    let back = to.clone();
    let (answers, commands) = shell::commands::begin(commands, back.clone())?;
    let threads = (shell::highlight::begin(back.clone())?, commands, back);
    let mut bench = Workbench::new(door, screen, &setup, threads, tour);
    bench.cache.links = links;
    if let Some(reading) = &bench.reading {
        shell::watch::watch(reading.folders(), to.clone());
    }
    forward(events, to, answers)?;
    match bench.start(setup, &from).map_err(TuiError::from).and_then(|()| bench.turn(&from)) {
        // Drawing may fail before the signal comes through that says why.
        Err(TuiError::Terminal(_)) if shell::system::gone() => Ok(Exit::Signal(1)),
        ended => ended,
    }
}

/// Gives the terminal back when the workbench is left by whatever way.
struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        shell::terminal::switch_off();
    }
}

fn forward(events: Events, to: Sender<Msg>, answers: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("events".to_owned()).spawn(move || {
        for event in events {
            if shell::commands::is_answer(&event) {
                drop(answers.send(event));
            } else if to.send(Msg::Engine(Box::new(event))).is_err() {
                return;
            }
        }
        let _ = to.send(Msg::EngineGone);
    })?;
    Ok(())
}

struct Workbench {
    door: Box<dyn Door>,
    screen: Screen,
    /// Code to be coloured.
    colours: Sender<Job>,
    /// Commands that the command line's own code carries out.
    commands: Sender<shell::commands::Line>,
    /// What threads have to tell.
    back: Sender<Msg>,
    model: Model,
    cache: Cache,
    theme: Theme,
    themes: Themes,
    /// The name of the theme that is shown; none where it must be made again.
    painted: Option<String>,
    /// The terminal can be asked for its ground, and was not yet.
    may_ask: bool,
    /// The title that the terminal was given.
    titled: Option<String>,
    reading: Option<Reading>,
    began: Instant,
    ended: Option<i32>,
    /// What was typed before the session was open.
    early: Vec<Msg>,
    /// Starts the engine of a tour.
    open_tour: OpenTour,
    /// How many tours there were.
    tours: u64,
    /// The person's own workbench, while the tour is shown.
    outside: Option<shell::tour::Outside>,
}

impl Workbench {
    fn new(
        door: Box<dyn Door>,
        screen: Screen,
        setup: &Setup,
        (colours, commands, back): shell::commands::Threads,
        open_tour: OpenTour,
    ) -> Self {
        let facts = Facts {
            offset: jiff::Zoned::now().offset().seconds(),
            first_start: setup.first_start,
            demo: setup.demo,
            policies: setup.policies.clone(),
            mouse: setup.screen.mouse,
            save_to: shell::style::save_to(),
        };
        let model = Model {
            size: screen.size(),
            keys: setup.keymap.clone(),
            facts,
            theme: setup.screen.theme.clone(),
            themes: setup.themes.list(),
            screen: setup.screen.clone(),
            arrangements: setup.arrangements.clone(),
            ..Model::default()
        };
        Self {
            door,
            screen,
            colours,
            commands,
            back,
            theme: setup.themes.get(&model.theme).0,
            model,
            cache: Cache::default(),
            themes: setup.themes.clone(),
            painted: None,
            may_ask: setup.may_ask,
            titled: None,
            reading: setup.config.clone().map(Reading::new),
            began: Instant::now(),
            ended: None,
            early: Vec::new(),
            open_tour,
            tours: 0,
            outside: None,
        }
    }

    fn start(&mut self, setup: Setup, from: &Receiver<Msg>) -> io::Result<()> {
        for notice in setup.notices {
            self.model.status.say(model::status::Severity::Trouble, notice, 0);
        }
        shell::terminal::mouse(setup.screen.mouse)?;
        let cmds = update::start(&mut self.model, setup.session, setup.branch);
        self.perform(cmds)?;
        if self.model.theme != AUTO || !self.ask_ground()? {
            return Ok(());
        }
        // Most terminals answer within a few milliseconds, and nobody sees the wrong colours flash up. An answer that comes
        // later is taken all the same.
        let asked = Instant::now();
        let mut early = Vec::new();
        while let Some(rest) = GROUND.checked_sub(asked.elapsed()) {
            match from.recv_timeout(rest) {
                Ok(msg) => {
                    let answered = matches!(msg, Msg::Ground(_));
                    early.push(msg);
                    if answered {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        early.into_iter().try_for_each(|msg| self.take(msg))
    }

    /// Asks the terminal for its ground, once. False when it cannot be asked.
    fn ask_ground(&mut self) -> io::Result<bool> {
        if !std::mem::take(&mut self.may_ask) {
            return Ok(false);
        }
        shell::background::expect();
        shell::terminal::ask_ground().map(|()| true)
    }

    /// Draws, waits for something to happen, takes everything in that is there, and draws again. A person is shown what a
    /// key did at once, unless keys come faster than frames; what the engine tells waits for the next frame.
    fn turn(&mut self, from: &Receiver<Msg>) -> Result<Exit, TuiError> {
        let mut shown: Option<Instant> = None;
        loop {
            self.draw()?;
            let drawn = Instant::now();
            let Some(first) = self.wait(from) else { return Ok(Exit::Quit) };
            let mut taken = self.take_in(first, from)?;
            loop {
                let since = if taken.pressed { shown } else { Some(drawn) };
                let pace = self.pace(taken);
                let rest = since.and_then(|since| pace.checked_sub(since.elapsed()));
                let Some(rest) = rest.filter(|_| !self.model.quit) else { break };
                let Ok(msg) = from.recv_timeout(rest) else { break };
                taken = taken.and(self.take_in(msg, from)?);
            }
            self.drain(from)?;
            if taken.pressed {
                shown = Some(Instant::now());
            }
            if self.quits()? {
                return Ok(self.ended.map_or(Exit::Quit, Exit::Signal));
            }
        }
    }

    /// Takes a message in and all that wait behind it; says what they were.
    fn take_in(&mut self, first: Msg, from: &Receiver<Msg>) -> io::Result<Taken> {
        let mut taken = Taken::of(&first);
        self.take(first)?;
        while let Ok(msg) = from.try_recv() {
            taken = taken.and(Taken::of(&msg));
            self.take(msg)?;
        }
        Ok(taken)
    }

    /// How long after the last frame the next one may come.
    fn pace(&self, taken: Taken) -> Duration {
        if taken.words && self.model.screen.reduced_motion { CALM } else { FRAME }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The next message; a tick when the model wants one, for ever nothing otherwise.
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
            self.take(msg)?;
        }
        let tick = Msg::Tick(self.now());
        self.take(tick)
    }

    fn take(&mut self, msg: Msg) -> io::Result<()> {
        if let Msg::Coloured(lines) = msg {
            self.cache.colours.put(lines);
            return Ok(());
        }
        let Some(msg) = self.sort(msg)? else { return Ok(()) };
        self.model.now = self.now();
        #[cfg(debug_assertions)]
        rehearse(&msg);
        match &msg {
            // Without an engine there is nothing to go on with; the hook gives the terminal back and says why.
            Msg::EngineGone => panic!("the engine stopped: {}", shell::terminal::last_panic()),
            Msg::Signal(number) => self.ended = Some(*number),
            Msg::Resize(width, height) => self.screen.resize(*width, *height)?,
            Msg::Ground(Some(light)) => {
                self.themes.light = Some(*light);
                self.model.themes = self.themes.list();
                self.painted = None;
            }
            // `update` names every message; here stand only those that concern the terminal too.
            _ => {}
        }
        if self.opening() && writes(&msg) {
            self.early.push(msg);
            return Ok(());
        }
        let cmds = update::update(&mut self.model, msg);
        self.perform(cmds)?;
        if !self.early.is_empty() && !self.opening() {
            for msg in std::mem::take(&mut self.early) {
                self.take(msg)?;
            }
        }
        Ok(())
    }

    /// Whether the first session is not open yet, so that words typed now have no place to go to.
    fn opening(&self) -> bool {
        self.model.session.is_none()
            && self.model.pending.values().any(|what_for| *what_for == Pending::Session(SessionPending::Open))
    }

    fn perform(&mut self, cmds: Vec<Cmd>) -> io::Result<()> {
        let mut tour = None;
        for cmd in cmds {
            if self.left_alone(&cmd) {
                continue;
            }
            match cmd {
                Cmd::Tour(open) => tour = Some(open),
                Cmd::Send(ticket, request) => self.door.send(ticket, request),
                Cmd::Run(line, args) => drop(self.commands.send((line, args))),
                Cmd::Copy(text) => self.copy(text)?,
                Cmd::Redraw => {
                    self.model.bodies.retry();
                    self.screen.clear()?;
                }
                Cmd::Mouse(on) => shell::terminal::mouse(on)?,
                Cmd::Notify(text) => shell::terminal::notify(self.model.screen.notify, &text)?,
                Cmd::KeepTheme(_) | Cmd::KeepPanes | Cmd::Reload(_) | Cmd::SaveUnsaved(..) => {
                    self.perform_on_files(cmd)?;
                }
                Cmd::Suspend => {
                    shell::system::suspend()?;
                    self.again()?;
                }
                Cmd::Compose(text) => {
                    let result = shell::editor::lend(&text)?;
                    self.again()?;
                    let more = update::update(&mut self.model, Msg::Composed(result));
                    self.perform(more)?;
                }
            }
        }
        tour.map_or(Ok(()), |open| self.tour(open))
    }

    /// Copies beside the screen where a program does it, which may take its time; else at once.
    fn copy(&mut self, text: String) -> io::Result<()> {
        if let Some(native) = shell::clipboard::native() {
            let to = self.back.clone();
            let work = move || drop(to.send(Msg::Copied(shell::clipboard::copy(&text, Some(native)))));
            thread::Builder::new().name("clipboard".to_owned()).spawn(work)?;
            return Ok(());
        }
        let more = update::update(&mut self.model, Msg::Copied(shell::clipboard::copy(&text, None)));
        self.perform(more)
    }

    /// The terminal is ours again: its size may be another one, and everything is drawn anew.
    fn again(&mut self) -> io::Result<()> {
        let (width, height) = crossterm::terminal::size()?;
        self.screen.resize(width, height)?;
        self.model.size = (width, height);
        self.titled = None;
        self.screen.clear()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.dress()?;
        let (model, cache, theme) = (&mut self.model, &mut self.cache, &self.theme);
        let mut wanted = Vec::new();
        self.screen.draw(|buf| {
            wanted = view::frame::draw(model, cache, theme, buf);
            #[cfg(debug_assertions)]
            rehearse_in_view(buf);
        })?;
        for job in self.cache.colours.jobs() {
            // Without its thread, code stays without colours.
            let _ = self.colours.send(job);
        }
        let cmds = update::update(&mut self.model, Msg::Wanted(wanted));
        self.perform(cmds)
    }
}

/// Whether a message is a part of writing.
fn writes(msg: &Msg) -> bool {
    match msg {
        Msg::Paste(_) => true,
        Msg::Key(chord) => chord.typed().is_some() || matches!(chord.key, Key::Enter | Key::Backspace | Key::Char('j')),
        _ => false,
    }
}

/// The same in the middle of a frame, once a word stands on the screen.
#[cfg(debug_assertions)]
fn rehearse_in_view(buf: &ratatui::buffer::Buffer) {
    let wished = std::env::var_os("PLEACH_TEST_PANIC").is_some_and(|what| what == "view");
    let cells = || buf.content().iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    assert!(!wished || !cells().contains("rehearse"), "rehearsed in the view");
}

/// Lets a test see that the terminal is given back after a panic.
#[cfg(debug_assertions)]
fn rehearse(msg: &Msg) {
    let f9 = matches!(msg, Msg::Key(chord) if chord.key == Key::F(9));
    assert!(
        !f9 || std::env::var_os("PLEACH_TEST_PANIC").is_none_or(|what| what != "update"),
        "rehearsed in the update"
    );
}
