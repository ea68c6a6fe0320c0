//! Finding old messages again: vectors and their search.
//! Not for: making vectors (`llm`), keeping them (`store`) or deciding what is sent (`context`).

pub mod vector;

mod vector_code;
mod vector_cpu;
mod vector_scan;
