//! Code in requests, through the engine and the binary.
//! Not for: parsing and ranking (unit tests of `code`).

pub(crate) mod context;
mod exclusions;
mod index;
mod leases;
mod sets;
