//! The imports of an update.
//! Not for: what only some updates use.

pub(crate) use super::effects::send;
pub(crate) use crate::tui::model::focus::Focus;
pub(crate) use crate::tui::model::keys::{Action, KeyPlace};
pub(crate) use crate::tui::model::{Model, pending::Pending, status::Severity};
pub(crate) use crate::tui::msg::Cmd;
