//! Vectors of passages in memory: how they are kept, and the search among them.
//! Not for: making them (the room `llm`).

pub(super) mod code;
pub(super) mod cpu;
pub mod memory;
pub(super) mod scan;
