//! The tour: nine steps, each done by the person on the real screens. It stands below whatever is open, so it is no
//! `Screen` of the stack.
//! Not for: the engine on which it runs (`shell::tour`).

pub mod model;
mod model_steps;
pub(crate) mod update;
pub(crate) mod view;
