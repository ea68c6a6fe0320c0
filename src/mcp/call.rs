//! One call to a server's tool: asked, listened to while it works, given up when a person stops it or nothing is heard for
//! too long.
//! Not for: whether it is allowed (`engine`), or its words (`words`).

use super::words;
use crate::domain::tool::trace::{ToolObserver, ToolOutput, ToolStatus};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam, ProgressToken, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

/// How often a call that waits looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(40);
/// A call that is heard of goes on so many times longer.
const LONGER: u32 = 10;
/// Pieces of progress that are told at most.
const PIECES: u32 = 1_000;

/// Who wants to hear of which call's progress.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<(ProgressToken, UnboundedSender<String>)>>);

impl Listeners {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(ProgressToken, UnboundedSender<String>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server tells how far it is.
    pub(super) fn progress(&self, params: &ProgressNotificationParam) {
        let listeners = self.lock();
        if let Some((_, listener)) = listeners.iter().find(|(token, _)| *token == params.progress_token) {
            let of = params.total.map_or_else(String::new, |total| format!(" of {total}"));
            let words: String = params.message.as_deref().unwrap_or_default().chars().take(300).collect();
            let words = if words.is_empty() { words } else { format!(": {words}") };
            let _ = listener.send(format!("{}{of}{words}\n", params.progress));
        }
    }
}

/// A call.
pub(super) struct Call {
    pub(super) peer: Peer<RoleClient>,
    pub(super) listeners: Arc<Listeners>,
    /// Seconds without a word after which it is given up.
    pub(super) seconds: u32,
    /// Bytes of its result.
    pub(super) limit: usize,
}

/// What comes of a call.
enum CallEvent {
    Progress(String),
    Done(ToolOutput, Option<String>),
}

/// Where a call is waited for.
pub(super) struct WaitingCall {
    told: Receiver<CallEvent>,
    stop: UnboundedSender<()>,
}

impl WaitingCall {
    /// Waits to the end. With the output: why the server is gone, where it is.
    pub(super) fn wait(self, watch: &dyn ToolObserver) -> (ToolOutput, Option<String>) {
        loop {
            match self.told.recv_timeout(LOOK) {
                Ok(CallEvent::Progress(words)) => watch.said(&words),
                Ok(CallEvent::Done(output, gone)) => return (output, gone),
                Err(RecvTimeoutError::Timeout) => {
                    if watch.cancelled() {
                        let _ = self.stop.send(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return (words::failed("The server has ended in the meantime."), None);
                }
            }
        }
    }
}

impl Call {
    /// What is to be run beside, and where its end is waited for.
    pub(super) fn begin(
        self,
        tool: &str,
        args: &str,
    ) -> Result<(impl Future<Output = ()> + Send + 'static, WaitingCall), ToolOutput> {
        let args = serde_json::from_str::<serde_json::Value>(args).unwrap_or_default();
        let serde_json::Value::Object(args) = args else {
            return Err(words::failed("The arguments must be a JSON object; nothing was done."));
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        let (tell, told) = channel();
        let (stop, stopped) = unbounded_channel();
        let work = async move {
            let (output, gone) = self.go(params, &tell, stopped).await;
            let _ = tell.send(CallEvent::Done(output, gone));
        };
        Ok((work, WaitingCall { told, stop }))
    }

    async fn go(
        self,
        params: CallToolRequestParams,
        tell: &Sender<CallEvent>,
        mut stopped: UnboundedReceiver<()>,
    ) -> (ToolOutput, Option<String>) {
        let patience = Duration::from_secs(u64::from(self.seconds.max(1)));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let asked = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match tokio::time::timeout(patience, asked).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return broken(&error),
            Err(_) => return (given_up(patience), None),
        };
        let token = handle.progress_token.clone();
        let (listener, mut heard) = unbounded_channel();
        self.listeners.lock().push((token.clone(), listener));
        let (begun, mut until, mut pieces) = (Instant::now(), Instant::now() + patience, 0);
        let ended = loop {
            tokio::select! {
                answer = &mut handle.rx => {
                    // What was said before the answer came is told before it.
                    while let Ok(words) = heard.try_recv() {
                        pieces += 1;
                        tell_some(tell, words, pieces);
                    }
                    break match answer {
                        Ok(Ok(result)) => (self.result(result), None),
                        Ok(Err(error)) => broken(&error),
                        Err(_) => broken(&ServiceError::TransportClosed),
                    };
                }
                _ = stopped.recv() => {
                    cancel(handle, "the person stopped it").await;
                    break (cancelled(), None);
                }
                () = tokio::time::sleep_until(until) => {
                    cancel(handle, "no message for too long").await;
                    break (given_up(begun.elapsed()), None);
                }
                Some(words) = heard.recv() => {
                    until = (Instant::now() + patience).min(begun + patience * LONGER);
                    pieces += 1;
                    tell_some(tell, words, pieces);
                }
            }
        };
        self.listeners.lock().retain(|(known, _)| *known != token);
        ended
    }

    fn result(&self, result: ServerResult) -> ToolOutput {
        match result {
            ServerResult::CallToolResult(result) => words::result(&result, self.limit),
            ServerResult::InputRequiredResult(_) => {
                words::failed("The server wants to ask back, which pleach does not support.")
            }
            ServerResult::CreateTaskResult(_) => {
                words::failed("The server started a task, which pleach does not support.")
            }
            _ => words::failed("The server's answer is not a tool result."),
        }
    }
}

fn tell_some(tell: &Sender<CallEvent>, words: String, pieces: u32) {
    if pieces <= PIECES {
        let _ = tell.send(CallEvent::Progress(words));
    }
}

/// Tells the server that nobody waits for it any more.
async fn cancel(handle: RequestHandle<RoleClient>, why: &str) {
    let told = handle.cancel(Some(why.to_owned()));
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}

fn cancelled() -> ToolOutput {
    let body = "Cancelled: a person stopped it. The server was told; what it had already done is unknown.".to_owned();
    ToolOutput { status: ToolStatus::Cancelled, full_bytes: body.len() as u64, body }
}

fn given_up(after: Duration) -> ToolOutput {
    words::failed(&format!("The server did not answer within {} s; it was told to stop.", after.as_secs().max(1)))
}

/// A call that could not be made or answered; with why the server is gone, where that is so.
fn broken(error: &ServiceError) -> (ToolOutput, Option<String>) {
    match error {
        ServiceError::McpError(error) => {
            let said: String = error.message.chars().take(2_000).collect();
            (words::failed(&format!("The server refused the call: {said}")), None)
        }
        ServiceError::TransportClosed => {
            (words::failed("The server ended before it answered; what it had already done is unknown."), None)
        }
        ServiceError::TransportSend(_) => {
            let why = words::chain(error);
            (words::failed(&format!("The server can't be reached: {why}")), Some(format!("can't be reached: {why}")))
        }
        other => (words::failed(&words::chain(other)), None),
    }
}
