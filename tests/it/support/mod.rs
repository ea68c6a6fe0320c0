//! What the integration tests share.

pub(crate) mod bench;
pub(crate) mod server;
