//! The input and the result of planning: the frozen input, rows with reasons, policies, modes, budgets, and the
//! difference between two plans.
//! Not for: solving a plan (`context`).

pub mod blocked;
mod decided_by;
pub mod diff;
pub mod draft;
pub mod facts;
pub mod input;
pub mod level_use;
pub mod mode;
pub mod plan;
pub mod policy;
pub mod reason;
mod remedy;
pub mod row_matching;
pub mod settings;
pub mod tuning;
pub mod variant;
pub mod what_if;
