//! The mouse: the part of the last frame at a position, and the state of the buttons.
//! Not for: the effect of a click (`update`).

use super::focus::Focus;
use ratatui::layout::Rect;
use std::cell::RefCell;

/// An event of the mouse at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    /// What it did.
    pub did: PointerAction,
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
}

/// What the mouse did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerAction {
    /// The left button was pressed.
    Press,
    /// It moved with the button pressed.
    Drag,
    /// The button was released.
    Release,
    /// The wheel turned by this many rows; negative is up.
    Wheel(i64),
}

/// A border that can be dragged to resize panes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// Between the panels at the left and the conversation.
    Left,
    /// Between the conversation and the panel at the right.
    Right,
    /// Above the tools.
    Tools,
}

/// What the pointer can hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A pane.
    Pane(Focus),
    /// A row of a pane, by its index in the pane's list.
    Row(Focus, usize),
    /// A row of the topmost screen.
    Item(usize),
    /// A border.
    Border(Border),
}

/// A part of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HitArea {
    /// Its area.
    pub area: Rect,
    /// What a click there hits.
    pub target: Target,
}

/// The state of the mouse.
#[derive(Debug, Default)]
pub struct Pointer {
    /// The parts of the last frame, while the mouse is captured. The view records them.
    pub hits: RefCell<Vec<HitArea>>,
    /// The border that is dragged.
    pub held: Option<Border>,
    /// The last click: when, and on what.
    pub last: Option<(u64, Target)>,
}

/// What is at a position. Of overlapping parts, the one that was drawn last.
#[must_use]
pub fn at(hits: &[HitArea], x: u16, y: u16) -> Option<Target> {
    let holds = |hit: &&HitArea| hit.area.contains((x, y).into());
    hits.iter().rev().find(holds).map(|hit| hit.target)
}
