//! What the integration tests share.

pub(crate) mod server;
pub(crate) mod talk;
