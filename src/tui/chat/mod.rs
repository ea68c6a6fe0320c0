//! The chat: the conversation, the composer, and the panels next to them.
//! Not for: screens that open over it (`screens`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
