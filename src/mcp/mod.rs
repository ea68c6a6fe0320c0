//! Servers of tools by the Model Context Protocol: programs that are started, and addresses. Each lives beside everything
//! else, is asked what it offers, called, and ended with all that it started. The only room that knows the protocol's crate.
//! Not for: which servers are used, what of theirs is offered, or whether a call is allowed (`engine`).

#[cfg(feature = "mcp")]
mod call;
#[cfg(feature = "mcp")]
mod child;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod listing;
mod needs;
#[cfg(feature = "mcp")]
mod words;

#[cfg(feature = "mcp")]
mod client_handler;
#[cfg(feature = "mcp")]
mod notifications;
#[cfg(feature = "mcp")]
mod server_process;
#[cfg(feature = "mcp")]
mod servers;
#[cfg(not(feature = "mcp"))]
mod without;

pub use needs::missing;

use crate::domain::tool::mcp::ToolServers;
use std::sync::Arc;

/// Whether this program was built with the protocol.
pub const BUILT: bool = cfg!(feature = "mcp");

/// Servers; none is started yet.
#[must_use]
pub fn servers() -> Arc<dyn ToolServers> {
    #[cfg(feature = "mcp")]
    let servers = servers::ServerPool::default();
    #[cfg(not(feature = "mcp"))]
    let servers = without::NoServers::default();
    Arc::new(servers)
}
