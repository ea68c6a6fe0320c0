//! Patterns that match all reasons of one side, for matches that must not compile when a reason is added.
//! Not for: the reasons themselves (`reason`).

/// Matches each reason for which an item is left out.
macro_rules! left_out {
    () => {
        $crate::domain::planning::reason::Reason::NoCode { .. }
            | $crate::domain::planning::reason::Reason::StaleFile
            | $crate::domain::planning::reason::Reason::CodeReading
            | $crate::domain::planning::reason::Reason::SwitchedOff
            | $crate::domain::planning::reason::Reason::Budget { .. }
            | $crate::domain::planning::reason::Reason::Allowance { .. }
            | $crate::domain::planning::reason::Reason::OutsideWindow
            | $crate::domain::planning::reason::Reason::Superseded { .. }
            | $crate::domain::planning::reason::Reason::SavesNothing
            | $crate::domain::planning::reason::Reason::StaleSummary
            | $crate::domain::planning::reason::Reason::UserExcluded { .. }
            | $crate::domain::planning::reason::Reason::TtlExpired
            | $crate::domain::planning::reason::Reason::LeaseCap { .. }
            | $crate::domain::planning::reason::Reason::OffPath
            | $crate::domain::planning::reason::Reason::Hidden
            | $crate::domain::planning::reason::Reason::ForeignInstructions
            | $crate::domain::planning::reason::Reason::ModelCannot
            | $crate::domain::planning::reason::Reason::Removed
            | $crate::domain::planning::reason::Reason::Duplicate
            | $crate::domain::planning::reason::Reason::ModeOff
            | $crate::domain::planning::reason::Reason::NotSearched { .. }
            | $crate::domain::planning::reason::Reason::BelowThreshold
            | $crate::domain::planning::reason::Reason::Unrelated
            | $crate::domain::planning::reason::Reason::TooLarge
            | $crate::domain::planning::reason::Reason::OtherLane
            | $crate::domain::planning::reason::Reason::OutsideLane
            | $crate::domain::planning::reason::Reason::LaneCount { .. }
            | $crate::domain::planning::reason::Reason::SoftTarget { .. }
            | $crate::domain::planning::reason::Reason::LevelFull { .. }
            | $crate::domain::planning::reason::Reason::SessionFull { .. }
            | $crate::domain::planning::reason::Reason::LevelsOver { .. }
            | $crate::domain::planning::reason::Reason::EditedAway
    };
}

/// Matches each reason for which an item is sent or suggested.
macro_rules! sent_or_suggested {
    () => {
        $crate::domain::planning::reason::Reason::Instructions
            | $crate::domain::planning::reason::Reason::Configured
            | $crate::domain::planning::reason::Reason::ConversationInstructions { .. }
            | $crate::domain::planning::reason::Reason::Guideline
            | $crate::domain::planning::reason::Reason::StateRequested { .. }
            | $crate::domain::planning::reason::Reason::CurrentState
            | $crate::domain::planning::reason::Reason::Open
            | $crate::domain::planning::reason::Reason::Sticky
            | $crate::domain::planning::reason::Reason::Leased { .. }
            | $crate::domain::planning::reason::Reason::Ephemeral
            | $crate::domain::planning::reason::Reason::ErrorBefore
            | $crate::domain::planning::reason::Reason::ErrorResolved
            | $crate::domain::planning::reason::Reason::Recent
            | $crate::domain::planning::reason::Reason::Relevant
            | $crate::domain::planning::reason::Reason::WorkingLevel
            | $crate::domain::planning::reason::Reason::Pending
            | $crate::domain::planning::reason::Reason::IncludedOnce
            | $crate::domain::planning::reason::Reason::Replied
            | $crate::domain::planning::reason::Reason::GoOn
            | $crate::domain::planning::reason::Reason::Retrieved { .. }
            | $crate::domain::planning::reason::Reason::Oriented
            | $crate::domain::planning::reason::Reason::Touchpoint { .. }
            | $crate::domain::planning::reason::Reason::CodeSearched { .. }
            | $crate::domain::planning::reason::Reason::KeptCode { .. }
            | $crate::domain::planning::reason::Reason::Searched { .. }
            | $crate::domain::planning::reason::Reason::Summary
            | $crate::domain::planning::reason::Reason::Memory { .. }
            | $crate::domain::planning::reason::Reason::ProjectRules { .. }
            | $crate::domain::planning::reason::Reason::OwnRules { .. }
            | $crate::domain::planning::reason::Reason::Skills { .. }
            | $crate::domain::planning::reason::Reason::Module { .. }
            | $crate::domain::planning::reason::Reason::PinSuggested
            | $crate::domain::planning::reason::Reason::PinMattered
            | $crate::domain::planning::reason::Reason::PinEarned { .. }
            | $crate::domain::planning::reason::Reason::ByHand
    };
}

pub(crate) use {left_out, sent_or_suggested};
