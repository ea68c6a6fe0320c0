//! A test bench for the engine: a real engine on a store in a temporary folder, models from scripts or a loopback
//! server, and a client that keeps every event.
//! Not for: assertions, which belong to the tests.

use crate::support::server::Server;
use pleach::domain::base::{BranchId, Failure, Hash, NodeId, RunId, SessionId};
use pleach::domain::call::tokens::approximate;
use pleach::domain::call::{
    CallEnd, CountTokens, Delta, Diagnostic, Encoding, ModelInfo, Outcome, Profile, Provider, ProviderError,
    ProviderErrorKind, Quirk, RunCard, Supports, Usage, Wire,
};
use pleach::domain::code::CodeSettings;
use pleach::domain::conversation::Role;
use pleach::domain::planning::{ContextPlan, PolicySpec};
use pleach::domain::tool::{RunTools, ToolOutput, ToolSpec, ToolStatus, ToolTrace};
use pleach::engine::api::{
    Answer, CallAnswer, CallRequest, Draft, DraftKind, Event, Events, PlanAnswer, PlanRequest, Planned, Request,
    RequestSender, SessionAnswer, SessionRequest, SessionView, Ticket, TurnEvent, TurnRequest,
};
use pleach::engine::startup::setup::{ProjectSetup, Prompts, ReloadableSettings, Servers, Setup};
use pleach::engine::{Engine, EngineSender};
use pleach::llm::openai::{OpenAi, Timing};
use pleach::store::{OpenOptions, Store};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A timeout for a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Settings without code in requests.
const OFF: CodeSettings = CodeSettings { enabled: false, map_tokens: 0, anchors: 0, share: 0, tools: false };

/// A step of a scripted model's answer.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Text.
    Text(String),
    /// Thinking.
    Thought(String),
    /// A tool call: name and arguments.
    Call(String, String),
    /// Waits until released or stopped.
    Hold,
    /// A part that could not be used as received.
    Odd(String),
    /// Announces another attempt.
    Retry,
    /// Fails.
    Fail(ProviderErrorKind),
    /// Ends without a finish reason.
    Cut,
}

/// A text and a proper end.
pub(crate) fn text(words: &str) -> Vec<Say> {
    vec![Say::Text(words.into())]
}

/// An in-memory model: the nth call is answered by the nth script, and further ones by an echo of their number.
#[derive(Default)]
pub(crate) struct Model {
    scripts: Mutex<VecDeque<Vec<Say>>>,
    bodies: Mutex<Vec<Vec<u8>>>,
    gate: (Mutex<u32>, Condvar),
    canceled: (Mutex<u32>, Condvar),
}

impl Model {
    /// A model with these answers.
    pub(crate) fn new(scripts: impl IntoIterator<Item = Vec<Say>>) -> Arc<Self> {
        Arc::new(Self { scripts: Mutex::new(scripts.into_iter().collect()), ..Self::default() })
    }

    /// Adds an answer.
    pub(crate) fn then(&self, script: Vec<Say>) {
        self.scripts.lock().unwrap().push_back(script);
    }

    /// All posted bodies.
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.bodies.lock().unwrap().clone()
    }

    /// Releases one `Hold`.
    pub(crate) fn release(&self) {
        *self.gate.0.lock().unwrap() += 1;
        self.gate.1.notify_all();
    }

    /// Waits until a call was canceled.
    pub(crate) fn wait_until_canceled(&self) {
        let count = self.canceled.0.lock().unwrap();
        let (count, _) = self.canceled.1.wait_timeout_while(count, PATIENCE, |count| *count == 0).unwrap();
        assert!(*count > 0, "no call was canceled");
    }

    fn hold(&self, sink: &mut dyn FnMut(Delta) -> bool) -> bool {
        loop {
            let open = self.gate.0.lock().unwrap();
            let (mut open, _) = self.gate.1.wait_timeout_while(open, Duration::from_millis(10), |n| *n == 0).unwrap();
            if *open > 0 {
                *open -= 1;
                return true;
            }
            drop(open);
            if !sink(Delta::Tick) {
                return false;
            }
        }
    }
}

impl Provider for Model {
    fn post(&self, _: RunId, wire: &Wire, sink: &mut dyn FnMut(Delta) -> bool) -> Outcome {
        let number = {
            let mut bodies = self.bodies.lock().unwrap();
            bodies.push(wire.bytes.to_vec());
            bodies.len()
        };
        let script = self.scripts.lock().unwrap().pop_front().unwrap_or_else(|| text(&format!("answer {number}")));
        let mut end = complete();
        for (index, step) in (0_u32..).zip(script) {
            let on = match step {
                Say::Text(words) => sink(Delta::Text(words)),
                Say::Thought(words) => sink(Delta::Reasoning(words)),
                Say::Call(name, args) => {
                    let id = Some(format!("c{number}-{index}"));
                    sink(Delta::Call { index, id, name: Some(name), args })
                }
                Say::Hold => self.hold(sink),
                Say::Odd(what) => sink(Delta::Diagnostic(Diagnostic { what, raw: String::new() })),
                Say::Retry => {
                    end.attempts += 1;
                    sink(Delta::Retry { attempt: end.attempts, wait_ms: 5, why: "too many requests".into() })
                }
                Say::Cut => return Outcome { end: CallEnd::Truncated, finish_reason: None, ..end },
                Say::Fail(kind) => {
                    let (what, hint) = ("The server said no.".into(), "Try again.".into());
                    let error = Some(ProviderError { kind, what, hint, status: Some(400) });
                    return Outcome { end: CallEnd::Errored, finish_reason: None, error, ..end };
                }
            };
            if !on {
                *self.canceled.0.lock().unwrap() += 1;
                self.canceled.1.notify_all();
                return Outcome { end: CallEnd::Cancelled, finish_reason: None, ..end };
            }
        }
        end
    }
}

/// The outcome of a call that ended normally.
pub(crate) fn complete() -> Outcome {
    Outcome {
        end: CallEnd::Complete,
        any: false,
        finish_reason: Some("stop".into()),
        usage: Usage::default(),
        error: None,
        attempts: 1,
        ttft_ms: Some(1),
        total_ms: 2,
    }
}

/// Where the models of the bench's profiles are.
pub(crate) enum Backend {
    /// In memory.
    Memory(Arc<Model>),
    /// Behind a loopback server, through the real client.
    Http,
}

impl Servers for Backend {
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        match self {
            Self::Memory(model) => Ok(model.clone()),
            Self::Http => {
                let timing = Timing {
                    after_finish: Duration::from_millis(20),
                    backoff: Duration::from_millis(2),
                    ..Timing::default()
                };
                let made = OpenAi::new(profile, None).map_err(|error| Failure::user(error.to_string()))?;
                Ok(Arc::new(made.with_timing(timing)))
            }
        }
    }

    fn ready(&self, _: &Profile) -> Result<(), Failure> {
        Ok(())
    }

    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        Ok(vec![ModelInfo { source: "server".into(), context_window: 9_999, ..model_of(&profile.model) }])
    }

    fn probe(&self, _: &Profile) -> Result<usize, ProviderError> {
        Ok(1)
    }
}

/// A model with a window of 6,000 tokens, counted approximately.
pub(crate) fn model_of(name: &str) -> ModelInfo {
    ModelInfo {
        name: name.into(),
        context_window: 6_000,
        input_limit: None,
        max_output: None,
        encoding: Encoding::Approximate,
        exact_encoding: false,
        price: None,
        source: "table".into(),
        supports: Supports::default(),
    }
}

/// Counts a token for every four characters: fast, and the same on every machine.
pub(crate) struct Quarter;

impl CountTokens for Quarter {
    fn count(&self, _: Encoding, text: &str) -> u32 {
        approximate(text)
    }
}

/// A tool that returns as much text as requested.
pub(crate) struct Echo;

impl RunTools for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = serde_json::json!({"type": "object", "properties": {"size": {"type": "integer"}}});
        vec![ToolSpec { name: "echo".into(), description: "Gives text.".into(), parameters }]
    }

    fn run(&self, _: &str, args: &str, _: &dyn Fn() -> bool) -> ToolOutput {
        let size = serde_json::from_str::<serde_json::Value>(args).ok().and_then(|v| v["size"].as_u64()).unwrap_or(5);
        let line = "a line that a tool gave\n";
        let body = line.repeat(usize::try_from(size).unwrap() / line.len() + 1);
        ToolOutput { status: ToolStatus::Ok, full_bytes: body.len() as u64, body }
    }
}

/// What the engines of a bench share.
#[derive(Clone)]
pub(crate) struct Bench {
    folder: Arc<tempfile::TempDir>,
    pub(crate) back: Arc<dyn Servers>,
    pub(crate) url: String,
    pub(crate) tools: Option<Arc<dyn RunTools>>,
    pub(crate) rounds: u32,
    pub(crate) trusted: bool,
    pub(crate) code: CodeSettings,
    pub(crate) workspace: PathBuf,
    clock: Arc<AtomicI64>,
}

impl Bench {
    /// A bench with an in-memory model.
    pub(crate) fn new(model: &Arc<Model>) -> Self {
        Self::over(Arc::new(Backend::Memory(model.clone())), String::new())
    }

    /// A bench with a model behind a server.
    pub(crate) fn http(server: &Server) -> Self {
        pleach::llm::init();
        Self::over(Arc::new(Backend::Http), server.base_url())
    }

    fn over(back: Arc<dyn Servers>, url: String) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let workspace = folder.path().join("work");
        std::fs::create_dir_all(&workspace).unwrap();
        let clock = Arc::new(AtomicI64::new(1_790_000_000_000));
        Self { folder, back, url, tools: None, rounds: 4, trusted: true, code: OFF, workspace, clock }
    }

    /// The store's file.
    pub(crate) fn store_path(&self) -> PathBuf {
        self.folder.path().join("store").join("pleach.db")
    }

    /// Opens the store in addition to the engines.
    pub(crate) fn store(&self) -> Store {
        Store::open(&OpenOptions { path: self.store_path(), read_only: false }).unwrap().store
    }

    /// Starts an engine on the store.
    pub(crate) fn start(&self) -> Client {
        self.start_with(|_| {})
    }

    /// Starts an engine with a changed setup.
    pub(crate) fn start_with(&self, change: impl FnOnce(&mut Setup)) -> Client {
        let store = self.store();
        let mut setup = setup(self, store);
        change(&mut setup);
        let (engine, events) = Engine::start(setup).expect("the engine starts");
        Client {
            sender: engine.sender(),
            engine: Some(engine),
            events,
            next: 0,
            seen: Vec::new(),
            _folder: self.folder.clone(),
        }
    }
}

fn setup(bench: &Bench, store: Store) -> Setup {
    let profile = |name: &str| Profile {
        name: name.into(),
        base_url: bench.url.clone(),
        model: format!("{name}-model"),
        max_output: 200,
        attempts: 2,
        ..Profile::default()
    };
    let profiles: BTreeMap<String, Profile> = ["one", "two"].map(|name| (name.to_owned(), profile(name))).into();
    let layered = PolicySpec { name: "layered".into(), ..PolicySpec::default() };
    let window = PolicySpec { name: "window".into(), anchored: false, shorten_tools: false, ..PolicySpec::default() };
    let prompts = Prompts {
        system: "You help.".into(),
        guidelines: "Read the history.".into(),
        state_request: "End with a ---STATE--- block.".into(),
        go_on: "Go on where you stopped.".into(),
        personality: "Be brief.".into(),
    };
    let clock = bench.clock.clone();
    let settings = ReloadableSettings {
        profiles,
        profile: "one".into(),
        model: None,
        policies: [("layered".to_owned(), layered), ("window".to_owned(), window)].into(),
        defaults: pleach::domain::conversation::branch::Overrides::default(),
        state_block: None,
        prompts: Arc::new(prompts),
        tools: bench.tools.clone(),
        named: None,
        output_limit: 100_000,
        code: bench.code,
        tool_rules: Vec::new(),
        rounds: bench.rounds,
        race: pleach::domain::call::race::Limits::default(),
        titles: pleach::config::settings::Titles::default(),
        project: ProjectSetup { rules: true, skills: true, limit: 32_768, ..ProjectSetup::default() },
        trusted: bench.trusted,
        models: Arc::new(|name, _| model_of(name)),
    };
    Setup {
        store,
        notices: Vec::new(),
        settings,
        policies_dir: Some(bench.folder.path().join("policies")),
        call: pleach::domain::conversation::branch::Overrides::default(),
        foreign: pleach::mcp::servers(),
        workspace: bench.workspace.display().to_string(),
        save_trust: Arc::new(|_| Ok(())),
        folder: None,
        servers: bench.back.clone(),
        counter: Arc::new(Quarter),
        embedder: None,
        code: None,
        patient: false,
        reading: None,
        temporary: None,
        backups: 3,
        read_again: None,
        now: Arc::new(move || clock.fetch_add(1_000, Ordering::Relaxed)),
    }
}

/// The end of a turn.
#[derive(Debug)]
pub(crate) struct AnswerEnd {
    pub(crate) draft: Option<Draft>,
    pub(crate) failure: Option<Failure>,
}

/// A client of an engine, with all events so far.
pub(crate) struct Client {
    engine: Option<Engine>,
    sender: EngineSender,
    events: Events,
    next: u64,
    pub(crate) seen: Vec<Event>,
    /// Keeps the store's folder while a client uses it.
    _folder: Arc<tempfile::TempDir>,
}

impl Client {
    /// Sends a request without waiting.
    pub(crate) fn post(&mut self, request: Request) -> Ticket {
        self.next += 1;
        self.sender.send(Ticket(self.next), request);
        Ticket(self.next)
    }

    /// Sends a request with a given ticket.
    pub(crate) fn send_as(&self, ticket: Ticket, request: Request) {
        self.sender.send(ticket, request);
    }

    /// The next event within a time limit, which is not added to `seen`.
    pub(crate) fn next_event(&self, patience: Duration) -> Option<Event> {
        self.events.recv_timeout(patience).ok()
    }

    /// Waits for an event and returns its index in `seen`, starting at `from`.
    pub(crate) fn wait(&mut self, from: usize, wanted: impl Fn(&Event) -> bool) -> usize {
        let until = Instant::now() + PATIENCE;
        let mut at = from;
        loop {
            while at < self.seen.len() {
                if wanted(&self.seen[at]) {
                    return at;
                }
                at += 1;
            }
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).unwrap_or_else(|_| panic!("no such event: {:#?}", self.tail()));
            self.seen.push(event);
        }
    }

    fn tail(&self) -> Vec<String> {
        self.seen.iter().rev().take(8).map(|event| format!("{event:?}").chars().take(300).collect()).collect()
    }

    /// The answer to a ticket.
    pub(crate) fn answer(&mut self, ticket: Ticket) -> Result<Answer, Failure> {
        let at = self.wait(0, |event| matches!(event, Event::Answer { ticket: t, .. } if *t == ticket));
        match &self.seen[at] {
            Event::Answer { result, .. } => result.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        let ticket = self.post(request);
        self.answer(ticket)
    }

    /// Sends a request that must succeed.
    pub(crate) fn must(&mut self, request: Request) -> Answer {
        let shown = format!("{request:?}");
        self.ask(request).unwrap_or_else(|failure| panic!("{shown}: {failure}"))
    }

    /// Creates a session and returns its only branch.
    pub(crate) fn session(&mut self) -> BranchId {
        match self.must(Request::Session(SessionRequest::New { title: "test".into() })) {
            Answer::Session(SessionAnswer::Opened(view)) => view.current,
            other => panic!("{other:?}"),
        }
    }

    /// Opens the last session.
    pub(crate) fn open(&mut self) -> Arc<SessionView> {
        match self.must(Request::Session(SessionRequest::Open { session: None, branch: None, create: false })) {
            Answer::Session(SessionAnswer::Opened(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    /// Plans a draft.
    pub(crate) fn plan(&mut self, branch: BranchId, draft: &Draft) -> Result<Planned, Failure> {
        let generation = self.next + 1;
        match self.ask(Request::Plan(PlanRequest::Replan { branch, generation, draft: draft.clone() }))? {
            Answer::Plan(PlanAnswer::Planned(planned)) => Ok(planned),
            other => panic!("{other:?}"),
        }
    }

    /// The id and digest of a draft's plan, or `None` if it is blocked or refused.
    pub(crate) fn drawn(&mut self, branch: BranchId, draft: &Draft) -> Option<(Hash, Hash)> {
        match self.plan(branch, draft) {
            Ok(Planned::Plan { plan, request_digest, .. }) => Some((plan.id, request_digest)),
            Ok(Planned::Blocked(_)) | Err(_) => None,
        }
    }

    /// The complete plan.
    pub(crate) fn whole_plan(&mut self, branch: BranchId, draft: &Draft) -> Arc<ContextPlan> {
        match self.plan(branch, draft) {
            Ok(Planned::Plan { plan, .. }) => plan,
            other => panic!("{other:?}"),
        }
    }

    /// Sends without a displayed plan. The run is open on return.
    pub(crate) fn send(&mut self, branch: BranchId, draft: &Draft) -> Result<RunId, Failure> {
        match self.ask(Request::Turn(TurnRequest::Ask { branch, draft: draft.clone(), plan: None }))? {
            Answer::Asked { run } => Ok(run),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a branch's turn has ended, starting with the event at `from`.
    pub(crate) fn closed(&mut self, from: usize, branch: BranchId) -> AnswerEnd {
        let at =
            self.wait(from, |event| matches!(event, Event::Turn(TurnEvent::Closed { branch: b, .. }) if *b == branch));
        match &self.seen[at] {
            Event::Turn(TurnEvent::Closed { draft, failure, .. }) => {
                AnswerEnd { draft: draft.clone(), failure: failure.clone() }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Runs a whole turn.
    pub(crate) fn turn(&mut self, branch: BranchId, draft: &Draft) -> AnswerEnd {
        let from = self.seen.len();
        self.send(branch, draft).unwrap();
        self.closed(from, branch)
    }

    /// Runs a turn with a text.
    pub(crate) fn say(&mut self, branch: BranchId, words: &str) -> AnswerEnd {
        self.turn(branch, &message(words))
    }

    /// All calls of the session.
    pub(crate) fn runs(&mut self) -> Vec<RunCard> {
        match self.must(Request::Call(CallRequest::List)) {
            Answer::Call(CallAnswer::Runs(runs)) => runs,
            other => panic!("{other:?}"),
        }
    }

    /// The newest tool call of the session.
    pub(crate) fn last_trace(&mut self) -> ToolTrace {
        self.open().traces.last().cloned().unwrap()
    }

    /// The text of the newest tool result.
    pub(crate) fn last_result(&mut self) -> String {
        let nodes = self.open().nodes.clone();
        let last = nodes.iter().rev().find(|node| node.role == Role::Tool).unwrap().id;
        match self.must(Request::Session(SessionRequest::Bodies { nodes: vec![last] })) {
            Answer::Session(SessionAnswer::Bodies(bodies)) => bodies[0].content.plain_text(),
            other => panic!("{other:?}"),
        }
    }

    /// The digest of a stored call that is rendered again.
    pub(crate) fn replay(&mut self, run: &RunCard) -> Result<Hash, Failure> {
        match self.ask(Request::Call(CallRequest::ReplayDryRun { run: run.id.to_string(), without: None }))? {
            Answer::Call(CallAnswer::Replayed { request, .. }) => Ok(request.digest),
            other => panic!("{other:?}"),
        }
    }

    /// Stops the engine and waits until everything is saved.
    pub(crate) fn stop(mut self) -> Vec<Event> {
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.extend(self.events.try_iter());
        seen
    }
}

/// A new message.
pub(crate) fn message(words: &str) -> Draft {
    Draft { text: words.into(), kind: DraftKind::Message, ..Draft::default() }
}

/// A draft of another kind.
pub(crate) fn draft(words: &str, kind: DraftKind) -> Draft {
    Draft { text: words.into(), kind, ..Draft::default() }
}

/// The stored path of a branch: ids from the root down.
pub(crate) fn path(
    store: &Store,
    session: SessionId,
    branch: BranchId,
) -> Vec<pleach::domain::conversation::message::Node> {
    let heads = store.heads(session).unwrap();
    let branches = store.branches(session).unwrap();
    let mut at = branches.iter().find(|b| b.id == branch).unwrap().head;
    let mut ids: Vec<NodeId> = Vec::new();
    while let Some(id) = at {
        ids.push(id);
        at = heads.iter().find(|head| head.id == id).unwrap().parent;
    }
    ids.reverse();
    store.nodes(&ids).unwrap()
}

/// A quirk as the failure that a server reports.
pub(crate) fn quirk_failure(quirk: Quirk) -> Vec<Say> {
    vec![Say::Fail(ProviderErrorKind::Body(quirk))]
}

/// Seeds of random histories, or rounds of one: `usual` of them, or as many as `PLEACH_HISTORIES` says.
pub(crate) fn histories(usual: u64) -> std::ops::Range<u64> {
    0..std::env::var("PLEACH_HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Deterministic pseudo-random numbers from a seed.
pub(crate) struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// A random element.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Runs SQL on a store's file from outside the program.
pub(crate) fn run_sql(path: &Path, sql: &str) {
    let other = rusqlite::Connection::open(path).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    other.execute_batch(sql).unwrap();
}
