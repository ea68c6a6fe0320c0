//! All integration tests in one binary. Environment variables raise the number of random cases: `PROPTEST_CASES` of
//! property tests, `PLEACH_HISTORIES` of random histories in each test, and `PLEACH_KILLS` of kills.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by a panic")]

mod activation;
mod automatic_summaries;
mod branching;
mod cli;
mod cli_bad;
mod cli_drafts;
mod cli_exchange;
mod cli_many;
mod code;
mod code_context;
mod code_leases;
mod code_sets;
mod consent;
mod crash;
mod deny_rules;
mod discoverability;
mod earlier_version;
mod edited_requests;
mod embeddings;
mod engine_histories;
mod engine_lanes;
mod engine_turns;
mod fault_table;
mod folder;
mod foreign;
mod instructions;
mod item_use;
mod laws;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod meter;
mod plan_diffs;
mod project;
#[cfg(unix)]
mod pty;
mod replanning;
mod retrieval;
#[cfg(target_os = "linux")]
mod sandbox_attacks;
mod sandbox_commands;
mod scenarios;
mod screens;
mod sent_requests;
mod statistics;
mod summary_drafts;
mod support;
mod tables;
mod titles;
mod tokenizer;
mod traces;
mod turn_rounds;
mod versions;
mod what_if;
mod wire;
mod wire_faults;
mod words;
