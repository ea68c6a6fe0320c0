//! One binary for all tests that need the whole crate.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod screens;
