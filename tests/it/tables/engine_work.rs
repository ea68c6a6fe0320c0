//! Work on a folder through the whole engine: code and rules in requests, tool calls with rules and approval, traces,
//! undoing file changes, and diagnostics about the folder.

use super::record::{Consents, Record};
use super::same;
use crate::support::bench::{Bench, Client, Model, Say, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::code::CodeSettings;
use pleach::domain::conversation::{MarkKind, Overrides};
use pleach::domain::planning::Mode;
use pleach::domain::summary::{EditableKind, SummaryAuthor};
use pleach::domain::tool::{Consent, Rule, RuleScope, Verdict};
use pleach::engine::api::{
    Act, Answer, BranchRequest, CodeAct, EditableAct, FileAct, ItemName, ModuleAct, PlanRequest, ProjectAct, Request,
    RuleAct, ServerAct, SessionRequest, ToolAnswer, ToolRequest, TraceAct,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "Always write tests first.\n"),
    ("docs/AGENTS.md", "Short pages.\n@style.md\n"),
    ("docs/style.md", "Two spaces.\n"),
    ("docs/guide.md", "# Guide\n\nHow to start: run the thing.\nThen stop.\n"),
    (".pleach/skills/paint/SKILL.md", "---\nname: paint\ndescription: Paints cranes\n---\nUse red.\n"),
    (
        "src/net/retry.rs",
        "/// Tries a request again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: \
            u32) -> u32 {\n    n * 2\n}\n",
    ),
    (
        "src/net/client.rs",
        "use super::retry::retry_request;\n\npub struct Client {\n    timeout: u32,\n}\n\nimpl Client {\n    /// \
            Sends.\n    pub fn send(&self) -> bool {\n        retry_request(self.timeout)\n    }\n}\n",
    ),
    ("src/net/mod.rs", "pub mod client;\npub mod retry;\n"),
    ("app/models.py", "class ModelOptions:\n    def validate(self, temperature):\n        return temperature > 0\n"),
    (".env", "TOKEN=abc\n"),
    ("notes.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
];

fn rule(tool: &str, on: Option<&str>, verdict: Verdict) -> Rule {
    Rule { tool: tool.into(), on: on.map(str::to_owned), verdict }
}

struct Work {
    client: Client,
    record: Record,
    branch: BranchId,
    model: Arc<Model>,
    bench: Bench,
}

fn work() -> Work {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    for (name, text) in FILES {
        let path = bench.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    bench.code = CodeSettings::default();
    bench.rounds = 9;
    let space = Workspace::open_with_effects(&bench.workspace, 3_000, EffectOptions::default()).unwrap();
    bench.tools = Some(Arc::new(space));
    let rules = vec![
        rule("write_file", Some("docs/*"), Verdict::Allow),
        rule("read_file", Some(".env*"), Verdict::Deny),
        rule("edit_file", Some("src/*"), Verdict::Ask),
    ];
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.tool_rules = rules;
    });
    let record = Record::new(&bench);
    let branch = client.session();
    Work { client, record, branch, model, bench }
}

impl Work {
    fn ask(&mut self, label: &str, request: Request) -> Option<Answer> {
        self.record.ask(&mut self.client, label, request)
    }

    /// A turn in which the model makes these calls, with a decision for each call that asks.
    fn calls(&mut self, words: &str, calls: &[(&str, Value)], consents: Consents<'_>) {
        let script = calls.iter().map(|(name, args)| Say::Call((*name).into(), args.to_string())).collect();
        self.model.then(script);
        self.model.then(text("Done."));
        let from = self.client.seen.len();
        self.client.send(self.branch, &message(words)).unwrap();
        self.record.decide(&mut self.client, self.branch, from, consents, false);
        let closed = self.client.closed(from, self.branch);
        self.record.note(words, &closed);
        let list = self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::List { most: calls.len() })));
        let Answer::Tool(ToolAnswer::Traces(traces)) = list else { panic!() };
        for trace in &traces {
            self.record.note(
                "trace",
                &(
                    trace.title(),
                    &trace.args,
                    trace.status,
                    &trace.preview,
                    trace.bytes,
                    trace.truncated_from,
                    &trace.changed,
                ),
            );
        }
        let body = self.model.bodies().pop().unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        for message in body["messages"].as_array().unwrap().iter().rev().take_while(|message| message["role"] == "tool")
        {
            self.record.note("result", &message["content"]);
        }
    }

    fn files(&mut self) {
        let mut found = Vec::new();
        let mut folders = vec![self.bench.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    let name = entry.path().strip_prefix(&self.bench.workspace).unwrap().display().to_string();
                    let text = std::fs::read_to_string(entry.path()).unwrap();
                    if !FILES.contains(&(name.as_str(), text.as_str())) {
                        found.push((name, text));
                    }
                }
            }
        }
        found.sort();
        self.record.note("files that differ", &found);
    }

    fn plan(&mut self, words: &str) {
        let planned = self.client.plan(self.branch, &message(words));
        self.record.note(&format!("plan {words:?}"), &planned);
        let branch = self.branch;
        self.ask("wire", Request::Plan(PlanRequest::WireText { branch }));
    }
}

fn yes() -> (Consent, Option<(RuleScope, Rule)>) {
    (Consent::Yes { hunks: Vec::new() }, None)
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn calls_to_tools() {
    let mut work = work();
    work.calls(
        "Look around.",
        &[
            ("list_dir", json!({})),
            ("list_dir", json!({"path": "src", "depth": 3})),
            ("list_dir", json!({"path": "nowhere"})),
            ("read_file", json!({"path": "notes.txt", "start_line": 2, "lines": 3})),
            ("read_file", json!({"path": "notes.txt", "start_line": 99})),
            ("read_file", json!({"path": ".env"})),
            ("read_file", json!({"path": "../outside"})),
            ("read_file", json!({"file": 7})),
            ("search", json!({"pattern": "retry"})),
            ("search", json!({"pattern": "o", "path": "notes.txt", "max": 2})),
            ("search", json!({"pattern": "(", "path": "src"})),
            ("nothing", json!({})),
        ],
        &[],
    );
    work.calls(
        "Write.",
        &[
            ("write_file", json!({"path": "docs/new.md", "text": "new\n"})),
            ("write_file", json!({"path": "docs/guide.md", "text": "# Guide\n\nOther.\n"})),
        ],
        &[],
    );
    let always = (
        Consent::Yes { hunks: vec![vec![true, false]] },
        Some((RuleScope::Session, rule("edit_file", Some("notes.txt"), Verdict::Allow))),
    );
    let edits = json!({"path": "notes.txt", "edits": [{"old": "two", "new": "2"}, {"old": "six\n", "new": "6\nsix and a half\n"}]});
    let no = (Consent::No { why: Some("not the code".into()) }, None);
    work.calls(
        "Edit.",
        &[
            ("edit_file", edits),
            ("edit_file", json!({"path": "src/net/mod.rs", "edits": [{"old": "pub mod client;\n", "new": ""}]})),
            ("edit_file", json!({"path": "notes.txt", "edits": [{"old": "e", "new": "E"}]})),
            ("edit_file", json!({"path": "notes.txt", "edits": [{"old": "three", "new": "3", "replace_all": true}]})),
            ("write_file", json!({"path": "AGENTS.md", "text": "Never.\n"})),
        ],
        &[always, no, yes()],
    );
    work.files();
    let branch = work.branch;
    work.ask("rules", Request::Tool(ToolRequest::Rule(RuleAct::List)));
    let drop = RuleAct::Set {
        scope: RuleScope::Session,
        rule: rule("edit_file", Some("notes.txt"), Verdict::Allow),
        on: false,
    };
    work.ask("drop the rule", Request::Tool(ToolRequest::Rule(drop)));
    work.ask("rules", Request::Tool(ToolRequest::Rule(RuleAct::List)));
    for _ in 0..3 {
        work.ask("undo", Request::Session(SessionRequest::Undo));
        work.files();
    }
    work.ask("redo", Request::Session(SessionRequest::Redo));
    work.files();
    work.plan("What did list_dir say of src/net/retry.rs?");
    work.ask("toolbox", Request::Tool(ToolRequest::Servers(Some(branch), ServerAct::List)));
    work.ask(
        "switch",
        Request::Tool(ToolRequest::Servers(Some(branch), ServerAct::Switch { keys: vec!["search".into()], on: false })),
    );
    work.plan("And now?");
    work.client.stop();
    let mut record = work.record;
    record.store(&work.bench);
    same("engine_tools", &record.end());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, act by act")]
fn code_rules_and_files_of_a_folder() {
    let mut work = work();
    let branch = work.branch;
    let tool = Request::Tool;
    work.ask("index", tool(ToolRequest::Code { root: None, act: CodeAct::Index }));
    for query in ["Why does retry_request give up?", "validate the temperature", "the sea"] {
        work.ask(
            query,
            tool(ToolRequest::Code { root: None, act: CodeAct::Find { query: query.into(), budget: 200 } }),
        );
    }
    work.ask("map", tool(ToolRequest::Code { root: None, act: CodeAct::Map { budget: 300, anchors: 4 } }));
    for typed in ["retry", "Cli", "zzz", ""] {
        work.ask(
            &format!("names {typed}"),
            tool(ToolRequest::Code { root: None, act: CodeAct::Names { typed: typed.into(), most: 5 } }),
        );
    }
    for (query, limit) in [("ret", 5), ("guide", 5), ("", 3), ("zz", 3), (".env", 3)] {
        work.ask(&format!("files {query:?}"), tool(ToolRequest::Files(FileAct::Find { query: query.into(), limit })));
    }
    for path in ["docs/guide.md", ".env", "nowhere", "docs"] {
        work.ask(&format!("read {path}"), tool(ToolRequest::Files(FileAct::Read { path: path.into() })));
    }
    for mode in [Mode::Off, Mode::Light, Mode::Heavy] {
        let overrides = Overrides { mode: Some(mode), ..Overrides::default() };
        work.ask("mode", Request::Branch(BranchRequest::Override { branch, overrides }));
        work.plan("Why does retry_request of @docs/guide.md give up so early?");
    }
    work.record.say("project");
    let project = |act| Request::Tool(ToolRequest::Project(act));
    work.ask("project", project(ProjectAct::List { branch }));
    for (path, on, once) in
        [("AGENTS.md", Some(false), true), ("AGENTS.md", None, false), ("nowhere.md", Some(false), false)]
    {
        work.ask(&format!("set {path}"), project(ProjectAct::Set { branch, path: path.into(), on, once }));
    }
    work.ask(
        "save",
        project(ProjectAct::Save { branch, path: "AGENTS.md".into(), text: "Sometimes.\n".into(), expected: None }),
    );
    for path in ["src/net", "docs", "nowhere"] {
        work.ask(
            &format!("module {path}"),
            project(ProjectAct::Module(ModuleAct::Make { branch, path: path.into(), by: SummaryAuthor::Extractive })),
        );
    }
    work.ask(
        "edit module",
        project(ProjectAct::Module(ModuleAct::Edit {
            path: "src/net".into(),
            text: "It tries again, see src/net/retry.rs.".into(),
        })),
    );
    work.ask("step module", project(ProjectAct::Module(ModuleAct::Step { path: "src/net".into(), forward: false })));
    std::fs::write(
        work.bench.workspace.join("src/net/retry.rs"),
        "pub fn retry_request(n: u32) -> bool {\n    n > 9\n}\n",
    )
    .unwrap();
    work.ask("index again", tool(ToolRequest::Code { root: None, act: CodeAct::Index }));
    work.ask("modules", project(ProjectAct::Module(ModuleAct::List { branch })));
    work.plan("What is in src/net and why does Client::send fail?");
    let note = ItemName::Note("kept by hand".into());
    work.ask(
        "note",
        Request::Branch(BranchRequest::Mark {
            branch,
            items: vec![note],
            act: Act::Set { kind: MarkKind::Sticky, toggle: false },
        }),
    );
    for kind in EditableKind::ALL {
        work.ask(kind.title(), Request::Editable(EditableAct::List { branch, kind }));
    }
    work.ask("trust", tool(ToolRequest::Trust { trusted: false }));
    work.plan("Why does retry_request give up?");
    work.client.stop();
    let mut record = work.record;
    record.store(&work.bench);
    same("engine_folder", &record.end());
}
