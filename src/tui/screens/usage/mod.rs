//! Tokens, cost and cache share of calls as charts.
//! Not for: one call's rows (`calls`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
