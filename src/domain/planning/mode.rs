//! Context modes and their limits.
//! Not for: policies (`policy`), which decide how the budget is used.

use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};

named_enum! {
    /// How much context the program adds automatically.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Default, PartialOrd, Ord)]
    pub enum Mode {
        /// The program adds nothing: instructions, state, permanent pins, and the window are sent.
        Off = "off" => "Off",
        /// Small, cheap additions (the default).
        #[default]
        Light = "light" => "Light",
        /// More and longer additions.
        Heavy = "heavy" => "Heavy",
    }
    /// Returns the display name: `Off`, `Light`, `Heavy`.
    pub fn title
}

impl Mode {
    /// Returns the next mode in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// Parses a name, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.title().eq_ignore_ascii_case(name))
    }

    /// Returns the mode's limits for requests of at most this many tokens.
    pub fn limits(self, prompt_budget: u32) -> ModeLimits {
        match self {
            Self::Off => ModeLimits { retrieval_tokens: 0, cards: 0, creates_leases: false },
            Self::Light => {
                ModeLimits { retrieval_tokens: (prompt_budget / 7).min(1_000), cards: 6, creates_leases: true }
            }
            Self::Heavy => {
                ModeLimits { retrieval_tokens: (prompt_budget / 10 * 3).min(8_000), cards: 12, creates_leases: true }
            }
        }
    }
}

named_enum! {
    /// Whether older messages are searched for a draft, as chosen by a person.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum SearchChoice {
        /// The mode, the policy, and the message decide.
        #[default]
        Auto => "Older messages are searched as the mode and the message require.",
        /// Search always.
        Anyway => "Older messages are searched for this call, regardless of the mode and the message.",
        /// Do not search for this call.
        Never => "Nothing is searched for this call.",
    }
    /// Returns a sentence that explains the value.
    pub fn sentence
}

impl SearchChoice {
    /// Returns the next value in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// The limits of a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModeLimits {
    /// Maximum tokens of all retrieved items together.
    pub retrieval_tokens: u32,
    /// Maximum number of retrieved items.
    pub cards: u32,
    /// Whether the engine may create leases.
    pub creates_leases: bool,
}

impl ModeLimits {
    /// Returns whether anything is retrieved automatically. Does not depend on the budget: a search in a small budget
    /// finds the same items, and admission leaves out those that do not fit.
    pub fn retrieves(self) -> bool {
        self.cards > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_their_limits() {
        let limits = |mode: Mode, budget| {
            let limits = mode.limits(budget);
            (limits.retrieval_tokens, limits.cards, limits.creates_leases)
        };
        for (budget, light, heavy) in [(6, 0, 0), (4_010, 572, 1_203), (20_000, 1_000, 6_000), (90_000, 1_000, 8_000)] {
            assert_eq!(limits(Mode::Off, budget), (0, 0, false));
            assert_eq!(limits(Mode::Light, budget), (light, 6, true));
            assert_eq!(limits(Mode::Heavy, budget), (heavy, 12, true));
            assert_eq!(Mode::ALL.map(|mode| mode.limits(budget).retrieves()), [false, true, true]);
        }
    }

    #[test]
    fn names_parse_and_the_cycle_wraps() {
        for mode in Mode::ALL {
            assert_eq!(Mode::from_name(&mode.title().to_uppercase()), Some(mode));
        }
        assert_eq!(Mode::from_name("other"), None);
        let wishes = [SearchChoice::Auto, SearchChoice::Anyway, SearchChoice::Never, SearchChoice::Auto];
        assert!(wishes.windows(2).all(|pair| pair[0].next() == pair[1]));
    }
}
