//! One binary for all integration tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod engine_histories;
mod engine_turns;
mod support;
mod wire;
