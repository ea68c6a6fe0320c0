//! The store: one SQLite file, one writer thread, a few readers.

pub mod types;
