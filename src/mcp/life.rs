//! The life of one server: started, asked what it offers, listened to, and ended.
//! Not for: calls to its tools (`call`), or how bytes come and go (`child`, `http`).

use super::call::Listeners;
use super::child::{self, Heard, Program};
use super::hub::{Entry, Shared};
use super::{http, words};
use crate::domain::mcp::{Hints, ServerSpec, ServerState, ServerTool, Way, plain};
use rmcp::ClientHandler;
#[allow(deprecated, reason = "servers of today still log so")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, ProgressNotificationParam, Tool,
};
use rmcp::service::{NotificationContext, Peer, RoleClient, RunningService, serve_client};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Most pages of a list of tools, and most tools.
const PAGES: usize = 50;
const TOOLS: usize = 500;
/// A list that changes again and again is read again after so long.
const PACE: Duration = Duration::from_millis(250);
/// How long an end may take before it is made one.
const CLOSE: Duration = Duration::from_millis(500);
/// Most characters of a server's instructions that are kept.
const INSTRUCTIONS: usize = 20_000;

const AGAIN: &str = "`r` in /mcp starts it again; what it wrote stands in its details.";

/// Which life.
pub(super) struct Who {
    pub(super) name: String,
    pub(super) life: u64,
}

/// What the protocol's crate tells us meanwhile.
struct Ear {
    changed: Arc<Notify>,
    listeners: Arc<Listeners>,
    heard: Arc<Heard>,
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("pleach", env!("CARGO_PKG_VERSION")))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.listeners.progress(&params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    #[allow(deprecated, reason = "servers of today still log so")]
    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let words: String = params.data.to_string().chars().take(500).collect();
        self.heard.take(format!("{words}\n").as_bytes());
    }
}

type Service = RunningService<RoleClient, Ear>;

/// Why a life ended, and what to do.
struct Fault {
    why: String,
    todo: String,
}

/// Lives until it is stopped or ends.
pub(super) async fn live(
    shared: Arc<Shared>,
    who: Who,
    spec: ServerSpec,
    heard: Arc<Heard>,
    listeners: Arc<Listeners>,
    mut stop: watch::Receiver<bool>,
) {
    let changed = Arc::new(Notify::new());
    let ear = Ear { changed: changed.clone(), listeners, heard: heard.clone() };
    let limit = Duration::from_secs(u64::from(spec.start_seconds.max(1)));
    let mut program = None;
    let mut service = None;
    let lived = async {
        let begun = tokio::time::timeout(limit, async {
            let service = service.insert(begin(&spec, ear, &heard, &mut program).await?);
            let tools = tools(service.peer()).await?;
            Ok((service, tools))
        });
        let (service, found) = match begun.await {
            Ok(Ok(begun)) => begun,
            Ok(Err(fault)) => return fault,
            Err(_) => {
                let why = format!("it did not answer within {} s", limit.as_secs());
                return Fault { why, todo: AGAIN.into() };
            }
        };
        shared.update(&who, |entry| ready(entry, service.peer(), found));
        let peer = service.peer().clone();
        listen(&shared, &who, &peer, &changed).await
    };
    let fault = tokio::select! {
        fault = lived => Some(fault),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    if let Some(mut service) = service {
        let _ = service.close_with_timeout(CLOSE).await;
    }
    let ended = match (&fault, &mut program) {
        (Some(_), Some(program)) => program.ended().await,
        _ => None,
    };
    if let Some(program) = program {
        program.end().await;
    }
    if let Some(mut fault) = fault {
        if let Some(ended) = ended {
            fault.why = heard.last_line().map_or(ended.clone(), |line| format!("{ended}: {line}"));
        }
        fault.why = heard.scrubbed(&fault.why);
        shared.update(&who, |entry| down(entry, fault));
    }
}

async fn begin(
    spec: &ServerSpec,
    ear: Ear,
    heard: &Arc<Heard>,
    program: &mut Option<Program>,
) -> Result<Service, Fault> {
    let fault = |why: String| Fault { todo: remedy(&why), why };
    match &spec.way {
        Err(why) => Err(fault(why.clone())),
        Ok(Way::Program { command, args, env, folder }) => {
            let (pipe, started) = child::start(command, args, env, folder, heard).map_err(|error| unstarted(&error, spec))?;
            *program = Some(started);
            serve_client(ear, pipe).await.map_err(|error| fault(words::chain(&error)))
        }
        Ok(Way::Address { url, headers }) => {
            let way = http::open(url, headers).map_err(fault)?;
            serve_client(ear, way).await.map_err(|error| fault(words::chain(&error)))
        }
    }
}

fn unstarted(error: &std::io::Error, spec: &ServerSpec) -> Fault {
    let command = spec.shown.split_whitespace().next().unwrap_or_default();
    if error.kind() == std::io::ErrorKind::NotFound {
        let why = format!("{command}, or the folder it should run in, was not found");
        return Fault { why, todo: "Install it, or name its whole path as `command`.".into() };
    }
    Fault { why: format!("{command} could not be started: {error}"), todo: "Mend the entry that names it.".into() }
}

fn remedy(why: &str) -> String {
    if why.contains("401") || why.contains("403") || why.to_lowercase().contains("auth") {
        return "It may want a key: headers = { Authorization = \"Bearer ${NAME}\" } where it is named.".into();
    }
    AGAIN.into()
}

/// Waits while the server is there, and reads its tools again when it says that they changed.
async fn listen(shared: &Arc<Shared>, who: &Who, peer: &Peer<RoleClient>, changed: &Notify) -> Fault {
    loop {
        tokio::select! {
            () = closed(peer) => return Fault { why: "it closed the connection".into(), todo: AGAIN.into() },
            () = changed.notified() => {}
        }
        match tokio::time::timeout(Duration::from_secs(30), tools(peer)).await {
            Ok(Ok(found)) => shared.update(who, |entry| entry.server.tools = found),
            Ok(Err(fault)) => return fault,
            Err(_) => return Fault { why: "it no longer says what it offers".into(), todo: AGAIN.into() },
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Resolves once the connection is closed.
async fn closed(peer: &Peer<RoleClient>) {
    while !peer.is_transport_closed() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<ServerTool>, Fault> {
    if peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await;
        let page = page.map_err(|error| Fault {
            why: format!("it does not say what it offers: {}", words::chain(&error)),
            todo: AGAIN.into(),
        })?;
        all.extend(page.tools.iter().map(tool));
        all.truncate(TOOLS);
        cursor = page.next_cursor;
        if cursor.is_none() || all.len() == TOOLS {
            break;
        }
    }
    Ok(all)
}

fn tool(tool: &Tool) -> ServerTool {
    let hints = tool.annotations.as_ref().map_or_else(Hints::default, |said| Hints {
        read_only: said.read_only_hint,
        destructive: said.destructive_hint,
        open_world: said.open_world_hint,
    });
    let parameters = serde_json::Value::Object((*tool.input_schema).clone());
    ServerTool::new(&tool.name, tool.description.as_deref().unwrap_or_default(), parameters, hints)
}

fn ready(entry: &mut Entry, peer: &Peer<RoleClient>, tools: Vec<ServerTool>) {
    entry.server.state = ServerState::Ready;
    entry.server.tools = tools;
    if let Some(info) = peer.peer_info() {
        let who = info.server_info.as_ref().map_or_else(String::new, |who| format!("{} {}, ", who.name, who.version));
        entry.server.about = plain(&format!("{who}MCP {}", info.protocol_version)).0.replace('\n', " ");
        let instructions = info.instructions.as_deref().unwrap_or_default();
        entry.server.instructions = instructions.chars().take(INSTRUCTIONS).collect();
    }
    entry.peer = Some(peer.clone());
}

fn down(entry: &mut Entry, fault: Fault) {
    entry.peer = None;
    entry.server.tools.clear();
    entry.server.state = ServerState::Failed { why: plain(&fault.why).0.replace('\n', " "), todo: fault.todo };
}

/// A call found that the server is gone.
pub(super) fn gone(entry: &mut Entry, why: String) {
    if entry.server.state == ServerState::Ready {
        down(entry, Fault { why, todo: AGAIN.into() });
    }
}
