//! The search line's actions, each a step of the conversation search.
//! Not for: the steps themselves (`chat::update::search`).

pub(crate) use crate::tui::chat::update::search::{cancel, keep, step, typed};
