//! What the integration tests share.

#[cfg(unix)]
pub(crate) mod lexer;
#[cfg(unix)]
pub(crate) mod pty;
pub(crate) mod server;
