//! One call to a server's tool: sends it, reports its progress, and abandons it when a person stops it or the server is
//! silent for too long.
//! Not for: deciding whether it is allowed (`engine`), or the text of its result (`result_text`).

use super::result_text;
use crate::domain::tool::{ToolObserver, ToolOutput, ToolStatus};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam, ProgressToken, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The interval at which a waiting call checks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
/// Progress can extend a call up to this many times its time limit.
const MAX_EXTENSIONS: u32 = 10;
/// The maximum number of progress messages that are passed on.
const MAX_PROGRESS: usize = 1_000;

/// The receivers of the progress of calls, by progress token.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<(ProgressToken, mpsc::Sender<String>)>>);

impl Listeners {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(ProgressToken, mpsc::Sender<String>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a progress notification to the receiver with its token.
    pub(super) fn progress(&self, params: &ProgressNotificationParam) {
        let listeners = self.lock();
        if let Some((_, listener)) = listeners.iter().find(|(token, _)| *token == params.progress_token) {
            let of = params.total.map_or_else(String::new, |total| format!(" of {total}"));
            let message: String = params.message.as_deref().unwrap_or_default().chars().take(300).collect();
            let message = if message.is_empty() { message } else { format!(": {message}") };
            // If the call is behind with older progress, this piece is dropped.
            let _ = listener.try_send(format!("{}{of}{message}\n", params.progress));
        }
    }
}

/// A call.
pub(super) struct Call {
    pub(super) peer: Peer<RoleClient>,
    pub(super) listeners: Arc<Listeners>,
    /// The number of seconds of silence after which the call is abandoned.
    pub(super) seconds: u32,
    /// The maximum size of the result in bytes.
    pub(super) limit: usize,
}

enum CallEvent {
    Progress(String),
    Done(ToolOutput, Option<String>),
}

/// The side of a call that waits for its end.
pub(super) struct WaitingCall {
    events: Receiver<CallEvent>,
    stop: mpsc::Sender<()>,
}

impl WaitingCall {
    /// Waits until the call ends. Returns its output and, if the connection to the server is lost, the reason.
    pub(super) fn wait(self, watch: &dyn ToolObserver) -> (ToolOutput, Option<String>) {
        loop {
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(CallEvent::Progress(line)) => watch.on_output(&line),
                Ok(CallEvent::Done(output, gone)) => return (output, gone),
                Err(RecvTimeoutError::Timeout) => {
                    if watch.cancelled() {
                        let _ = self.stop.try_send(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return (result_text::failed("The server ended in the meantime."), None);
                }
            }
        }
    }
}

impl Call {
    /// Returns the future that runs the call in the background, and the handle that waits for its end. Fails if the
    /// arguments are not a JSON object.
    pub(super) fn begin(
        self,
        tool: &str,
        args: &str,
    ) -> Result<(impl Future<Output = ()> + Send + 'static, WaitingCall), ToolOutput> {
        let args = serde_json::from_str::<serde_json::Value>(args).unwrap_or_default();
        let serde_json::Value::Object(args) = args else {
            return Err(result_text::failed("The arguments must be a JSON object; nothing was done."));
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        // All progress that is passed on and the end have room, so sending never waits.
        let (sender, events) = sync_channel(MAX_PROGRESS + 1);
        let (stop, stopped) = mpsc::channel(1);
        let work = async move {
            let (output, gone) = self.run(params, &sender, stopped).await;
            let _ = sender.send(CallEvent::Done(output, gone));
        };
        Ok((work, WaitingCall { events, stop }))
    }

    async fn run(
        self,
        params: CallToolRequestParams,
        sender: &SyncSender<CallEvent>,
        mut stopped: mpsc::Receiver<()>,
    ) -> (ToolOutput, Option<String>) {
        let patience = Duration::from_secs(u64::from(self.seconds.max(1)));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match tokio::time::timeout(patience, sending).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return failed_output(&error),
            Err(_) => return (given_up(patience), None),
        };
        let token = handle.progress_token.clone();
        let (listener, mut progress_events) = mpsc::channel(MAX_PROGRESS);
        self.listeners.lock().push((token.clone(), listener));
        let mut pieces = 0;
        let mut report = |line| {
            pieces += 1;
            if pieces <= MAX_PROGRESS {
                let _ = sender.send(CallEvent::Progress(line));
            }
        };
        let (begun, mut until) = (Instant::now(), Instant::now() + patience);
        let ended = loop {
            tokio::select! {
                answer = &mut handle.rx => {
                    // Progress that arrived before the answer is reported before it.
                    while let Ok(line) = progress_events.try_recv() {
                        report(line);
                    }
                    break match answer {
                        Ok(Ok(result)) => (self.result(result), None),
                        Ok(Err(error)) => failed_output(&error),
                        Err(_) => failed_output(&ServiceError::TransportClosed),
                    };
                }
                _ = stopped.recv() => {
                    cancel(handle, "the user stopped it").await;
                    break (cancelled(), None);
                }
                () = tokio::time::sleep_until(until) => {
                    cancel(handle, "timeout: no message from the server").await;
                    break (given_up(begun.elapsed()), None);
                }
                Some(line) = progress_events.recv() => {
                    until = (Instant::now() + patience).min(begun + patience * MAX_EXTENSIONS);
                    report(line);
                }
            }
        };
        self.listeners.lock().retain(|(known, _)| *known != token);
        ended
    }

    fn result(&self, result: ServerResult) -> ToolOutput {
        match result {
            ServerResult::CallToolResult(result) => result_text::result(&result, self.limit),
            ServerResult::InputRequiredResult(_) => {
                result_text::failed("The server requested input, which pleach does not support.")
            }
            ServerResult::CreateTaskResult(_) => {
                result_text::failed("The server started a task, which pleach does not support.")
            }
            _ => result_text::failed("The server's answer is not a tool result."),
        }
    }
}

/// Tells the server that the call is canceled.
async fn cancel(handle: RequestHandle<RoleClient>, why: &str) {
    let events = handle.cancel(Some(why.to_owned()));
    let _ = tokio::time::timeout(Duration::from_secs(1), events).await;
}

fn cancelled() -> ToolOutput {
    let body = "Canceled: the user stopped it. The server was told to stop; what it had already done is unknown.";
    ToolOutput::whole(ToolStatus::Cancelled, body)
}

fn given_up(after: Duration) -> ToolOutput {
    result_text::failed(&format!("The server did not answer within {} s; it was told to stop.", after.as_secs().max(1)))
}

/// Returns the output of a failed call and, if the connection to the server is lost, the reason.
fn failed_output(error: &ServiceError) -> (ToolOutput, Option<String>) {
    match error {
        ServiceError::McpError(error) => {
            let error_text: String = error.message.chars().take(2_000).collect();
            (result_text::failed(&format!("The server refused the call: {error_text}")), None)
        }
        ServiceError::TransportClosed => {
            (result_text::failed("The server ended before it answered; what it had already done is unknown."), None)
        }
        ServiceError::TransportSend(_) => {
            let why = result_text::chain(error);
            (
                result_text::failed(&format!("The server can't be reached: {why}")),
                Some(format!("can't be reached: {why}")),
            )
        }
        other => (result_text::failed(&result_text::chain(other)), None),
    }
}
