//! The short label of a reason: two or three words for a row of a list; and the reason of a row, with the messages of
//! the row that a person left out.
//! Not for: a reason's sentence and its name in JSON (`reason`).

use super::plan::{Form, Row, RowKind};
use super::reason::Reason;
use crate::domain::conversation::mark::LeaseTurns;
use crate::domain::conversation::message::Role;

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

/// Characters of an id in the name of a row.
const ID_CHARS: usize = 8;

/// Returns the name of a message within its turn.
pub fn part_name(role: Role) -> &'static str {
    match role {
        Role::User => "message",
        Role::Assistant => "answer",
        Role::Tool => "tool result",
        Role::System => "instructions",
    }
}

impl Row {
    /// Returns the row's name on the command line: its turn number, or else a prefix of its id.
    pub fn item_name(&self) -> String {
        match (self.kind, self.source.turn) {
            (RowKind::Turn, Some(turn)) => turn.to_string(),
            _ => self.atom.key().to_string().chars().take(ID_CHARS).collect(),
        }
    }

    /// Returns the names of the row's messages that a person left out, each of which is sent as one line in its place.
    pub fn left_out_parts(&self) -> Vec<&'static str> {
        let out = self.items.iter().filter(|item| item.form == Form::Placeholder);
        out.map(|item| part_name(item.role)).collect()
    }

    /// Returns the messages that a person left out in a few words, `answer left out`; `None` if there are none.
    pub fn left_out_label(&self) -> Option<String> {
        match self.left_out_parts().as_slice() {
            [] => None,
            [part] => Some(format!("{part} left out")),
            parts => Some(format!("{} messages left out", parts.len())),
        }
    }

    /// Returns the reason in a few words: `recent, answer left out`.
    pub fn reason_label(&self) -> String {
        let label = self.reason.label();
        self.left_out_label().map_or_else(|| label.clone(), |parts| format!("{label}, {parts}"))
    }

    /// Returns the reason as sentences.
    pub fn reason_sentence(&self) -> String {
        let sentence = self.reason.sentence();
        match self.left_out_parts().as_slice() {
            [] => sentence,
            [part] => format!("{sentence} You left out its {part}."),
            parts => format!("{sentence} You left out {} of its messages.", parts.len()),
        }
    }
}
