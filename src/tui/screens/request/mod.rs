//! The next request, row by row: what goes, what does not, why, and what would change that.
//! Not for: its exact bytes (`raw_request`).

pub mod model;
pub mod model_filter;
pub mod model_preview;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod view_detail;
pub(crate) mod view_figures;
