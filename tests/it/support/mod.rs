//! What the integration tests share.

pub(crate) mod binary;
pub(crate) mod chatgpt;
pub(crate) mod foreign;
pub(crate) mod server;
pub(crate) mod talk;
