//! The action that would include an item that is left out.
//! Not for: why it is left out (`reason`), or what the action would change (`what_if`).

use crate::domain::conversation::mark::MarkKind;
use serde::{Deserialize, Serialize};

/// The action that would include an item that is left out. [`super::ActPreview`] describes what it would change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remedy {
    /// The action's name in the key table (`include-once`, `exclude`, `pin`, `budget-up`, …); the screen shows its key.
    pub action: String,
    /// Its effect, as the end of a sentence: "takes the exclusion back".
    pub does: String,
}

impl Remedy {
    /// Returns the remedy that includes an item in the next request.
    pub fn include_once() -> Self {
        Self { action: "include-once".into(), does: "includes it in the next request".into() }
    }

    /// Returns the remedy that makes requests ask for a state block: once there is one, `auto` asks for it.
    pub fn write_state() -> Self {
        Self {
            action: "show-state".into(),
            does: "opens the state block: write one, and the model keeps it up to date".into(),
        }
    }

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

    /// Returns the mark that the action sets, and whether it removes that mark instead; `None` for an action that sets no
    /// mark.
    pub fn mark(&self) -> Option<(MarkKind, bool)> {
        match self.action.as_str() {
            "include-once" | "open" => Some((MarkKind::IncludeOnce, false)),
            "pin" => Some((MarkKind::Sticky, false)),
            "exclude" => Some((MarkKind::Exclude, true)),
            "exclude-once" => Some((MarkKind::ExcludeOnce, true)),
            _ => None,
        }
    }

    /// Returns the remedy as a sentence that begins with the action's `key`.
    pub fn sentence(&self, key: &str) -> String {
        format!("{key} {}", self.does)
    }
}
