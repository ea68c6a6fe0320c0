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
pub mod row_matching;
pub mod row_reason;
pub mod settings;
pub mod tuning;
pub mod variant;
pub mod what_if;
