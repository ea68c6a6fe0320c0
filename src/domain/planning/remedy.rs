//! The action that would include an item that is left out.
//! Not for: why it is left out (`reason`).

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
        let price = match (self.pushes_out, self.pushes_turns) {
            (0, _) => "; removes no turn".to_owned(),
            (tokens, 0) => format!("; {tokens} tokens over the budget"),
            (tokens, 1) => format!("; removes the oldest turn ({tokens} tokens)"),
            (tokens, turns) => format!("; removes the {turns} oldest turns ({tokens} tokens)"),
        };
        format!("{key} {}{price}", self.does)
    }
}
