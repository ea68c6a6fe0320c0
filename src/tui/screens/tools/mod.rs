//! Tools and MCP servers, with what each costs.
//! Not for: calls to them (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
