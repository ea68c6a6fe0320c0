//! Sessions in memory and as a library: open, path, search, tags, tasks, titles, memory.
//! Not for: branches and their marks (`branches`).

pub(super) mod imported;
pub(super) mod item_history;
pub(super) mod library;
pub(super) mod lookup;
pub(super) mod memory;
pub(super) mod path;
pub(super) mod search;
pub(super) mod session;
pub(super) mod state;
pub(super) mod tags;
pub(super) mod tasks;
pub(super) mod titles;
