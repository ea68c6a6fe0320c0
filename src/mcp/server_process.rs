//! The life cycle of one server: starts it, reads its tools, observes it, and ends it.
//! Not for: calls to its tools (`call`), or transports (`child`, `http`).

use super::call::Listeners;
use super::child::{self, Program, ServerOutput};
use super::client_handler::RefusingClient;
use super::listing::{self, Listing};
use super::notifications::ListeningTransport;
use super::servers::{Entry, Shared};
use super::{http, result_text};
use crate::domain::tool::mcp::plain;
use crate::domain::tool::{ServerSpec, ServerState, ServerTransport};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceError, serve_client};
use rmcp::transport::Transport;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The minimum interval between two readings of a tool list that keeps changing.
const RELIST_INTERVAL: Duration = Duration::from_millis(250);
/// How long a connection may take to close before it is aborted.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of characters that are kept of a server's instructions.
const MAX_INSTRUCTIONS: usize = 20_000;

const RESTART_HINT: &str = "/mcp shows its output and restarts it.";

/// Identifies one run of a server, so that reports of an earlier run are ignored.
pub(super) struct ProcessGeneration {
    pub(super) name: String,
    pub(super) generation: u64,
}

type Service = RunningService<RoleClient, RefusingClient>;

/// The reason why a server ended, and the next step.
struct Fault {
    why: String,
    todo: String,
    /// Whether the server closed the connection.
    closed: bool,
}

impl Fault {
    fn new(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { todo: remedy(&why), why, closed: false }
    }
}

/// Runs a server until it is stopped or ends.
pub(super) async fn run(
    shared: Arc<Shared>,
    who: ProcessGeneration,
    spec: ServerSpec,
    server_output: Arc<ServerOutput>,
    listeners: Arc<Listeners>,
    mut stop: watch::Receiver<bool>,
) {
    let changed = Arc::new(Notify::new());
    let observers = (listeners, changed.clone());
    let limit = Duration::from_secs(u64::from(spec.start_seconds.max(1)));
    let mut program = None;
    let mut service = None;
    let running = async {
        let begun = tokio::time::timeout(limit, async {
            let service = service.insert(begin(&spec, &observers, &server_output, &mut program).await?);
            let tools = tools(service.peer()).await?;
            Ok((service, tools))
        });
        let (service, found) = match begun.await {
            Ok(Ok(begun)) => begun,
            Ok(Err(fault)) => return fault,
            Err(_) => return Fault::new(format!("it did not answer within {} s", limit.as_secs())),
        };
        shared.update(&who, |entry| ready(entry, service.peer(), found));
        let peer = service.peer().clone();
        listen(&shared, &who, &peer, &changed).await
    };
    let fault = tokio::select! {
        fault = running => Some(fault),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    let ended = match (&fault, &mut program) {
        (Some(fault), Some(program)) if fault.closed => program.ended().await,
        _ => None,
    };
    if let Some(mut service) = service {
        let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
    }
    if let Some(program) = program {
        program.end().await;
    }
    if let Some(mut fault) = fault {
        if let Some(ended) = ended {
            let line = server_output.last_line();
            fault.why = line.map_or(ended.clone(), |line| format!("{ended}: {}", line.trim_end_matches('.')));
        }
        fault.why = server_output.scrubbed(&fault.why);
        shared.update(&who, |entry| mark_failed(entry, fault));
    }
}

/// The receivers of messages other than answers: progress of calls, and changes of the tool list.
type Observers = (Arc<Listeners>, Arc<Notify>);

async fn begin(
    spec: &ServerSpec,
    observers: &Observers,
    server_output: &Arc<ServerOutput>,
    program: &mut Option<Program>,
) -> Result<Service, Fault> {
    match &spec.way {
        Err(why) => Err(Fault::new(why)),
        Ok(ServerTransport::Program { command, args, env, folder }) => {
            let (pipe, started) =
                child::start(command, args, env, folder, server_output).map_err(|error| start_fault(&error, spec))?;
            *program = Some(started);
            handshake(pipe, observers, server_output).await
        }
        Ok(ServerTransport::Address { url, headers }) => {
            let way = http::open(url, headers).map_err(Fault::new)?;
            handshake(way, observers, server_output).await
        }
    }
}

async fn handshake<T: Transport<RoleClient> + 'static>(
    inner: T,
    (listeners, changed): &Observers,
    server_output: &Arc<ServerOutput>,
) -> Result<Service, Fault> {
    let listening = ListeningTransport {
        inner,
        listeners: listeners.clone(),
        server_output: server_output.clone(),
        changed: changed.clone(),
    };
    serve_client(RefusingClient::new(server_output.clone()), listening).await.map_err(|error| {
        let is_closed = |error: &ClientInitializeError| {
            matches!(error, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })
        };
        Fault { closed: is_closed(&error), ..Fault::new(result_text::chain(&error)) }
    })
}

fn start_fault(error: &std::io::Error, spec: &ServerSpec) -> Fault {
    let command = spec.shown.split_whitespace().next().unwrap_or_default();
    if error.kind() == std::io::ErrorKind::NotFound {
        if let Some((why, todo)) = super::missing(spec) {
            return Fault { todo, ..Fault::new(why) };
        }
        let todo = "Install it, or give its full path as `command`.".into();
        return Fault { todo, ..Fault::new(format!("{command}, or the folder it should run in, was not found")) };
    }
    let todo = "Correct the server's entry.".into();
    Fault { todo, ..Fault::new(format!("{command} could not be started: {error}")) }
}

fn remedy(why: &str) -> String {
    if why.contains("401") || why.contains("403") || why.to_lowercase().contains("auth") {
        return "Does it need a key? Add headers = { Authorization = \"Bearer ${NAME}\" } to its entry.".into();
    }
    if why.starts_with(result_text::UNREACHED) {
        return "Is it running, and is its url right? r in /mcp tries again.".into();
    }
    if why.contains("HTTP 404") {
        return "Is its url right? Servers often listen at an address that ends in /mcp.".into();
    }
    RESTART_HINT.into()
}

/// Waits while the server runs, and reads its tools again whenever it reports a change. Returns why the server ended.
async fn listen(shared: &Arc<Shared>, who: &ProcessGeneration, peer: &Peer<RoleClient>, changed: &Notify) -> Fault {
    loop {
        tokio::select! {
            () = closed(peer) => return Fault { closed: true, ..Fault::new("it closed the connection") },
            () = changed.notified() => {}
        }
        match tokio::time::timeout(Duration::from_secs(30), tools(peer)).await {
            Ok(Ok(found)) => shared.update(who, |entry| set_tools(entry, found)),
            Ok(Err(fault)) => return fault,
            Err(_) => return Fault::new("it no longer lists its tools"),
        }
        tokio::time::sleep(RELIST_INTERVAL).await;
    }
}

/// Waits until the connection is closed.
async fn closed(peer: &Peer<RoleClient>) {
    while !peer.is_transport_closed() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn tools(peer: &Peer<RoleClient>) -> Result<Listing, Fault> {
    listing::read(peer).await.map_err(|error| Fault {
        closed: matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)),
        ..Fault::new(format!("it does not list its tools: {}", result_text::chain(&error)))
    })
}

fn ready(entry: &mut Entry, peer: &Peer<RoleClient>, found: Listing) {
    entry.server.state = ServerState::Ready;
    set_tools(entry, found);
    if let Some(info) = peer.peer_info() {
        let who = info.server_info.as_ref().map_or_else(String::new, |who| format!("{} {}, ", who.name, who.version));
        entry.server.about = plain(&format!("{who}MCP {}", info.protocol_version)).0.replace('\n', " ");
        let instructions = info.instructions.as_deref().unwrap_or_default();
        entry.server.instructions = instructions.chars().take(MAX_INSTRUCTIONS).collect();
    }
    entry.peer = Some(peer.clone());
}

fn set_tools(entry: &mut Entry, found: Listing) {
    (entry.server.tools, entry.server.notes) = (found.tools, found.notes);
}

fn mark_failed(entry: &mut Entry, fault: Fault) {
    entry.peer = None;
    set_tools(entry, Listing::default());
    entry.server.state = ServerState::Failed { why: plain(&fault.why).0.replace('\n', " "), todo: fault.todo };
}

/// Marks a server as failed because a call lost its connection to it.
pub(super) fn mark_gone(entry: &mut Entry, why: String) {
    if entry.server.state == ServerState::Ready {
        mark_failed(entry, Fault::new(why));
    }
}
