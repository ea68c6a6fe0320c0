//! Search over the messages of all sessions.
//! Not for: retrieval for a plan (the module `retrieval`).

pub(super) mod excerpt;
pub(super) mod full_text;
pub(super) mod messages;
