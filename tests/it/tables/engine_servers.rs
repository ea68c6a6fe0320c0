//! MCP servers through the whole engine: offered, approved, switched, and called tools, storing and reading long
//! results, decisions of rules and persons, and reruns.

use super::record::{Consents, Record, notice};
use super::same;
use crate::support::bench::{Bench, Client, Model, Say, message, text};
use pleach::domain::base::{BranchId, Hash};
use pleach::domain::tool::{
    ConfiguredServers, Consent, FolderFile, Origin, RerunState, Rule, RuleScope, Secret, Server, ServerSpec,
    ServerState, ServerTool, ServerTransport, ToolHints, ToolObserver, ToolOutput, ToolServers, ToolStatus, Verdict,
};
use pleach::engine::api::{
    Answer, BranchRequest, Event, ItemName, ProgramRequest, Request, RuleAct, ServerAct, SessionRequest, ToolAnswer,
    ToolEvent, ToolRequest as T, TraceAct, TraceWhole,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The bytes of a result that the model reads.
const LIMIT: usize = 600;

/// Servers in states that a test sets.
#[derive(Default)]
struct FakeServers {
    named: Mutex<Vec<ServerSpec>>,
    tools: Mutex<Vec<(String, Vec<ServerTool>)>>,
    failed: Mutex<Vec<String>>,
    done: Mutex<Vec<String>>,
    changed: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl FakeServers {
    fn note(&self, words: String) {
        self.done.lock().unwrap().push(words);
    }
}

impl ToolServers for FakeServers {
    fn tell(&self, changed: Box<dyn Fn() + Send + Sync>) {
        *self.changed.lock().unwrap() = Some(changed);
    }

    fn set(&self, servers: &[ServerSpec]) {
        let names: Vec<&str> = servers.iter().map(|spec| spec.name.as_str()).collect();
        self.note(format!("set {}", names.join(" ")));
        *self.named.lock().unwrap() = servers.to_vec();
    }

    fn restart(&self, name: &str) {
        self.note(format!("restart {name}"));
    }

    fn servers(&self) -> Vec<Server> {
        let (tools, failed) = (self.tools.lock().unwrap(), self.failed.lock().unwrap());
        let one = |spec: &ServerSpec| {
            if spec.disabled {
                return Server::new(spec.clone(), ServerState::Off { why: "it is disabled".into() });
            }
            if failed.contains(&spec.name) {
                let state = ServerState::Failed { why: "it ended".into(), todo: "Start it again.".into() };
                return Server { tail: "last words".into(), ..Server::new(spec.clone(), state) };
            }
            let own = tools.iter().find(|(name, _)| *name == spec.name).map(|(_, tools)| tools.clone());
            Server {
                tools: own.unwrap_or_default(),
                about: format!("{} 1.0", spec.name),
                instructions: "Read me.".into(),
                strays: 2,
                notes: vec!["a tool without a name is not offered".into()],
                ..Server::new(spec.clone(), ServerState::Ready)
            }
        };
        self.named.lock().unwrap().iter().map(one).collect()
    }

    fn call(&self, server: &str, tool: &str, args: &str, limit: usize, _: &dyn ToolObserver) -> ToolOutput {
        self.note(format!("call {server} {tool} {args} {limit}"));
        let size = serde_json::from_str::<Value>(args).ok().and_then(|args| args["lines"].as_u64()).unwrap_or(1);
        let body: Vec<String> = (1..=size).map(|n| format!("line {n} of {tool}\n")).collect();
        let whole = body.concat();
        let full_bytes = whole.len() as u64;
        let mut body = whole;
        body.truncate(limit);
        let status = if tool == "fail" { ToolStatus::Failed } else { ToolStatus::Ok };
        ToolOutput { status, body, full_bytes }
    }

    fn close(&self) {
        self.note("close".into());
    }
}

fn spec(name: &str, origin: Origin, disabled: bool) -> ServerSpec {
    ServerSpec {
        name: name.into(),
        origin,
        way: Ok(ServerTransport::Program {
            command: Secret::new("program"),
            args: vec![Secret::new("--flag")],
            env: vec![("KEY".into(), Secret::new("hidden"))],
            folder: String::new(),
        }),
        shown: format!("program --flag {name}"),
        given: vec!["KEY=$KEY".into()],
        disabled,
        seconds: 30,
        start_seconds: 5,
    }
}

fn tool(name: &str, about: &str, read_only: Option<bool>) -> ServerTool {
    let hints = ToolHints { read_only, ..ToolHints::default() };
    ServerTool::new(name, about, json!({"type": "object", "properties": {"lines": {"type": "integer"}}}), hints)
}

fn rule(tool: &str, on: Option<&str>, verdict: Verdict) -> Rule {
    Rule { tool: tool.into(), on: on.map(str::to_owned), verdict }
}

fn file(servers: Vec<ServerSpec>) -> FolderFile {
    let names: Vec<&str> = servers.iter().map(|spec| spec.name.as_str()).collect();
    FolderFile { path: ".mcp.json".into(), digest: Hash::of(names.join(" ").as_bytes()), servers: Ok(servers) }
}

struct Work {
    client: Client,
    record: Record,
    branch: BranchId,
    model: Arc<Model>,
    servers: Arc<FakeServers>,
    named: Arc<Mutex<ConfiguredServers>>,
    bench: Bench,
}

impl Work {
    fn new() -> Self {
        let model = Model::new([]);
        let mut bench = Bench::new(&model);
        for (name, text) in [("notes.txt", "one\ntwo\nthree\n"), (".env", "KEY=abc\n"), ("src/a.rs", "fn a() {}\n")] {
            let path = bench.workspace.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        bench.rounds = 6;
        let acting = EffectOptions { keep: 1_500, ..EffectOptions::default() };
        bench.tools = Some(Arc::new(Workspace::open_with_effects(&bench.workspace, LIMIT, acting).unwrap()));
        let servers = Arc::new(FakeServers::default());
        *servers.tools.lock().unwrap() = vec![
            (
                "alpha".into(),
                vec![
                    tool("look", "Looks.", Some(true)),
                    tool("do", "Does.", None),
                    tool("fail", "Fails.", Some(false)),
                ],
            ),
            ("beta".into(), vec![tool("look", "Looks, too.", Some(true))]),
            ("gamma".into(), vec![tool("draw", "Draws.", None)]),
        ];
        let own = vec![spec("alpha", Origin::Settings, false), spec("off", Origin::Settings, true)];
        let folder = vec![spec("beta", Origin::Folder, false), spec("alpha", Origin::Folder, false)];
        let named = Arc::new(Mutex::new(ConfiguredServers { servers: own, file: Some(file(folder)) }));
        let (foreign, read) = (servers.clone(), named.clone());
        let mut client = bench.start_with(|setup| {
            setup.patient = true;
            setup.foreign = foreign;
            setup.settings.named = Some(Arc::new(move || read.lock().unwrap().clone()));
            setup.settings.output_limit = LIMIT;
            setup.settings.tool_rules =
                vec![rule("mcp__alpha__look", None, Verdict::Allow), rule("mcp__alpha__fail", None, Verdict::Allow)];
        });
        let record = Record::new(&bench);
        let branch = client.session();
        Self { client, record, branch, model, servers, named, bench }
    }

    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        let from = self.client.seen.len();
        let answer = self.record.ask(&mut self.client, label, request);
        self.record_notices(from);
        answer
    }

    fn record_notices(&mut self, from: usize) {
        let notices: Vec<String> = self.client.seen[from..].iter().filter_map(notice).collect();
        let done = std::mem::take(&mut *self.servers.done.lock().unwrap());
        if !notices.is_empty() || !done.is_empty() {
            self.record.note("told", &(notices, done));
        }
    }

    fn servers(&mut self, label: &str, act: ServerAct) {
        let branch = Some(self.branch);
        self.ask(label, Request::Tool(T::Servers(branch, act)));
    }

    /// A turn in which the model makes these calls, with a person's decision for each call that asks.
    fn calls(&mut self, words: &str, calls: &[(&str, Value)], consents: Consents<'_>) {
        let script = calls.iter().map(|(name, args)| {
            Say::Call((*name).into(), args.as_str().map_or_else(|| args.to_string(), str::to_owned))
        });
        self.model.then(script.collect());
        self.model.then(text("Done."));
        let from = self.client.seen.len();
        self.client.send(self.branch, &message(words)).unwrap();
        self.record.decide(&mut self.client, self.branch, from, consents, true);
        let closed = self.client.closed(from, self.branch);
        self.record.note(words, &closed);
        self.record_notices(from);
        let body = self.model.bodies().pop().unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let names: Vec<&str> = body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.pointer("/function/name")?.as_str())
            .collect();
        self.record.note("tools", &names);
        for message in body["messages"].as_array().unwrap().iter().rev().take_while(|message| message["role"] == "tool")
        {
            self.record.note("result", &message["content"]);
        }
        let list = self.client.must(Request::Tool(T::Traces(TraceAct::List { most: calls.len() })));
        let Answer::Tool(ToolAnswer::Traces(traces)) = list else { panic!() };
        for trace in &traces {
            self.record.note(
                "trace",
                &(trace.title(), trace.status, &trace.word, trace.bytes, trace.truncated_from, &trace.preview),
            );
        }
    }

    /// The ids of calls, newest first.
    fn traces(&mut self) -> Vec<String> {
        let list = self.client.must(Request::Tool(T::Traces(TraceAct::List { most: 99 })));
        let Answer::Tool(ToolAnswer::Traces(traces)) = list else { panic!() };
        traces.iter().map(pleach::domain::tool::trace::ToolTrace::id).collect()
    }

    /// A complete call.
    fn show(&mut self, id: &str) {
        match self.client.ask(Request::Tool(T::Traces(TraceAct::Show { id: id.to_owned() }))) {
            Ok(Answer::Tool(ToolAnswer::Trace(whole))) => {
                let TraceWhole { trace, result, full, files } = *whole;
                let trace = (
                    trace.title(),
                    &trace.args,
                    trace.status,
                    &trace.word,
                    trace.bytes,
                    &trace.changed,
                    &trace.more.protection,
                );
                self.record.note("show", &(trace, result, full, files));
            }
            other => self.record.note("show", &other),
        }
    }

    /// Reruns a call, with a person's decision if it asks.
    fn rerun(&mut self, id: &str, consent: &Consent) {
        let from = self.client.seen.len();
        let rerun = TraceAct::Again { branch: self.branch, id: id.to_owned() };
        if self.ask("again", Request::Tool(T::Traces(rerun))).is_none() {
            return;
        }
        let state_of = |event: &Event| match event {
            Event::Tool(ToolEvent::Rerun(view)) => Some(view.state.clone()),
            _ => None,
        };
        let is_settled = |event: &Event| state_of(event).is_some_and(|state| !matches!(state, RerunState::Runs));
        let mut at = self.client.wait(from, is_settled);
        if matches!(state_of(&self.client.seen[at]), Some(RerunState::Asks(_))) {
            let word = TraceAct::Word { consent: consent.clone(), always: None };
            self.ask(&format!("{consent:?}"), Request::Tool(T::Traces(word)));
            at = self.client.wait(at + 1, is_settled);
        }
        let Event::Tool(ToolEvent::Rerun(view)) = self.client.seen[at].clone() else { panic!() };
        let trace = &view.trace;
        let facts =
            (trace.title(), &view.change, trace.status, &trace.word, trace.bytes, trace.truncated_from, &trace.changed);
        self.record.note("ran again", &facts);
        self.record_notices(from);
    }
}

fn yes() -> (Consent, Option<(RuleScope, Rule)>) {
    (Consent::Yes { hunks: Vec::new() }, None)
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn tool_servers() {
    let mut work = Work::new();
    work.servers("list", ServerAct::List);
    work.servers("settle", ServerAct::Settle);
    work.servers("restart", ServerAct::Restart { server: "alpha".into() });
    work.servers("restart nobody", ServerAct::Restart { server: "nobody".into() });
    work.servers("test", ServerAct::Test { server: "alpha".into() });
    work.calls(
        "Look around.",
        &[
            ("mcp__alpha__look", json!({"lines": 3})),
            ("mcp__alpha__look", json!({"lines": 60})),
            ("mcp__alpha__look", json!({"lines": 200})),
            ("mcp__alpha__fail", json!({})),
            ("mcp__beta__look", json!({})),
            ("mcp__nobody__look", json!({})),
            ("mcp__alpha__look", json!("{oops")),
            ("mcp__alpha__look", json!("")),
        ],
        &[],
    );
    let ids = work.traces();
    let kept: Vec<String> = ids.iter().map(|id| format!("{}{id}", pleach::domain::tool::trace::KEPT)).collect();
    // The second newest of the long results is the complete one with 60 lines.
    let path = &kept[kept.len() - 2];
    work.calls(
        "Read on.",
        &[
            ("read_file", json!({"path": path, "start_line": 30, "lines": 3})),
            ("search", json!({"path": path, "pattern": "line 5\\d"})),
            ("read_file", json!({"path": kept[0], "start_line": 1})),
            ("list_dir", json!({"path": path})),
            ("read_file", json!({"path": format!("{}none", pleach::domain::tool::trace::KEPT)})),
        ],
        &[],
    );
    work.record.say("the folder's file");
    let digest = work.named.lock().unwrap().file.as_ref().unwrap().digest;
    work.servers("another file", ServerAct::File { digest: Hash::of(b"another"), yes: true });
    work.servers("yes", ServerAct::File { digest, yes: true });
    work.servers("list", ServerAct::List);
    work.servers("no", ServerAct::File { digest, yes: false });
    work.servers("yes", ServerAct::File { digest, yes: true });
    let asked = (RuleScope::Session, rule("mcp__beta__look", None, Verdict::Allow));
    work.calls(
        "Both.",
        &[
            ("mcp__beta__look", json!({})),
            ("mcp__alpha__do", json!({"lines": 2})),
            ("mcp__beta__look", json!({"lines": 2})),
        ],
        &[(Consent::Yes { hunks: Vec::new() }, Some(asked)), (Consent::No { why: Some("not now".into()) }, None)],
    );
    work.named.lock().unwrap().file = Some(file(vec![spec("gamma", Origin::Folder, false)]));
    work.servers("another file comes", ServerAct::File { digest, yes: true });
    work.ask("trust", Request::Tool(T::Trust { trusted: false }));
    work.servers("untrusted", ServerAct::List);
    work.ask("trust", Request::Tool(T::Trust { trusted: true }));
    work.record.say("tools that change");
    work.servers.tools.lock().unwrap()[0].1 =
        vec![tool("look", "Looks otherwise.", Some(true)), tool("new", "New.", None), tool("do", "Does.", None)];
    work.servers("settle", ServerAct::Settle);
    work.servers("approve one", ServerAct::Approve { server: "alpha".into(), tool: Some("look".into()) });
    work.servers("approve nothing", ServerAct::Approve { server: "alpha".into(), tool: Some("gone".into()) });
    work.servers("approve all", ServerAct::Approve { server: "alpha".into(), tool: None });
    work.servers("approve nobody", ServerAct::Approve { server: "nobody".into(), tool: None });
    work.servers("list", ServerAct::List);
    for failed in [vec!["alpha".to_owned()], vec![]] {
        *work.servers.failed.lock().unwrap() = failed;
        work.servers("restart", ServerAct::Restart { server: "alpha".into() });
        work.ask("file", Request::Tool(T::Servers(None, ServerAct::File { digest: Hash::of(b"x"), yes: true })));
    }
    work.record.say("switches");
    for (keys, on) in [
        (vec!["search"], false),
        (vec!["search"], false),
        (vec!["mcp__alpha__look"], false),
        (vec!["alpha/*"], false),
        (vec!["alpha/do"], true),
        (vec!["*"], false),
        (vec!["read_file", "write_file"], true),
        (vec!["nothing"], true),
    ] {
        let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        work.servers(&format!("switch {keys:?} {on}"), ServerAct::Switch { keys, on });
    }
    work.calls(
        "What is left?",
        &[
            ("search", json!({"pattern": "x"})),
            ("mcp__alpha__look", json!({})),
            ("read_file", json!({"path": "notes.txt"})),
        ],
        &[],
    );
    work.servers("list", ServerAct::List);
    work.ask("undo", Request::Session(SessionRequest::Undo));
    work.ask("doctor", Request::Program(ProgramRequest::Doctor));
    work.client.stop();
    same("engine_servers", &work.record.end());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn decisions_on_calls_and_reruns() {
    let mut work = Work::new();
    let always = |scope, tool: &str, on: Option<&str>, verdict| Some((scope, rule(tool, on, verdict)));
    work.calls(
        "Change things.",
        &[
            ("write_file", json!({"path": "new.txt", "text": "a\nb\nc\n"})),
            (
                "edit_file",
                json!({"path": "notes.txt", "edits": [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]}),
            ),
            ("write_file", json!({"path": "AGENTS.md", "text": "Rules.\n"})),
            ("write_file", json!({"path": "src/b.rs", "text": "fn b() {}\n"})),
            ("read_file", json!({"path": ".env"})),
        ],
        &[
            (Consent::Unasked, None),
            (
                Consent::Yes { hunks: vec![vec![false, true]] },
                always(RuleScope::Folder, "edit_file", Some("notes.txt"), Verdict::Allow),
            ),
            (Consent::No { why: None }, None),
            (
                Consent::Yes { hunks: Vec::new() },
                always(RuleScope::Session, "write_file", Some("src/*"), Verdict::Allow),
            ),
        ],
    );
    work.record.say("rules");
    let set = |scope, rule, on| Request::Tool(T::Rule(RuleAct::Set { scope, rule, on }));
    for (scope, rule, on) in [
        (RuleScope::Config, rule("run", None, Verdict::Deny), true),
        (RuleScope::Session, rule("read_file", Some(".env"), Verdict::Deny), true),
        (RuleScope::Session, rule("read_file", Some("*.txt"), Verdict::Deny), true),
        (RuleScope::Session, rule("read_file", Some("*.txt"), Verdict::Deny), false),
        (RuleScope::Folder, rule("search", Some("src"), Verdict::Ask), true),
        (RuleScope::Folder, rule("mcp__*", None, Verdict::Deny), true),
        (RuleScope::Folder, rule("nothing", None, Verdict::Deny), false),
    ] {
        work.ask(&format!("{} {on}", rule.to_text()), set(scope, rule, on));
    }
    work.ask("rules", Request::Tool(T::Rule(RuleAct::List)));
    work.calls(
        "And now?",
        &[
            ("read_file", json!({"path": ".env"})),
            ("search", json!({"pattern": "fn"})),
            ("search", json!({"pattern": "fn", "path": "src"})),
            ("mcp__alpha__look", json!({})),
            ("edit_file", json!({"path": "notes.txt", "edits": [{"old": "two", "new": "2"}]})),
        ],
        &[yes()],
    );
    work.record.say("again");
    let ids = work.traces();
    for id in [ids[0].as_str(), ids[1].as_str(), "none", &ids[5][..9]] {
        work.show(id);
    }
    work.ask("stop nothing", Request::Tool(T::Traces(TraceAct::Stop)));
    work.ask("no call waits", Request::Tool(T::Traces(TraceAct::Word { consent: Consent::Unasked, always: None })));
    std::fs::write(work.bench.workspace.join("src/c.rs"), "fn c() {}\nfn d() {}\n").unwrap();
    for (at, id) in ids.iter().enumerate() {
        let consent = match at % 3 {
            0 => Consent::Yes { hunks: Vec::new() },
            1 => Consent::No { why: Some("no".into()) },
            _ => Consent::Unasked,
        };
        work.rerun(id, &consent);
    }
    let newest = work.traces();
    work.show(&newest[0]);
    for _ in 0..5 {
        work.ask("undo", Request::Session(SessionRequest::Undo));
    }
    work.ask("redo", Request::Session(SessionRequest::Redo));
    let remove = ItemName::Named { text: "1".into(), message: false };
    work.ask("remove", Request::Branch(BranchRequest::RemoveMessage { branch: work.branch, item: remove }));
    work.show(&ids[9]);
    work.rerun(&ids[9], &Consent::Unasked);
    work.client.stop();
    let mut record = work.record;
    record.store(&work.bench);
    same("engine_consents", &record.end());
}
