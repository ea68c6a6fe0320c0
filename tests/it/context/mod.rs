//! Plans: laws over random histories, and scenarios in files.
//! Not for: single rules of admission (unit tests of `context`).

mod laws;
pub(crate) mod scenarios;
