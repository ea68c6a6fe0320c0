//! Models that need no server: the offline model and recordings.
//! Not for: real models.

pub(super) mod answer;
pub(super) mod body;
pub mod model;
pub mod scripted;

/// Names of the built-in models: the offline model, and its second voice, for races without a server.
pub const VOICES: [&str; 2] = ["offline", answer::BRIEF];
