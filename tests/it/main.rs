//! All integration tests in one binary. Environment variables raise the number of random cases: `PROPTEST_CASES` of
//! property tests, `PLEACH_HISTORIES` of random histories in each test, and `PLEACH_KILLS` of kills.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod cli;
mod code;
mod context;
mod discoverability;
mod engine;
mod fault_table;
mod llm;
#[cfg(unix)]
mod pty;
mod retrieval;
mod screens;
mod store;
mod support;
mod tables;
mod tools;
mod words;
