//! One binary for all integration tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by a panic")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod pty;
mod screens;
mod support;
mod wire;
