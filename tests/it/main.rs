//! One binary for all integration tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod active;
mod branching;
#[cfg(target_os = "linux")]
mod cage;
mod cli;
mod cli_bad;
mod cli_exchange;
mod cli_many;
mod code;
mod compaction;
mod condensed;
mod consent;
mod crash;
mod denied;
mod dense;
mod edited;
mod engine_histories;
mod engine_lanes;
mod engine_turns;
mod folder;
mod foreign;
mod hands;
mod laws;
mod looking;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod meter;
mod orient;
mod project;
#[cfg(unix)]
mod pty;
mod retrieval;
mod scenarios;
mod screens;
mod stats;
mod stranger;
mod support;
mod titles;
mod tokenizer;
mod traces;
mod versions;
mod whatif;
mod wire;
mod wire_faults;
mod words;
