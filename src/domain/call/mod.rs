//! Calls to models: servers and profiles, runs, usage, prices, token counts, request bodies, races, retrieval sets,
//! bundles of recorded calls.
//! Not for: talking to a server (`llm`).

pub mod address;
pub mod bundle;
pub mod code_set;
pub mod embedding;
pub mod item_use;
pub mod ledger;
pub mod meter;
pub mod model;
pub mod provider;
pub mod race;
pub mod request;
pub mod retrieval_set;
pub mod run;
pub mod sent_request;
pub mod stop_cause;
pub mod tokens;
pub mod usage;

pub use bundle::{Bundle, BundleCounts, BundleReport, BundledCall, RecordedCall};
pub use code_set::{CodeCandidate, CodeOutcome, CodeSet};
pub use embedding::{Embed, EmbedError, Purpose};
pub use item_use::{CallUses, ItemUse, UnusedItem, UnusedTurns, UseCount, UseKind, UseTotals};
pub use ledger::{CallCost, Ledger, Sum, Totals};
pub use meter::{Calibration, CalibrationEntry, PromptCost, Sample, ShortRead};
pub use model::{Backend, Dialect, ModelInfo, Price, Profile, Quirk, Supports};
pub use provider::{CallEnd, Delta, Diagnostic, Outcome, Provider, ProviderError, ProviderErrorKind, Wire};
pub use race::{BranchRun, Config, Limit, Limits, RaceUsage};
pub use request::{Block, BlockKind, BodyFault, RawPart, RawRequest};
pub use retrieval_set::{
    ClusterId, Evidence, Gate, MissReason, NearMiss, PassReason, RetrievalSet, ScoreParts, SkipReason,
};
pub use run::{RunCard, RunStatus};
pub use sent_request::SentRequest;
pub use stop_cause::StopCause;
pub use tokens::{Certainty, CountTokens, Encoding};
pub use usage::{Usage, UsageReport};
