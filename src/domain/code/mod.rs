//! The code of a workspace as data: symbols, the map, and the workspace's rules.
//! Not for: reading code (`code`).

pub mod settings;
pub mod symbols;
pub mod workspace_rules;

pub use settings::{CodeLimits, CodeSettings};
pub use symbols::{
    CodeMap, CodeRef, CodeSearchResult, IndexStatus, Kind, Language, MapAnchor, NamedSymbol, NearSymbol,
    NearSymbolReason, ParseOutcome, Parts, SymbolSource, Touchpoint,
};
pub use workspace_rules::{ProjectItem, ProjectKind, ProjectList, RuleState};
