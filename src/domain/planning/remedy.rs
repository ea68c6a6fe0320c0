//! The action that would include an item that is left out.
//! Not for: why it is left out (`reason`).

use crate::domain::call::tokens::counted;
use serde::{Deserialize, Serialize};

/// The action that would include an item that is left out, and its price.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remedy {
    /// The action's name in the key table (`include-once`, `exclude`, `pin`, `budget-up`, …); the screen shows its key.
    pub action: String,
    /// Its effect, as the end of a sentence: "takes the exclusion back".
    pub does: String,
    /// Tokens that would have to leave first.
    pub pushes_out: u32,
    /// Number of the oldest turns in the window that would have to leave.
    pub pushes_turns: u32,
}

impl Remedy {
    /// Returns the command of the command line that does what the action does, with `item` as its argument if it takes
    /// an item: `include 3`. `None` if no command does. The only table of such commands.
    pub fn command(&self, item: &str) -> Option<String> {
        let command = match self.action.as_str() {
            "include-once" => format!("include {item}"),
            "exclude" | "exclude-once" => format!("unpin {item}"),
            "pin" => format!("pin {item}"),
            "budget-up" => "budget TOKENS".to_owned(),
            "models" => "model NAME".to_owned(),
            "capsules" => "summary list".to_owned(),
            "show-state" => "state edit".to_owned(),
            "focus" => "focus PATH".to_owned(),
            _ => return None,
        };
        Some(command)
    }

    /// Returns the remedy as a sentence that begins with the action's `key`.
    pub fn sentence(&self, key: &str) -> String {
        let tokens = counted(self.pushes_out.into(), "token");
        let price = match (self.pushes_out, self.pushes_turns) {
            (0, _) => "; removes no turn".to_owned(),
            (_, 0) => format!("; {tokens} too many for the budget"),
            (_, 1) => format!("; removes the oldest turn ({tokens})"),
            (_, turns) => format!("; removes the {turns} oldest turns ({tokens})"),
        };
        format!("{key} {}{price}", self.does)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_is_singular() {
        let remedy = |pushes_out, pushes_turns| {
            Remedy { action: "include-once".into(), does: "includes it once".into(), pushes_out, pushes_turns }
                .sentence("i")
        };
        assert_eq!(remedy(0, 0), "i includes it once; removes no turn");
        assert_eq!(remedy(1, 0), "i includes it once; 1 token too many for the budget");
        assert_eq!(remedy(1_200, 1), "i includes it once; removes the oldest turn (1,200 tokens)");
        assert_eq!(remedy(1, 2), "i includes it once; removes the 2 oldest turns (1 token)");
    }
}
