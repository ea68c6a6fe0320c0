//! The trait of a screen over the chat: its keys, its text input, its actions, and its drawing.
//! Not for: which screens are open (`stack`), or changes of the whole model (each folder's `update`).

use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::Model;
use crate::tui::model::keys::{Action, Chord, Key, When};
use crate::tui::model::session::Session;
use crate::tui::msg::Cmd;
use crate::tui::view::ViewContext;
use crate::tui::view::cache::Cache;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::any::Any;
use std::fmt::Debug;

/// A function that runs on the whole model after a screen has changed itself.
pub type Run = fn(&mut Model, &mut Vec<Cmd>);

/// Nodes whose contents a frame lacks.
pub type MissingContents = Vec<NodeId>;

/// How a screen handled an event.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// Not handled: the workbench's default applies.
    Pass,
    /// Handled.
    Done,
    /// Handled, and this function must run on the whole model; the screen stays open meanwhile.
    Then(Run),
}

impl Outcome {
    /// Runs the remaining function. False if the screen did not handle the event.
    pub(crate) fn finish(self, model: &mut Model, out: &mut Vec<Cmd>) -> bool {
        match self {
            Self::Pass => return false,
            Self::Done => {}
            Self::Then(run) => run(model, out),
        }
        true
    }
}

/// A screen over the chat. The topmost screen receives keys, pastes, and the mouse.
pub trait Screen: Any + Debug {
    /// The places whose keys apply while this screen is on top, the most specific first.
    fn places(&self) -> &'static [When];

    /// Draws the screen into the area, including its title and key hints, and records sizes for scrolling. Returns the
    /// nodes whose contents are missing.
    fn view(&mut self, look: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents;

    /// Whether it fills the whole terminal.
    fn full(&self) -> bool {
        true
    }

    /// The number of rows at the bottom of the terminal in which it is drawn in place of the composer; the conversation
    /// stays visible above.
    fn foot(&self, _look: &ViewContext<'_>, _cache: &mut Cache, _area: Rect) -> Option<u16> {
        None
    }

    /// Whether letters are text input instead of keys.
    fn types(&self) -> bool {
        self.places().iter().any(|place| matches!(place, When::Picker | When::Editor))
    }

    /// The rows of a page when last drawn, if it does not fill the terminal.
    fn page(&self) -> Option<usize> {
        None
    }

    /// Moves up or down by rows, a page, or to an end.
    fn travel(&mut self, _action: Action, _by: i64) {}

    /// The wheel was turned by this number of rows.
    fn wheel(&mut self, rows: i64) {
        self.travel(if rows < 0 { Action::Up } else { Action::Down }, rows);
    }

    /// Scrolls the pane beside the list: 1 is down, -1 is up.
    fn detail(&mut self, _way: i64) {}

    /// A row was clicked.
    fn select(&mut self, _row: usize) {}

    /// The line being typed.
    fn line(&mut self) -> Option<&mut String> {
        None
    }

    /// That line changed.
    fn line_changed(&mut self) -> Outcome {
        Outcome::Done
    }

    /// A key without an action.
    fn type_in(&mut self, chord: Chord) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Pass };
        let before = line.clone();
        if let Some(c) = chord.typed().filter(|c| !c.is_control()) {
            line.extend((line.len() < 2_000).then_some(c));
        } else if chord.key == Key::Backspace {
            line.pop();
        } else if chord.ctrl && chord.key == Key::Char('u') {
            line.clear();
        }
        if *line == before { Outcome::Done } else { self.line_changed() }
    }

    /// A paste.
    fn paste(&mut self, text: &str) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Pass };
        line.extend(text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(500));
        self.line_changed()
    }

    /// Handles an action. Unhandled actions go to the workbench's table (`update::actions`).
    fn update(&mut self, _action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        Outcome::Pass
    }

    /// The session changed: recomputes the displayed part of it.
    fn sync(&mut self, _session: &mut Session, _conversation: &Conversation, _live: Option<RunId>) {}

    /// A function that runs after every message while the screen is on top.
    fn after(&self) -> Option<Run> {
        None
    }

    /// When the screen needs a tick, if it does; `now` in milliseconds since the program started.
    fn due(&self, _now: u64) -> Option<u64> {
        None
    }

    /// Whether a branch's answers are visible on it.
    fn shows(&self, _branch: BranchId) -> bool {
        false
    }
}

/// Places for keys while a line is typed.
pub(crate) const TYPING: &[When] = &[When::Picker, When::Always];
/// Places for keys on a read-only screen.
pub(crate) const PANEL: &[When] = &[When::Panel, When::Always];

/// The number of rows from one position to another.
pub(crate) fn by(from: usize, to: usize) -> i64 {
    i64::try_from(to).unwrap_or(0) - i64::try_from(from).unwrap_or(0)
}

/// Half a page, at least one row.
pub(crate) fn half(page: usize) -> i64 {
    i64::try_from(page / 2).unwrap_or(1).max(1)
}

/// Imports for implementations.
pub(crate) mod prelude {
    pub(crate) use super::{MissingContents, Outcome, PANEL, Run, Screen, TYPING, by, half};
    pub(crate) use crate::tui::model::keys::{Action, Chord, When};
    pub(crate) use crate::tui::model::list::shift;
    pub(crate) use crate::tui::msg::Cmd;
    pub(crate) use crate::tui::view::{ViewContext, cache::Cache};
    pub(crate) use ratatui::{buffer::Buffer, layout::Rect};
}
