//! pleach: a terminal workbench for branching conversations with language models.

pub mod cli;
pub mod config;
pub mod context;
pub mod domain;
pub mod engine;
pub mod export;
pub mod import;
pub mod llm;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod tui;
