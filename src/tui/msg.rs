//! What reaches the workbench, and what it wants done.
//! Not for: doing either.

use crate::config::commands::Printed;
use crate::config::commands::args::Args;
use crate::config::keys::keymap::{Chord, Keymap};
use crate::config::settings::Screen;
use crate::domain::base::ids::NodeId;
use crate::engine::api::{Event, Request, Ticket, TurnEvent};
use crate::tui::model::pointer::Mouse;
use crate::tui::text::code::HighlightedLine;
use std::sync::Arc;

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// Time has passed: milliseconds since the program began.
    Tick(u64),
    /// A key.
    Key(Chord),
    /// A paste.
    Paste(String),
    /// The terminal's new size.
    Resize(u16, u16),
    /// The mouse.
    Mouse(Mouse),
    /// The terminal got the focus, or lost it.
    Focus(bool),
    /// The terminal's ground: whether it is light, where it said so in a way that can be read.
    Ground(Option<bool>),
    /// A file of the configuration was written.
    Touched,
    /// The configuration was read again, by itself or on request; or why not.
    Reloaded(Result<Box<Fresh>, String>),
    /// A choice was written into the person's file, and where; or why not.
    Written(Result<String, String>),
    /// A command that the command line's own code carried out: its line, and what it printed.
    Ran(String, Printed),
    /// From the engine.
    Engine(Box<Event>),
    /// From the engine of a tour, by the tour's number.
    TourEvent(u64, Box<Event>),
    /// The engine's thread ended by itself: nothing works any more.
    EngineGone,
    /// The frame that was drawn lacks these contents.
    Wanted(Vec<NodeId>),
    /// Colours of lines of code, by the lines' keys.
    Coloured(Vec<(u64, HighlightedLine)>),
    /// A text was copied, and how.
    Copied(String),
    /// What the store could not take was written into this file; or why not.
    Unsaved(String, Result<(), String>),
    /// The program was asked from outside to end, by this signal.
    Signal(i32),
    /// The shell brought the program back.
    Resumed,
    /// The shell asks the program to stop for a while.
    Suspend,
    /// The person's editor was closed: the new text of the message, or why there is none.
    Composed(Result<String, String>),
}

/// What a reading of the configuration came to, as far as it concerns the screen.
#[derive(Debug)]
pub struct Fresh {
    /// The key table.
    pub keys: Keymap,
    /// Settings of the screen.
    pub screen: Screen,
    /// Names of the themes, with what each is for.
    pub themes: Vec<(String, String)>,
    /// The policies there are.
    pub policies: Vec<String>,
    /// Sentences to say.
    pub notes: Vec<String>,
    /// A person asked for it.
    pub asked: bool,
}

/// Something to be done outside.
#[allow(clippy::large_enum_variant, reason = "a command lives as long as one update; few are made at once")]
#[derive(Debug)]
pub enum Cmd {
    /// Hand a request to the engine.
    Send(Ticket, Request),
    /// Carry a command out by the command line's own code; its line, and what it means.
    Run(String, Box<Args>),
    /// Copy a text.
    Copy(String),
    /// Draw everything again.
    Redraw,
    /// Go into the shell's background.
    Suspend,
    /// Let the person edit the message in an editor of their own.
    Compose(Arc<str>),
    /// Take the mouse, or leave it.
    Mouse(bool),
    /// Write the chosen theme into the person's file.
    KeepTheme(String),
    /// Remember how the screen is arranged.
    KeepPanes,
    /// Write what the store could not take into this new file.
    SaveUnsaved(String, String),
    /// Read the configuration again; whether a person asked for it.
    Reload(bool),
    /// Tell a person who looks elsewhere.
    Notify(String),
    /// Open the tour, or leave it.
    Tour(bool),
}

/// What messages were.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// A person did one of them.
    pub(crate) pressed: bool,
    /// They only brought words of an answer.
    pub(crate) words: bool,
}

impl Taken {
    pub(crate) fn of(msg: &Msg) -> Self {
        Self {
            pressed: matches!(msg, Msg::Key(_) | Msg::Paste(_) | Msg::Mouse(_)),
            words: matches!(msg, Msg::Engine(event) | Msg::TourEvent(_, event) if matches!(**event, Event::Turn(TurnEvent::Stream { .. }))),
        }
    }

    pub(crate) fn and(self, more: Self) -> Self {
        Self { pressed: self.pressed || more.pressed, words: self.words && more.words }
    }
}
