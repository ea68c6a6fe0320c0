//! The replacement for servers in a program that was built without MCP support: each server reports the missing
//! support.
//! Not for: a program with MCP support (`servers`).

use crate::domain::tool::{Server, ServerSpec, ServerState, ToolObserver, ToolOutput, ToolServers, ToolStatus};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Servers that all report missing support.
#[derive(Default)]
pub(super) struct NoServers {
    named: Mutex<Vec<ServerSpec>>,
    changed: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl ToolServers for NoServers {
    fn tell(&self, changed: Box<dyn Fn() + Send + Sync>) {
        let _ = self.changed.set(changed);
    }

    fn set(&self, servers: &[ServerSpec]) {
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) = servers.to_vec();
        if let Some(changed) = self.changed.get() {
            changed();
        }
    }

    fn restart(&self, _: &str) {}

    fn servers(&self) -> Vec<Server> {
        let state = || ServerState::Failed {
            why: "this build has no MCP support".into(),
            todo: "Build pleach with the feature `mcp`, which is on by default.".into(),
        };
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.iter().map(|spec| Server::new(spec.clone(), state())).collect()
    }

    fn call(&self, _: &str, _: &str, _: &str, _: usize, _: &dyn ToolObserver) -> ToolOutput {
        ToolOutput::whole(ToolStatus::Failed, "Failed: this build has no MCP support.")
    }

    fn close(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::mcp::Origin;

    #[test]
    fn each_server_reports_missing_support() {
        let servers = NoServers::default();
        servers.set(&[ServerSpec {
            name: "s".into(),
            origin: Origin::Settings,
            way: Err(String::new()),
            shown: "s".into(),
            given: Vec::new(),
            disabled: false,
            seconds: 1,
            start_seconds: 1,
        }]);
        let state = servers.servers()[0].state.clone();
        assert!(matches!(state, ServerState::Failed { why, .. } if why.contains("no MCP support")));
    }
}
