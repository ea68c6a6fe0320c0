//! Basics of the domain: ids, hashes, failures, safe text, times, bars.
//! Not for: anything about conversations or calls.

pub mod chart;
pub mod damage;
pub mod failure;
pub mod finding;
pub mod hash;
pub mod ids;
pub mod plain_text;
pub mod safe_text;
pub mod time;
