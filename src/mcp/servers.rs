//! All servers with their states, and the runtime in which they run. The runtime starts with the first server.
//! Not for: the life cycle of one server (`server_process`), or a call (`call`).

use super::call::{self, Listeners};
use super::child::ServerOutput;
use super::result_text;
use super::server_process::{self, ProcessGeneration};
use crate::domain::tool::{Server, ServerSpec, ServerState, ServerTransport, ToolObserver, ToolOutput, ToolServers};
use rmcp::service::{Peer, RoleClient};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long all servers together may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// A server and the task that runs it.
pub(super) struct Entry {
    pub(super) server: Server,
    pub(super) peer: Option<Peer<RoleClient>>,
    pub(super) server_output: Arc<ServerOutput>,
    pub(super) listeners: Arc<Listeners>,
    generation: u64,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// The state that the pool shares with the servers' tasks.
#[derive(Default)]
pub(super) struct Shared {
    entries: Mutex<Vec<Entry>>,
    changed: OnceLock<Box<dyn Fn() + Send + Sync>>,
    generations: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the entry of a server and reports the change. Does nothing for an earlier run of the server.
    pub(super) fn update(&self, who: &ProcessGeneration, change: impl FnOnce(&mut Entry)) {
        let found = {
            let mut entries = self.lock();
            let entry = entries
                .iter_mut()
                .find(|entry| entry.server.spec.name == who.name && entry.generation == who.generation);
            entry.map(change).is_some()
        };
        if found {
            self.notify();
        }
    }

    fn notify(&self) {
        if let Some(changed) = self.changed.get() {
            changed();
        }
    }
}

/// The pool of all servers.
#[derive(Default)]
pub(super) struct ServerPool {
    shared: Arc<Shared>,
    runtime: Mutex<Option<Runtime>>,
    /// The tasks of servers that are ending.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

impl ServerPool {
    /// Starts a server if it can be started, and returns its entry.
    fn begin(&self, spec: &ServerSpec) -> Entry {
        let generation = self.shared.generations.fetch_add(1, Ordering::Relaxed);
        let (stop, stopped) = watch::channel(false);
        let state = match &spec.way {
            _ if spec.disabled => ServerState::Off { why: "it is disabled in its settings".into() },
            Err(why) => ServerState::Failed { why: why.clone(), todo: "Correct the server's entry.".into() },
            Ok(_) => ServerState::Starting,
        };
        let server_output = Arc::new(ServerOutput::new(secrets(spec)));
        let listeners = Arc::new(Listeners::default());
        let mut entry = Entry {
            server: Server::new(spec.clone(), state),
            peer: None,
            server_output: server_output.clone(),
            listeners: listeners.clone(),
            generation,
            stop,
            task: None,
        };
        if entry.server.state == ServerState::Starting {
            let who = ProcessGeneration { name: spec.name.clone(), generation };
            let work = server_process::run(self.shared.clone(), who, spec.clone(), server_output, listeners, stopped);
            match self.spawn(work) {
                Ok(task) => entry.task = Some(task),
                Err(why) => entry.server.state = ServerState::Failed { why, todo: "Restart pleach.".into() },
            }
        }
        entry
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>, String> {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if runtime.is_none() {
            let built = Builder::new_multi_thread().worker_threads(1).thread_name("pleach-mcp").enable_all().build();
            *runtime = Some(built.map_err(|error| format!("its thread can't be started: {error}"))?);
        }
        runtime.as_ref().map(|runtime| runtime.spawn(work)).ok_or_else(String::new)
    }

    /// Ends a server in the background.
    fn end(&self, entry: Entry) {
        let _ = entry.stop.send(true);
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        ending.retain(|task| !task.is_finished());
        ending.extend(entry.task);
    }
}

/// Returns the values that were given to a server and must never be shown, longest first.
fn secrets(spec: &ServerSpec) -> Vec<String> {
    let given = match &spec.way {
        Ok(ServerTransport::Program { env, .. }) => env,
        Ok(ServerTransport::Address { headers, .. }) => headers,
        Err(_) => return Vec::new(),
    };
    let mut all: Vec<String> = Vec::new();
    for (_, value) in given {
        // This includes the key in `Bearer KEY`.
        all.extend(std::iter::once(value.reveal()).chain(value.reveal().split_whitespace()).map(str::to_owned));
    }
    all.retain(|secret| secret.len() >= 6);
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    all
}

impl ToolServers for ServerPool {
    fn tell(&self, changed: Box<dyn Fn() + Send + Sync>) {
        let _ = self.shared.changed.set(changed);
    }

    fn set(&self, servers: &[ServerSpec]) {
        // A new task cannot report before its entry exists, because it waits for the lock.
        let mut entries = self.shared.lock();
        let mut old = std::mem::take(&mut *entries);
        for spec in servers {
            let same = old.iter().position(|entry| entry.server.spec == *spec);
            entries.push(same.map_or_else(|| self.begin(spec), |at| old.remove(at)));
        }
        drop(entries);
        for entry in old {
            self.end(entry);
        }
        self.shared.notify();
    }

    fn restart(&self, name: &str) {
        let mut entries = self.shared.lock();
        let place = entries.iter_mut().find(|entry| entry.server.spec.name == name);
        let old = place.map(|entry| {
            let fresh = self.begin(&entry.server.spec);
            std::mem::replace(entry, fresh)
        });
        drop(entries);
        if let Some(old) = old {
            self.end(old);
        }
        self.shared.notify();
    }

    fn servers(&self) -> Vec<Server> {
        let entries = self.shared.lock();
        let view = |entry: &Entry| {
            let (tail, strays) = entry.server_output.tail_text();
            Server { tail, strays, ..entry.server.clone() }
        };
        entries.iter().map(view).collect()
    }

    fn call(&self, server: &str, tool: &str, args: &str, limit: usize, watch: &dyn ToolObserver) -> ToolOutput {
        let found = {
            let entries = self.shared.lock();
            let entry = entries.iter().find(|entry| entry.server.spec.name == server);
            entry.map(|entry| {
                let about = (entry.server.state.clone(), entry.server.spec.seconds, entry.generation);
                (entry.peer.clone(), entry.listeners.clone(), entry.server_output.clone(), about)
            })
        };
        let Some((peer, listeners, server_output, (state, seconds, generation))) = found else {
            return result_text::failed(&format!("There is no server {server:?}."));
        };
        let Some(peer) = peer else {
            let why = match state {
                ServerState::Failed { why, .. } | ServerState::Off { why } => why,
                _ => "it is still starting".to_owned(),
            };
            return result_text::failed(&format!("The server {server} can't be called: {why}."));
        };
        let call = call::Call { peer, listeners, seconds, limit };
        let (work, waiting) = match call.begin(tool, args) {
            Ok(begun) => begun,
            Err(output) => return output,
        };
        if let Err(why) = self.spawn(work) {
            return result_text::failed(&why);
        }
        let (output, gone) = waiting.wait(watch);
        if let Some(why) = gone {
            let who = ProcessGeneration { name: server.to_owned(), generation };
            self.shared.update(&who, |entry| server_process::mark_gone(entry, server_output.scrubbed(&why)));
        }
        ToolOutput { body: server_output.scrubbed(&output.body), ..output }
    }

    fn close(&self) {
        let entries = std::mem::take(&mut *self.shared.lock());
        for entry in entries {
            self.end(entry);
        }
        let ending = std::mem::take(&mut *self.ending.lock().unwrap_or_else(PoisonError::into_inner));
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.block_on(async {
                let all = async {
                    for task in ending {
                        let _ = task.await;
                    }
                };
                let _ = tokio::time::timeout(END_TIMEOUT, all).await;
            });
            runtime.shutdown_background();
        }
    }
}

impl Drop for ServerPool {
    fn drop(&mut self) {
        self.close();
    }
}
