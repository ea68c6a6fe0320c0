//! The tour: nine steps that the user does on the real screens. It is drawn below every open screen and is not a
//! `Screen` of the stack.
//! Not for: the engine on which it runs (`shell::tour`).

pub mod model;
mod model_steps;
pub(crate) mod update;
pub(crate) mod view;
