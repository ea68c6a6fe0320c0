//! Stores after crashes, and of earlier versions.
//! Not for: tables and transactions (unit tests of `store`).

pub(crate) mod crash;
mod earlier_version;
