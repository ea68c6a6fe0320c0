//! The conversation's screen: messages, the message being written, the panels beside them.
//! Not for: what opens over it (`screens`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
