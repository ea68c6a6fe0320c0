//! Takes notifications of servers out of the stream in order, before the protocol's crate sees them: progress, log
//! lines, and changes of the tool list. Memory use is bounded, regardless of the number of notifications.
//! Not for: requests and their answers.

use super::call::Listeners;
use super::child::ServerOutput;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::Notify;

/// The maximum number of characters of a log line.
const MAX_LINE: usize = 500;

/// A transport that handles notifications and passes on all other messages.
pub(super) struct ListeningTransport<T> {
    pub(super) inner: T,
    pub(super) listeners: Arc<Listeners>,
    pub(super) server_output: Arc<ServerOutput>,
    pub(super) changed: Arc<Notify>,
}

impl<T> ListeningTransport<T> {
    /// Handles a message if it is such a notification. Returns whether it was one.
    fn takes(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let JsonRpcMessage::Notification(received) = message else { return false };
        match &received.notification {
            ServerNotification::ProgressNotification(progress) => self.listeners.progress(&progress.params),
            ServerNotification::ToolListChangedNotification(_) => self.changed.notify_one(),
            #[allow(deprecated, reason = "current servers still send it")]
            ServerNotification::LoggingMessageNotification(line) => {
                let text: String = line.params.data.to_string().chars().take(MAX_LINE).collect();
                self.server_output.take(format!("{text}\n").as_bytes());
            }
            _ => return false,
        }
        true
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ListeningTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if !self.takes(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
