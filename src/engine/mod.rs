//! The engine: the only room that orchestrates. Everything else comes in through [`api`].

pub mod api;
