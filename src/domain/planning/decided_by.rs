//! Who decided that an item is included or left out: a person, the program's rules, or a limit.
//! Not for: the reasons themselves (`reason`).

use super::reason::Reason;

/// Who decided that an item is included or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// A person's mark, reply, or setting.
    Person,
    /// The program's rules.
    Program,
    /// A limit: the item was requested but did not fit.
    Limit,
}

impl Reason {
    /// Returns who decided: a person, the program's rules, or a limit.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new reason must not compile without who decides by it")]
    #[allow(clippy::too_many_lines, reason = "one line for each reason")]
    pub fn decided_by(&self) -> DecidedBy {
        match self {
            Self::Sticky
            | Self::IncludedOnce
            | Self::UserExcluded { .. }
            | Self::Replied
            | Self::ByHand
            | Self::EditedAway
            | Self::SwitchedOff
            | Self::ConversationInstructions { .. }
            | Self::Leased { engine: false, .. } => DecidedBy::Person,
            Self::Budget { .. }
            | Self::Allowance { .. }
            | Self::SavesNothing
            | Self::LeaseCap { .. }
            | Self::TooLarge
            | Self::LevelFull { .. }
            | Self::SessionFull { .. }
            | Self::LevelsOver { .. }
            | Self::SoftTarget { .. }
            | Self::ModelCannot => DecidedBy::Limit,
            Self::Leased { engine: true, .. }
            | Self::Instructions
            | Self::Configured
            | Self::Guideline
            | Self::StateRequested { .. }
            | Self::CurrentState
            | Self::Open
            | Self::Ephemeral
            | Self::ErrorBefore
            | Self::ErrorResolved
            | Self::Recent
            | Self::Relevant
            | Self::WorkingLevel
            | Self::Pending
            | Self::GoOn
            | Self::Retrieved { .. }
            | Self::Oriented
            | Self::Touchpoint { .. }
            | Self::CodeSearched { .. }
            | Self::KeptCode { .. }
            | Self::NoCode { .. }
            | Self::StaleFile
            | Self::CodeReading
            | Self::Searched { .. }
            | Self::Summary
            | Self::Memory { .. }
            | Self::ProjectRules { .. }
            | Self::OwnRules { .. }
            | Self::Skills { .. }
            | Self::Module { .. }
            | Self::PinSuggested
            | Self::PinMattered
            | Self::PinEarned { .. }
            | Self::OutsideWindow
            | Self::Superseded { .. }
            | Self::StaleSummary
            | Self::TtlExpired
            | Self::OffPath
            | Self::Hidden
            | Self::ForeignInstructions
            | Self::Removed
            | Self::Duplicate
            | Self::ModeOff
            | Self::NotSearched { .. }
            | Self::BelowThreshold
            | Self::Unrelated
            | Self::OtherLane
            | Self::OutsideLane
            | Self::LaneCount { .. } => DecidedBy::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_room_is_left_out_by_a_limit() {
        for reason in [Reason::Budget { free: 1 }, Reason::LevelFull { budget: 1 }, Reason::SessionFull { budget: 1 }] {
            assert_eq!(reason.decided_by(), DecidedBy::Limit, "{reason:?}");
        }
    }
}
