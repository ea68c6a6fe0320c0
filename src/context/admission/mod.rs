//! Admission: which candidates are sent, in which form, within the budget.
//! Not for: formulas of policies (`policy`), the rows and reasons of the result (`explain`), or bytes (`render`).
//!
//! * [`admit`] applies the hard rules and adds up the request.
//! * [`window`] decides where the window of recent turns starts, and how far tool results are shortened.
//! * [`forms`] gives the form of each message under a person's marks, and its cost.
//! * [`framing`] counts the messages that only some items need.
//! * [`choose`] applies the policy's formulas to the input.
//! * [`sums`] adds up the costs of turns; [`leases`] decides which leases are sent.
//! * [`offers`] admits the candidates that sources offer in addition to the turns; [`sequence`] adds up their texts.
//! * [`accepted_summaries`] decides which accepted summaries replace turns; [`coverage`] says which turns those are.
//! * [`position`] names the places that a turn can have.
//! * [`state_request`] decides whether the model is asked to keep a state block.

pub(super) mod accepted_summaries;
pub(super) mod admit;
pub(super) mod choose;
pub(super) mod coverage;
pub(super) mod forms;
pub(super) mod framing;
#[cfg(test)]
pub(super) mod laws_tests;
pub(super) mod leases;
pub(super) mod offers;
pub(super) mod position;
pub(super) mod sequence;
pub(super) mod state_request;
pub(super) mod sums;
pub(super) mod window;
