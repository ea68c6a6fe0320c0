//! Starting the engine: its setup from the configuration, recovery after a crash, reloading the configuration.
//! Not for: the running engine.

pub(super) mod embedder;
pub(super) mod learned;
pub(super) mod recover;
pub(super) mod reload;
pub(super) mod rules;
pub mod setup;
pub mod wiring;
