//! Types for planning a call: the frozen input, the plan with its rows and reasons, policies, modes, budgets, and the
//! differences between two plans.
//! Not for: solving a plan (`context`).

pub mod blocked;
pub mod diff;
pub mod draft;
pub mod facts;
pub mod input;
pub mod level_use;
pub mod mode;
pub mod plan;
pub mod policy;
pub mod reason;
pub mod reason_facts;
mod reason_phrases;
mod remedy;
pub mod row_counts;
pub mod row_matching;
pub mod row_reason;
pub mod settings;
pub mod state_request;
pub mod tuning;
pub mod variant;
pub mod what_if;

pub use blocked::{Blocked, BlockedRemedy, Warning};
pub use diff::{
    CallRef, Cause, CauseKind, DiffKind, HistoryStep, ItemDiff, ItemHistory, ItemInCall, ItemPlace, PlanDiff,
    SettingDiff,
};
pub use draft::{Draft, DraftKind, Planned};
pub use facts::{Flag, MessageFacts, Task, TaskRelation, TurnFacts};
pub use input::{
    Block, Candidate, CoveredTurn, Gap, InactiveMark, MessageInput, Offer, OfferLimit, OmittedItem, PartInput,
    PlanInput, Preceding, RequestShape, SendBarrier, SummaryInput, TurnBefore, TurnInput,
};
pub use level_use::LevelUse;
pub use mode::{Mode, ModeLimits, SearchChoice};
pub use plan::{Anchor, Basis, Budget, ContextPlan, Form, Item, Row, RowKind, Scores, Source, Verdict};
pub use policy::{Layout, PolicySpec, Section, StateBlock};
pub use reason::{DecidedBy, Reason};
pub use reason_facts::UsualCause;
pub use remedy::Remedy;
pub use row_matching::Subject;
pub use row_reason::Unmarkable;
pub use settings::Settings;
pub use state_request::{LeftOutTurns, StateRequestOutcome};
pub use tuning::{Adaptive, Lanes, Levels, Milli, Relevance, TurnSelection};
pub use variant::VariantError;
pub use what_if::{ActPreview, Alternative, ChangedItem, MovedItem, PlanFigures, WhatIf, omitted_summary};
