//! What keys do on the line: all of it is a step of the conversation's search.
//! Not for: the steps themselves (`chat::update::search`).

pub(crate) use crate::tui::chat::update::search::{cancel, keep, step, typed};
