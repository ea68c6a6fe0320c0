//! The mouse: the state of its buttons, and the part of the last frame at a position.
//! Not for: the effect of a click (`update::mouse`).

use super::focus::Focus;
use ratatui::layout::Rect;
use std::cell::RefCell;

/// A mouse event at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    /// The kind of the event.
    pub did: PointerAction,
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
}

/// The kind of a mouse event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerAction {
    /// The left button was pressed.
    Press,
    /// The mouse moved with the button pressed.
    Drag,
    /// The button was released.
    Release,
    /// The wheel turned by this many rows; negative is up.
    Wheel(i64),
}

/// A border that can be dragged to resize panels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// Between the left sidebar and the conversation.
    Left,
    /// Between the conversation and the right sidebar.
    Right,
    /// Above the tools panel.
    Tools,
}

/// The target of a click.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Pane(Focus),
    /// A row of a pane, by its index in the pane's list.
    Row(Focus, usize),
    /// A row of the topmost screen.
    Item(usize),
    Border(Border),
}

/// A clickable area of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HitArea {
    /// Where it is on the screen.
    pub area: Rect,
    /// The target of a click there.
    pub target: Target,
}

/// The state of the mouse.
#[derive(Debug, Default)]
pub struct Pointer {
    /// The clickable areas of the last frame, recorded by the view while the mouse is captured.
    pub hits: RefCell<Vec<HitArea>>,
    /// The border that is being dragged.
    pub dragged: Option<Border>,
    /// Time and target of the last click.
    pub last: Option<(u64, Target)>,
}

/// The target at a position. If areas overlap, the target in the area drawn last.
pub fn at(hits: &[HitArea], x: u16, y: u16) -> Option<Target> {
    let holds = |hit: &&HitArea| hit.area.contains((x, y).into());
    hits.iter().rev().find(holds).map(|hit| hit.target)
}
