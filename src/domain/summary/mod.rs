//! Summaries of turns and of modules, drafts of summaries, and the versions of editable texts.
//! Not for: writing summaries (`context`, `engine`).

pub mod accepted;
pub mod draft;
pub mod lane_summaries;
pub mod module;
pub mod stored_draft;
pub mod versions;

pub use accepted::{
    FileCover, KeptSentence, MessagesSince, SourceFault, Summary, SummaryKind, SummaryPosition, SummarySource,
    SummaryState, SummaryUse, TurnCover, turns_in_words,
};
pub use draft::{
    AnchorKind, AutoSummaryAcceptance, AutoSummaryOverride, AutoSummarySettings, AutoSummaryTrigger, KeepReason,
    MissingFact, SourceMessage, SourceTurn, Stats, SummaryAuthor, SummaryCard, SummaryDraft,
};
pub use lane_summaries::LaneSummaries;
pub use module::{ModuleCard, ModuleVersion, Staleness};
pub use stored_draft::StoredDraft;
pub use versions::{Editability, Editable, EditableKind, PolicyFault, Version};
