//! One prompt asked of several models or settings, and a stored call beside the same call made again.
//! Not for: whole branches (`compare`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
