//! The formulas of the policies over plain values: relevance and adaptive size (`relevance`, `adaptive`), priority
//! levels (`levels`), lanes, focus, and due summaries (`lanes`), and the subject of a conversation (`conversation`).
//! Not for: the hard rules (`admission`), which also apply these formulas to a plan's input.

pub mod adaptive;
pub mod conversation;
pub mod lanes;
pub mod levels;
pub mod mentions;
pub mod relevance;

use crate::domain::planning::Form;

/// A score with its parts, in thousandths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// The sum, which ranks the items.
    pub raw: i32,
    /// The parts by name, in a fixed order.
    pub parts: Vec<(&'static str, i32)>,
}

impl Score {
    /// Returns the sum of `parts`.
    pub fn of(parts: Vec<(&'static str, i32)>) -> Self {
        Self { raw: parts.iter().fold(0_i32, |sum, (_, part)| sum.saturating_add(*part)), parts }
    }

    /// Returns the score as displayed, at most 1,000. Ranking uses the raw sum, since several high scores would tie
    /// here.
    pub fn shown(&self) -> i32 {
        self.raw.min(1_000)
    }
}

/// The cost of a turn in a window, by the form of its tool results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// Tokens in full, with framing.
    pub full: u32,
    /// Tokens with tool results cut.
    pub cut: u32,
    /// Tokens with tool calls named in a line.
    pub elided: u32,
}

impl Costs {
    /// Returns the tokens in a form.
    pub fn in_form(&self, form: Form) -> u32 {
        match form {
            Form::Cut(_) => self.cut,
            Form::Elided => self.elided,
            Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => self.full,
        }
    }
}
