//! The conversation screen: messages, the composer, and the side panels.
//! Not for: screens that open over it (`screens`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
