//! The store's file: opens, locks, migrates, checks, backs up, and repairs it, and runs its reading and writing
//! connections.
//! Not for: the content of the tables (`tables`).

pub(super) mod backup;
pub(super) mod check;
pub mod claims;
pub(super) mod convert;
pub(super) mod copies;
pub mod damage;
pub mod examine;
pub(super) mod open;
pub(super) mod owners;
pub(super) mod pool;
pub(super) mod private;
pub(super) mod salvage;
pub(super) mod writer;
