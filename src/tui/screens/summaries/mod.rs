//! Summaries: drafts beside their sources, accepted ones, those of modules.
//! Not for: writing them (the engine).

pub mod model;
pub(crate) mod update;
pub(crate) mod update_modules;
pub(crate) mod view;
pub(crate) mod view_accepted;
