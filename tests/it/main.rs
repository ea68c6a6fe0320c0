//! One binary for all tests that need the whole crate.

mod screens;
