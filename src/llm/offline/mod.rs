//! Models that need no server: the offline model and recordings.
//! Not for: real models.

pub(super) mod answer;
pub(super) mod body;
pub mod model;
pub mod scripted;
