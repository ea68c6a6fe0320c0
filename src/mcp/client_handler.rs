//! This program's side of a connection: a client without capabilities. Requests of the server are refused, and the
//! refusal is visible in the server's output.
//! Not for: notifications (`notifications`).
#![allow(deprecated, reason = "current servers still send it")]

use super::child::ServerOutput;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult,
};
use rmcp::service::{RequestContext, RoleClient};
use std::sync::Arc;

/// The maximum number of characters that are kept of a request's name.
const MAX_NAME: usize = 80;

/// Refuses the requests of a server.
pub(super) struct RefusingClient {
    server_output: Arc<ServerOutput>,
}

impl RefusingClient {
    pub(super) fn new(server_output: Arc<ServerOutput>) -> Self {
        Self { server_output }
    }

    fn refused(&self, what: &str) -> ErrorData {
        self.server_output.take(format!("[it asked for {what}; the request was denied]\n").as_bytes());
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("pleach does not give servers {what}."), None)
    }
}

impl ClientHandler for RefusingClient {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("pleach", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(self.refused("model answers (sampling)"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(self.refused("a list of folders (roots)"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(self.refused("input from the user (elicitation)"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let name: String = request.method.chars().take(MAX_NAME).collect();
        Err(self.refused(&format!("{name:?}")))
    }
}
