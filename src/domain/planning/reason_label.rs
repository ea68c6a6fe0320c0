//! The short label of a reason: two or three words for a row of a list.
//! Not for: its sentence and its name in JSON (`reason`).

use super::reason::Reason;
use crate::domain::conversation::mark::LeaseTurns;

impl Reason {
    /// Returns the reason in two or three words; for a lease, also the turns that it lasts.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new reason must not compile without its label")]
    #[allow(clippy::too_many_lines, reason = "one line for each reason")]
    pub fn label(&self) -> String {
        let label = match self {
            Self::Leased { left, .. } => {
                return format!("leased, {}", LeaseTurns::from(*left).label());
            }
            Self::Open => "open turn",
            Self::Configured => "your settings",
            Self::StateRequested { older: true, .. } => "state block auto",
            Self::StateRequested { older: false, .. } => "state block on",
            Self::Sticky => "pinned",
            Self::Ephemeral => "kept for one turn",
            Self::IncludedOnce => "included once",
            Self::Retrieved { .. } => "found",
            Self::Searched { .. } | Self::CodeSearched { .. } => "search results",
            Self::Oriented => "code map",
            Self::Touchpoint { .. } => "found in code",
            Self::KeptCode { .. } => "kept from before",
            Self::Budget { .. } => "over the budget",
            Self::Allowance { .. } => "search limit",
            Self::OutsideWindow => "older than window",
            Self::Superseded { .. } => "summarized",
            Self::UserExcluded { once: true } => "left out once",
            Self::UserExcluded { once: false } => "left out by you",
            Self::TtlExpired => "lease ended",
            Self::OffPath => "not on this branch",
            Self::SwitchedOff => "disabled",
            Self::ForeignInstructions => "imported system prompt",
            Self::ModelCannot => "not accepted by model",
            Self::BelowThreshold => "weaker match",
            Self::OutsideLane => "not in chosen lane",
            Self::SoftTarget { .. } => "window is full",
            Self::PinSuggested | Self::PinMattered | Self::PinEarned { .. } => "suggested pin",
            Self::Instructions
            | Self::ConversationInstructions { .. }
            | Self::Guideline
            | Self::CurrentState
            | Self::ErrorBefore
            | Self::ErrorResolved
            | Self::Recent
            | Self::Relevant
            | Self::WorkingLevel
            | Self::Pending
            | Self::Replied
            | Self::GoOn
            | Self::NoCode { .. }
            | Self::StaleFile
            | Self::CodeReading
            | Self::Summary
            | Self::Memory { .. }
            | Self::ProjectRules { .. }
            | Self::OwnRules { .. }
            | Self::Skills { .. }
            | Self::Module { .. }
            | Self::SavesNothing
            | Self::StaleSummary
            | Self::LeaseCap { .. }
            | Self::Hidden
            | Self::Removed
            | Self::Duplicate
            | Self::ModeOff
            | Self::NotSearched { .. }
            | Self::Unrelated
            | Self::TooLarge
            | Self::OtherLane
            | Self::LaneCount { .. }
            | Self::LevelFull { .. }
            | Self::SessionFull { .. }
            | Self::LevelsOver { .. }
            | Self::ByHand
            | Self::EditedAway => return self.name().replace('_', " "),
        };
        label.to_owned()
    }
}
