//! Commands about messages, branches, and sessions.
//! Not for: the content of requests (`context`).

pub(super) mod aside;
pub(super) mod ask;
pub(super) mod branches;
pub(super) mod bundles;
pub(super) mod files;
pub(super) mod lanes;
pub(super) mod messages;
pub(super) mod plain;
pub(super) mod plain_words;
pub(super) mod race;
pub(super) mod search;
pub(super) mod sessions;
pub(super) mod settings;
pub(super) mod tags;
