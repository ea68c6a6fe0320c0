//! The mouse: what lies where in the frame that was drawn last, and what the pointer was doing.
//! Not for: what a click does (`update`).

use super::focus::Focus;
use ratatui::layout::Rect;

/// What the pointer did, at a column and a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    /// What.
    pub did: PointerAction,
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
}

/// What a pointer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerAction {
    /// The left button went down.
    Press,
    /// It moved with the button down.
    Drag,
    /// The button came up.
    Release,
    /// The wheel turned, by so many rows.
    Wheel(i64),
}

/// A border that can be dragged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// Between the panels at the left and the conversation.
    Left,
    /// Between the conversation and the panel at the right.
    Right,
    /// Above the tools.
    Tools,
}

/// What may be pointed at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A pane.
    Pane(Focus),
    /// A row of a pane, by its place in the pane's list.
    Row(Focus, usize),
    /// A row of the topmost layer.
    Item(usize),
    /// A border.
    Border(Border),
}

/// A part of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HitArea {
    /// Where.
    pub area: Rect,
    /// What.
    pub target: Target,
}

/// What the pointer was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pointer {
    /// The border that is held.
    pub held: Option<Border>,
    /// When and what was pressed last.
    pub last: Option<(u64, Target)>,
}

/// What lies at a place: the part drawn last.
#[must_use]
pub fn at(hits: &[HitArea], x: u16, y: u16) -> Option<Target> {
    let holds = |hit: &&HitArea| hit.area.contains((x, y).into());
    hits.iter().rev().find(holds).map(|hit| hit.target)
}
