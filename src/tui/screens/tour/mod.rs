//! The guided tour: nine steps, each done by the person on the real screens. It is drawn below whatever is open, so it
//! is not a `Screen` of the stack.
//! Not for: the engine on which it runs (`shell::tour`).

pub mod model;
mod model_steps;
pub(crate) mod update;
pub(crate) mod view;
