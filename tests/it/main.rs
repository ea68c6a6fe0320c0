//! One binary for all integration tests.

mod support;
mod wire;
