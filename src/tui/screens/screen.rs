//! The trait that every screen over the chat implements: its keys, typed text, actions, and drawing.
//! Not for: the open screens (`stack`), or changes to the whole model (each folder's `update`).

use crate::domain::base::{BranchId, NodeId, RunId};
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::Model;
use crate::tui::model::keys::{Chord, KeyPlace};
use crate::tui::model::list::{ListCursor, Scroll};
use crate::tui::model::session::Session;
use crate::tui::model::typed_line::{TypedLine, text_input};
use crate::tui::msg::Cmd;
use crate::tui::view::ViewContext;
use crate::tui::view::cache::Cache;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::any::Any;
use std::fmt::Debug;

/// A change to the whole model that runs after a screen has updated itself.
pub type Run = fn(&mut Model, &mut Vec<Cmd>);

/// Nodes whose contents a frame needs and the model does not have.
pub type MissingContents = Vec<NodeId>;

/// The result of handling an action, a key, or a paste.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// The screen did not handle it; the workbench's own handling follows, if there is any.
    Pass,
    /// The screen handled it.
    Done,
    /// The screen handled it, and this change to the whole model follows. The screen stays on the stack meanwhile.
    Then(Run),
}

impl Outcome {
    /// Runs the change that follows, if any. Returns false if the screen passed.
    pub(crate) fn finish(self, model: &mut Model, out: &mut Vec<Cmd>) -> bool {
        match self {
            Self::Pass => return false,
            Self::Done => {}
            Self::Then(run) => run(model, out),
        }
        true
    }
}

/// What a screen has to copy.
#[derive(Clone, Debug)]
pub enum Copied {
    Nothing,
    Text(String),
    /// A text that this change gets first.
    Then(Run),
}

impl Copied {
    /// The text, if there is one.
    pub(crate) fn of(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }
}

/// How far the cursor moves at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stride {
    Row,
    Page,
    /// To the first or the last row.
    End,
}

/// A change to an entry of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListEdit {
    /// Creates an entry.
    New,
    /// Renames the selected entry.
    Rename,
    /// Deletes the selected entry.
    Delete,
}

/// A screen over the chat. The topmost screen receives keys, pastes, and the mouse.
pub trait Screen: Any + Debug {
    /// The sections of the key table that apply while this screen is on top, most specific first.
    fn places(&self) -> &'static [KeyPlace];

    /// Draws the screen with its title and its line of keys, and stores the sizes for scrolling. Returns the nodes
    /// whose contents it needs.
    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents;

    /// Whether the screen covers the whole terminal.
    fn full(&self) -> bool {
        true
    }

    /// Height at the bottom of the terminal if the screen is drawn there instead of the composer, with the conversation
    /// visible above; None otherwise.
    fn footer(&self, _view: &ViewContext<'_>, _cache: &mut Cache, _area: Rect) -> Option<u16> {
        None
    }

    /// Whether the footer is at the bottom of the conversation if the conversation has room, so that the composer and the
    /// sidebars stay visible.
    fn above_composer(&self) -> bool {
        false
    }

    /// Whether letters are typed into the screen instead of triggering actions.
    fn types(&self) -> bool {
        self.places().iter().any(|place| matches!(place, KeyPlace::Picker | KeyPlace::Editor))
    }

    /// Rows of a page as last drawn; None if the screen's own height is not the page.
    fn page(&self) -> Option<usize> {
        None
    }

    /// The cursor of the screen's list, if the screen is one.
    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        None
    }

    /// The text that pages scroll, if the screen has one beside its list.
    fn paged_text(&mut self) -> Option<&mut Scroll> {
        None
    }

    /// Moves by `by` rows: a line, a page, or to an end.
    fn travel(&mut self, stride: Stride, by: i64) {
        if let Some(text) = self.paged_text().filter(|_| stride == Stride::Page) {
            text.by(by);
        } else if let Some(list) = self.list_cursor() {
            list.step(by);
        }
    }

    /// Handles the mouse wheel, turned by `rows` rows.
    fn wheel(&mut self, rows: i64) {
        self.travel(Stride::Row, rows);
    }

    /// Scrolls the detail pane: 1 down, -1 up.
    fn detail(&mut self, _way: i64) {}

    /// Handles a click on a row of the list.
    fn select(&mut self, row: usize) {
        if let Some(list) = self.list_cursor() {
            list.put(row);
        }
    }

    /// The line of text that is being typed, if any.
    fn line(&mut self) -> Option<&mut TypedLine> {
        None
    }

    /// Called after that line has changed.
    fn line_changed(&mut self) -> Outcome {
        Outcome::Done
    }

    /// Handles a key that has no action.
    fn type_in(&mut self, chord: Chord) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Pass };
        if line.input(text_input(chord)) { self.line_changed() } else { Outcome::Done }
    }

    /// Handles a paste; only its first line is used.
    fn paste(&mut self, text: &str) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Pass };
        line.paste(text);
        self.line_changed()
    }

    /// Handles Enter.
    fn open(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Handles Esc. A screen that passes is closed.
    fn leave(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Handles Ctrl+C. A screen that passes is closed.
    fn cancel(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Begins to type a filter or a search.
    fn filter(&mut self) {}

    /// Moves between the parts of the screen: 1 to the next, -1 to the previous.
    fn next_pane(&mut self, _step: i64) -> Outcome {
        Outcome::Pass
    }

    /// Handles copying.
    fn copy(&mut self) -> Copied {
        Copied::Nothing
    }

    // Actions that several screens share. A screen that passes does not have the action: a notice says so, or the chat
    // handles the action if it works everywhere.

    /// Shows the details of the selected row, or hides them.
    fn details(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Groups the list in another way.
    fn group(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Goes to another call: 1 to the next, -1 to the previous.
    fn step_call(&mut self, _step: i64) -> Outcome {
        Outcome::Pass
    }

    /// Goes to another match of the search: 1 to the next, -1 to the previous.
    fn step_hit(&mut self, _step: i64) -> Outcome {
        Outcome::Pass
    }

    /// Toggles between the calls of the branch and of the whole session.
    fn whole_session(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Goes to the message of the selected row in the conversation.
    fn to_message(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Opens the history of the selected item.
    fn item_history(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Asks how to replay the shown call.
    fn replay(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Creates, renames, or deletes an entry.
    fn edit_list(&mut self, _edit: ListEdit) -> Outcome {
        Outcome::Pass
    }

    /// Dismisses the selected entry.
    fn dismiss(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Undoes the last change, or redoes it, other than in the session.
    fn undo(&mut self, _redo: bool) -> Outcome {
        Outcome::Pass
    }

    /// Shows the exact bytes of the shown call.
    fn exact_request(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Compares the shown call with the next request.
    fn compare_plans(&mut self) -> Outcome {
        Outcome::Pass
    }

    /// Called when the session has changed, so that the screen rebuilds the parts of the session that it shows.
    fn sync(&mut self, _session: &mut Session, _conversation: &Conversation, _live: Option<RunId>) {}

    /// A change that runs after every message while the screen is on top.
    fn after(&self) -> Option<Run> {
        None
    }

    /// When the screen needs a tick, if at all; in milliseconds since the program began, as `now` is.
    fn due(&self, _now: u64) -> Option<u64> {
        None
    }

    /// The theme under the cursor, which draws the workbench while the list is open.
    fn tried_theme(&self) -> Option<&str> {
        None
    }

    /// Whether the screen shows the answers of a branch.
    fn shows(&self, _branch: BranchId) -> bool {
        false
    }
}

/// Key sections of screens in which a line is typed.
pub(crate) const TYPING: &[KeyPlace] = &[KeyPlace::Picker, KeyPlace::Always];
/// Key sections of read-only screens.
pub(crate) const PANEL: &[KeyPlace] = &[KeyPlace::Panel, KeyPlace::Always];

/// Distance from one row to another.
pub(crate) fn by(from: usize, to: usize) -> i64 {
    i64::try_from(to).unwrap_or(0) - i64::try_from(from).unwrap_or(0)
}

/// Half a page, at least one row.
pub(crate) fn half(page: usize) -> i64 {
    i64::try_from(page / 2).unwrap_or(1).max(1)
}

/// The imports of an implementation.
pub(crate) mod prelude {
    pub(crate) use super::{Copied, ListEdit, MissingContents, Outcome, PANEL, Run, Screen, Stride, TYPING, by, half};
    pub(crate) use crate::tui::model::keys::{Chord, KeyPlace};
    pub(crate) use crate::tui::model::list::{ListCursor, Scroll, shift};
    pub(crate) use crate::tui::model::typed_line::TypedLine;
    pub(crate) use crate::tui::view::{ViewContext, cache::Cache};
    pub(crate) use ratatui::{buffer::Buffer, layout::Rect};
}
