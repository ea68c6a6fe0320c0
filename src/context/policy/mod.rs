//! What each policy decides, as formulas over plain values: relevance and the moving size (`adaptive`), levels and
//! priority (`levels`), lanes, focus and compaction (`lanes`), and what a conversation is about.
//! Not for: the hard rules (`admit`); `choose` brings these formulas to a plan's input.

pub mod adaptive;
pub mod conversation;
pub mod lanes;
pub mod levels;
pub mod mentions;
pub mod relevance;

use crate::domain::planning::plan::Form;

/// A score with its parts, all in thousandths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// The sum that ranks.
    pub raw: i32,
    /// Its parts by name, in a fixed order.
    pub parts: Vec<(&'static str, i32)>,
}

impl Score {
    /// The sum of parts.
    #[must_use]
    pub fn of(parts: Vec<(&'static str, i32)>) -> Self {
        Self { raw: parts.iter().fold(0_i32, |sum, (_, part)| sum.saturating_add(*part)), parts }
    }

    /// As it is shown: never above 1.0. Ranking goes by the raw sum, since several high scores would tie here.
    #[must_use]
    pub fn shown(&self) -> i32 {
        self.raw.min(1_000)
    }
}

/// What one turn costs a window, by how its tool results are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// Tokens as it is, framing included.
    pub full: u32,
    /// Tokens with tool results cut.
    pub cut: u32,
    /// Tokens with tool calls named in a line.
    pub elided: u32,
}

impl Costs {
    /// Tokens in a form.
    #[must_use]
    pub fn in_form(&self, form: Form) -> u32 {
        match form {
            Form::Cut(_) => self.cut,
            Form::Elided => self.elided,
            Form::Full | Form::NoState | Form::Gone | Form::Placeholder | Form::Card | Form::Out => self.full,
        }
    }
}
