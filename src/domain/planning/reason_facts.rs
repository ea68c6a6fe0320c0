//! The fixed facts of each reason: its name, its label, who decided, the step of admission, and the usual cause.
//! Not for: the reasons and their sentences (`reason`).

use super::diff::CauseKind;
use super::reason::{DecidedBy, Reason};
use crate::domain::call::retrieval_set::SkipReason;
use crate::domain::conversation::mark::LeaseTurns;

/// The facts of a reason that do not depend on its numbers and texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReasonFacts {
    /// The name in JSON.
    pub name: &'static str,
    /// Two or three words for a row of a list; `None` if the words of the name serve as the label.
    pub label: Option<&'static str>,
    /// Who decided that the item is included or left out.
    pub decided_by: DecidedBy,
    /// The name of the step of admission in which the item gets its room; `None` if it is not sent.
    pub step: Option<&'static str>,
    /// Whether the item is left out. An item that is only suggested is neither sent nor left out.
    pub left_out: bool,
    /// What usually causes this reason when an earlier call had another one; `None` if the settings do, or the turn.
    pub cause: Option<UsualCause>,
}

/// What usually causes a reason when an earlier call had another one. If the act is not found, the sentence of the
/// reason explains the difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsualCause {
    /// Always a cause of this kind.
    Kind(CauseKind),
    /// The newest change of the item's mark.
    Mark,
    /// The newest change of the memory.
    Memory,
    /// The newest change of the state block.
    State,
    /// The newest change of the branch's own settings, otherwise a cause of this kind.
    OwnSetting(CauseKind),
    /// The most important setting that differs, otherwise a cause of this kind.
    Setting(CauseKind),
    /// Another context mode.
    Mode,
    /// Another context mode, or other room for retrieved items.
    Room,
    /// The newest change of the summaries.
    Summary,
    Budget,
    /// The window of recent turns.
    Window,
    /// A project's own text: its mark, another context mode, or its file.
    ProjectText,
}

impl ReasonFacts {
    const fn sent(name: &'static str, step: &'static str) -> Self {
        Self { step: Some(step), ..Self::suggested(name) }
    }

    const fn suggested(name: &'static str) -> Self {
        Self { name, label: None, decided_by: DecidedBy::Program, step: None, left_out: false, cause: None }
    }

    const fn left_out(name: &'static str) -> Self {
        Self { left_out: true, ..Self::suggested(name) }
    }

    const fn label(self, label: &'static str) -> Self {
        Self { label: Some(label), ..self }
    }

    const fn decided_by(self, decided_by: DecidedBy) -> Self {
        Self { decided_by, ..self }
    }

    const fn cause(self, cause: UsualCause) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

impl Reason {
    /// Returns the facts of the reason.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new reason must not compile without its facts")]
    #[allow(clippy::too_many_lines, reason = "one arm for each reason")]
    pub fn facts(&self) -> ReasonFacts {
        use CauseKind::{Branch, Lease, Model, Turn, You};
        use DecidedBy::{Limit, Person};
        use ReasonFacts as Facts;
        use UsualCause::{Budget, Kind, Mark, Memory, Mode, OwnSetting, ProjectText, Room, Setting, State, Summary};
        match self {
            Self::Instructions => Facts::sent("instructions", "required"),
            Self::Configured => {
                Facts::sent("configured", "required").label("your settings").cause(OwnSetting(CauseKind::You))
            }
            Self::ConversationInstructions { .. } => {
                Facts::sent("conversation_instructions", "required").decided_by(Person).cause(Mark)
            }
            Self::Guideline => Facts::sent("guideline", "required"),
            Self::StateRequested { older: true, .. } => {
                Facts::sent("state_requested", "required").label("state block auto").cause(OwnSetting(CauseKind::Turn))
            }
            Self::StateRequested { older: false, by_policy: true, .. } => {
                Facts::sent("state_requested", "required").label("state block on").cause(Setting(CauseKind::Policy))
            }
            Self::StateRequested { older: false, .. } => {
                Facts::sent("state_requested", "required").label("state block on").cause(OwnSetting(CauseKind::You))
            }
            Self::CurrentState => Facts::sent("current_state", "required").cause(State),
            Self::Open => Facts::sent("open", "required").label("open turn").cause(Kind(Turn)),
            Self::Sticky => Facts::sent("sticky", "required").label("pinned").decided_by(Person).cause(Mark),
            Self::Leased { engine: false, .. } => Facts::sent("leased", "lease").decided_by(Person).cause(Mark),
            Self::Leased { engine: true, .. } => Facts::sent("leased", "automatic_lease").cause(Kind(Lease)),
            Self::Ephemeral => {
                Facts::sent("ephemeral", "automatic_lease").label("kept for one turn").cause(Kind(Lease))
            }
            Self::ErrorBefore => Facts::sent("error_before", "retrieved").cause(Room),
            Self::ErrorResolved => Facts::sent("error_resolved", "retrieved").cause(Room),
            Self::Recent => Facts::sent("recent", "window").cause(Setting(CauseKind::Window)),
            Self::Relevant => Facts::sent("relevant", "window").cause(Setting(CauseKind::Window)),
            Self::WorkingLevel => Facts::sent("working_level", "window").cause(Setting(CauseKind::Window)),
            Self::Pending => Facts::sent("pending", "required"),
            Self::IncludedOnce => {
                Facts::sent("included_once", "required").label("included once").decided_by(Person).cause(Mark)
            }
            Self::FilesReverted => Facts::sent("files_reverted", "required").decided_by(Person).cause(Kind(You)),
            Self::Replied => Facts::sent("replied", "required").decided_by(Person).cause(Kind(You)),
            Self::GoOn => Facts::sent("go_on", "required").cause(Kind(Turn)),
            Self::Retrieved { .. } => Facts::sent("retrieved", "retrieved").label("found").cause(Room),
            Self::Searched { .. } => Facts::sent("searched", "retrieved").label("search results").cause(Room),
            Self::CodeMap => Facts::sent("oriented", "map").label("code map").cause(Room),
            Self::Touchpoint { .. } => Facts::sent("touchpoint", "retrieved").label("found in code").cause(Room),
            Self::CodeSearched { .. } => Facts::sent("code_searched", "retrieved").label("search results").cause(Room),
            Self::KeptCode { .. } => Facts::sent("kept_code", "retrieved").label("kept from before").cause(Room),
            Self::NoCode { because: SkipReason::PolicyOff } => {
                Facts::left_out("no_code").cause(Setting(CauseKind::Policy))
            }
            Self::NoCode { .. } => Facts::left_out("no_code").cause(Mode),
            Self::StaleFile => Facts::left_out("stale_file").cause(Mode),
            Self::CodeReading => Facts::left_out("code_reading").cause(Mode),
            Self::Summary => Facts::sent("summary", "summary").cause(Summary),
            Self::Memory { .. } => Facts::sent("memory", "retrieved").cause(Memory),
            Self::ProjectRules { .. } => Facts::sent("project_rules", "rules").cause(ProjectText),
            Self::OwnRules { .. } => Facts::sent("own_rules", "rules").cause(ProjectText),
            Self::Skills { .. } => Facts::sent("skills", "rules").cause(ProjectText),
            Self::Module { .. } => Facts::sent("module", "rules").cause(ProjectText),
            Self::SwitchedOff => Facts::left_out("switched_off").label("disabled").decided_by(Person).cause(Kind(You)),
            Self::SuggestedByModel => Facts::suggested("pin_suggested").label("suggested pin").cause(Kind(Model)),
            Self::SuggestedByRating => Facts::suggested("pin_mattered").label("suggested pin"),
            Self::SuggestedByRenewals { .. } => Facts::suggested("pin_earned").label("suggested pin"),
            Self::Budget { .. } => Facts::left_out("budget").label("over the budget").decided_by(Limit).cause(Budget),
            Self::Allowance { .. } => Facts::left_out("allowance").label("search limit").decided_by(Limit).cause(Room),
            Self::OutsideWindow => {
                Facts::left_out("outside_window").label("older than window").cause(UsualCause::Window)
            }
            Self::Superseded { .. } => Facts::left_out("superseded").label("summarized").cause(Summary),
            Self::SavesNothing => Facts::left_out("saves_nothing").decided_by(Limit),
            Self::DisplacesTurn { .. } => Facts::left_out("displaces_turn").decided_by(Limit),
            Self::StaleSummary => Facts::left_out("stale_summary"),
            Self::UserExcluded { once: true } => {
                Facts::left_out("user_excluded").label("left out once").decided_by(Person).cause(Mark)
            }
            Self::UserExcluded { once: false } => {
                Facts::left_out("user_excluded").label("left out by you").decided_by(Person).cause(Mark)
            }
            Self::TtlExpired => Facts::left_out("ttl_expired").label("lease ended").cause(Kind(Lease)),
            Self::LeaseCap { .. } => {
                Facts::left_out("lease_cap").label("lease limit").decided_by(Limit).cause(Kind(Lease))
            }
            Self::OffPath => Facts::left_out("off_path").label("not on this branch").cause(Kind(Branch)),
            Self::Hidden => Facts::left_out("hidden"),
            Self::ForeignInstructions => Facts::left_out("foreign_instructions").label("imported system prompt"),
            Self::ModelCannot => Facts::left_out("model_cannot").label("not accepted by model").decided_by(Limit),
            Self::Removed => Facts::left_out("removed").cause(Kind(You)),
            Self::Duplicate => Facts::left_out("duplicate").cause(Kind(Turn)),
            Self::ModeOff => Facts::left_out("mode_off").cause(Setting(CauseKind::Mode)),
            Self::NotSearched { because: SkipReason::PolicyOff } => {
                Facts::left_out("not_searched").cause(Setting(CauseKind::Policy))
            }
            Self::NotSearched { .. } => Facts::left_out("not_searched").cause(Mode),
            Self::BelowThreshold => Facts::left_out("below_threshold").label("weaker match").cause(Mode),
            Self::Unrelated => Facts::left_out("unrelated").cause(Mode),
            Self::TooLarge => Facts::left_out("too_large").decided_by(Limit).cause(Budget),
            Self::OtherLane => Facts::left_out("other_lane").cause(Kind(You)),
            Self::OutsideLane => Facts::left_out("outside_lane").label("not in chosen lane").cause(Setting(You)),
            Self::LaneCount { .. } => Facts::left_out("lane_count").cause(UsualCause::Window),
            Self::SoftTarget { .. } => {
                Facts::left_out("soft_target").label("window is full").decided_by(Limit).cause(UsualCause::Window)
            }
            Self::LevelFull { .. } => Facts::left_out("level_full").decided_by(Limit).cause(UsualCause::Window),
            Self::SummaryLimit => Facts::left_out("summary_limit").decided_by(Limit).cause(UsualCause::Window),
            Self::SessionFull { .. } => Facts::left_out("session_full").decided_by(Limit).cause(UsualCause::Window),
            Self::LevelsOver { .. } => Facts::left_out("levels_over").decided_by(Limit).cause(UsualCause::Window),
            Self::WrittenByPerson => Facts::sent("by_hand", "required").decided_by(Person),
            Self::RemovedByPerson => Facts::left_out("edited_away").decided_by(Person).cause(Kind(You)),
        }
    }

    /// Returns the name in JSON.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Returns the reason in two or three words; for a lease, also the turns that it lasts.
    pub fn label(&self) -> String {
        let facts = self.facts();
        match (self, facts.label) {
            (Self::Leased { left, .. }, _) => format!("leased, {}", LeaseTurns::from(*left).label()),
            (_, Some(label)) => label.to_owned(),
            (_, None) => facts.name.replace('_', " "),
        }
    }

    /// Returns who decided: a person, the program's rules, or a limit.
    pub fn decided_by(&self) -> DecidedBy {
        self.facts().decided_by
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
