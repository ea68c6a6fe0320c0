//! The engine on which the tour runs, beside the user's own: starting it, separating the events of both, ending it.
//! Not for: the steps of the tour (`screens::tour`).

use super::commands::{self, Line, RunCommand};
use super::terminal;
use crate::config::keys::keymap::Action;
use crate::domain::base::failure::Failure;
use crate::engine::api::{Door, Events};
use crate::tui::model::panes::Arrangements;
use crate::tui::model::status::Severity;
use crate::tui::model::{Display, Facts, Model};
use crate::tui::msg::{Cmd, EngineMsg, FileCmd, Msg};
use crate::tui::screens::tour::model::{Tour, rows};
use crate::tui::{Workbench, update};
use std::any::Any;
use std::mem::{replace, swap};
use std::sync::mpsc::Sender;
use std::{io, thread};

/// An engine with a bundled conversation, in a store that is deleted with it.
pub struct TourEngine {
    /// Its API.
    pub door: Box<dyn Door>,
    /// Its events.
    pub events: Events,
    /// Runs commands on it.
    pub commands: RunCommand,
    /// The engine ends when this is dropped.
    pub engine: Box<dyn Any>,
}

/// Starts such an engine.
pub type OpenTour = Box<dyn FnMut() -> Result<TourEngine, Failure>>;

/// The user's own workbench and the tour's engine, while the tour is open.
pub(crate) struct Outside {
    /// Events with other numbers are late events of earlier tours.
    number: u64,
    door: Box<dyn Door>,
    commands: Sender<Line>,
    model: Model,
    _engine: Box<dyn Any>,
}

impl Workbench {
    /// Opens the tour, or leaves it.
    pub(crate) fn tour(&mut self, open: bool) -> io::Result<()> {
        if !open {
            return self.leave_tour();
        } else if self.outside.is_some() {
            return Ok(());
        }
        match (self.open_tour)() {
            Ok(engine) => self.enter_tour(engine),
            Err(failure) => {
                let now = self.model.now;
                self.model.status.say(Severity::Trouble, format!("The tour can't be opened. {failure}"), now);
                Ok(())
            }
        }
    }

    fn enter_tour(&mut self, engine: TourEngine) -> io::Result<()> {
        self.tours += 1;
        let number = self.tours;
        let (answers, lines) = commands::begin(engine.commands, self.back.clone())?;
        let to = self.back.clone();
        let events = engine.events;
        thread::Builder::new().name("tour".to_owned()).spawn(move || {
            for event in events {
                if commands::is_answer(&event) {
                    drop(answers.send(event));
                } else if to.send(Msg::Engine(EngineMsg::TourEvent(number, Box::new(event)))).is_err() {
                    return;
                }
            }
        })?;
        let mut model = begun(&self.model);
        let (columns, height) = self.screen.size();
        model.size = (columns, height.saturating_sub(rows(&model, height)));
        self.outside = Some(Outside {
            number,
            door: replace(&mut self.door, engine.door),
            commands: replace(&mut self.commands, lines),
            model: replace(&mut self.model, model),
            _engine: engine.engine,
        });
        let cmds = update::start(&mut self.model, None, None);
        self.perform(cmds)
    }

    fn leave_tour(&mut self) -> io::Result<()> {
        let Some(outside) = self.outside.take() else { return Ok(()) };
        (self.door, self.commands, self.model) = (outside.door, outside.commands, outside.model);
        self.model.now = self.now();
        self.model.size = self.screen.size();
        let key = self.model.keys.key_of(Action::Tour).unwrap_or_else(|| "/tour".to_owned());
        let text = format!("The tour is closed; nothing was saved. {key} opens it again.");
        self.model.status.say(Severity::Notice, text, self.model.now);
        terminal::mouse(self.model.facts.mouse)?;
        self.screen.clear()
    }

    /// The part of a message that is for the displayed workbench. Events of the user's own engine go to the user's own
    /// workbench meanwhile.
    pub(crate) fn sort(&mut self, msg: Msg) -> io::Result<Option<Msg>> {
        let number = self.outside.as_ref().map(|outside| outside.number);
        match msg {
            Msg::Engine(EngineMsg::TourEvent(of, event)) => {
                Ok((number == Some(of)).then_some(Msg::Engine(EngineMsg::Event(event))))
            }
            Msg::Engine(EngineMsg::Event(_)) if number.is_some() => {
                self.swap();
                self.model.now = self.now();
                let cmds = update::update(&mut self.model, msg);
                let done = self.perform(cmds);
                self.swap();
                done.map(|()| None)
            }
            msg => Ok(Some(msg)),
        }
    }

    /// Quitting in the tour leaves the tour; a signal ends the program.
    pub(crate) fn quits(&mut self) -> io::Result<bool> {
        if self.outside.is_some() && self.model.quit && self.ended.is_none() {
            self.leave_tour()?;
        }
        Ok(self.model.quit)
    }

    /// Commands that are not carried out during the tour: they would read or write the user's files.
    pub(crate) fn left_alone(&self, cmd: &Cmd) -> bool {
        self.outside.is_some()
            && matches!(cmd, Cmd::File(FileCmd::KeepTheme(_) | FileCmd::KeepPanes | FileCmd::Reload(_)))
    }

    fn swap(&mut self) {
        if let Some(outside) = &mut self.outside {
            swap(&mut self.door, &mut outside.door);
            swap(&mut self.commands, &mut outside.commands);
            swap(&mut self.model, &mut outside.model);
        }
    }
}

/// A workbench at the start of the tour, with the keys and the appearance of the user's own.
fn begun(own: &Model) -> Model {
    let facts = Facts { first_start: false, demo: true, ..own.facts.clone() };
    Model {
        now: own.now,
        facts,
        keys: own.keys.clone(),
        display: Display { arrangements: Arrangements::default(), ..own.display.clone() },
        tour: Some(Tour::default()),
        ..Model::default()
    }
}
