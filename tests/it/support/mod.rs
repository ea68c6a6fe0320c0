//! Shared helpers of the integration tests.

pub(crate) mod bench;
pub(crate) mod binary;
#[cfg(unix)]
pub(crate) mod cast;
pub(crate) mod chatgpt;
pub(crate) mod damage;
pub(crate) mod embeddings;
pub(crate) mod foreign;
#[cfg(unix)]
pub(crate) mod lexer;
pub(crate) mod live;
mod look;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
#[cfg(unix)]
pub(crate) mod picture;
#[cfg(unix)]
pub(crate) mod pty;
pub(crate) mod server;
pub(crate) mod talk;
