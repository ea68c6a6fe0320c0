//! Servers of the Model Context Protocol, which are child processes or URLs: starts them in the background, lists and
//! calls their tools, and ends them with every process that they started. This is the only module that uses the
//! protocol's crate.
//! Not for: which servers are used, which tools are offered, or whether a call is allowed (`engine`).

#[cfg(feature = "mcp")]
mod call;
#[cfg(feature = "mcp")]
mod child;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod listing;
mod requirements;
#[cfg(feature = "mcp")]
mod result_text;

#[cfg(feature = "mcp")]
mod client_handler;
#[cfg(feature = "mcp")]
mod notifications;
#[cfg(feature = "mcp")]
mod server_process;
#[cfg(feature = "mcp")]
mod servers;
#[cfg(not(feature = "mcp"))]
mod unavailable;

pub use requirements::missing;

use crate::domain::tool::ToolServers;
use std::sync::Arc;

/// Whether this program was built with MCP support.
pub const BUILT: bool = cfg!(feature = "mcp");

/// Returns the servers. None of them is started yet.
pub fn servers() -> Arc<dyn ToolServers> {
    #[cfg(feature = "mcp")]
    let servers = servers::ServerPool::default();
    #[cfg(not(feature = "mcp"))]
    let servers = unavailable::NoServers::default();
    Arc::new(servers)
}
