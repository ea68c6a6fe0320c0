//! Models that need no server: the offline model and recordings.
//! Not for: real models.

pub(super) mod answer;
pub(super) mod body;
pub mod model;
pub mod scripted;

use crate::domain::call::provider::Delta;
use std::time::Duration;

/// Names of the built-in models. There are two, for races without a server.
pub const OFFLINE_MODELS: [&str; 2] = ["offline", answer::BRIEF];

/// Pauses, and lets the receiver stop the answer within 40 ms. Returns false if it does.
fn pause(mut left: Duration, sink: &mut dyn FnMut(Delta) -> bool) -> bool {
    while !left.is_zero() {
        let step = left.min(Duration::from_millis(40));
        std::thread::sleep(step);
        left -= step;
        if !sink(Delta::Tick) {
            return false;
        }
    }
    true
}
