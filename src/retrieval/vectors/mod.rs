//! Vectors of passages in memory: their storage format, and the search among them.
//! Not for: making them (`llm`).

pub(super) mod code;
pub(super) mod cpu;
pub mod memory;
pub(super) mod scan;
