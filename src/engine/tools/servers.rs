//! Tool servers: the servers in use, the tools that a branch offers, the tools that a person approved, and the runner
//! that combines them with the program's own tools.
//!
//! No server starts before the first plan of a trusted folder is requested. Then they start in the background, and
//! their tools are part of plans from then on. Only single commands wait for them, so that a plan and the request sent
//! after it agree.
//! Not for: the protocol (`mcp`), or consent to a call (`turns::consent`).

use crate::domain::base::{BranchId, Failure, FailureKind, Hash};
use crate::domain::tool::{ConfiguredServers, FileDecision, Server, ServerSpec, ServerState, ServerTool, mcp};
use crate::engine::api::{Answer, Event, Request, ServerAct, ServerUse, Ticket, ToolAnswer, ToolEvent, ToolRequest};
use crate::engine::core::{Core, stored_value};
use crate::engine::startup::setup::Setup;
use crate::engine::turns::runner::Runner;
use crate::store::Store;
use crate::store::types::Write;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A tool as a person approved it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Approved {
    pub(crate) digest: Hash,
    pub(crate) description: String,
}

/// A person's decision on a folder's server file.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FolderAnswer {
    digest: Hash,
    yes: bool,
}

impl Core {
    /// Starts the servers in the background if a request needs them. Returns the request, or `None` if it must wait
    /// until they have started.
    pub(crate) fn wait_for_servers(&mut self, ticket: Ticket, request: Request) -> Option<Request> {
        let needed = request.server_use();
        if needed == ServerUse::None {
            return Some(request);
        }
        if !self.tools.servers.wanted {
            self.tools.servers.wanted = true;
            self.set_servers();
        }
        if let Request::Tool(ToolRequest::Servers(_, ServerAct::Test { server })) = &request {
            self.setup.foreign.restart(server);
        }
        let waits = match needed {
            ServerUse::Plan => self.setup.patient,
            ServerUse::Settled => true,
            ServerUse::List | ServerUse::None => false,
        };
        if waits {
            if !self.setup.settled() {
                self.tools.servers.waiting.push((ticket, request));
                return None;
            }
            // The current state of the servers may not have been reported yet.
            self.update_offered();
        }
        Some(request)
    }

    /// Reads the configured servers and starts or stops servers accordingly.
    pub(crate) fn set_servers(&mut self) {
        if !self.tools.servers.wanted {
            return;
        }
        let read = self.setup.settings.named.clone();
        self.tools.servers.named = read.map_or_else(ConfiguredServers::default, |read| read());
        let may = self.tools.trusted && self.setup.settings.tools.is_some();
        let specs = if may { self.usable() } else { Vec::new() };
        self.setup.foreign.set(&specs);
        self.report_folder_servers(may);
        self.servers_changed();
    }

    /// Returns the servers that may run: the person's own servers, and the servers of the folder's file if a person
    /// accepted it. The person's own server takes precedence over one of the same name.
    fn usable(&self) -> Vec<ServerSpec> {
        let named = &self.tools.servers.named;
        let mut all = named.servers.clone();
        if let Some(file) = &named.file
            && file_decision(&self.setup, &self.store, file.digest) == FileDecision::Yes
            && let Ok(servers) = &file.servers
        {
            let own: BTreeSet<&str> = named.servers.iter().map(|spec| spec.name.as_str()).collect();
            all.extend(servers.iter().filter(|spec| !own.contains(spec.name.as_str())).cloned());
        }
        all
    }

    fn report_folder_servers(&mut self, may: bool) {
        let Some(file) = self.tools.servers.named.file.clone().filter(|_| may) else { return };
        if self.tools.servers.reported_file.replace(file.digest) == Some(file.digest) {
            return;
        }
        match &file.servers {
            Err(why) => {
                let what = format!("{} in this folder is not used: {why}.", file.path);
                self.notify(what);
            }
            Ok(servers)
                if !servers.is_empty()
                    && file_decision(&self.setup, &self.store, file.digest) == FileDecision::Waits =>
            {
                let count = servers.len();
                let what = if count == 1 { "1 server".to_owned() } else { format!("{count} servers") };
                let path = &file.path;
                self.notify(format!("{path} in this folder configures {what}; /mcp asks for approval."));
            }
            Ok(_) => {}
        }
    }

    /// Updates the offered tools after a server changed, and reports tools and files that need a decision.
    pub(crate) fn servers_changed(&mut self) {
        self.update_offered();
        for server in self.setup.foreign.servers() {
            let (name, state) = (server.spec.name.clone(), server.state.clone());
            let before = self.tools.servers.reported_states.insert(name.clone(), state.clone());
            if let ServerState::Failed { why, todo } = &state
                && before.as_ref() != Some(&state)
            {
                let what = if before == Some(ServerState::Ready) { "ended" } else { "could not be used" };
                self.notify(format!("The server {name} {what}: {why}. {todo}"));
            }
        }
        self.emit(Event::Tool(ToolEvent::ServersChanged));
        if self.setup.settled() {
            for (ticket, request) in std::mem::take(&mut self.tools.servers.waiting) {
                self.request_now(ticket, request);
            }
        }
    }

    /// Updates the offered tools. A changed list makes drawn plans stale.
    fn update_offered(&mut self) {
        let servers = self.setup.foreign.servers();
        let mut all: Vec<(String, Vec<ServerTool>)> = Vec::new();
        for server in servers.iter().filter(|server| server.state == ServerState::Ready) {
            let approved = self.approved(server);
            let fits = |tool: &&ServerTool| approved.get(&tool.name).is_some_and(|kept| kept.digest == tool.digest());
            let (known, strange): (Vec<_>, Vec<_>) = server.tools.iter().partition(fits);
            let news: Vec<&ServerTool> = strange
                .into_iter()
                .filter(|tool| self.tools.servers.reported_tools.insert((server.spec.name.clone(), tool.digest())))
                .collect();
            if !news.is_empty() {
                self.alarm(otherwise(&server.spec.name, &news, &approved));
            }
            all.push((server.spec.name.clone(), known.into_iter().cloned().collect()));
        }
        let offered = mcp::offered(all.iter().map(|(name, tools)| (name.as_str(), tools.as_slice())));
        if offered == *self.learned.offered {
            return;
        }
        self.learned.offered = Arc::new(offered);
        self.show_all_branches();
    }

    /// Returns the approved tools of a server. Configuring a server implies approval of the tools that it offers at
    /// first.
    pub(crate) fn approved(&self, server: &Server) -> BTreeMap<String, Approved> {
        let key = approvals_key(&server.spec);
        if let Some(kept) = stored_value(&self.store, &key) {
            return kept;
        }
        let all: BTreeMap<String, Approved> = server.tools.iter().map(approve).collect();
        if server.state == ServerState::Ready {
            self.keep(key, &all);
        }
        all
    }

    fn keep<T: Serialize>(&self, key: String, value: &T) {
        if !self.store.read_only()
            && let Ok(text) = serde_json::to_string(value)
            && let Err(error) = self.store.write(vec![Write::SetValue { key, value: Some(text) }])
        {
            self.alarm(format!("Your approvals could not be saved: {error}."));
        }
    }

    /// Handles a request about servers and their tools.
    pub(crate) fn act_on_servers(&mut self, branch: Option<BranchId>, act: ServerAct) -> Result<Answer, Failure> {
        match act {
            ServerAct::List | ServerAct::Settle | ServerAct::Test { .. } => {
                self.tool_list(branch).map(|all| Answer::Tool(ToolAnswer::ToolList(Box::new(all))))
            }
            ServerAct::Switch { keys, on } => self.switch_tools(branch, &keys, on),
            ServerAct::Restart { server } => {
                self.setup.known(&server)?;
                self.setup.foreign.restart(&server);
                Ok(Answer::Done(format!("{server} is restarting.")))
            }
            ServerAct::Approve { server, tool } => self.approve_tools(&server, tool.as_deref()),
            ServerAct::File { digest, yes } => self.decide_on_file(digest, yes),
        }
    }

    fn approve_tools(&mut self, server: &str, tool: Option<&str>) -> Result<Answer, Failure> {
        let found = self.setup.known(server)?;
        let mut approved = self.approved(&found);
        let wanted: Vec<_> = found.tools.iter().filter(|known| tool.is_none_or(|name| known.name == name)).collect();
        if wanted.is_empty() {
            return Err(Failure::new(FailureKind::Stale, "The server no longer offers this tool."));
        }
        approved.extend(wanted.iter().map(|tool| approve(tool)));
        self.keep(approvals_key(&found.spec), &approved);
        self.servers_changed();
        let what = tool.map_or_else(|| format!("All tools of {server} are"), |tool| format!("{server}'s {tool} is"));
        Ok(Answer::Done(format!("{what} approved as currently described.")))
    }

    fn decide_on_file(&mut self, digest: Hash, yes: bool) -> Result<Answer, Failure> {
        self.set_servers();
        if self.tools.servers.named.file.as_ref().is_none_or(|file| file.digest != digest) {
            return Err(Failure::new(FailureKind::Stale, "The file was changed in the meantime; read it again."));
        }
        self.keep(self.setup.file_key(), &FolderAnswer { digest, yes });
        self.set_servers();
        Ok(Answer::Done(if yes {
            "The folder's servers are starting; pleach asks again when the file changes.".into()
        } else {
            "The folder's servers are not used.".into()
        }))
    }

    /// Returns the runner for the tools of a branch; `None` without trust or tools.
    pub(crate) fn runner(&self, branch: BranchId) -> Option<Arc<Runner>> {
        let tools = self.setup.settings.tools.clone().filter(|_| self.tools.trusted)?;
        let keep = tools.keeps();
        let own = self.with_code(branch, Some(tools))?;
        let off = self.sessions.branch(branch).map(|branch| branch.overrides.tools_off).unwrap_or_default();
        let (foreign, offered) = (self.setup.foreign.clone(), self.learned.offered.clone());
        Some(Arc::new(Runner { own, foreign, offered, off, limit: self.setup.settings.output_limit, keep }))
    }
}

pub(crate) fn file_decision(setup: &Setup, store: &Store, digest: Hash) -> FileDecision {
    match stored_value(store, &setup.file_key()).filter(|decision: &FolderAnswer| decision.digest == digest) {
        None => FileDecision::Waits,
        Some(decision) if decision.yes => FileDecision::Yes,
        Some(_) => FileDecision::No,
    }
}

fn approvals_key(spec: &ServerSpec) -> String {
    format!("mcp.tools.{}", spec.identity())
}

impl Setup {
    fn settled(&self) -> bool {
        self.foreign.servers().iter().all(|server| server.state.settled())
    }

    fn file_key(&self) -> String {
        format!("mcp.file.{}", Hash::of(self.workspace.as_bytes()))
    }

    fn known(&self, name: &str) -> Result<Server, Failure> {
        let servers = self.foreign.servers();
        let names: Vec<&str> = servers.iter().map(|server| server.spec.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let found = servers.iter().find(|server| server.spec.name == name).cloned();
        found.ok_or_else(|| Failure::user(format!("There is no server {name:?}. Known servers: {names}.")))
    }
}

fn approve(tool: &ServerTool) -> (String, Approved) {
    (tool.name.clone(), Approved { digest: tool.digest(), description: tool.description.clone() })
}

/// Returns the alarm about tools of a server that differ from the approved ones.
fn otherwise(server: &str, news: &[&ServerTool], approved: &BTreeMap<String, Approved>) -> String {
    let names = |changed: bool| -> Vec<&str> {
        let of = |tool: &&&ServerTool| approved.contains_key(&tool.name) == changed;
        news.iter().filter(of).map(|tool| tool.name.as_str()).take(5).collect()
    };
    let (changed, fresh) = (names(true), names(false));
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(format!("describes {} differently than when you approved it", changed.join(", ")));
    }
    if !fresh.is_empty() {
        parts.push(format!("offers {}, which you have not approved", fresh.join(", ")));
    }
    format!(
        "The server {server} {}. New or changed tools are offered only after you approve them in /mcp.",
        parts.join(" and ")
    )
}
