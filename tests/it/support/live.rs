//! The real screen with the real engine, without a terminal: does what `tui::run` does, at most one step per turn.
//! Not for: assertions, which belong to the tests and benchmarks.

use super::bench::Client;
use pleach::config::keys::keymap::{Chord, Key, Keymap};
use pleach::tui::model::{Facts, Model};
use pleach::tui::msg::{Cmd, EngineMsg, FrameMsg, Input, Msg};
use pleach::tui::theme::Theme;
use pleach::tui::view::cache::Cache;
use pleach::tui::{update, view};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::time::{Duration, Instant};

/// A timeout for a loaded machine.
const PATIENCE: Duration = Duration::from_mins(10);

/// The screen, the engine's client, and a terminal buffer.
pub(crate) struct Live {
    pub(crate) client: Client,
    pub(crate) model: Model,
    cache: Cache,
    theme: Theme,
    pub(crate) buf: Buffer,
}

impl Live {
    /// Opens a session by its title and waits until it is drawn.
    pub(crate) fn open(client: Client, title: &str, (width, height): (u16, u16)) -> Self {
        let facts = Facts::default();
        let model = Model { size: (width, height), keys: Keymap::built_in(), facts, ..Model::default() };
        let (cache, theme) = (Cache::default(), Theme::built_in("dark", false));
        let buf = Buffer::empty(Rect::new(0, 0, width, height));
        let mut live = Self { client, model, cache, theme, buf };
        let cmds = update::start(&mut live.model, Some(title.to_owned()), None);
        live.take(cmds);
        live.until(|model| model.session.is_some());
        live.frame();
        live
    }

    /// Handles a message.
    pub(crate) fn msg(&mut self, msg: Msg) {
        let cmds = update::update(&mut self.model, msg);
        self.take(cmds);
    }

    fn take(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            if let Cmd::Send(ticket, request) = cmd {
                self.client.send_as(ticket, request);
            }
        }
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let chord: Chord = key.parse().unwrap();
        self.msg(Msg::Input(Input::Key(chord)));
    }

    /// Types a text.
    pub(crate) fn types(&mut self, text: &str) {
        text.chars().for_each(|c| self.msg(Msg::Input(Input::Key(Chord::plain(Key::Char(c))))));
    }

    /// Draws a frame.
    pub(crate) fn frame(&mut self) {
        self.buf.reset();
        let wanted = view::frame::draw(&mut self.model, &mut self.cache, &self.theme, &mut self.buf);
        self.msg(Msg::Frame(FrameMsg::Missing(wanted)));
    }

    /// Handles engine events and passes time until the model satisfies a condition.
    pub(crate) fn until(&mut self, is_so: impl Fn(&Model) -> bool) {
        let began = Instant::now();
        let start = self.model.now;
        while !is_so(&self.model) {
            assert!(began.elapsed() < PATIENCE, "the condition was never met");
            if let Some(event) = self.client.next_event(Duration::from_millis(2)) {
                self.msg(Msg::Engine(EngineMsg::Event(Box::new(event))));
            }
            let now = start + u64::try_from(began.elapsed().as_millis()).unwrap();
            self.msg(Msg::Tick(now));
        }
    }
}
