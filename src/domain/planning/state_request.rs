//! Whether a request asks the model to keep a state block, and if not, why. A plan has a row for the request only if it
//! is sent or has no room.
//! Not for: deciding it (`context::admission::state_request`), or the reasons of those rows (`reason`).

use super::remedy::Remedy;
use crate::domain::base::named_enum::named_enum;

/// The title of the request for a state block.
pub const STATE_REQUEST_TITLE: &str = "request for a state block";

named_enum! {
    /// The turns that a request leaves out, none of which causes the request for a state block.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum LeftOutTurns {
        NoTurn => "no turn is left out",
        /// Turns that a person excluded, that are in another lane, or that a summary replaces.
        KeptOut => "turns are left out only by you, by their lane, or by a summary",
        /// Turns that would be sent without the accepted summaries.
        ForSummaries => "all turns would fit without the accepted summaries",
    }
    /// The turns as a clause.
    fn clause
}

/// What changes whether requests ask for a state block.
pub(super) const STATE_BLOCK_SETTING: &str =
    "state_block = \"auto\" in the settings asks once turns are left out, \"on\" in every request, \"off\" in none.";

/// Whether a request asks the model to keep a state block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StateRequestOutcome {
    /// It asks. An included row of the plan says why.
    Asked,
    /// It has no room for the request. A row of the plan that is left out says so.
    NoRoom,
    /// The setting is `auto`, the branch has no state block, and no turn is left out that causes the request.
    NotNeeded {
        turns: LeftOutTurns,
        /// Tokens that the request would take.
        tokens: u32,
    },
    /// The setting is `off`.
    Off {
        /// Whether the branch has a state block, which is not sent either.
        has_state: bool,
    },
    /// The first request of the turn did not ask.
    LaterRound,
}

#[deny(clippy::wildcard_enum_match_arm, reason = "a new outcome must not compile without its sentence")]
impl StateRequestOutcome {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::NoRoom => "no_room",
            Self::NotNeeded { .. } => "not_needed",
            Self::Off { .. } => "off",
            Self::LaterRound => "later_round",
        }
    }

    /// Returns whether the plan has a row for the request, which says all of this.
    pub fn has_row(self) -> bool {
        match self {
            Self::Asked | Self::NoRoom => true,
            Self::NotNeeded { .. } | Self::Off { .. } | Self::LaterRound => false,
        }
    }

    /// Returns the tokens that the request would take, if it was made.
    pub fn tokens(self) -> Option<u32> {
        match self {
            Self::NotNeeded { tokens, .. } => Some(tokens),
            Self::Asked | Self::NoRoom | Self::Off { .. } | Self::LaterRound => None,
        }
    }

    /// Returns the outcome in two or three words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::NoRoom => "no room",
            Self::NotNeeded { .. } => "auto: not needed yet",
            Self::Off { .. } => "state_block is off",
            Self::LaterRound => "not in this turn",
        }
    }

    /// Returns the outcome as a sentence.
    pub fn sentence(self) -> String {
        match self {
            Self::Asked => "The request asks the model to keep a state block.".to_owned(),
            Self::NoRoom => "There is no room for the request beside the newest turn and your leases.".to_owned(),
            Self::NotNeeded { turns, .. } => {
                let turns = turns.clause();
                format!("Not needed yet: state_block is auto, the branch has no state block, and {turns}.")
            }
            Self::Off { has_state } => {
                let state = if has_state { ", and the branch's state block is not sent" } else { "" };
                format!("state_block is off: no request asks the model to keep a state block{state}.")
            }
            Self::LaterRound => {
                "The first request of this turn did not ask for a state block, so no later one does.".to_owned()
            }
        }
    }

    /// Returns what changes the outcome: the action, if there is one, and the setting, as a sentence.
    pub fn remedies(self) -> (Option<Remedy>, Option<&'static str>) {
        match self {
            Self::Asked | Self::LaterRound => (None, None),
            Self::NoRoom => (Some(Remedy::write_state()), None),
            Self::NotNeeded { .. } => {
                let setting = "state_block = \"on\" in the settings asks in every request, \"off\" in none.";
                (Some(Remedy::write_state()), Some(setting))
            }
            Self::Off { .. } => {
                let setting = "state_block = \"auto\" in the settings asks once turns are left out, \"on\" always.";
                (None, Some(setting))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_sentence_and_what_changes_it() {
        let not_needed = |turns| StateRequestOutcome::NotNeeded { turns, tokens: 9 };
        let own = LeftOutTurns::ALL.iter().map(|turns| not_needed(*turns));
        let [off, unsent] = [false, true].map(|has_state| StateRequestOutcome::Off { has_state });
        let rest = [off, unsent, StateRequestOutcome::LaterRound];
        let all = [StateRequestOutcome::Asked, StateRequestOutcome::NoRoom].into_iter().chain(own).chain(rest);
        let line = |one: StateRequestOutcome| {
            let (action, setting) = one.remedies();
            let action = action.map_or_else(String::new, |remedy| format!("\n    {}", remedy.sentence("KEY")));
            let setting = setting.map_or_else(String::new, |setting| format!("\n    {setting}"));
            format!("{} ({}): {}{action}{setting}", one.name(), one.label(), one.sentence())
        };
        insta::assert_snapshot!(all.map(line).collect::<Vec<_>>().join("\n"));
    }
}
