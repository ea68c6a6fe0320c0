//! Messages to the workbench, and the commands that its update returns.
//! Not for: handling messages (`update`), or carrying commands out (the run loop).

use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::config::keys::keymap::{Chord, Key, Keymap};
use crate::config::settings::Screen;
use crate::domain::base::NodeId;
use crate::engine::api::{Event, Request, Ticket, TurnEvent};
use crate::tui::model::pointer::Mouse;
use crate::tui::text::code::HighlightedLine;
use std::sync::Arc;

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// Time has passed: milliseconds since the program started.
    Tick(u64),
    /// The user typed, pasted, or clicked.
    Input(Input),
    /// The terminal changed.
    Terminal(TerminalMsg),
    /// The operating system or the shell asked for something.
    Process(ProcessMsg),
    /// Configuration files were read or written.
    Config(ConfigMsg),
    /// The engine reported something.
    Engine(EngineMsg),
    /// A frame was drawn, or a part of it prepared.
    Frame(FrameMsg),
    /// A command was completed.
    Done(Done),
}

impl Msg {
    /// Whether the message belongs to typing text.
    pub fn is_typing(&self) -> bool {
        match self {
            Self::Input(Input::Paste(_)) => true,
            Self::Input(Input::Key(chord)) => {
                chord.typed().is_some() || matches!(chord.key, Key::Enter | Key::Backspace | Key::Char('j'))
            }
            _ => false,
        }
    }
}

/// Input of the user.
#[derive(Debug)]
pub enum Input {
    Key(Chord),
    Paste(String),
    Mouse(Mouse),
}

/// A change of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TerminalMsg {
    /// Its new columns and rows.
    Resize(u16, u16),
    /// It got (true) or lost (false) the focus.
    Focus(bool),
    /// Whether its background is light; None if the report could not be parsed.
    Background(Option<bool>),
}

/// A signal or a request of the shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessMsg {
    /// This signal asks the program to end.
    Signal(i32),
    /// The shell asks the program to suspend.
    Suspend,
    /// The shell resumed the program.
    Resumed,
}

/// A result of reading or writing the configuration.
#[derive(Debug)]
pub enum ConfigMsg {
    /// A configuration file changed on disk.
    Changed,
    /// The configuration was read again, or why not.
    Reloaded(Result<Box<ReloadedSettings>, String>),
    /// A choice was written into the person's file; the result describes where, or why not.
    Written(Result<String, String>),
}

/// A report of an engine.
#[derive(Debug)]
pub enum EngineMsg {
    Event(Box<Event>),
    /// An event from the engine of a tour, with the tour's number.
    TourEvent(u64, Box<Event>),
    /// The engine's thread ended; nothing works without it.
    Gone,
}

/// A message between two frames: contents that the view lacks, or highlighting that arrived.
#[derive(Debug)]
pub enum FrameMsg {
    /// The drawn frame lacks these contents.
    Missing(Vec<NodeId>),
    /// Colors of lines of code, by the keys of the lines.
    Highlighted(Vec<(u64, HighlightedLine)>),
}

/// The result of a command.
#[derive(Debug)]
pub enum Done {
    /// The command line's own code ran a command: its line and its output.
    Printed(String, Printed),
    /// A text was copied; the string describes how.
    Copied(String),
    /// Unsaved text was written into this file, or why not.
    Saved(String, Result<(), String>),
    /// The person's editor was closed; the result is the new text, or why there is none.
    Edited(Result<String, String>),
}

/// The parts of a reloaded configuration that concern the screen.
#[derive(Debug)]
pub struct ReloadedSettings {
    /// The key table.
    pub keys: Keymap,
    /// Settings of the screen.
    pub screen: Screen,
    /// Names and descriptions of the themes.
    pub themes: Vec<(String, String)>,
    pub policies: Vec<String>,
    /// Sentences to show.
    pub notes: Vec<String>,
    /// Whether a person asked for it.
    pub asked: bool,
}

/// A command that the run loop executes.
#[allow(clippy::large_enum_variant, reason = "a command lives as long as one update; few are made at once")]
#[derive(Debug)]
pub enum Cmd {
    /// Send a request to the engine.
    Send(Ticket, Request),
    /// Run a command with the command line's own code: its line and its parsed arguments.
    Run(String, Box<Args>),
    /// Copy a text.
    Copy(String),
    /// Draw everything again.
    Redraw,
    /// Suspend the program until the shell resumes it.
    Suspend,
    /// Open the message in the person's own editor.
    Compose(Arc<str>),
    /// Capture the mouse (true), or release it.
    Mouse(bool),
    /// Read or write the user's files.
    File(FileCmd),
    /// Notify a user who is looking at another window.
    Notify(String),
    /// Open the tour (true), or leave it.
    Tour(bool),
}

/// A command that reads or writes the user's files.
#[derive(Debug)]
pub enum FileCmd {
    /// Write the chosen theme into the user's file.
    SaveTheme(String),
    /// Save the arrangement of the panels.
    SaveArrangement,
    /// Write unsaved text into a new file: its path and the text.
    SaveUnsaved(String, String),
    /// Read the configuration again; true if a person asked for it.
    Reload(bool),
}

/// The kind of the messages handled since the last frame.
#[derive(Clone, Copy)]
pub(crate) struct HandledMessages {
    /// Whether at least one was a person's input.
    pub(crate) pressed: bool,
    /// Whether all of them only contain text of an answer.
    pub(crate) only_text: bool,
}

impl HandledMessages {
    pub(crate) fn of(msg: &Msg) -> Self {
        let is_text = |event: &Event| matches!(event, Event::Turn(TurnEvent::Stream { .. }));
        let only_text = matches!(
            msg,
            Msg::Engine(EngineMsg::Event(event) | EngineMsg::TourEvent(_, event)) if is_text(event)
        );
        Self { pressed: matches!(msg, Msg::Input(_)), only_text }
    }

    pub(crate) fn and(self, more: Self) -> Self {
        Self { pressed: self.pressed || more.pressed, only_text: self.only_text && more.only_text }
    }
}
