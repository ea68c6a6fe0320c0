//! The command line, with the binary itself.
//! Not for: what commands do in the engine (`engine`).

mod bad_input;
mod bundles;
mod commands;
mod drafts;
mod exchange;
mod folder;
mod many_processes;
mod named_items;
mod new_user;
mod plain_mode;
mod remedies;
mod statistics;
