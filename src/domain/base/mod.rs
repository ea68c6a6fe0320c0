//! Basics of the domain: ids, hashes, failures, sanitized text, secrets in text, times, amounts of money, bar charts,
//! findings of `pleach doctor`, chains of hashed records, families of values, enums with names, words of identifiers,
//! integers as bytes.
//! Not for: anything about conversations or calls.

#[cfg(test)]
pub(crate) mod cases;
pub mod chart;
pub mod damage;
pub mod failure;
pub(crate) mod families;
pub mod finding;
pub mod hash;
pub(crate) mod identifier;
pub mod ids;
pub mod money;
pub(crate) mod named_enum;
pub mod plain_text;
pub mod record_chain;
pub mod safe_text;
pub mod secrets;
pub mod time;
pub(crate) mod varint;

pub use damage::{BackupAct, BackupCard, BackupOutcome, BackupReport, Damage, RepairResult, StartWith};
pub use failure::{Failure, FailureKind};
pub use finding::Finding;
pub use hash::{Fields, Hash};
pub use ids::{BranchId, NodeId, RunId, SessionId};
pub use safe_text::Safe;
