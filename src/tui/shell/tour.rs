//! The engine of the tour, which runs alongside the person's own: starting it, separating the events of both, and
//! ending it.
//! Not for: the steps of the tour (`screens::tour`).

use super::commands::{self, Line, RunCommand};
use super::terminal;
use crate::config::keys::keymap::Action;
use crate::domain::base::Failure;
use crate::engine::api::{Events, RequestSender};
use crate::tui::model::panels::Arrangements;
use crate::tui::model::status::Severity;
use crate::tui::model::{Display, Facts, Model};
use crate::tui::msg::{Cmd, EngineMsg, FileCmd, Msg};
use crate::tui::screens::tour::model::Tour;
use crate::tui::{Workbench, update};
use std::any::Any;
use std::mem::{replace, swap};
use std::sync::mpsc::Sender;
use std::{io, thread};

/// An engine with a bundled conversation, in a store that is deleted with it.
pub struct TourEngine {
    /// Sends requests to it.
    pub sender: Box<dyn RequestSender>,
    pub events: Events,
    pub commands: RunCommand,
    /// Ends the engine when dropped.
    pub engine: Box<dyn Any>,
}

/// Starts the engine of a tour.
pub type OpenTour = Box<dyn FnMut() -> Result<TourEngine, Failure>>;

/// The person's own workbench while the tour is shown, and the tour's engine.
pub(crate) struct OwnWorkbench {
    /// Number of the tour; events of other numbers are late ones.
    number: u64,
    sender: Box<dyn RequestSender>,
    commands: Sender<Line>,
    model: Model,
    _engine: Box<dyn Any>,
}

impl Workbench {
    /// Opens the tour, or leaves it.
    pub(crate) fn tour(&mut self, open: bool) -> io::Result<()> {
        if !open {
            return self.leave_tour();
        } else if self.own.is_some() {
            return Ok(());
        }
        match (self.open_tour)() {
            Ok(engine) => self.enter_tour(engine),
            Err(failure) => {
                let now = self.model.now;
                self.model.status.say(Severity::Warning, format!("The tour can't be opened. {failure}"), now);
                Ok(())
            }
        }
    }

    fn enter_tour(&mut self, engine: TourEngine) -> io::Result<()> {
        self.tours += 1;
        let number = self.tours;
        let (answers, lines) = commands::start(engine.commands, self.back.clone())?;
        let (to, events) = (self.back.clone(), engine.events);
        let work = move || commands::forward(events, &answers, &to, |event| EngineMsg::TourEvent(number, event));
        thread::Builder::new().name("tour".to_owned()).spawn(work)?;
        let model = Model { size: self.screen.size(), ..tour_model(&self.model) };
        self.own = Some(OwnWorkbench {
            number,
            sender: replace(&mut self.sender, engine.sender),
            commands: replace(&mut self.commands, lines),
            model: replace(&mut self.model, model),
            _engine: engine.engine,
        });
        let cmds = update::start(&mut self.model, None, None);
        self.perform(cmds)
    }

    fn leave_tour(&mut self) -> io::Result<()> {
        let Some(own) = self.own.take() else { return Ok(()) };
        (self.sender, self.commands, self.model) = (own.sender, own.commands, own.model);
        self.model.now = self.now();
        self.model.size = self.screen.size();
        let key = self.model.keys.key_of(Action::Tour).unwrap_or_else(|| "/tour".to_owned());
        let text = format!("The tour is closed; nothing was saved. {key} opens it again.");
        self.model.status.say(Severity::Notice, text, self.model.now);
        terminal::mouse(self.model.facts.mouse)?;
        self.screen.clear()
    }

    /// Returns the message if it is for the displayed workbench. Meanwhile, events of the person's own engine update
    /// the person's own workbench.
    pub(crate) fn route(&mut self, msg: Msg) -> io::Result<Option<Msg>> {
        let number = self.own.as_ref().map(|own| own.number);
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

    /// Handles quitting: in the tour it leaves the tour, unless a signal ends the program. Returns whether the program
    /// quits.
    pub(crate) fn should_quit(&mut self) -> io::Result<bool> {
        if self.own.is_some() && self.model.quit && self.ended.is_none() {
            self.leave_tour()?;
        }
        Ok(self.model.quit)
    }

    /// Whether a command is skipped while the tour is shown, because it would read or write the person's settings.
    pub(crate) fn is_skipped_in_tour(&self, cmd: &Cmd) -> bool {
        self.own.is_some()
            && matches!(cmd, Cmd::File(FileCmd::SaveTheme(_) | FileCmd::SaveArrangement | FileCmd::Reload(_)))
    }

    fn swap(&mut self) {
        if let Some(own) = &mut self.own {
            swap(&mut self.sender, &mut own.sender);
            swap(&mut self.commands, &mut own.commands);
            swap(&mut self.model, &mut own.model);
        }
    }
}

/// Creates the workbench of the tour, with the person's own keys and appearance.
fn tour_model(own: &Model) -> Model {
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
