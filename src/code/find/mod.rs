//! Finds code for a question: terms, scores, touchpoints, the map, and module summaries.
//! Not for: maintaining the index (`index`).

pub mod brief;
pub mod cards;
pub mod choose;
pub mod files;
pub mod gate;
pub mod likeness;
pub mod map;
pub mod module_summary;
pub mod names;
pub mod query;
pub mod rank;
