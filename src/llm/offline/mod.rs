//! Models that need no server: the offline model and recordings.
//! Not for: real models.

pub(super) mod answer;
pub(super) mod body;
pub mod model;
pub mod scripted;

/// Names of the built-in models. There are two, for races without a server.
pub const OFFLINE_MODELS: [&str; 2] = ["offline", answer::BRIEF];
