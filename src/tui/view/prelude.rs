//! The imports of a view.
//! Not for: imports that only some views use.

pub(crate) use super::cache::Cache;
pub(crate) use super::{ViewContext, paint};
pub(crate) use crate::tui::model::keys::{Action, IN_CONVERSATION, KeyPlace, with_bound_keys};
pub(crate) use crate::tui::text::markdown::TextRows;
pub(crate) use crate::tui::text::{self, Line};
pub(crate) use crate::tui::theme::Ink;
pub(crate) use ratatui::{buffer::Buffer, layout::Rect};
