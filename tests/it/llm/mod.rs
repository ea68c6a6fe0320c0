//! Calls over real sockets, and token counts.
//! Not for: turns (`engine`).

mod foreign;
mod meter;
mod tokenizer;
mod wire;
mod wire_faults;
