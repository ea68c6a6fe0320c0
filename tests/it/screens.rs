//! Screens: the workbench driven by keys and engine events, rendered as text at several sizes. The tests of a
//! screen are in the file or folder with the name that the screen has in `src/tui/screens`, those of the chat in `chat`,
//! and rules for all of them in `every_screen`; `fixture` and `pictures` are for all tests.
//! Not for: the program in a terminal, with the tour (`pty`).

mod approval;
pub(crate) mod aside;
mod calls;
mod chat;
mod compare;
mod conversation_search;
mod editor;
mod every_screen;
pub(crate) mod fixture;
mod help;
mod memories;
mod picker;
mod pictures;
mod prompt;
mod question;
mod race;
pub(crate) mod raw_request;
mod reader;
mod request;
mod search;
mod summaries;
mod text_editor;
mod tools;
mod traces;
mod tree;
mod usage;
mod what_if;

use pleach::config::keys::keymap::{Chord, Keymap};
use pleach::domain::base::NodeId;
use pleach::domain::conversation::Node;
use pleach::engine::api::{Answer, Event, Request, SessionAnswer, SessionRequest, Ticket};
use pleach::tui::model::{Facts, Model};
use pleach::tui::msg::{Cmd, EngineMsg, FileCmd, FrameMsg, Input, Msg, TerminalMsg};
use pleach::tui::shell::highlight::Highlighter;
use pleach::tui::theme::Theme;
use pleach::tui::view::cache::Cache;
use pleach::tui::{update, view};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The parts of a stage that are read from files once.
static KEYS: LazyLock<Keymap> = LazyLock::new(Keymap::built_in);
static DEFAULTS: LazyLock<toml::Table> = LazyLock::new(|| pleach::config::DEFAULT.parse().unwrap());
static PAINTER: LazyLock<Mutex<Highlighter>> = LazyLock::new(Mutex::default);

/// The workbench without a terminal or an engine: requests are collected, and bodies come from a map.
pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) cache: Cache,
    pub(crate) theme: Theme,
    pub(crate) sent: Vec<(Ticket, Request)>,
    pub(crate) copied: Vec<String>,
    pub(crate) composed: Vec<String>,
    /// Effects outside the model: files written and read, notifications.
    pub(crate) kept: Vec<String>,
    pub(crate) bodies: HashMap<NodeId, Arc<Node>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let mut model = Model { size: (100, 30), keys: KEYS.clone(), facts: Facts::default(), ..Model::default() };
        model.display.settings = DEFAULTS["screen"].clone().try_into().unwrap();
        let mut stage = Self {
            model,
            cache: Cache::default(),
            theme: Theme::built_in("none", false),
            sent: Vec::new(),
            copied: Vec::new(),
            composed: Vec::new(),
            kept: Vec::new(),
            bodies: HashMap::new(),
        };
        let cmds = update::start(&mut stage.model, None, None);
        stage.take(cmds);
        stage
    }

    pub(crate) fn msg(&mut self, msg: Msg) -> &mut Self {
        let cmds = update::update(&mut self.model, msg);
        self.take(cmds);
        self
    }

    fn take(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            match cmd {
                Cmd::Send(ticket, Request::Session(SessionRequest::Bodies { nodes })) => {
                    let found = nodes.iter().filter_map(|id| self.bodies.get(id).cloned()).collect();
                    self.answer(ticket, Answer::Session(SessionAnswer::Bodies(found)));
                }
                Cmd::Send(ticket, request) => self.sent.push((ticket, request)),
                Cmd::Run(line, _) => self.kept.push(format!("run {line}")),
                Cmd::Copy(text) => self.copied.push(text),
                Cmd::Compose(text) => self.composed.push(text.to_string()),
                Cmd::File(FileCmd::SaveTheme(name)) => self.kept.push(format!("theme {name}")),
                Cmd::File(FileCmd::SaveArrangement) => self.kept.push("arrangement".into()),
                Cmd::File(FileCmd::Reload(asked)) => self.kept.push(format!("reload {asked}")),
                Cmd::Notify(text) => self.kept.push(format!("notify {text}")),
                Cmd::File(FileCmd::SaveUnsaved(path, lines)) => self.kept.push(format!("{path}\n{lines}")),
                Cmd::Redraw | Cmd::Suspend | Cmd::Mouse(_) | Cmd::Tour(_) => {}
            }
        }
    }

    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        self.msg(Msg::Engine(EngineMsg::Event(Box::new(event))))
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: impl Into<Answer>) {
        self.event(Event::Answer { ticket, result: Ok(answer.into()) });
    }

    /// Answers the newest request that `of` accepts.
    pub(crate) fn reply(&mut self, of: impl Fn(&Request) -> bool, answer: impl Into<Answer>) -> &mut Self {
        let ticket = self.sent.iter().rev().find(|(_, request)| of(request)).map(|(ticket, _)| *ticket).unwrap();
        self.answer(ticket, answer);
        self
    }

    /// Presses keys, written as in the key table and separated by spaces.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split(' ') {
            let chord: Chord = key.parse().unwrap();
            self.msg(Msg::Input(Input::Key(chord)));
        }
        self
    }

    pub(crate) fn type_text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.msg(Msg::Input(Input::Key(Chord::plain(pleach::config::keys::keymap::Key::Char(c)))));
        }
        self
    }

    pub(crate) fn wait(&mut self, ms: u64) -> &mut Self {
        let now = self.model.now + ms;
        self.msg(Msg::Tick(now))
    }

    pub(crate) fn last(&self) -> &Request {
        &self.sent.last().unwrap().1
    }

    /// The frame at a size, drawn until no body is missing.
    pub(crate) fn buffer(&mut self, width: u16, height: u16) -> Buffer {
        self.msg(Msg::Terminal(TerminalMsg::Resize(width, height)));
        let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
        for _ in 0..4 {
            buf = Buffer::empty(Rect::new(0, 0, width, height));
            let wanted = view::frame::draw(&mut self.model, &mut self.cache, &self.theme, &mut buf);
            self.msg(Msg::Frame(FrameMsg::Missing(wanted)));
            for job in self.cache.colors.jobs() {
                let colors = &mut self.cache.colors;
                PAINTER.lock().unwrap_or_else(PoisonError::into_inner).paint(&job, &mut |part| {
                    colors.put(part);
                });
            }
        }
        buf
    }

    /// The frame as text.
    pub(crate) fn screen(&mut self, width: u16, height: u16) -> String {
        let buf = self.buffer(width, height);
        let mut out = String::new();
        for y in 0..height {
            let mut row = String::new();
            let mut skip = 0;
            for x in 0..width {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buf[(x, y)].symbol();
                skip = pleach::tui::text::width(symbol).saturating_sub(1);
                row.push_str(symbol);
            }
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out
    }
}
