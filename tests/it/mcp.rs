//! Servers of tools: what they offer goes with plans and costs what the plan says, their calls need a word, leave traces and
//! end when they are stopped; and none of the faults that servers have does more than fail.

use crate::support::bench::{Bench, Client, Echo, Model, Say, message, text};
use crate::support::binary::Home;
use crate::support::mcp::{MODE, WORK, WORKS, serve, spec};
use crate::support::server::{Server as Http, json as answer};
use pleach::domain::base::hash::Hash;
use pleach::domain::base::ids::BranchId;
use pleach::domain::conversation::message::Role;
use pleach::domain::tool::cards::{FileWord, ServerCard, ToolCard, Toolbox};
use pleach::domain::tool::consent::{Consent, PendingApproval, Rule, ToolEffect, Verdict};
use pleach::domain::tool::mcp::{
    ConfiguredServers, FolderFile, Secret, Server, ServerSpec, ServerState, ServerTransport, ToolServers, offered_name,
};
use pleach::domain::tool::resolution;
use pleach::domain::tool::trace::{ToolObserver, ToolOutput, ToolStatus, ToolTrace, kept_path};
use pleach::domain::tool::visibility::FileVisibility;
use pleach::engine::api::{
    Answer, BranchRequest, Event, ProgramEvent, Request, ServerAct, SessionRequest, ToolEvent, ToolRequest, TurnEvent,
    TurnRequest,
};
use pleach::tools::{Acting, Workspace};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What has not come by then does not come.
const PATIENCE: Duration = Duration::from_mins(1);

/// No test: this program as a server, where the environment says so.
#[test]
fn stub() {
    if let Ok(mode) = std::env::var(MODE) {
        serve(&mode);
    }
}

// ---- servers alone

/// Servers, and a bell that rings when one of them stands otherwise.
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

    /// Waits until the server is as wanted.
    fn wait(&self, name: &str, wanted: impl Fn(&Server) -> bool) -> Server {
        let until = Instant::now() + PATIENCE;
        let mut rung = self.bell.0.lock().unwrap();
        loop {
            let found = self.servers.servers().into_iter().find(|server| server.spec.name == name);
            if let Some(server) = found.clone().filter(|server| wanted(server)) {
                return server;
            }
            assert!(Instant::now() < until, "{found:?}");
            rung = self.bell.1.wait_timeout(rung, Duration::from_millis(50)).unwrap().0;
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
        self.servers.call("s", tool, args, 100_000, &Watching::default())
    }
}

#[derive(Default)]
struct Watching {
    stopped: AtomicBool,
    said: Mutex<String>,
}

impl ToolObserver for Watching {
    fn sight(&self) -> FileVisibility {
        FileVisibility::default()
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn said(&self, text: &str) {
        self.said.lock().unwrap().push_str(text);
    }
}

#[test]
fn results_are_words_bounded_and_clean() {
    let hub = Hub::start(&[spec("s", "plain")]);
    let server = hub.ready("s");
    let names: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, server.about.starts_with("stub 1, MCP ")), (vec!["echo", "act"], true), "{}", server.about);
    assert_eq!(server.instructions, "Always call echo first.");
    assert!(
        server.tail.contains("stub plain with [hidden]"),
        "a value that it was given is not shown: {}",
        server.tail
    );
    assert!(server.strays > 0, "the test program's own lines are no messages");
    let said = |tool: &str| hub.call(tool, "{}");
    let big = said("big");
    assert_eq!((big.status, big.full_bytes), (ToolStatus::Ok, 5 << 20));
    assert!(big.body.len() < 100_200 && big.body.contains("bytes were cut here"), "{}", big.body.len());
    let strange = said("strange");
    assert_eq!(strange.body, "a]52;c;eA==bcd\n[4 invisible or control characters were removed]");
    let failed = said("fail");
    assert_eq!((failed.status, failed.body.as_str()), (ToolStatus::Failed, "There is no such city."));
    let refused = said("error");
    assert_eq!((refused.status, refused.body.contains("bad city")), (ToolStatus::Failed, true), "{refused:?}");
    let pictures = said("pictures").body;
    assert!(
        pictures.starts_with(
            "[an image, image/png, about 300 bytes: not sent on]\n[the resource file:///notes]\nthe notes"
        )
    );
    assert!(said("structured").body.contains("\"degrees\": 7"));
    assert_eq!(said("secret").body, "the token is [hidden]");
    assert_eq!(hub.call("echo", "[1]").status, ToolStatus::Failed, "arguments that are no object");
    assert!(hub.call("echo", r#"{"text":"hi"}"#).body == "hi");
}

#[test]
fn progress_is_passed_on_a_stop_is_told_and_silence_ends() {
    let quick = ServerSpec { seconds: 1, ..spec("quick", "plain") };
    let hub = Hub::start(&[spec("s", "plain"), quick]);
    hub.ready("s");
    hub.ready("quick");
    let watch = Watching::default();
    let output = hub.servers.call("s", "steps", "{}", 1_000, &watch);
    assert_eq!(
        (output.body.as_str(), watch.said.lock().unwrap().as_str()),
        ("done", "1 of 3: at it\n2 of 3: at it\n3 of 3: at it\n")
    );
    watch.stopped.store(true, Ordering::Relaxed);
    let output = hub.servers.call("s", "never", "{}", 1_000, &watch);
    assert_eq!(output.status, ToolStatus::Cancelled, "{output:?}");
    hub.wait("s", |server| server.tail.contains("cancelled: \"the person stopped it\""));
    let output = hub.servers.call("quick", "never", "{}", 1_000, &Watching::default());
    assert!(output.body.contains("did not answer within 1 s"), "{output:?}");
    hub.wait("quick", |server| server.tail.contains("cancelled: "));
    assert_eq!(hub.call("echo", r#"{"text":"still there"}"#).body, "still there");
}

#[test]
fn a_flood_and_stray_lines_hide_no_answer() {
    let hub = Hub::start(&[spec("s", "plain")]);
    hub.ready("s");
    assert_eq!(hub.call("flood", "{}").body, "after the flood");
    let server = hub.ready("s");
    assert!(server.strays >= 300 && server.tail.len() <= 9_000, "{} {}", server.strays, server.tail.len());
    assert!(server.tail.contains("line 29999"), "the end is kept: {}", server.tail);
}

#[test]
fn what_a_server_asks_back_is_answered_with_an_error() {
    let hub = Hub::start(&[spec("s", "old")]);
    let server = hub.ready("s");
    assert!(server.about.ends_with("MCP 2024-11-05"), "an old server is spoken to as well: {}", server.about);
    let said = hub.call("ask", "{}").body;
    let wanted = "elicitation/create: -32601\nno/such/thing: -32601\nping: done\nroots/list: -32601\n\
                  sampling/createMessage: -32601";
    assert_eq!(said, wanted);
    let tail = hub.ready("s").tail;
    assert!(tail.contains("[it asked for answers of the model (sampling); the request was denied]"), "{tail}");
}

#[test]
fn an_odd_list_of_tools_is_used_as_far_as_it_can_be() {
    let hub = Hub::start(&[spec("s", "odd")]);
    let server = hub.ready("s");
    let names: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
    let long = "n".repeat(120);
    assert_eq!(names, ["echo", "bare", "odd näme/of it", long.as_str(), "wide"]);
    assert_eq!(
        server.notes,
        [
            "Its list starts over again and again; the rest is skipped.",
            "A tool is skipped: not described as the protocol requires.",
            "A tool is skipped: another one has the same name.",
            "A tool is skipped: without a name, or with one that is too long.",
        ]
    );
    assert_eq!(server.tools[0].description, "Echoes.", "the first of a name stays");
    let wide = &server.tools[4];
    assert!(wide.description.contains("too much for every request"), "{}", wide.description);
    assert!(wide.parameters.to_string().len() < 25_000);
}

#[test]
fn servers_that_cannot_be_used_say_why() {
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
    assert_eq!(hub.failed("crash").0, "it ended with exit code 3: no such port");
    let off = hub.wait("off", |_| true);
    assert!(matches!(off.state, ServerState::Off { .. }) && off.tail.is_empty(), "it was not started");
    let output = hub.servers.call("crash", "echo", "{}", 100, &Watching::default());
    assert!(output.body.contains("can't be called: it ended with exit code 3"), "{output:?}");
}

#[test]
fn a_server_that_dies_in_a_call_is_told_of_and_starts_again() {
    let hub = Hub::start(&[spec("s", "plain")]);
    hub.ready("s");
    let output = hub.call("die", "{}");
    assert_eq!(output.status, ToolStatus::Failed);
    let (why, server) = hub.failed("s");
    assert_eq!(why, "it ended with exit code 9: out of memory");
    assert!(server.tools.is_empty(), "its tools are not to be had any more");
    hub.servers.restart("s");
    hub.ready("s");
    assert_eq!(hub.call("echo", r#"{"text":"again"}"#).body, "again");
}

/// Whether a process exists and is no zombie.
#[cfg(target_os = "linux")]
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[test]
fn an_end_takes_all_that_a_server_started_along() {
    let hub = Hub::start(&[spec("s", "plain"), spec("other", "plain")]);
    hub.ready("s");
    let pids = hub.call("child", "{}").body;
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.iter().all(|pid| lives(pid)), "{pids:?}");
    hub.servers.set(&[spec("other", "plain")]);
    let until = Instant::now() + PATIENCE;
    while pids.iter().any(|pid| lives(pid)) {
        assert!(Instant::now() < until, "{pids:?} are still there");
        std::thread::yield_now();
    }
    hub.ready("other");
    let pids = hub.servers.call("other", "child", "{}", 100, &Watching::default()).body;
    hub.servers.close();
    for pid in pids.split(' ') {
        let until = Instant::now() + PATIENCE;
        while lives(pid) {
            assert!(Instant::now() < until, "{pid} is still there");
            std::thread::yield_now();
        }
    }
}

/// An MCP server over HTTP with one tool, which wants a key.
fn over_http() -> Http {
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

fn far(url: &str, key: &str) -> ServerSpec {
    let headers = vec![("Authorization".to_owned(), Secret::new(format!("Bearer {key}")))];
    ServerSpec { way: Ok(ServerTransport::Address { url: Secret::new(url), headers }), ..spec("s", "") }
}

#[test]
fn a_server_at_an_address_is_asked_with_its_key() {
    let http = over_http();
    let url = http.base_url();
    let hub = Hub::start(&[far(&url, "s3cretvalue")]);
    let server = hub.ready("s");
    assert!(server.about.starts_with("far 2, MCP "), "{}", server.about);
    assert_eq!(hub.call("time", "{}").body, "noon");
    let hub = Hub::start(&[far(&url, "wrong-key")]);
    let (why, server) = hub.failed("s");
    let ServerState::Failed { todo, .. } = &server.state else { unreachable!() };
    assert!(!why.contains("wrong-key") && todo.contains("Authorization"), "{why} {todo}");
    let hub = Hub::start(&[far("http://127.0.0.1:1/mcp", "s3cretvalue")]);
    assert!(!hub.failed("s").0.is_empty());
}

// ---- through the engine

/// An engine with servers.
struct Scene {
    client: Client,
    branch: BranchId,
    model: Arc<Model>,
    bench: Bench,
    named: Arc<Mutex<ConfiguredServers>>,
}

fn scene(servers: Vec<ServerSpec>, answers: Vec<Vec<Say>>, rules: Vec<Rule>) -> Scene {
    let model = Model::new(answers);
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    bench.rounds = 8;
    let named = Arc::new(Mutex::new(ConfiguredServers { servers, file: None }));
    let (client, branch) = open(&bench, &named, rules, true);
    Scene { client, branch, model, bench, named }
}

fn open(bench: &Bench, named: &Arc<Mutex<ConfiguredServers>>, rules: Vec<Rule>, fresh: bool) -> (Client, BranchId) {
    let named = named.clone();
    let mut client = bench.start_with(|setup| {
        setup.tool_rules = rules;
        setup.named = Some(Arc::new(move || named.lock().unwrap().clone()));
    });
    let branch = if fresh { client.session() } else { client.open().current };
    (client, branch)
}

impl Scene {
    fn toolbox(&mut self, act: ServerAct) -> Toolbox {
        match self.client.must(Request::Tool(ToolRequest::Servers(Some(self.branch), act))) {
            Answer::Toolbox(all) => *all,
            other => panic!("{other:?}"),
        }
    }

    fn card(&mut self, name: &str) -> ServerCard {
        let all = self.toolbox(ServerAct::Settle);
        all.servers.into_iter().find(|server| server.name == name).unwrap()
    }

    fn done(&mut self, act: ServerAct) -> String {
        match self.client.must(Request::Tool(ToolRequest::Servers(Some(self.branch), act))) {
            Answer::Done(said) => said,
            other => panic!("{other:?}"),
        }
    }

    /// Tokens of tools in the next plan.
    fn cost(&mut self) -> u32 {
        self.client.whole_plan(self.branch, &message("Hello")).tools
    }

    /// Sends, says yes to all that asks, and gives what was asked and the end's place.
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

    fn trace(&mut self) -> ToolTrace {
        self.client.open().traces.last().cloned().unwrap()
    }

    fn result(&mut self) -> String {
        let nodes = self.client.open().nodes.clone();
        let last = nodes.iter().rev().find(|node| node.role == Role::Tool).unwrap().id;
        match self.client.must(Request::Session(SessionRequest::Bodies { nodes: vec![last] })) {
            Answer::Bodies(bodies) => bodies[0].content.words(),
            other => panic!("{other:?}"),
        }
    }

    /// Names of the tools of the last body that was posted.
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
fn a_servers_tool_goes_with_the_plan_and_is_called_with_a_word() {
    let answers = vec![call("mcp__s__echo", &json!({"text": "hi there"})), text("Done.")];
    let mut scene = scene(vec![spec("s", "plain")], answers, Vec::new());
    scene.toolbox(ServerAct::List);
    let card = scene.card("s");
    assert_eq!((card.state.clone(), card.tools.len()), (ServerState::Ready, 2));
    assert!(card.tools.iter().all(ToolCard::goes), "also where it was looked at before it was there");
    assert_eq!(card.tokens, card.tools.iter().map(|tool| tool.tokens).sum::<u32>());
    let all = scene.toolbox(ServerAct::List);
    assert_eq!(all.tokens, scene.cost(), "what the list says is what a plan counts");
    let asking = scene.turn("Echo it.", &yes()).expect("it asks");
    let deed = ToolEffect::Foreign { server: "s".into(), tool: "echo".into(), looks: true };
    assert_eq!(
        (asking.deed.clone(), asking.args.as_str()),
        (deed, r#"{"text":"hi there"}"#),
        "also what says that it looks"
    );
    assert_eq!(scene.posted(), ["echo", "mcp__s__echo", "mcp__s__act"]);
    let trace = scene.trace();
    assert_eq!(
        (trace.name.as_str(), trace.status, trace.word.as_deref()),
        ("mcp__s__echo", Some(ToolStatus::Ok), Some("you"))
    );
    assert_eq!((trace.bytes, trace.preview.as_str(), trace.est_tokens > 0), (8, "hi there", true));
    assert_eq!(scene.result(), "hi there");
}

#[test]
fn a_no_calls_nothing_and_rules_speak_for_servers() {
    let ask = || call("mcp__s__echo", &json!({"text": "hi"}));
    let mut scene1 = scene(vec![spec("s", "plain")], vec![ask(), text("I see.")], Vec::new());
    scene1.card("s");
    scene1.turn("Echo it.", &Consent::No { why: None });
    assert_eq!(scene1.trace().status, Some(ToolStatus::Refused));
    let rules = vec![rule("mcp__s__*", Verdict::Allow), rule("mcp__s__act", Verdict::Deny)];
    let answers = vec![ask(), text("Done."), call("mcp__s__act", &json!({})), text("I see.")];
    let mut scene2 = scene(vec![spec("s", "plain")], answers, rules);
    scene2.card("s");
    assert!(scene2.turn("Echo it.", &yes()).is_none(), "a rule allows it");
    assert_eq!((scene2.result().as_str(), scene2.trace().word.as_deref()), ("hi", Some("rule allow mcp__s__*")));
    assert!(scene2.turn("Act.", &yes()).is_none());
    assert_eq!(scene2.trace().status, Some(ToolStatus::Refused));
}

#[test]
fn tools_are_switched_off_on_a_branch_and_undo_brings_them_back() {
    let answers = vec![call("mcp__s__echo", &json!({})), text("I see.")];
    let mut scene = scene(vec![spec("s", "plain")], answers, Vec::new());
    scene.card("s");
    let whole = scene.cost();
    let off = |keys: &[&str]| ServerAct::Switch { keys: keys.iter().map(|key| (*key).to_owned()).collect(), on: false };
    assert!(scene.done(off(&["s/echo"])).contains("Switched s/echo off. u undoes it."));
    let less = scene.cost();
    assert!(less < whole);
    assert_eq!(scene.toolbox(ServerAct::List).tokens, less);
    let costs = scene.client.whole_plan(scene.branch, &message("Hello")).tool_costs.clone();
    let each: Vec<(&str, bool)> = costs.iter().map(|tool| (tool.name.as_str(), tool.on)).collect();
    assert_eq!(each, [("echo", true), ("mcp__s__echo", false), ("mcp__s__act", true)], "each tool is in the plan");
    let on: u32 = costs.iter().filter(|tool| tool.on).map(|tool| tool.tokens).sum();
    assert!(on.abs_diff(less) <= 4 && costs[1].tokens.abs_diff(whole - less) <= 4, "{costs:?}");
    assert!(scene.turn("Echo.", &yes()).is_none(), "the model calls it all the same");
    assert_eq!(scene.posted(), ["echo", "mcp__s__act"]);
    assert!(scene.result().contains("switched mcp__s__echo off"), "{}", scene.result());
    scene.done(off(&["s/*"]));
    scene.done(off(&["echo"]));
    assert_eq!(scene.cost(), 0);
    let on = ServerAct::Switch { keys: vec!["mcp__s__act".into()], on: true };
    assert!(scene.done(on).contains("Switched s/act on."), "by the name that the model sees");
    assert!(scene.cost() > 0 && scene.cost() < less, "one of those that were off together comes back alone");
    scene.client.must(Request::Session(SessionRequest::Undo));
    let forked = match scene.client.must(Request::Branch(BranchRequest::Fork {
        branch: scene.branch,
        at: None,
        name: None,
        switch: false,
    })) {
        Answer::Branch(branch) => branch.overrides.tools_off,
        other => panic!("{other:?}"),
    };
    assert_eq!(forked, ["echo", "s/*", "s/echo"], "a fork begins with it");
    scene.client.must(Request::Session(SessionRequest::Undo));
    for _ in 0..3 {
        scene.client.must(Request::Session(SessionRequest::Undo));
    }
    assert_eq!(scene.cost(), whole, "undone one by one");
    scene.done(off(&["s/*"]));
    let before = scene.cost();
    let (bench, named) = (scene.bench.clone(), scene.named.clone());
    drop(scene.client);
    let (client, branch) = open(&bench, &named, Vec::new(), false);
    let mut again = Scene { client, branch, model: scene.model, bench, named };
    let card = again.card("s");
    assert_eq!((card.on, again.cost()), (false, before), "it is kept over a restart");
}

#[test]
fn a_server_that_dies_takes_its_tools_out_of_the_plan() {
    let act = || call("mcp__s__act", &json!({}));
    let answers = vec![act(), text("I see."), act(), text("I see.")];
    let mut scene = scene(vec![spec("s", "dies")], answers, vec![rule("*", Verdict::Allow)]);
    scene.card("s");
    let whole = scene.cost();
    scene.turn("Act.", &yes());
    assert_eq!(scene.trace().status, Some(ToolStatus::Failed));
    let gone = |event: &Event| matches!(event, Event::Program(ProgramEvent::Notice(said)) if said.contains("The server s ended: it ended with exit code 9"));
    scene.client.wait(0, gone);
    assert!(scene.cost() < whole);
    scene.turn("Act again.", &yes());
    assert!(scene.result().contains("not there any more"), "{}", scene.result());
    scene.done(ServerAct::Restart { server: "s".into() });
    assert_eq!(scene.card("s").state, ServerState::Ready);
    assert_eq!(scene.cost(), whole);
}

#[test]
fn what_a_tool_says_of_itself_is_approved_once_and_again_when_it_changes() {
    let mut scene = scene(vec![spec("s", "plain")], Vec::new(), Vec::new());
    scene.card("s");
    let whole = scene.cost();
    scene.named.lock().unwrap().servers = vec![spec("s", "drift")];
    scene.toolbox(ServerAct::List);
    let card = scene.card("s");
    let alarmed = |event: &Event| matches!(event, Event::Program(ProgramEvent::Alarm(said)) if said.contains("describes echo differently"));
    scene.client.wait(0, alarmed);
    let echo = card.tools.iter().find(|tool| tool.tool == "echo").unwrap();
    assert_eq!((echo.waits, echo.goes(), echo.before.as_deref()), (true, false, Some("Echoes the text.")));
    assert!(scene.cost() < whole, "it is not offered meanwhile");
    let approve = ServerAct::Approve { server: "s".into(), tool: Some("echo".into()) };
    assert!(scene.done(approve).contains("approved as described now"));
    assert!(scene.cost() > whole, "and is then, with more words than before");
    let alarms = scene.client.seen.iter().filter(|event| alarmed(event)).count();
    assert_eq!(alarms, 1, "told once");
}

#[test]
fn a_tool_that_comes_later_waits_for_a_word() {
    let answers = vec![call("mcp__s__act", &json!({})), text("Done.")];
    let mut scene = scene(vec![spec("s", "late")], answers, vec![rule("*", Verdict::Allow)]);
    scene.card("s");
    let whole = scene.cost();
    scene.turn("Act.", &yes());
    scene.client.wait(
        0,
        |event| matches!(event, Event::Program(ProgramEvent::Alarm(said)) if said.contains("offers late, which")),
    );
    let card = scene.card("s");
    assert_eq!((card.tools.len(), card.going().count(), scene.cost()), (3, 2, whole), "it is listed, and does not go");
    scene.done(ServerAct::Approve { server: "s".into(), tool: None });
    assert!(scene.cost() > whole);
}

#[test]
fn two_servers_may_have_the_same_tool_and_any_name() {
    let odd = offered_name("t", "odd näme/of it");
    let answers =
        vec![call("mcp__t__echo", &json!({"text": "of t"})), call(&odd, &json!({"text": "odd"})), text("Done.")];
    let mut scene = scene(vec![spec("s", "plain"), spec("t", "odd")], answers, vec![rule("*", Verdict::Allow)]);
    scene.card("t");
    scene.turn("Echo it.", &yes());
    let posted = scene.posted();
    assert!(posted.contains(&"mcp__s__echo".to_owned()) && posted.contains(&"mcp__t__echo".to_owned()), "{posted:?}");
    let fits = |name: &String| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    assert!(posted.iter().all(fits), "{posted:?}");
    let told: Vec<String> = scene.client.open().traces.iter().map(|trace| trace.preview.clone()).collect();
    assert_eq!(told, ["of t", "odd"], "each is called by its own name at its own server");
}

/// A scene with the real tools, and short results.
fn reading(mode: &str) -> Scene {
    let model = Model::new(Vec::new());
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Workspace::open_acting(&bench.workspace, 3_000, Acting::default()).unwrap()));
    let named = Arc::new(Mutex::new(ConfiguredServers { servers: vec![spec("s", mode)], file: None }));
    let (read, rules) = (named.clone(), vec![rule("mcp__*", Verdict::Allow)]);
    let mut client = bench.start_with(|setup| {
        setup.tool_rules = rules;
        setup.output_limit = 3_000;
        setup.named = Some(Arc::new(move || read.lock().unwrap().clone()));
    });
    let branch = client.session();
    let mut scene = Scene { client, branch, model, bench, named };
    scene.card("s");
    scene.model.then(call("mcp__s__act", &json!({})));
    scene.model.then(text("I see."));
    scene.turn("Act.", &yes());
    scene
}

/// The path under which the newest result is kept, what the model read of it, and the line from which on it may read more.
fn cut_at(scene: &mut Scene) -> (String, String, u64) {
    let path = kept_path(&scene.trace().id());
    let cut = scene.result();
    let at = cut.find("goes on at line ").unwrap_or_else(|| panic!("{cut}"));
    let line = cut[at + 16..].split(':').next().unwrap().parse().unwrap();
    (path, cut, line)
}

#[test]
fn what_was_cut_of_a_servers_result_is_read_in_parts() {
    let mut scene = reading("lines");
    let (path, cut, line) = cut_at(&mut scene);
    assert!(
        cut.contains(&format!("{path:?} as path")) && cut.contains(&format!("row {} of it\n[…", line - 1)),
        "{cut}"
    );
    assert!(cut.ends_with("row 4000 of it") && cut.len() < 3_300, "{}", cut.len());
    let back = format!("read_file or search with path {path}, from line {line} on");
    let trace = scene.trace();
    assert_eq!((trace.more.back.clone(), trace.more.kept), (Some(back), trace.truncated_from));
    scene.model.then(call("read_file", &json!({"path": path, "start_line": line, "lines": 2})));
    scene.model.then(call("search", &json!({"path": path, "pattern": "row 2500 "})));
    scene.model.then(text("I see."));
    scene.turn("And the rest?", &yes());
    let all = scene.client.open().traces.clone();
    assert_eq!(all[1].preview, format!("row {line} of it"));
    assert!(scene.result().contains(":2500: row 2500 of it"), "{}", scene.result());
    let off = |key: &str| ServerAct::Switch { keys: vec![key.into()], on: false };
    scene.done(off("search"));
    scene.model.then(call("search", &json!({"path": path, "pattern": "row"})));
    scene.model.then(call("mcp__s__act", &json!({})));
    scene.model.then(text("I see."));
    scene.turn("Again.", &yes());
    let refused = scene.client.open().traces[3].clone();
    assert_eq!(refused.status, Some(ToolStatus::Refused), "what is switched off reads nothing kept either");
    assert!(scene.trace().more.back.unwrap().starts_with("read_file with path"));
    scene.done(off("read_file"));
    scene.model.then(call("mcp__s__act", &json!({})));
    scene.model.then(text("I see."));
    scene.turn("Again.", &yes());
    let trace = scene.trace();
    assert_eq!((trace.more.back.as_deref(), trace.more.kept), (Some("ask the tool for less"), None));
}

#[test]
fn a_result_of_one_long_line_is_read_in_parts_too() {
    let mut scene = reading("wide");
    let (path, cut, line) = cut_at(&mut scene);
    assert!(line > 5, "{cut}");
    scene.model.then(call("read_file", &json!({"path": path, "start_line": line + 1, "lines": 1})));
    scene.model.then(call("search", &json!({"path": path, "pattern": "\"n\":2500\\D"})));
    scene.model.then(text("I see."));
    scene.turn("And the rest?", &yes());
    let read = scene.client.open().traces[1].clone();
    assert!(read.preview.starts_with("{\"n\":") && read.bytes < 400, "{read:?}");
    assert!(scene.result().contains("{\"n\":2500}"), "{}", scene.result());
}

/// A folder's own file that names the stub.
fn folder_file(text: &str, servers: Vec<ServerSpec>) -> FolderFile {
    FolderFile { path: ".mcp.json".into(), digest: Hash::of(text.as_bytes()), servers: Ok(servers) }
}

#[test]
fn a_folders_file_is_used_only_after_a_word_on_this_very_text() {
    let mut scene = scene(Vec::new(), Vec::new(), Vec::new());
    let digest = Hash::of(b"one");
    scene.named.lock().unwrap().file = Some(folder_file("one", vec![spec("s", "plain")]));
    let all = scene.toolbox(ServerAct::Settle);
    let file = all.file.unwrap();
    assert_eq!((file.word, file.servers[0].command.as_str()), (FileWord::Waits, "stub s"));
    assert!(all.servers.iter().all(|server| server.name != "s"), "nothing is started");
    scene.client.wait(0, |event| matches!(event, Event::Program(ProgramEvent::Notice(said)) if said.contains("/mcp shows them and asks")));
    scene.done(ServerAct::File { digest, yes: true });
    assert_eq!(scene.card("s").tools.len(), 2);
    scene.named.lock().unwrap().file = Some(folder_file("two", vec![spec("s", "plain")]));
    let all = scene.toolbox(ServerAct::Settle);
    assert_eq!(all.file.unwrap().word, FileWord::Waits, "another text is asked about again");
    assert!(all.servers.iter().all(|server| server.name != "s"), "and its servers ended");
    let stale = Request::Tool(ToolRequest::Servers(None, ServerAct::File { digest, yes: true }));
    assert!(scene.client.ask(stale).unwrap_err().to_string().contains("changed in the meantime"));
    scene.done(ServerAct::File { digest: Hash::of(b"two"), yes: false });
    assert_eq!(scene.toolbox(ServerAct::Settle).file.unwrap().word, FileWord::No);
}

#[test]
fn no_server_is_started_where_the_folder_is_not_trusted() {
    let model = Model::new(Vec::new());
    let mut bench = Bench::new(&model);
    bench.tools = Some(Arc::new(Echo));
    bench.trusted = false;
    let named = Arc::new(Mutex::new(ConfiguredServers { servers: vec![spec("s", "plain")], file: None }));
    let (client, branch) = open(&bench, &named, Vec::new(), true);
    let mut scene = Scene { client, branch, model, bench, named };
    let all = scene.toolbox(ServerAct::Settle);
    assert_eq!((all.trusted, all.servers.len(), scene.cost()), (false, 1, 0));
    scene.client.must(Request::Tool(ToolRequest::Trust { trusted: true }));
    assert_eq!(scene.card("s").state, ServerState::Ready, "the word starts them");
    assert!(scene.cost() > 0);
    scene.client.must(Request::Tool(ToolRequest::Trust { trusted: false }));
    assert_eq!(scene.toolbox(ServerAct::Settle).servers.len(), 1, "and ends them");
}

#[test]
fn a_stop_in_the_middle_of_a_call_is_in_the_trace() {
    let answers = vec![call("mcp__s__act", &json!({})), text("Done.")];
    let hold = ServerSpec { ..spec("s", "hold") };
    let mut scene = scene(vec![hold], answers, vec![rule("*", Verdict::Allow)]);
    scene.card("s");
    let from = scene.client.seen.len();
    scene.client.send(scene.branch, &message("Act.")).unwrap();
    scene
        .client
        .wait(from, |event| matches!(event, Event::Tool(ToolEvent::Output { text, .. }) if text.starts_with('1')));
    scene.client.must(Request::Turn(TurnRequest::Cancel { branch: scene.branch }));
    scene.client.closed(from, scene.branch);
    assert_eq!(scene.trace().status, Some(ToolStatus::Cancelled));
}

// ---- on the command line

#[test]
fn the_command_line_lists_asks_about_the_folders_file_and_shows_no_secret() {
    let home = Home::new("");
    let program = std::env::current_exe().unwrap().display().to_string();
    let file = json!({"mcpServers": {"s": {
        "command": program, "args": ["--exact", "mcp::stub", "--nocapture"],
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
    let said = home.ok(&["mcp", "list", "--json"]);
    let all: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(all["servers"][1]["state"], "ready", "{said}");
    assert_eq!(all["servers"][1]["tools"][0]["name"], "mcp__s__echo");
    assert!(!said.contains("s3cret"));
    let tested = home.run(&["mcp", "test", "s"]);
    assert_eq!(tested.code, 0, "{}", tested.err);
    assert!(tested.out.contains("s/echo"), "{}", tested.out);
    doctor(&home, &trusted, &program);
    home.configure(&format!("{trusted}[mcpServers.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no >&2; exit 4\"]\n"));
    let tested = home.run(&["mcp", "test", "bad"]);
    assert_eq!(tested.code, 1);
    assert!(tested.err.contains("it ended with exit code 4: no"), "{}", tested.err);
    let plan = home.ok(&["plan", "Hello", "--json"]);
    let tools = serde_json::from_str::<Value>(&plan).unwrap()["tools"].as_u64().unwrap();
    assert_eq!(Some(tools), serde_json::from_str::<Value>(&home.ok(&["mcp", "--json"])).unwrap()["tokens"].as_u64());
    home.configure("[mcpServers.a]\ncomand = \"x\"\n");
    let wrong = home.run(&["mcp"]);
    assert!(wrong.err.contains("line 2, column 1") && wrong.err.contains("command"), "{}", wrong.err);
}

/// What the doctor says of the same folder, with more servers in the settings. It starts none of them.
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
         [mcpServers.here]\ncommand = {program:?}\n[mcpServers.off]\ncommand = \"sh\"\ndisabled = true\n"
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
    let said = home.ok(&["doctor"]);
    assert!(said.contains("the program no-such-program was not found (stdio, settings: no-such-program)"), "{said}");
    assert!(said.contains("Install it"), "{said}");
    let listed = home.run(&["mcp", "list"]);
    assert!(listed.out.contains("s: skipped: your settings have a server with this name"), "{}", listed.out);
    std::fs::write(home.workspace().join(".mcp.json"), "{}").unwrap();
    assert!(home.ok(&["doctor"]).contains("not used: it has no `mcpServers` object"));
}

// ---- with a server that nobody here wrote

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
fn a_foreign_server_is_used_for_a_whole_turn() {
    let Some(script) = everything() else { return };
    let answers = vec![
        call("mcp__everything__get-sum", &json!({"a": 19, "b": 23})),
        call("mcp__everything__echo", &json!({"message": "hello"})),
        text("It is 42."),
    ];
    let mut scene = scene(vec![node(&script, "stdio")], answers, vec![rule("mcp__everything__echo", Verdict::Allow)]);
    let card = scene.card("everything");
    assert_eq!(card.state, ServerState::Ready, "{}", card.tail);
    assert!(card.tools.len() >= 8, "{:?}", card.tools.iter().map(|tool| &tool.tool).collect::<Vec<_>>());
    assert_eq!(scene.toolbox(ServerAct::List).tokens, scene.cost());
    let asking = scene.turn("What is 19 and 23?", &yes()).expect("get-sum asks");
    assert_eq!(asking.tool, "mcp__everything__get-sum");
    let traces = scene.client.open().traces.clone();
    let told: Vec<_> = traces.iter().map(|trace| (trace.name.as_str(), trace.status, trace.preview.as_str())).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].2.contains("42") && told[1].2.contains("hello"), "{told:?}");
    let off = ServerAct::Switch { keys: vec!["everything/*".into()], on: false };
    let whole = scene.cost();
    scene.done(off);
    assert!(scene.cost() < whole);
    scene.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(scene.cost(), whole);
}

#[test]
fn a_foreign_server_over_http_answers_reports_and_is_stopped() {
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
        assert!(Instant::now() < until, "it does not listen");
        std::thread::yield_now();
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    let way = ServerTransport::Address { url: Secret::new(url), headers: Vec::new() };
    let hub = Hub::start(&[ServerSpec { way: Ok(way), ..spec("s", "") }]);
    hub.ready("s");
    let sum = hub.call("get-sum", r#"{"a":1,"b":2}"#);
    assert!(sum.body.contains('3'), "{sum:?}");
    let watch = Watching::default();
    let long = r#"{"duration":1,"steps":2}"#;
    let output = hub.servers.call("s", "trigger-long-running-operation", long, 10_000, &watch);
    assert_eq!(output.status, ToolStatus::Ok, "{output:?}");
    assert!(watch.said.lock().unwrap().contains("1 of 2"), "{:?}", watch.said);
    watch.stopped.store(true, Ordering::Relaxed);
    let long = r#"{"duration":600,"steps":2}"#;
    let output = hub.servers.call("s", "trigger-long-running-operation", long, 10_000, &watch);
    assert_eq!(output.status, ToolStatus::Cancelled);
    hub.servers.close();
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The whole task of `pty::task`, with nothing but a server's tools: search, read, the tests fail, an edit with a word, they
/// pass. What a server changed is the server's to take back: undo says nothing of it and leaves it.
#[test]
fn a_real_task_is_done_with_a_servers_tools_alone() {
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
    let mut scene = scene(vec![server], answers, rules.into());
    scene.card("s");
    let asking = scene.turn("The tests fail. Find out why and mend it.", &yes()).expect("the edit asks");
    assert_eq!((asking.tool.as_str(), serde_json::from_str::<Value>(&asking.args).unwrap()), ("mcp__s__edit", edit));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong.replace("a - b", "a + b"));

    let view = scene.client.open();
    let told: Vec<_> =
        view.traces.iter().map(|t| (t.name.trim_start_matches("mcp__s__"), t.status, t.word.as_deref())).collect();
    let (ok, failed) = (Some(ToolStatus::Ok), Some(ToolStatus::Failed));
    let words: Vec<bool> = told.iter().map(|(_, _, word)| word.is_some_and(|word| word.starts_with("rule"))).collect();
    let calls: Vec<_> = told.iter().map(|(name, status, _)| (*name, *status)).collect();
    assert_eq!(calls, [("find", ok), ("read", ok), ("check", failed), ("edit", ok), ("check", ok)]);
    assert_eq!(words, [true, true, true, false, true], "{told:?}");
    let traces: Vec<&ToolTrace> = view.traces.iter().collect();
    let links = resolution::links(&traces, |_, _| true);
    assert_eq!(links.len(), 1, "{links:?}");
    assert_eq!((links[0].failed, links[0].fixed), (2, 4));

    let bodies = scene.model.bodies();
    assert_eq!(bodies.len(), 6);
    let runs = view.runs.iter().map(|run| run.request_digest).collect::<Vec<_>>();
    for (at, body) in bodies.iter().enumerate() {
        assert!(runs.contains(&Hash::of(body)), "call {at} was sent as it was planned");
        let body: Value = serde_json::from_slice(body).unwrap();
        let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
        assert_eq!(results, at, "each round sends the results so far");
    }
    assert!(String::from_utf8_lossy(&bodies[5]).contains("test adds ... ok"));
    let undone = scene.client.ask(Request::Session(SessionRequest::Undo));
    assert!(undone.is_err() || !format!("{undone:?}").contains(WORK), "{undone:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong.replace("a - b", "a + b"));
}
