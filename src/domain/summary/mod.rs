//! Summaries of turns and of modules, drafts of summaries, and the versions of editable texts.
//! Not for: writing summaries (`context`, `engine`).

pub mod accepted;
pub mod draft;
pub mod lane_summaries;
pub mod module;
pub mod stored_draft;
pub mod versions;

/// Returns consecutive turns in words: `turn 3`, or `turns 3–7`.
pub fn turns_in_words((first, last): (u32, u32)) -> String {
    if first == last { format!("turn {first}") } else { format!("turns {first}–{last}") }
}

pub use accepted::{
    FileCover, KeptSentence, MessagesSince, SourceFault, Summary, SummaryKind, SummaryPosition, SummarySource,
    SummaryState, SummaryUse, TurnCover,
};
pub use draft::{
    AnchorKind, AutoSummaryAcceptance, AutoSummaryOverride, AutoSummarySettings, AutoSummaryTrigger, KeepReason,
    MissingFact, SourceMessage, SourceTurn, Stats, SummaryAuthor, SummaryCard, SummaryDraft,
};
pub use lane_summaries::LaneSummaries;
pub use module::{ModuleCard, ModuleVersion, Staleness};
pub use stored_draft::StoredDraft;
pub use versions::{Editability, Editable, EditableKind, PolicyFault, Version};

#[cfg(test)]
mod tests {
    use super::turns_in_words;

    #[test]
    fn one_turn_is_singular() {
        assert_eq!([turns_in_words((1, 1)), turns_in_words((1, 2))], ["turn 1", "turns 1–2"]);
    }
}
