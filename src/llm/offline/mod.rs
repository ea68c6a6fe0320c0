//! Models that need no server: the offline model and recordings.
//! Not for: real models.

pub(super) mod answer;
pub(super) mod body;
pub mod model;
pub mod scripted;

use crate::domain::call::{CallEnd, Delta, Outcome, Usage};
use std::time::{Duration, Instant};

/// Names of the built-in models. There are two, for races without a server.
pub const OFFLINE_MODELS: [&str; 2] = ["offline", answer::BRIEF];

/// The course of a call.
struct Progress {
    start: Instant,
    first: Option<Duration>,
    any: bool,
}

impl Progress {
    fn start() -> Self {
        Self { start: Instant::now(), first: None, any: false }
    }

    /// Records a delta, which may be a part of the answer.
    fn record(&mut self, is_answer: bool) {
        self.first.get_or_insert(self.start.elapsed());
        self.any |= is_answer;
    }

    /// Returns the outcome without an error.
    fn outcome(&self, end: CallEnd, finish: Option<&str>, usage: Usage) -> Outcome {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Outcome {
            end,
            any: self.any,
            finish_reason: finish.map(str::to_owned),
            usage,
            error: None,
            attempts: 1,
            ttft_ms: self.first.map(ms),
            total_ms: ms(self.start.elapsed()),
        }
    }
}

/// Pauses. The receiver can stop the answer within 40 ms. Returns false if it does.
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
