//! The stack of open screens over the chat.
//! Not for: the trait that they implement (`screen`).

use super::screen::Screen;
use crate::tui::view::ViewContext;
use crate::tui::view::cache::Cache;
use ratatui::layout::Rect;
use std::any::{Any, TypeId};

/// A screen at the bottom of the terminal or of the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer {
    /// Index of the screen.
    pub(crate) at: usize,
    /// Where the screen is drawn.
    pub(crate) place: Rect,
    /// Whether the composer stays visible below the screen.
    pub(crate) above_composer: bool,
}

/// Open screens, the topmost last.
#[derive(Debug, Default)]
pub struct Stack(Vec<Box<dyn Screen>>);

#[expect(clippy::borrowed_box, reason = "the stack contains boxes")]
fn is<S: Screen>(screen: &Box<dyn Screen>) -> Option<&S> {
    (&**screen as &dyn Any).downcast_ref()
}

impl Stack {
    /// Opens a screen above the others.
    pub fn push(&mut self, screen: impl Screen) {
        self.0.push(Box::new(screen));
    }

    /// Opens several screens above the others, the last one topmost.
    pub fn extend(&mut self, screens: impl IntoIterator<Item = impl Screen>) {
        screens.into_iter().for_each(|screen| self.push(screen));
    }

    /// Closes the topmost screen. Returns false if none is open.
    pub fn pop(&mut self) -> bool {
        self.0.pop().is_some()
    }

    /// Closes all screens.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Number of open screens.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no screen is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The topmost screen.
    pub fn last(&self) -> Option<&dyn Screen> {
        self.0.last().map(|screen| &**screen)
    }

    /// The topmost screen.
    pub fn last_mut(&mut self) -> Option<&mut dyn Screen> {
        self.0.last_mut().map(|screen| &mut **screen)
    }

    /// All screens, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Screen> {
        self.0.iter().map(|screen| &**screen)
    }

    /// All screens, lowest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Screen>> {
        self.0.iter_mut()
    }

    /// The topmost screen if it has type `S`.
    pub fn top<S: Screen>(&self) -> Option<&S> {
        self.0.last().and_then(is)
    }

    /// The topmost screen if it has type `S`.
    pub fn top_mut<S: Screen>(&mut self) -> Option<&mut S> {
        self.0.last_mut().and_then(|screen| (&mut **screen as &mut dyn Any).downcast_mut())
    }

    /// The type of the topmost screen.
    pub fn kind(&self) -> Option<TypeId> {
        self.0.last().map(|screen| (&**screen as &dyn Any).type_id())
    }

    /// Whether the topmost screen has type `S`.
    pub fn on<S: Screen>(&self) -> bool {
        self.top::<S>().is_some()
    }

    /// The screen directly below the topmost, if it has type `S`.
    pub fn below<S: Screen>(&self) -> Option<&S> {
        self.0.iter().rev().nth(1).and_then(is)
    }

    /// All screens of type `S`, lowest first.
    pub fn all<S: Screen>(&self) -> impl DoubleEndedIterator<Item = &S> {
        self.0.iter().filter_map(is)
    }

    /// All screens of type `S`, lowest first.
    pub fn all_mut<S: Screen>(&mut self) -> impl DoubleEndedIterator<Item = &mut S> {
        self.0.iter_mut().filter_map(|screen| (&mut **screen as &mut dyn Any).downcast_mut())
    }

    /// Closes the screens of type `S` that match. Returns whether there were any.
    pub fn close<S: Screen>(&mut self, meant: impl Fn(&S) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|screen| !is(screen).is_some_and(&meant));
        self.0.len() < before
    }

    /// Removes the lowest matching screen of type `S` and returns it.
    pub fn take<S: Screen>(&mut self, meant: impl Fn(&S) -> bool) -> Option<S> {
        let at = self.0.iter().position(|screen| is(screen).is_some_and(&meant))?;
        let screen: Box<dyn Any> = self.0.remove(at);
        screen.downcast().ok().map(|screen| *screen)
    }

    /// Removes the topmost screen and returns it, if it has type `S`.
    pub fn take_top<S: Screen>(&mut self) -> Option<S> {
        let screen: Box<dyn Any> = self.0.pop_if(|screen| is::<S>(screen).is_some())?;
        screen.downcast().ok().map(|screen| *screen)
    }

    /// The topmost screen that is drawn at the bottom of the terminal or of the conversation.
    pub(crate) fn footer(
        &self,
        view: &ViewContext<'_>,
        cache: &mut Cache,
        area: Rect,
        conversation: Option<Rect>,
    ) -> Option<Footer> {
        (0..self.0.len()).rev().find_map(|at| {
            let pane = conversation.filter(|_| self.0[at].above_composer());
            let room = pane.unwrap_or(area);
            let rows = self.0[at].footer(view, cache, room)?.min(room.height);
            let place = Rect { y: room.bottom() - rows, height: rows, ..room };
            Some(Footer { at, place, above_composer: pane.is_some() })
        })
    }

    /// Index of the topmost screen that covers the terminal; nothing below it is drawn.
    pub(crate) fn full(&self) -> Option<usize> {
        self.0.iter().rposition(|screen| screen.full())
    }
}
