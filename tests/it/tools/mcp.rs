//! MCP servers: their tools are part of plans at the cost the plan says, their calls need approval, leave traces, and
//! can be stopped, and none of the known server faults does more than fail.

use crate::support::bench::{Bench, Client, Echo, Model, Say, message, text};
use crate::support::binary::Home;
use crate::support::mcp::{MODE, WORK, WORKS, serve, spec};
use crate::support::server::{Server as Http, json as answer};
use pleach::domain::base::{BranchId, Hash};
use pleach::domain::tool::mcp::offered_name;
use pleach::domain::tool::trace::kept_path;
use pleach::domain::tool::{
    ConfiguredServers, Consent, FileDecision, FileVisibility, FolderFile, PendingApproval, Rule, Secret, Server,
    ServerCard, ServerSpec, ServerState, ServerTransport, ToolCard, ToolEffect, ToolList, ToolObserver, ToolOutput,
    ToolServers, ToolStatus, ToolTrace, Verdict, resolution,
};
use pleach::engine::api::{
    Answer, BranchAnswer, BranchRequest, Event, ProgramEvent, Request, ServerAct, SessionRequest, ToolAnswer,
    ToolEvent, ToolRequest, TurnEvent, TurnRequest,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long to wait for a result before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// Not a test: runs this program as an MCP server when the environment says so.
#[test]
fn stub() {
    if let Ok(mode) = std::env::var(MODE) {
        serve(&mode);
    }
}

// ---- servers without the engine

/// Servers, and a notification channel for changes of their state.
struct Hub {
    servers: Arc<dyn ToolServers>,
    bell: Arc<(Mutex<u64>, Condvar)>,
}

impl Hub {
    fn start(specs: &[ServerSpec]) -> Self {
        let bell = Arc::new((Mutex::new(0), Condvar::new()));
        let rings = bell.clone();
        let servers = pleach::mcp::servers();
        servers.tell(Box::new(move || {
            *rings.0.lock().unwrap() += 1;
            rings.1.notify_all();
        }));
        servers.set(specs);
        Self { servers, bell }
    }

    /// Waits until a server satisfies the condition.
    fn wait(&self, name: &str, wanted: impl Fn(&Server) -> bool) -> Server {
        let until = Instant::now() + PATIENCE;
        let mut changed = self.bell.0.lock().unwrap();
        loop {
            let found = self.servers.servers().into_iter().find(|server| server.spec.name == name);
            if let Some(server) = found.clone().filter(|server| wanted(server)) {
                return server;
            }
            assert!(Instant::now() < until, "{found:?}");
            changed = self.bell.1.wait_timeout(changed, Duration::from_millis(50)).unwrap().0;
        }
    }

    fn ready(&self, name: &str) -> Server {
        let server = self.wait(name, |server| server.state.settled());
        assert_eq!(server.state, ServerState::Ready, "{}", server.tail);
        server
    }

    fn failed(&self, name: &str) -> (String, Server) {
        let server = self.wait(name, |server| matches!(server.state, ServerState::Failed { .. }));
        let ServerState::Failed { why, todo } = &server.state else { unreachable!() };
        assert!(!todo.is_empty());
        (why.clone(), server)
    }

    fn call(&self, tool: &str, args: &str) -> ToolOutput {
        self.servers.call("s", tool, args, 100_000, &Watcher::default())
    }
}

#[derive(Default)]
struct Watcher {
    stopped: AtomicBool,
    progress: Mutex<String>,
}

impl ToolObserver for Watcher {
    fn file_visibility(&self) -> FileVisibility {
        FileVisibility::default()
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn on_output(&self, text: &str) {
        self.progress.lock().unwrap().push_str(text);
    }
}

#[test]
fn results_are_bounded_clean_text() {
    let hub = Hub::start(&[spec("s", "plain")]);
    let server = hub.ready("s");
    let names: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, server.about.starts_with("stub 1, MCP ")), (vec!["echo", "act"], true), "{}", server.about);
    assert_eq!(server.instructions, "Always call echo first.");
    assert!(server.tail.contains("stub plain with [hidden]"), "secrets are hidden: {}", server.tail);
    assert!(server.strays > 0, "other output of the program is not a message");
    let call = |tool: &str| hub.call(tool, "{}");
    let big = call("big");
    assert_eq!((big.status, big.full_bytes), (ToolStatus::Ok, 5 << 20));
    assert!(big.body.len() < 100_200 && big.body.contains("bytes were cut here"), "{}", big.body.len());
    let strange = call("strange");
    assert_eq!(strange.body, "a]52;c;eA==bcd\n[4 invisible or control characters were removed]");
    let failed = call("fail");
    assert_eq!((failed.status, failed.body.as_str()), (ToolStatus::Failed, "There is no such city."));
    let refused = call("error");
    assert_eq!((refused.status, refused.body.contains("bad city")), (ToolStatus::Failed, true), "{refused:?}");
    let pictures = call("pictures").body;
    assert!(
        pictures.starts_with(
            "[an image, image/png, about 300 bytes: not passed on]\n[the resource file:///notes]\nthe notes"
        )
    );
    assert!(call("structured").body.contains("\"degrees\": 7"));
    assert_eq!(call("secret").body, "the token is [hidden]");
    assert_eq!(hub.call("echo", "[1]").status, ToolStatus::Failed, "arguments that are no object");
    assert!(hub.call("echo", r#"{"text":"hi"}"#).body == "hi");
}

#[test]
fn progress_stop_and_timeout_are_handled() {
    let quick = ServerSpec { seconds: 1, ..spec("quick", "plain") };
    let hub = Hub::start(&[spec("s", "plain"), quick]);
    hub.ready("s");
    hub.ready("quick");
    let watch = Watcher::default();
    let output = hub.servers.call("s", "steps", "{}", 1_000, &watch);
    assert_eq!(
        (output.body.as_str(), watch.progress.lock().unwrap().as_str()),
        ("done", "1 of 3: at it\n2 of 3: at it\n3 of 3: at it\n")
    );
    watch.stopped.store(true, Ordering::Relaxed);
    let output = hub.servers.call("s", "never", "{}", 1_000, &watch);
    assert_eq!(output.status, ToolStatus::Cancelled, "{output:?}");
    hub.wait("s", |server| server.tail.contains("cancelled: \"the user stopped it\""));
    let output = hub.servers.call("quick", "never", "{}", 1_000, &Watcher::default());
    assert!(output.body.contains("did not answer within 1 s"), "{output:?}");
    hub.wait("quick", |server| server.tail.contains("cancelled: "));
    assert_eq!(hub.call("echo", r#"{"text":"still running"}"#).body, "still running");
}

#[test]
fn floods_and_stray_lines_hide_no_answer() {
    let hub = Hub::start(&[spec("s", "plain")]);
    hub.ready("s");
    assert_eq!(hub.call("flood", "{}").body, "after the flood");
    let server = hub.ready("s");
    assert!(server.strays >= 300 && server.tail.len() <= 9_000, "{} {}", server.strays, server.tail.len());
    assert!(server.tail.contains("line 29999"), "the end is kept: {}", server.tail);
}

#[test]
fn server_requests_get_an_error() {
    let hub = Hub::start(&[spec("s", "old")]);
    let server = hub.ready("s");
    assert!(server.about.ends_with("MCP 2024-11-05"), "an older protocol version is accepted: {}", server.about);
    let body = hub.call("ask", "{}").body;
    let wanted = "elicitation/create: -32601\nno/such/thing: -32601\nping: done\nroots/list: -32601\n\
                  sampling/createMessage: -32601";
    assert_eq!(body, wanted);
    let tail = hub.ready("s").tail;
    assert!(tail.contains("[it asked for model answers (sampling); the request was denied]"), "{tail}");
}

#[test]
fn invalid_tools_in_a_list_are_skipped() {
    let hub = Hub::start(&[spec("s", "odd")]);
    let server = hub.ready("s");
    let names: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
    let long = "n".repeat(120);
    assert_eq!(names, ["echo", "bare", "odd näme/of it", long.as_str(), "wide"]);
    assert_eq!(
        server.notes,
        [
            "Its list of tools repeats; the rest is skipped.",
            "A tool is skipped: not described as the protocol requires.",
            "A tool is skipped: another tool has the same name.",
            "A tool is skipped: its name is missing or too long.",
        ]
    );
    assert_eq!(server.tools[0].description, "Echoes.", "the first tool of a name is kept");
    let wide = &server.tools[4];
    assert!(wide.description.contains("too large for every request"), "{}", wide.description);
    assert!(wide.parameters.to_string().len() < 25_000);
}

#[test]
fn unusable_servers_report_the_reason() {
    let silent = ServerSpec { start_seconds: 1, ..spec("silent", "silent") };
    let gone = ServerTransport::Program {
        command: Secret::new("/no/such/program"),
        args: vec![],
        env: vec![],
        folder: "/".into(),
    };
    let gone = ServerSpec { way: Ok(gone), shown: "/no/such/program -x".into(), ..spec("gone", "") };
    let unset = ServerSpec { way: Err("the variable KEY is not set".into()), ..spec("unset", "") };
    let off = ServerSpec { disabled: true, ..spec("off", "plain") };
    let hub = Hub::start(&[silent, gone, unset, off, spec("crash", "crash")]);
    assert_eq!(hub.failed("silent").0, "it did not answer within 1 s");
    assert_eq!(hub.failed("gone").0, "the program /no/such/program was not found");
    assert_eq!(hub.failed("unset").0, "the variable KEY is not set");
    assert_eq!(hub.failed("crash").0, "it exited with code 3: no such port");
    let off = hub.wait("off", |_| true);
    assert!(matches!(off.state, ServerState::Off { .. }) && off.tail.is_empty(), "it was not started");
    let output = hub.servers.call("crash", "echo", "{}", 100, &Watcher::default());
    assert!(output.body.contains("can't be called: it exited with code 3"), "{output:?}");
}

#[test]
fn server_that_dies_in_a_call_is_restarted() {
    let hub = Hub::start(&[spec("s", "plain")]);
    hub.ready("s");
    let output = hub.call("die", "{}");
    assert_eq!(output.status, ToolStatus::Failed);
    let (why, server) = hub.failed("s");
    assert_eq!(why, "it exited with code 9: out of memory");
    assert!(server.tools.is_empty(), "its tools are not to be had any more");
    hub.servers.restart("s");
    hub.ready("s");
    assert_eq!(hub.call("echo", r#"{"text":"again"}"#).body, "again");
}

/// Whether a process exists and is not a zombie.
#[cfg(target_os = "linux")]
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[test]
fn stopping_a_server_stops_its_children() {
    let hub = Hub::start(&[spec("s", "plain"), spec("other", "plain")]);
    hub.ready("s");
    let pids = hub.call("child", "{}").body;
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
    hub.servers.set(&[spec("other", "plain")]);
    let until = Instant::now() + PATIENCE;
    while pids.iter().any(|pid| is_running(pid)) {
        assert!(Instant::now() < until, "{pids:?} are still there");
        std::thread::yield_now();
    }
    hub.ready("other");
    let pids = hub.servers.call("other", "child", "{}", 100, &Watcher::default()).body;
    hub.servers.close();
    for pid in pids.split(' ') {
        let until = Instant::now() + PATIENCE;
        while is_running(pid) {
            assert!(Instant::now() < until, "{pid} is still there");
            std::thread::yield_now();
        }
    }
}

/// An MCP server over HTTP with one tool, which requires a key.
fn http_server() -> Http {
    Http::answering(|request| {
        let empty = |status: u16| answer(status, &[("content-length", "0")], "");
        if request.method != "POST" {
            return empty(405);
        }
        if request.header("authorization") != Some("Bearer s3cretvalue") {
            return answer(401, &[], "{\"error\":\"who are you\"}");
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let result = match body["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": body["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "2"}}),
            "tools/list" => json!({"tools": [{"name": "time", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "noon"}]}),
            _ => return empty(202),
        };
        answer(200, &[], &json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string())
    })
}

fn http_spec(url: &str, key: &str) -> ServerSpec {
    let headers = vec![("Authorization".to_owned(), Secret::new(format!("Bearer {key}")))];
    ServerSpec { way: Ok(ServerTransport::Address { url: Secret::new(url), headers }), ..spec("s", "") }
}

#[test]
fn http_server_receives_its_key() {
    let http = http_server();
    let url = http.base_url();
    let hub = Hub::start(&[http_spec(&url, "s3cretvalue")]);
    let server = hub.ready("s");
    assert!(server.about.starts_with("far 2, MCP "), "{}", server.about);
    assert_eq!(hub.call("time", "{}").body, "noon");
    let hub = Hub::start(&[http_spec(&url, "wrong-key")]);
    let (why, server) = hub.failed("s");
    let ServerState::Failed { todo, .. } = &server.state else { unreachable!() };
    assert!(!why.contains("wrong-key") && todo.contains("Authorization"), "{why} {todo}");
    let hub = Hub::start(&[http_spec("http://127.0.0.1:1/mcp", "s3cretvalue")]);
    assert!(!hub.failed("s").0.is_empty());
}

// ---- with the engine

/// An engine with servers.
struct Setup {
    client: Client,
    branch: BranchId,
    model: Arc<Model>,
    bench: Bench,
    named: Arc<Mutex<ConfiguredServers>>,
}

fn setup(servers: Vec<ServerSpec>, answers: Vec<Vec<Say>>, rules: Vec<Rule>) -> Setup {
    let model = Model::new(answers);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    bench.rounds = 8;
    let named = Arc::new(Mutex::new(ConfiguredServers { servers, file: None }));
    let (client, branch) = open(&bench, &named, rules, true);
    Setup { client, branch, model, bench, named }
}

fn open(bench: &Bench, named: &Arc<Mutex<ConfiguredServers>>, rules: Vec<Rule>, fresh: bool) -> (Client, BranchId) {
    let named = named.clone();
    let mut client = bench.start_with(|setup| {
        setup.settings.tool_rules = rules;
        setup.settings.named = Some(Arc::new(move || named.lock().unwrap().clone()));
    });
    let branch = if fresh { client.session() } else { client.open().current };
    (client, branch)
}

impl Setup {
    fn tool_list(&mut self, act: ServerAct) -> ToolList {
        match self.client.must(Request::Tool(ToolRequest::Servers(Some(self.branch), act))) {
            Answer::Tool(ToolAnswer::ToolList(all)) => *all,
            other => panic!("{other:?}"),
        }
    }

    fn card(&mut self, name: &str) -> ServerCard {
        let all = self.tool_list(ServerAct::Settle);
        all.servers.into_iter().find(|server| server.name == name).unwrap()
    }

    fn done(&mut self, act: ServerAct) -> String {
        match self.client.must(Request::Tool(ToolRequest::Servers(Some(self.branch), act))) {
            Answer::Done(sentence) => sentence,
            other => panic!("{other:?}"),
        }
    }

    /// The tokens of tools in the next plan.
    fn cost(&mut self) -> u32 {
        self.client.whole_plan(self.branch, &message("Hello")).tools
    }

    /// Sends a message, approves every call, and returns the last request for approval.
    fn turn(&mut self, words: &str, consent: &Consent) -> Option<Arc<PendingApproval>> {
        let from = self.client.seen.len();
        self.client.send(self.branch, &message(words)).unwrap();
        let branch = self.branch;
        let ends = |event: &Event| {
            matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. }))
                || matches!(event, Event::Turn(TurnEvent::Closed { branch: b, .. }) if *b == branch)
        };
        let at = self.client.wait(from, ends);
        let Event::Tool(ToolEvent::Approval { pending: Some(asking), .. }) = self.client.seen[at].clone() else {
            return None;
        };
        let request =
            Request::Turn(TurnRequest::Consent { branch, index: asking.index, consent: consent.clone(), always: None });
        self.client.must(request);
        self.client.closed(at, branch);
        Some(asking)
    }

    /// The names of the tools in the last posted body.
    fn posted(&self) -> Vec<String> {
        let body: Value = serde_json::from_slice(self.model.bodies().last().unwrap()).unwrap();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn call(tool: &str, args: &Value) -> Vec<Say> {
    vec![Say::Call(tool.into(), args.to_string())]
}

fn yes() -> Consent {
    Consent::Yes { hunks: Vec::new() }
}

fn rule(tool: &str, verdict: Verdict) -> Rule {
    Rule { tool: tool.into(), on: None, verdict }
}

#[test]
fn server_tool_is_planned_approved_and_called() {
    let answers = vec![call("mcp__s__echo", &json!({"text": "hi there"})), text("Done.")];
    let mut setup = setup(vec![spec("s", "plain")], answers, Vec::new());
    setup.tool_list(ServerAct::List);
    let card = setup.card("s");
    assert_eq!((card.state.clone(), card.tools.len()), (ServerState::Ready, 2));
    assert!(card.tools.iter().all(ToolCard::is_sent), "even if it was shown before approval");
    let all = setup.tool_list(ServerAct::List);
    assert_eq!(all.tokens, setup.cost(), "the list shows the tokens that a plan counts");
    assert_eq!(all.tokens, all.servers.iter().map(|server| server.tokens).sum::<u32>(), "{:?}", all.servers);
    let asking = setup.turn("Echo it.", &yes()).expect("it needs approval");
    let effect = ToolEffect::Foreign { server: "s".into(), tool: "echo".into(), looks: true };
    assert_eq!(
        (asking.effect.clone(), asking.args.as_str()),
        (effect, r#"{"text":"hi there"}"#),
        "even a tool that claims to be read-only"
    );
    assert_eq!(setup.posted(), ["echo", "mcp__s__echo", "mcp__s__act"]);
    let trace = setup.client.last_trace();
    assert_eq!(
        (trace.name.as_str(), trace.status, trace.word.as_deref()),
        ("mcp__s__echo", Some(ToolStatus::Ok), Some("you"))
    );
    assert_eq!((trace.bytes, trace.preview.as_str(), trace.est_tokens > 0), (8, "hi there", true));
    assert_eq!(setup.client.last_result(), "hi there");
}

#[test]
fn denial_calls_nothing_and_rules_apply_to_servers() {
    let ask = || call("mcp__s__echo", &json!({"text": "hi"}));
    let mut scene1 = setup(vec![spec("s", "plain")], vec![ask(), text("I see.")], Vec::new());
    scene1.card("s");
    scene1.turn("Echo it.", &Consent::No { why: None });
    assert_eq!(scene1.client.last_trace().status, Some(ToolStatus::Refused));
    let rules = vec![rule("mcp__s__*", Verdict::Allow), rule("mcp__s__act", Verdict::Deny)];
    let answers = vec![ask(), text("Done."), call("mcp__s__act", &json!({})), text("I see.")];
    let mut scene2 = setup(vec![spec("s", "plain")], answers, rules);
    scene2.card("s");
    assert!(scene2.turn("Echo it.", &yes()).is_none(), "a rule allows it");
    assert_eq!(
        (scene2.client.last_result().as_str(), scene2.client.last_trace().word.as_deref()),
        ("hi", Some("rule allow mcp__s__*"))
    );
    assert!(scene2.turn("Act.", &yes()).is_none());
    assert_eq!(scene2.client.last_trace().status, Some(ToolStatus::Refused));
}

#[test]
fn tools_are_disabled_on_a_branch_and_restored_by_undo() {
    let answers = vec![call("mcp__s__echo", &json!({})), text("I see.")];
    let mut setup = setup(vec![spec("s", "plain")], answers, Vec::new());
    setup.card("s");
    let whole = setup.cost();
    let off = |keys: &[&str]| ServerAct::Switch { keys: keys.iter().map(|key| (*key).to_owned()).collect(), on: false };
    assert!(setup.done(off(&["s/echo"])).contains("Disabled s/echo. u undoes it."));
    let less = setup.cost();
    assert!(less < whole);
    assert_eq!(setup.tool_list(ServerAct::List).tokens, less);
    let costs = setup.client.whole_plan(setup.branch, &message("Hello")).tool_costs.clone();
    let each: Vec<(&str, bool)> = costs.iter().map(|tool| (tool.name.as_str(), tool.on)).collect();
    assert_eq!(each, [("echo", true), ("mcp__s__echo", false), ("mcp__s__act", true)], "each tool is in the plan");
    let on: u32 = costs.iter().filter(|tool| tool.on).map(|tool| tool.tokens).sum();
    assert!(on.abs_diff(less) <= 4 && costs[1].tokens.abs_diff(whole - less) <= 4, "{costs:?}");
    assert!(setup.turn("Echo.", &yes()).is_none(), "the model calls it anyway");
    assert_eq!(setup.posted(), ["echo", "mcp__s__act"]);
    assert!(setup.client.last_result().contains("the user disabled mcp__s__echo"), "{}", setup.client.last_result());
    setup.done(off(&["s/*"]));
    setup.done(off(&["echo"]));
    assert_eq!(setup.cost(), 0);
    let on = ServerAct::Switch { keys: vec!["mcp__s__act".into()], on: true };
    assert!(setup.done(on).contains("Enabled s/act."), "by the name that the model sees");
    assert!(setup.cost() > 0 && setup.cost() < less, "one of several disabled tools is enabled again");
    setup.client.must(Request::Session(SessionRequest::Undo));
    let forked = match setup.client.must(Request::Branch(BranchRequest::Fork {
        branch: setup.branch,
        at: None,
        name: None,
        switch: false,
    })) {
        Answer::Branch(BranchAnswer::Branch(branch)) => branch.overrides.tools_off,
        other => panic!("{other:?}"),
    };
    assert_eq!(forked, ["echo", "s/*", "s/echo"], "a fork copies it");
    setup.client.must(Request::Session(SessionRequest::Undo));
    for _ in 0..3 {
        setup.client.must(Request::Session(SessionRequest::Undo));
    }
    assert_eq!(setup.cost(), whole, "undone one by one");
    setup.done(off(&["s/*"]));
    let before = setup.cost();
    let (bench, named) = (setup.bench.clone(), setup.named.clone());
    drop(setup.client);
    let (client, branch) = open(&bench, &named, Vec::new(), false);
    let mut again = Setup { client, branch, model: setup.model, bench, named };
    let card = again.card("s");
    assert_eq!((card.on, again.cost()), (false, before), "it survives a restart");
}

#[test]
fn dead_servers_tools_leave_the_plan() {
    let act = || call("mcp__s__act", &json!({}));
    let answers = vec![act(), text("I see."), act(), text("I see.")];
    let mut setup = setup(vec![spec("s", "dies")], answers, vec![rule("*", Verdict::Allow)]);
    setup.card("s");
    let whole = setup.cost();
    setup.turn("Act.", &yes());
    assert_eq!(setup.client.last_trace().status, Some(ToolStatus::Failed));
    let gone = |event: &Event| {
        matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("The \
        server s ended: it exited with code 9"))
    };
    setup.client.wait(0, gone);
    assert!(setup.cost() < whole);
    setup.turn("Act again.", &yes());
    assert!(setup.client.last_result().contains("no longer available"), "{}", setup.client.last_result());
    setup.done(ServerAct::Restart { server: "s".into() });
    assert_eq!(setup.card("s").state, ServerState::Ready);
    assert_eq!(setup.cost(), whole);
}

#[test]
fn tool_descriptions_are_approved_again_after_a_change() {
    let mut setup = setup(vec![spec("s", "plain")], Vec::new(), Vec::new());
    setup.card("s");
    let whole = setup.cost();
    setup.named.lock().unwrap().servers = vec![spec("s", "drift")];
    setup.tool_list(ServerAct::List);
    let card = setup.card("s");
    let alarmed = |event: &Event| matches!(event, Event::Program(ProgramEvent::Alarm(notice)) if notice.contains("describes echo differently"));
    setup.client.wait(0, alarmed);
    let echo = card.tools.iter().find(|tool| tool.tool == "echo").unwrap();
    assert_eq!((echo.waits, echo.is_sent(), echo.before.as_deref()), (true, false, Some("Echoes the text.")));
    assert!(setup.cost() < whole, "it is not offered meanwhile");
    let approve = ServerAct::Approve { server: "s".into(), tool: Some("echo".into()) };
    assert!(setup.done(approve).contains("approved as currently described"));
    assert!(setup.cost() > whole, "and is offered afterwards, with a longer description");
    let alarms = setup.client.seen.iter().filter(|event| alarmed(event)).count();
    assert_eq!(alarms, 1, "reported once");
}

#[test]
fn new_tools_wait_for_approval() {
    let answers = vec![call("mcp__s__act", &json!({})), text("Done.")];
    let mut setup = setup(vec![spec("s", "late")], answers, vec![rule("*", Verdict::Allow)]);
    setup.card("s");
    let whole = setup.cost();
    setup.turn("Act.", &yes());
    setup.client.wait(
        0,
        |event| matches!(event, Event::Program(ProgramEvent::Alarm(notice)) if notice.contains("offers late, which")),
    );
    let card = setup.card("s");
    assert_eq!((card.tools.len(), card.sent_tools().count(), setup.cost()), (3, 2, whole), "it is listed but not sent");
    setup.done(ServerAct::Approve { server: "s".into(), tool: None });
    assert!(setup.cost() > whole);
}

#[test]
fn servers_may_share_tool_names() {
    let odd = offered_name("t", "odd näme/of it");
    let answers =
        vec![call("mcp__t__echo", &json!({"text": "of t"})), call(&odd, &json!({"text": "odd"})), text("Done.")];
    let mut setup = setup(vec![spec("s", "plain"), spec("t", "odd")], answers, vec![rule("*", Verdict::Allow)]);
    setup.card("t");
    setup.turn("Echo it.", &yes());
    let posted = setup.posted();
    assert!(posted.contains(&"mcp__s__echo".to_owned()) && posted.contains(&"mcp__t__echo".to_owned()), "{posted:?}");
    let fits = |name: &String| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    assert!(posted.iter().all(fits), "{posted:?}");
    let previews: Vec<String> = setup.client.open().traces.iter().map(|trace| trace.preview.clone()).collect();
    assert_eq!(previews, ["of t", "odd"], "each call reaches its own server");
}

/// A setup with the real tools and short results.
fn reading(mode: &str) -> Setup {
    let model = Model::new(Vec::new());
    let mut bench = Bench::new(&model);
    bench.tools =
        Some(Arc::new(Workspace::open_with_effects(&bench.workspace, 3_000, EffectOptions::default()).unwrap()));
    let named = Arc::new(Mutex::new(ConfiguredServers { servers: vec![spec("s", mode)], file: None }));
    let (read, rules) = (named.clone(), vec![rule("mcp__*", Verdict::Allow)]);
    let mut client = bench.start_with(|setup| {
        setup.settings.tool_rules = rules;
        setup.settings.output_limit = 3_000;
        setup.settings.named = Some(Arc::new(move || read.lock().unwrap().clone()));
    });
    let branch = client.session();
    let mut setup = Setup { client, branch, model, bench, named };
    setup.card("s");
    setup.model.then(call("mcp__s__act", &json!({})));
    setup.model.then(text("I see."));
    setup.turn("Act.", &yes());
    setup
}

/// The path of the newest stored result, the text that the model read, and the line from which it may read on.
fn cut_at(setup: &mut Setup) -> (String, String, u64) {
    let path = kept_path(&setup.client.last_trace().id());
    let cut = setup.client.last_result();
    let at = cut.find("continues at line ").unwrap_or_else(|| panic!("{cut}"));
    let line = cut[at + 18..].split(':').next().unwrap().parse().unwrap();
    (path, cut, line)
}

#[test]
fn cut_results_are_read_in_parts() {
    let mut setup = reading("lines");
    let (path, cut, line) = cut_at(&mut setup);
    assert!(
        cut.contains(&format!("{path:?} as path")) && cut.contains(&format!("row {} of it\n[…", line - 1)),
        "{cut}"
    );
    assert!(cut.ends_with("row 4000 of it") && cut.len() < 3_300, "{}", cut.len());
    let back = format!("read_file or search with path {path}, from line {line} on");
    let trace = setup.client.last_trace();
    assert_eq!((trace.more.back.clone(), trace.more.kept), (Some(back), trace.truncated_from));
    setup.model.then(call("read_file", &json!({"path": path, "start_line": line, "lines": 2})));
    setup.model.then(call("search", &json!({"path": path, "pattern": "row 2500 "})));
    setup.model.then(text("I see."));
    setup.turn("And the rest?", &yes());
    let all = setup.client.open().traces.clone();
    assert_eq!(all[1].preview, format!("row {line} of it"));
    assert!(setup.client.last_result().contains(":2500: row 2500 of it"), "{}", setup.client.last_result());
    let off = |key: &str| ServerAct::Switch { keys: vec![key.into()], on: false };
    setup.done(off("search"));
    setup.model.then(call("search", &json!({"path": path, "pattern": "row"})));
    setup.model.then(call("mcp__s__act", &json!({})));
    setup.model.then(text("I see."));
    setup.turn("Again.", &yes());
    let refused = setup.client.open().traces[3].clone();
    assert_eq!(refused.status, Some(ToolStatus::Refused), "a disabled tool cannot read stored results");
    assert!(setup.client.last_trace().more.back.unwrap().starts_with("read_file with path"));
    setup.done(off("read_file"));
    setup.model.then(call("mcp__s__act", &json!({})));
    setup.model.then(text("I see."));
    setup.turn("Again.", &yes());
    let trace = setup.client.last_trace();
    assert_eq!((trace.more.back.as_deref(), trace.more.kept), (Some("ask the tool for less"), None));
}

#[test]
fn one_line_results_are_read_in_parts() {
    let mut setup = reading("wide");
    let (path, cut, line) = cut_at(&mut setup);
    assert!(line > 5, "{cut}");
    setup.model.then(call("read_file", &json!({"path": path, "start_line": line + 1, "lines": 1})));
    setup.model.then(call("search", &json!({"path": path, "pattern": "\"n\":2500\\D"})));
    setup.model.then(text("I see."));
    setup.turn("And the rest?", &yes());
    let read = setup.client.open().traces[1].clone();
    assert!(read.preview.starts_with("{\"n\":") && read.bytes < 400, "{read:?}");
    assert!(setup.client.last_result().contains("{\"n\":2500}"), "{}", setup.client.last_result());
}

/// A folder's settings file that names the stub.
fn folder_file(text: &str, servers: Vec<ServerSpec>) -> FolderFile {
    FolderFile { path: ".mcp.json".into(), digest: Hash::of(text.as_bytes()), servers: Ok(servers) }
}

#[test]
fn folder_file_needs_approval_of_its_exact_text() {
    let mut setup = setup(Vec::new(), Vec::new(), Vec::new());
    let digest = Hash::of(b"one");
    setup.named.lock().unwrap().file = Some(folder_file("one", vec![spec("s", "plain")]));
    let all = setup.tool_list(ServerAct::Settle);
    let file = all.file.unwrap();
    assert_eq!((file.word, file.servers[0].command.as_str()), (FileDecision::Waits, "stub s"));
    assert!(all.servers.iter().all(|server| server.name != "s"), "nothing is started");
    setup.client.wait(0, |event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("/mcp asks for approval")));
    setup.done(ServerAct::File { digest, yes: true });
    assert_eq!(setup.card("s").tools.len(), 2);
    setup.named.lock().unwrap().file = Some(folder_file("two", vec![spec("s", "plain")]));
    let all = setup.tool_list(ServerAct::Settle);
    assert_eq!(all.file.unwrap().word, FileDecision::Waits, "a changed text needs approval again");
    assert!(all.servers.iter().all(|server| server.name != "s"), "and its servers were stopped");
    let stale = Request::Tool(ToolRequest::Servers(None, ServerAct::File { digest, yes: true }));
    assert!(setup.client.ask(stale).unwrap_err().to_string().contains("changed in the meantime"));
    setup.done(ServerAct::File { digest: Hash::of(b"two"), yes: false });
    assert_eq!(setup.tool_list(ServerAct::Settle).file.unwrap().word, FileDecision::No);
}

#[test]
fn untrusted_folder_starts_no_server() {
    let model = Model::new(Vec::new());
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    bench.trusted = false;
    let named = Arc::new(Mutex::new(ConfiguredServers { servers: vec![spec("s", "plain")], file: None }));
    let (client, branch) = open(&bench, &named, Vec::new(), true);
    let mut setup = Setup { client, branch, model, bench, named };
    let all = setup.tool_list(ServerAct::Settle);
    assert_eq!((all.trusted, all.servers.len(), setup.cost()), (false, 1, 0));
    setup.client.must(Request::Tool(ToolRequest::Trust { trusted: true }));
    assert_eq!(setup.card("s").state, ServerState::Ready, "approval starts them");
    assert!(setup.cost() > 0);
    setup.client.must(Request::Tool(ToolRequest::Trust { trusted: false }));
    assert_eq!(setup.tool_list(ServerAct::Settle).servers.len(), 1, "and revoking stops them");
}

#[test]
fn stopped_call_is_in_the_trace() {
    let answers = vec![call("mcp__s__act", &json!({})), text("Done.")];
    let hold = ServerSpec { ..spec("s", "hold") };
    let mut setup = setup(vec![hold], answers, vec![rule("*", Verdict::Allow)]);
    setup.card("s");
    let from = setup.client.seen.len();
    setup.client.send(setup.branch, &message("Act.")).unwrap();
    setup
        .client
        .wait(from, |event| matches!(event, Event::Tool(ToolEvent::Output { text, .. }) if text.starts_with('1')));
    setup.client.must(Request::Turn(TurnRequest::Cancel { branch: setup.branch }));
    setup.client.closed(from, setup.branch);
    assert_eq!(setup.client.last_trace().status, Some(ToolStatus::Cancelled));
}

// ---- on the command line

#[test]
fn command_line_lists_servers_without_secrets() {
    let home = Home::new("");
    let program = std::env::current_exe().unwrap().display().to_string();
    let file = json!({"mcpServers": {"s": {
        "command": program, "args": ["--exact", "tools::mcp::stub", "--nocapture"],
        "env": {MODE: "plain", "TOKEN": "s3cretvalue"},
    }}});
    std::fs::write(home.workspace().join(".mcp.json"), file.to_string()).unwrap();
    let listed = home.run(&["mcp", "list"]);
    assert!(listed.err.contains("not trusted") && !listed.out.contains("ready, 2"), "{} {}", listed.out, listed.err);
    let trusted = format!("trusted_folders = [{:?}]\n", home.workspace().display().to_string());
    home.configure(&trusted);
    assert!(home.ok(&["mcp"]).contains(".mcp.json: not used until you approve it"));
    let refused = home.run(&["mcp", "use"]);
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains(&program) && refused.err.contains("TOKEN") && !refused.err.contains("s3cret"));
    home.ok(&["mcp", "use", "--yes"]);
    let output = home.ok(&["mcp", "list", "--json"]);
    let all: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(all["servers"][1]["state"], "ready", "{output}");
    assert_eq!(all["servers"][1]["tools"][0]["name"], "mcp__s__echo");
    assert!(!output.contains("s3cret"));
    let tested = home.run(&["mcp", "test", "s"]);
    assert_eq!(tested.code, 0, "{}", tested.err);
    assert!(tested.out.contains("s/echo"), "{}", tested.out);
    doctor(&home, &trusted, &program);
    home.configure(&format!("{trusted}[mcpServers.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no >&2; exit 4\"]\n"));
    let tested = home.run(&["mcp", "test", "bad"]);
    assert_eq!(tested.code, 1);
    assert!(tested.err.contains("it exited with code 4: no"), "{}", tested.err);
    let plan = home.ok(&["plan", "Hello", "--json"]);
    let tools = serde_json::from_str::<Value>(&plan).unwrap()["tools"].as_u64().unwrap();
    assert_eq!(Some(tools), serde_json::from_str::<Value>(&home.ok(&["mcp", "--json"])).unwrap()["tokens"].as_u64());
    home.configure("[mcpServers.a]\ncomand = \"x\"\n");
    let wrong = home.run(&["mcp"]);
    assert!(wrong.err.contains("line 2, column 1") && wrong.err.contains("command"), "{}", wrong.err);
}

/// What doctor reports about the same folder with more servers in the settings. It starts none of them.
fn doctor(home: &Home, trusted: &str, program: &str) {
    let found = || -> Vec<Value> {
        let all = home.json(&["doctor"]);
        all.as_array()
            .unwrap()
            .iter()
            .filter(|one| one["subject"].as_str().unwrap().starts_with("server "))
            .cloned()
            .collect()
    };
    let state = |all: &[Value], name: &str| {
        let one = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} in {all:?}"));
        (one["state"].as_str().unwrap().to_owned(), one["transport"].as_str().unwrap().to_owned(), one["ok"].clone())
    };
    let is = |state: &str, way: &str, ok: Value| (state.to_owned(), way.to_owned(), ok);
    assert_eq!(state(&found(), "s"), is("found", "stdio", json!(true)));
    home.configure(&format!(
        "{trusted}[mcpServers.s]\ncommand = \"no-such-program\"\n[mcpServers.far]\nurl = \"http://127.0.0.1:1/mcp\"\n\
         [mcpServers.key]\ncommand = \"sh\"\nenv = {{ KEY = \"${{NO_SUCH_KEY}}\" }}\n\
         [mcpServers.here]\ncommand = {program:?}\nargs = [\"--list\"]\n[mcpServers.off]\ncommand = \"sh\"\ndisabled = true\n"
    ));
    let all = found();
    assert_eq!(state(&all, "s"), is("missing", "stdio", json!(false)));
    assert_eq!(state(&all, "far"), is("unasked", "http", Value::Null));
    assert_eq!(state(&all, "key"), is("missing", "unknown", json!(false)));
    assert_eq!(state(&all, "here"), is("found", "stdio", json!(true)));
    assert_eq!(state(&all, "off"), is("disabled", "stdio", Value::Null));
    let texts: Vec<&str> = all.iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(texts.iter().any(|text| text.contains("the variable NO_SUCH_KEY is not set")), "{texts:?}");
    let folder = all.iter().find(|one| one["named_by"] == "folder").unwrap();
    assert_eq!((&folder["state"], &folder["name"]), (&json!("passed over"), &json!("s")));
    let output = home.ok(&["doctor"]);
    assert!(
        output.contains("the program no-such-program was not found (stdio, settings: no-such-program)"),
        "{output}"
    );
    assert!(output.contains("Install it"), "{output}");
    let listed = home.run(&["mcp", "list"]);
    assert!(listed.out.contains("s: skipped: your settings have a server with this name"), "{}", listed.out);
    std::fs::write(home.workspace().join(".mcp.json"), "{}").unwrap();
    assert!(home.ok(&["doctor"]).contains("not used: it has no `mcpServers` object"));
}

// The script of npm's `@modelcontextprotocol/server-everything`, if it is installed.

/// The script of npm's `@modelcontextprotocol/server-everything`, where one is installed.
fn everything() -> Option<String> {
    let found = std::env::var("PLEACH_MCP_EVERYTHING").ok();
    if found.is_none() {
        use std::io::Write as _;
        let skipped =
            "SKIPPED: PLEACH_MCP_EVERYTHING does not name its script; nothing was tried on a foreign MCP server";
        let _ = writeln!(std::io::stderr(), "{skipped}");
    }
    found
}

fn node(script: &str, way: &str) -> ServerSpec {
    let way = ServerTransport::Program {
        command: Secret::new("node"),
        args: vec![Secret::new(script), Secret::new(way)],
        env: Vec::new(),
        folder: "/".into(),
    };
    ServerSpec { way: Ok(way), shown: "node everything".into(), ..spec("everything", "") }
}

#[test]
fn third_party_server_serves_a_whole_turn() {
    let Some(script) = everything() else { return };
    let answers = vec![
        call("mcp__everything__get-sum", &json!({"a": 19, "b": 23})),
        call("mcp__everything__echo", &json!({"message": "hello"})),
        text("It is 42."),
    ];
    let mut setup = setup(vec![node(&script, "stdio")], answers, vec![rule("mcp__everything__echo", Verdict::Allow)]);
    let card = setup.card("everything");
    assert_eq!(card.state, ServerState::Ready, "{}", card.tail);
    assert!(card.tools.len() >= 8, "{:?}", card.tools.iter().map(|tool| &tool.tool).collect::<Vec<_>>());
    assert_eq!(setup.tool_list(ServerAct::List).tokens, setup.cost());
    let asking = setup.turn("What is 19 and 23?", &yes()).expect("get-sum needs approval");
    assert_eq!(asking.tool, "mcp__everything__get-sum");
    let traces = setup.client.open().traces.clone();
    let calls: Vec<_> =
        traces.iter().map(|trace| (trace.name.as_str(), trace.status, trace.preview.as_str())).collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].2.contains("42") && calls[1].2.contains("hello"), "{calls:?}");
    let off = ServerAct::Switch { keys: vec!["everything/*".into()], on: false };
    let whole = setup.cost();
    setup.done(off);
    assert!(setup.cost() < whole);
    setup.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(setup.cost(), whole);
}

#[test]
fn third_party_server_works_over_http() {
    let Some(script) = everything() else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = std::process::Command::new("node")
        .args([&script, "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "it ignores the stop");
        std::thread::yield_now();
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    let way = ServerTransport::Address { url: Secret::new(url), headers: Vec::new() };
    let hub = Hub::start(&[ServerSpec { way: Ok(way), ..spec("s", "") }]);
    hub.ready("s");
    let sum = hub.call("get-sum", r#"{"a":1,"b":2}"#);
    assert!(sum.body.contains('3'), "{sum:?}");
    let watch = Watcher::default();
    let long = r#"{"duration":1,"steps":2}"#;
    let output = hub.servers.call("s", "trigger-long-running-operation", long, 10_000, &watch);
    assert_eq!(output.status, ToolStatus::Ok, "{output:?}");
    assert!(watch.progress.lock().unwrap().contains("1 of 2"), "{:?}", watch.progress);
    watch.stopped.store(true, Ordering::Relaxed);
    let long = r#"{"duration":600,"steps":2}"#;
    let output = hub.servers.call("s", "trigger-long-running-operation", long, 10_000, &watch);
    assert_eq!(output.status, ToolStatus::Cancelled);
    hub.servers.close();
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The whole task of `pty::task` with only a server's tools: search, read, failing tests, an approved edit, passing
/// tests. Undo leaves changes that a server made, without mentioning them.
#[test]
fn real_task_is_done_with_server_tools_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(WORK);
    let wrong =
        "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n";
    std::fs::write(&file, wrong).unwrap();
    let edit = json!({"path": WORK, "old": "a - b", "new": "a + b"});
    let answers = vec![
        call("mcp__s__find", &json!({"text": "fn add"})),
        call("mcp__s__read", &json!({"path": WORK})),
        call("mcp__s__check", &json!({})),
        call("mcp__s__edit", &edit),
        call("mcp__s__check", &json!({})),
        text("The sign was wrong."),
    ];
    let rules = ["find", "read", "check"].map(|name| rule(&format!("mcp__s__{name}"), Verdict::Allow));
    let server = spec("s", &format!("{WORKS}{}", folder.path().display()));
    let mut setup = setup(vec![server], answers, rules.into());
    setup.card("s");
    let asking = setup.turn("The tests fail. Find out why and fix it.", &yes()).expect("the edit needs approval");
    assert_eq!((asking.tool.as_str(), serde_json::from_str::<Value>(&asking.args).unwrap()), ("mcp__s__edit", edit));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong.replace("a - b", "a + b"));

    let view = setup.client.open();
    let decided: Vec<_> =
        view.traces.iter().map(|t| (t.name.trim_start_matches("mcp__s__"), t.status, t.word.as_deref())).collect();
    let (ok, failed) = (Some(ToolStatus::Ok), Some(ToolStatus::Failed));
    let words: Vec<bool> =
        decided.iter().map(|(_, _, word)| word.is_some_and(|word| word.starts_with("rule"))).collect();
    let calls: Vec<_> = decided.iter().map(|(name, status, _)| (*name, *status)).collect();
    assert_eq!(calls, [("find", ok), ("read", ok), ("check", failed), ("edit", ok), ("check", ok)]);
    assert_eq!(words, [true, true, true, false, true], "{decided:?}");
    let traces: Vec<&ToolTrace> = view.traces.iter().collect();
    let links = resolution::links(&traces, |_, _| true);
    assert_eq!(links.len(), 1, "{links:?}");
    assert_eq!((links[0].failed, links[0].fixed), (2, 4));

    let bodies = setup.model.bodies();
    assert_eq!(bodies.len(), 6);
    let runs = view.runs.iter().map(|run| run.request_digest).collect::<Vec<_>>();
    for (at, body) in bodies.iter().enumerate() {
        assert!(runs.contains(&Hash::of(body)), "call {at} was sent as planned");
        let body: Value = serde_json::from_slice(body).unwrap();
        let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
        assert_eq!(results, at, "each round sends the results so far");
    }
    assert!(String::from_utf8_lossy(&bodies[5]).contains("test adds ... ok"));
    let undone = setup.client.ask(Request::Session(SessionRequest::Undo));
    assert!(undone.is_err() || !format!("{undone:?}").contains(WORK), "{undone:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong.replace("a - b", "a + b"));
}
