//! Code of the workspace in calls: the map and touchpoints as rows, nothing from an untrusted folder, nothing twice,
//! pins and exclusions, the focus, and the model's code tools, through the engine and the real binary.

use crate::support::bench::{Bench, Client, Model, Say, message};
use crate::support::binary::Home;
use pleach::domain::base::BranchId;
use pleach::domain::code::CodeSettings;
use pleach::domain::conversation::{Atom, MarkKind, Overrides};
use pleach::domain::planning::{ContextPlan, Mode, Row, RowKind, Section};
use pleach::domain::planning::{Reason, Warning};
use pleach::domain::summary::SummaryAuthor;
use pleach::engine::api::{
    Act, Answer, BranchRequest, CodeAct, Event, ItemName, ModuleAct, PlanRequest, Planned, ProjectAct, Request,
    SessionRequest, ToolAnswer, ToolRequest, TurnRequest,
};
use pleach::tools::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "src/net/retry.rs",
        "/// Tries a request again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: \
            u32) -> u32 {\n    let twice = n * 2;\n    twice\n}\n",
    ),
    (
        "src/net/client.rs",
        "pub struct Client {\n    timeout: u32,\n}\n\nimpl Client {\n    pub fn send(&self) -> bool {\n        \
            super::retry::retry_request(self.timeout)\n    }\n}\n",
    ),
    ("src/net/mod.rs", "pub mod client;\npub mod retry;\n"),
    ("src/disk.rs", "pub struct Disk;\n\nimpl Disk {\n    pub fn sync_all(&self) {}\n}\n"),
    ("app/models.py", "class ModelOptions:\n    def validate(self, temperature):\n        return temperature > 0\n"),
    ("app/views.py", "def draw_graph(points):\n    key = \"AKIAIOSFODNN7EXAMPLE\"\n    return points\n"),
];

pub(crate) const QUESTION: &str = "Why does retry_request give up so early?";

fn put(root: &Path) {
    for (name, text) in FILES {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// An engine on a folder of code that waits for indexing, so that its plans do not depend on timing.
pub(crate) fn bench(model: &Arc<Model>) -> Bench {
    let mut bench = Bench::new(model);
    put(&bench.workspace);
    bench.code = CodeSettings::default();
    bench.tools = Some(Arc::new(Workspace::open(&bench.workspace, 10_000).unwrap()));
    bench
}

pub(crate) fn start(bench: &Bench) -> Client {
    bench.start_with(|setup| setup.patient = true)
}

pub(crate) fn set(client: &mut Client, branch: BranchId, change: impl FnOnce(&mut Overrides)) {
    let mut overrides = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    change(&mut overrides);
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
}

pub(crate) fn code(plan: &ContextPlan) -> Vec<&Row> {
    plan.rows.iter().filter(|row| row.kind == RowKind::Code).collect()
}

pub(crate) fn symbol(row: &Row) -> &str {
    row.source.code.as_ref().map_or("", |code| code.qualified.as_str())
}

pub(crate) fn found<'a>(plan: &'a ContextPlan, name: &str) -> Option<&'a Row> {
    code(plan).into_iter().find(|row| symbol(row).ends_with(name))
}

pub(crate) fn mark(client: &mut Client, branch: BranchId, atom: Atom, kind: MarkKind) {
    let act = Act::Set { kind, toggle: true };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(atom)], act }));
}

pub(crate) fn body(client: &mut Client, branch: BranchId) -> String {
    match client.must(Request::Plan(PlanRequest::WireText { branch })) {
        Answer::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Compares the folder with the index now.
pub(crate) fn look_again(client: &mut Client) {
    client.must(Request::Tool(ToolRequest::Code { root: None, act: CodeAct::Index }));
}

#[test]
fn each_mode_keeps_its_allowance() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |o| o.mode = Some(Mode::Off));
    let plan = client.whole_plan(branch, &message(QUESTION));
    assert!(code(&plan).is_empty() && !plan.rows.iter().any(|row| row.reason.name() == "no_code"));
    set(&mut client, branch, |o| o.mode = Some(Mode::Light));
    let plan = client.whole_plan(branch, &message(QUESTION));
    let [map, named] = code(&plan)[..] else { panic!("{:#?}", plan.rows) };
    assert!(named.included() && named.tokens <= 120 && symbol(named).ends_with("retry_request"), "{named:?}");
    assert_eq!((map.section(), &map.reason), (Some(Section::Orientation), &Reason::CodeMap));
    assert!(map.tokens <= 290, "the map and its note: {}", map.tokens);
    let sent = body(&mut client, branch);
    assert!(sent.contains("retry.rs") && !sent.contains("Most depended on") && !sent.contains("let twice"), "{sent}");
    assert!(sent.contains("Tries a request again.") && !sent.contains("backoff(n) > 0"), "without its lines: {sent}");
    let plan = client.whole_plan(branch, &message("Why does the request give up so early?"));
    assert!(matches!(code(&plan)[..], [_]) && plan.rows.iter().all(|row| row.reason.name() != "no_code"));
    set(&mut client, branch, |_| {});
    let plan = client.whole_plan(branch, &message(QUESTION));
    let best = found(&plan, "retry_request").unwrap();
    assert_eq!(best.section(), Some(Section::Retrieved));
    let source = best.source.code.as_ref().unwrap();
    assert_eq!((source.path.as_str(), source.lines), ("src/net/retry.rs", (1, 4)));
    assert!(matches!(&best.reason, Reason::Touchpoint { because, .. } if because.contains("the name ")), "{best:?}");
    assert!(best.scores.score.is_some() && best.tokens <= 600);
    let touchpoints = code(&plan).into_iter().filter(|row| row.section() == Some(Section::Retrieved)).count();
    assert!((1..=12).contains(&touchpoints));
    let sent = body(&mut client, branch);
    assert!(sent.contains("Most depended on") && sent.contains("backoff(n) > 0"), "{sent}");
    let sum: u32 = plan.included().map(|row| row.tokens).sum();
    assert_eq!(plan.est_total, sum + plan.framing + plan.tools, "the parts add up to the meter");
}

#[test]
fn plan_does_not_wait_for_indexing() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = bench.start();
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let from = client.seen.len();
    client.post(Request::Plan(PlanRequest::Replan { branch, generation: 9, draft: message(QUESTION) }));
    let whole = |event: &Event| match event {
        Event::Planned { planned: Planned::Plan { plan, .. }, .. } => {
            let map = code(plan).iter().any(|row| row.reason == Reason::CodeMap);
            map && found(plan, "retry_request").is_some_and(Row::included)
        }
        _ => false,
    };
    let at = client.wait(from, whole);
    let lacking = |event: &Event| match event {
        Event::Planned { planned: Planned::Plan { plan, .. }, .. } => {
            let mut map = plan.rows.iter().filter(|row| row.title.starts_with("map of "));
            !whole(event) && plan.rows.iter().all(says_code_is_being_read) && map.next().is_some()
        }
        _ => true,
    };
    assert!(client.seen[from..at].iter().all(lacking), "the missing part says why");
    client.must(Request::Turn(TurnRequest::Ask { branch, draft: message(QUESTION), plan: None }));
    client.closed(from, branch);
    assert!(String::from_utf8(model.bodies()[0].clone()).unwrap().contains("backoff(n) > 0"));
}

/// Rows of code that are left out say that the code is being read.
fn says_code_is_being_read(row: &Row) -> bool {
    row.kind != RowKind::Code || row.included() || matches!(row.reason, Reason::CodeReading | Reason::Duplicate)
}

#[test]
fn talk_without_code_brings_none() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let plan = client.whole_plan(branch, &message("Tell me of elephants and giraffes"));
    assert!(code(&plan).iter().all(|row| row.section() != Some(Section::Retrieved)));
    let why = plan.rows.iter().find(|row| row.reason.name() == "no_code").unwrap();
    assert!(why.title.contains("symbols") && !why.included());
}

#[test]
fn untrusted_folder_gives_nothing() {
    let model = Model::new([]);
    let mut bench = bench(&model);
    bench.trusted = false;
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |o| o.focus = vec!["src/net".into()]);
    let plan = client.whole_plan(branch, &message(QUESTION));
    assert!(plan.rows.iter().all(|row| row.kind != RowKind::Code && row.source.code.is_none()));
    assert!(plan.tools == 0 && plan.warnings.is_empty(), "{:?}", plan.warnings);
    let sent = body(&mut client, branch);
    assert!(FILES.iter().all(|(name, _)| !sent.contains(name)) && !sent.contains("backoff"), "{sent}");
    let names = CodeAct::Names { typed: "retry".into(), most: 9 };
    assert!(
        matches!(client.must(Request::Tool(ToolRequest::Code { root: None, act: names })), Answer::Tool(ToolAnswer::Symbols(list)) if list.is_empty())
    );
    client.must(Request::Tool(ToolRequest::Trust { trusted: true }));
    let plan = client.whole_plan(branch, &message(QUESTION));
    assert!(found(&plan, "retry_request").is_some(), "trust includes it");
    client.must(Request::Tool(ToolRequest::Trust { trusted: false }));
    assert!(code(&client.whole_plan(branch, &message(QUESTION))).is_empty());
}

#[test]
fn read_rules_apply_to_code() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let rule = pleach::domain::tool::consent::Rule {
        tool: "*".into(),
        on: Some("src/net/*".into()),
        verdict: pleach::domain::tool::consent::Verdict::Deny,
    };
    client.must(Request::Tool(ToolRequest::Rule(pleach::engine::api::RuleAct::Set {
        scope: pleach::domain::tool::consent::RuleScope::Session,
        rule,
        on: true,
    })));
    let plan = client.whole_plan(branch, &message("retry_request and Disk.sync_all"));
    assert!(found(&plan, "retry_request").is_none() && found(&plan, "sync_all").is_some());
    assert!(!body(&mut client, branch).contains("backoff(n) > 0"));
}

#[test]
fn code_rows_are_excluded_pinned_and_undone() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let plan = client.whole_plan(branch, &message(QUESTION));
    let (best, map) = (found(&plan, "retry_request").unwrap().atom, code(&plan)[0].atom);
    mark(&mut client, branch, best, MarkKind::Exclude);
    mark(&mut client, branch, map, MarkKind::Exclude);
    let plan = client.whole_plan(branch, &message(QUESTION));
    for atom in [best, map] {
        let row = plan.rows.iter().find(|row| row.atom == atom).unwrap();
        assert_eq!((row.included(), &row.reason), (false, &Reason::UserExcluded { once: false }));
    }
    let sent = body(&mut client, branch);
    assert!(!sent.contains("Tries a request again") && !sent.contains("Map of the code"), "{sent}");
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    mark(&mut client, branch, best, MarkKind::Sticky);
    let plan = client.whole_plan(branch, &message("Tell me of elephants and giraffes"));
    let pinned = found(&plan, "retry_request").unwrap();
    assert_eq!((pinned.section(), pinned.pin), (Some(Section::StickyPins), Some(MarkKind::Sticky)));
    assert!(body(&mut client, branch).contains("backoff(n) > 0"), "a pin is included whatever the question");
    set(&mut client, branch, |o| o.mode = Some(Mode::Off));
    assert!(found(&client.whole_plan(branch, &message("x")), "retry_request").unwrap().included());
    let path = bench.workspace.join("src/net/retry.rs");
    std::fs::write(&path, FILES[0].1.replace("> 0", "> 41")).unwrap();
    look_again(&mut client);
    let plan = client.whole_plan(branch, &message("x"));
    assert!(found(&plan, "retry_request").unwrap().title.contains("changed since"));
    assert!(body(&mut client, branch).contains("> 41"), "the current source is sent");
    std::fs::write(&path, "fn other() {}\n").unwrap();
    look_again(&mut client);
    let plan = client.whole_plan(branch, &message("x"));
    let gone = found(&plan, "retry_request").unwrap();
    assert_eq!((gone.included(), &gone.reason), (false, &Reason::StaleFile));
}

#[test]
fn code_in_the_request_is_not_repeated() {
    let read = json!({ "path": "src/net/retry.rs" }).to_string();
    let model = Model::new([vec![Say::Call("read_file".into(), read)], vec![Say::Text("It gives up at once.".into())]]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    assert!(found(&client.whole_plan(branch, &message(QUESTION)), "retry_request").unwrap().included());
    client.turn(branch, &message(QUESTION));
    let again = "And backoff, which retry_request uses?";
    let plan = client.whole_plan(branch, &message(again));
    let sent = body(&mut client, branch);
    assert_eq!(sent.matches("backoff(n) > 0").count(), 1, "{sent}");
    for row in code(&plan).iter().filter(|row| symbol(row).contains("retry_request") || symbol(row).contains("backoff"))
    {
        assert_eq!((row.included(), &row.reason), (false, &Reason::Duplicate), "{row:?}");
    }
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    std::fs::write(bench.workspace.join("src/net/retry.rs"), FILES[0].1.replace("> 0", "> 41")).unwrap();
    look_again(&mut client);
    let plan = client.whole_plan(branch, &message(again));
    let path = "src/net/retry.rs".to_owned();
    assert!(plan.warnings.contains(&Warning::FileChanged { path }), "{:?}", plan.warnings);
    let attached = format!("{QUESTION}\n\nFile src/net/client.rs:\n```rs\n{}```", FILES[1].1);
    let plan = client.whole_plan(branch, &message(&attached));
    let of_file = |row: &&&Row| row.source.code.as_ref().is_some_and(|code| code.path == "src/net/client.rs");
    assert!(code(&plan).iter().filter(of_file).all(|row| !row.included()), "{:#?}", code(&plan));
}

#[test]
fn attached_code_raises_what_it_uses() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |o| o.mode = Some(Mode::Light));
    let mut is_raised = |attached: &str| {
        let plan = client.whole_plan(branch, &message(&format!("What does retry_request do?{attached}")));
        found(&plan, "retry_request").map(|row| row.scores.parts.iter().any(|(name, _)| name == "focus"))
    };
    let attached = |lines: &str| format!("\n\nFile src/net/client.rs{lines}:\n```rs\n{}```", FILES[1].1);
    assert_eq!(is_raised(""), Some(false), "the message names it");
    assert_eq!(is_raised(&attached("")), Some(true));
    assert_eq!(is_raised(&attached(", lines 6 to 8")), Some(true));
    assert_eq!(is_raised(&attached(", lines 1 to 3")), Some(false));
}

#[test]
fn focus_narrows_and_works_in_light() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |o| {
        o.mode = Some(Mode::Light);
        o.focus = vec!["Disk".into(), "no_such_thing".into()];
    });
    let plan = client.whole_plan(branch, &message("What is this about?"));
    let row = found(&plan, "Disk").unwrap();
    assert!(row.included() && row.tokens <= 140, "{row:?}");
    assert!(row.scores.parts.iter().any(|(name, _)| name == "focus"));
    let code_tokens: u32 =
        code(&plan).iter().filter(|row| row.section() == Some(Section::Retrieved)).map(|row| row.tokens).sum();
    assert!(code_tokens <= 500, "half of Light's allowance: {code_tokens}");
    assert!(plan.warnings.contains(&Warning::FocusUnknown { name: "no_such_thing".into() }));
    client.must(Request::Session(SessionRequest::Undo));
    assert!(found(&client.whole_plan(branch, &message("What is this about?")), "Disk").is_none());
    // The focus is reported as resolved, with the names that match nothing.
    let mut focused = |names: &[&str]| {
        let focus = names.iter().map(|name| (*name).to_owned()).collect();
        match client.must(Request::Branch(BranchRequest::Override {
            branch,
            overrides: Overrides { focus, ..Overrides::default() },
        })) {
            Answer::Done(output) => output,
            other => panic!("{other:?}"),
        }
    };
    focused(&[]);
    assert_eq!(focused(&["src/net"]), "Set the focus of main to src/net. u undoes it.");
    assert!(focused(&["src/net", "src/nat"]).ends_with("There is no file, folder, or symbol src/nat here."));
    assert_eq!(focused(&[]), "Removed the focus of main. u undoes it.");
}

#[test]
fn secrets_in_code_are_masked() {
    let model = Model::new([]);
    let bench = bench(&model);
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    client.whole_plan(branch, &message("what does draw_graph do with its points?"));
    let sent = body(&mut client, branch);
    assert!(sent.contains("def draw_graph") && !sent.contains("AKIAIOSFODNN7EXAMPLE"), "{sent}");
    let names = match client
        .must(Request::Tool(ToolRequest::Code { root: None, act: CodeAct::Names { typed: "draw".into(), most: 9 } }))
    {
        Answer::Tool(ToolAnswer::Symbols(list)) => list,
        other => panic!("{other:?}"),
    };
    assert_eq!(names[0].short, "draw_graph");
    match client.must(Request::Tool(ToolRequest::Code { root: None, act: CodeAct::Source(Box::new(names[0].clone())) }))
    {
        Answer::Tool(ToolAnswer::Source(source)) => {
            assert_eq!((source.masked, source.named.lines), (1, (1, 3)));
            assert!(source.text.starts_with("def draw_graph") && !source.text.contains("AKIA"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn model_searches_and_opens_code() {
    let call = |name: &str, args: Value| Say::Call(name.into(), args.to_string());
    let model = Model::new([
        vec![
            call("request_code_context", json!({ "query": "retry a request", "budget": 400 })),
            call("expand", json!({ "symbol": "backoff" })),
            call("expand", json!({ "symbol": "retry_request", "what": "callers" })),
            call("expand", json!({ "symbol": "retry_request", "what": "callees" })),
            call("expand", json!({ "symbol": "nowhere_at_all" })),
            call("expand", json!({ "symbol": "validate", "path": "app" })),
            call("expand", json!({ "symbol": "backoff", "path": "app" })),
            call("expand", json!({ "symbol": "backoff", "path": "lib/none.rs" })),
            call("request_code_context", json!({ "query": "retry a request", "path": "lib", "budget": 400 })),
            call("expand", json!({ "symbol": "many_steps" })),
        ],
        vec![Say::Text("I see.".into())],
    ]);
    let bench = bench(&model);
    let long = format!("fn many_steps() {{\n{}}}\n", "    step();\n".repeat(500));
    std::fs::write(bench.workspace.join("src/long.rs"), long).unwrap();
    let mut client = start(&bench);
    let branch = client.session();
    let plan = client.whole_plan(branch, &message(QUESTION));
    assert!(plan.tools > 0);
    let closed = client.turn(branch, &message(QUESTION));
    assert!(closed.failure.is_none(), "{closed:?}");
    let second: Value = serde_json::from_slice(&model.bodies()[1]).unwrap();
    let results: Vec<&str> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[0].contains("File src/net/retry.rs, lines 2 to 4 (retry_request):"), "{}", results[0]);
    assert!(
        results[1].starts_with("File src/net/retry.rs, lines 6 to 9 (backoff):\n```\nfn backoff"),
        "{}",
        results[1]
    );
    assert!(results[2].contains("src/net/client.rs:6  method"), "{}", results[2]);
    assert!(results[3].contains("src/net/retry.rs:6  function"), "{}", results[3]);
    assert!(results[4].starts_with("Failed: no symbol"), "{}", results[4]);
    assert!(results[5].contains("def validate"), "{}", results[5]);
    let output = "Failed: no symbol in \"app\" is named \"backoff\"; elsewhere:\nsrc/net/retry.rs:6  function";
    assert!(results[6].starts_with(output), "{}", results[6]);
    assert!(results[7].starts_with("Failed: no file or folder is named \"lib/none.rs\"; elsewhere:"), "{}", results[7]);
    assert!(results[8].starts_with("[no file or folder is named lib; the whole") && results[8].contains("retry.rs"));
    assert!(results[9].contains("lines 1 to 400 (many_steps)"), "{}", results[9]);
    assert!(results[9].contains("[it continues to line 502; read_file from line 401]"), "{}", results[9]);
    assert!(!results[1].contains("[it continues"), "{}", results[1]);
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&second).ends_with(&["request_code_context".to_owned(), "expand".to_owned()]));
    let plan = client.whole_plan(branch, &message("so backoff is used by retry_request?"));
    assert!(
        code(&plan).iter().filter(|row| symbol(row).ends_with("backoff")).all(|row| !row.included()),
        "the file was opened"
    );
}

/// An older turn whose card mentions a symbol next to the one in the message is one hop away, and its row says so.
/// Without trust in the folder there are no neighbors.
#[test]
fn turn_about_a_neighbor_is_one_hop_away() {
    for trusted in [true, false] {
        let mut bench = bench(&Model::new([]));
        bench.trusted = trusted;
        let policy = crate::engine::activation::spec();
        let mut client = bench.start_with(|setup| {
            setup.patient = true;
            setup.settings.policies.insert(policy.name.clone(), policy.clone());
        });
        let branch = client.session();
        for words in ["The fault is in retry_request, I think.", "Tell me of tea.", "Of coffee?", "Of water?"] {
            client.say(branch, words);
        }
        // Mentioned twice, it is leased. Then the message names its caller.
        for words in ["What did I say in turn 1?", "Go back to turn 1, please."] {
            client.say(branch, words);
        }
        let parts = |client: &mut Client| -> Vec<String> {
            let plan = client.whole_plan(branch, &message("And now?"));
            let row = plan.included().find(|row| row.kind == RowKind::Card && row.source.turn == Some(1)).cloned();
            let row = row.unwrap_or_else(|| panic!("{:#?}", plan.rows));
            row.scores.parts.into_iter().map(|(name, _)| name).collect()
        };
        assert!(!parts(&mut client).contains(&"hop".to_owned()));
        client.say(branch, "And what does Client::send give?");
        assert_eq!(parts(&mut client).contains(&"hop".to_owned()), trusted, "{:?}", parts(&mut client));
    }
}

/// Of seven module summaries that the message names, six are sent whole. The seventh is a line of the map, before the
/// central symbols, which fill the map up to eight. An excluded one is not a line either, and neither is one that the
/// message is not about.
#[test]
fn module_summaries_lead_the_map() {
    let mut bench = bench(&Model::new([]));
    bench.code = CodeSettings { anchors: 8, ..CodeSettings::default() };
    for part in 0..7 {
        let uses = (0..7).map(|n| format!("    crate::part_{n}::shared_{n}();\n")).collect::<Vec<_>>().concat();
        let text = format!(
            "//! Does the work number {part}.\npub fn shared_{part}() {{}}\npub fn run_{part}() {{\n{uses}}}\n"
        );
        let path = bench.workspace.join(format!("src/part_{part}/mod.rs"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    for part in 0..7 {
        let make = ModuleAct::Make { branch, path: format!("src/part_{part}"), by: SummaryAuthor::Extractive };
        client.must(Request::Tool(ToolRequest::Project(ProjectAct::Module(make))));
    }
    let all = "What of part_0, part_1, part_2, part_3, part_4, part_5, and part_6?";
    let plan = client.whole_plan(branch, &message(all));
    let modules: Vec<&Row> = plan.rows.iter().filter(|row| row.kind == RowKind::Module).collect();
    let whole: Vec<&str> =
        modules.iter().filter(|row| row.included()).filter_map(|row| row.source.path.as_deref()).collect();
    let out: Vec<&&Row> = modules.iter().filter(|row| !row.included()).collect();
    assert_eq!((whole.len(), out.len()), (6, 1), "{modules:#?}");
    assert_eq!((out[0].source.path.as_deref(), &out[0].reason), (Some("src/part_6"), &Reason::BelowThreshold));
    let map = |client: &mut Client| -> (Vec<String>, Vec<String>) {
        let sent = body(client, branch);
        let sent: Value = serde_json::from_str(&sent).unwrap();
        let all: Vec<&str> =
            sent["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
        let text = all.into_iter().find(|text| text.contains("Map of the code")).expect("a map").to_owned();
        let lines = |from: &str| -> Vec<String> {
            let rest = text.split_once(from).map_or("", |(_, rest)| rest);
            rest.lines().skip(1).take_while(|line| line.contains('(')).map(str::to_owned).collect()
        };
        (lines("Parts, from summaries that may be wrong:"), lines("Most depended on:"))
    };
    let (parts, symbols) = map(&mut client);
    assert_eq!(parts, ["src/part_6 (fresh): Does the work number 6."]);
    assert_eq!(symbols.len(), 7, "eight in total: {symbols:#?}");
    let row = plan.rows.iter().find(|row| row.reason == Reason::CodeMap).unwrap();
    assert!(row.included() && row.tokens > 100);
    let sum: u32 = plan.included().map(|row| row.tokens).sum();
    assert_eq!(plan.est_total, sum + plan.framing + plan.tools, "the meter counts the map as sent");
    mark(&mut client, branch, out[0].atom, MarkKind::Exclude);
    client.whole_plan(branch, &message(all));
    let (parts, symbols) = map(&mut client);
    assert_eq!((parts.len(), symbols.len()), (0, 8));
    let plan = client.whole_plan(branch, &message("What of part_2?"));
    let modules: Vec<&Row> = plan.rows.iter().filter(|row| row.kind == RowKind::Module).collect();
    let sent: Vec<_> = modules.iter().filter(|row| row.included()).filter_map(|row| row.source.path.clone()).collect();
    assert_eq!(sent, ["src/part_2"], "{modules:#?}");
    assert_eq!(modules.iter().filter(|row| row.reason == Reason::Unrelated).count(), 5);
    assert_eq!(map(&mut client).0, [""; 0]);
}

/// The real binary in a trusted folder of code.
pub(crate) fn home(config: &str) -> Home {
    let home = Home::new("");
    put(&home.workspace());
    home.configure(&format!("trusted_folders = [{:?}]\n{config}", home.workspace().display().to_string()));
    home
}

#[test]
fn command_line_shows_code_rows() {
    let home = home("");
    home.ok(&["session", "new"]);
    let plan = home.json(&["plan", QUESTION, "--mode", "heavy"]);
    let rows: Vec<&Value> = plan["included"].as_array().unwrap().iter().filter(|row| row["kind"] == "code").collect();
    assert_eq!((rows[0]["section"].as_str(), rows[0]["reason"].as_str()), (Some("orientation"), Some("oriented")));
    let best = rows.iter().find(|row| row["source"]["symbol"].as_str().is_some_and(|s| s.ends_with("retry_request")));
    let best = best.unwrap_or_else(|| panic!("{plan:#}"));
    assert_eq!((best["source"]["path"].as_str(), &best["source"]["span"]), (Some("src/net/retry.rs"), &json!([1, 4])));
    assert_eq!(best["reason"], "touchpoint");
    assert_marked_by_id(&home, best["id"].as_str().unwrap(), rows[0]["id"].as_str().unwrap());
    let answer = home.json(&["ask", QUESTION, "--mode", "heavy"]);
    assert_eq!(answer["plan_id"], plan["plan_id"]);
    let replay = home.ok(&["replay", answer["run_id"].as_str().unwrap(), "--dry-run"]);
    assert!(!replay.is_empty(), "the stored call renders to the same bytes");
    assert_eq!(home.json(&["focus"])["focus"], json!([]));
    home.ok(&["focus", "@src/disk.rs", "Client"]);
    assert_eq!(home.json(&["focus"])["focus"], json!(["src/disk.rs", "Client"]));
    let light = home.json(&["plan", "what is this about?", "--mode", "light"]);
    assert!(
        light["included"].as_array().unwrap().iter().any(|row| row["source"]["path"] == "src/disk.rs"),
        "{light:#}"
    );
    home.ok(&["focus", "none"]);
    let off = self::home("[code]\nenabled = false\n");
    let plan = off.json(&["plan", QUESTION, "--mode", "heavy"]);
    assert!(!plan.to_string().contains("retry.rs"));
    let untrusted = Home::new("");
    put(&untrusted.workspace());
    assert!(!untrusted.json(&["plan", QUESTION, "--mode", "heavy"]).to_string().contains("retry.rs"));
    untrusted.configure("[code]\nmap_token = 3\n");
    let output = untrusted.run(&["plan", "x"]);
    assert!(output.code != 0 && output.err.contains("map_token"), "{}", output.err);
}

/// Code rows are pinned, excluded, and explained by the ids that `plan --json` prints, with a process for each command.
fn assert_marked_by_id(home: &Home, best: &str, map: &str) {
    assert_ne!(home.run(&["pin", &best[..3]]).code, 0, "too short");
    home.ok(&["pin", &best[..4]]);
    let pins = home.json(&["pins"]);
    assert_eq!((&pins[0]["id"], &pins[0]["pin"]), (&json!(best), &json!("sticky")));
    assert_eq!(pins[0]["title"], "retry_request  src/net/retry.rs:1-4");
    assert!(home.ok(&["pins"]).contains("retry_request  src/net/retry.rs:1-4"));
    let plan = home.json(&["plan", "Tell me of elephants", "--mode", "heavy"]);
    let row = plan["included"].as_array().unwrap().iter().find(|row| row["id"] == best).unwrap();
    assert_eq!(row["section"], "sticky_pins");
    assert_eq!(home.json(&["plans", "why", best])["title"], "retry_request  src/net/retry.rs:1-4", "it was never sent");
    home.ok(&["unpin", best]);
    home.ok(&["exclude", map]);
    let plan = home.json(&["plan", QUESTION, "--mode", "heavy"]);
    let row = plan["excluded"].as_array().unwrap().iter().find(|row| row["id"] == map).unwrap();
    assert_eq!(row["reason"], "user_excluded");
    assert_ne!(home.json(&["pins"])[0]["title"], "");
    home.ok(&["undo"]);
    assert!(home.json(&["plans", "why", best])["stays"].is_array());
    // So do a path, a path with lines, and a name.
    for (name, title) in [
        ("src/net/retry.rs", "file  src/net/retry.rs:1-10"),
        ("src/net/retry.rs:1-4", "retry_request  src/net/retry.rs:1-4"),
        ("src/net/retry.rs:6", "backoff  src/net/retry.rs:6-9"),
        ("retry_request", "retry_request  src/net/retry.rs:1-4"),
    ] {
        home.ok(&["exclude", name]);
        assert_eq!(home.json(&["pins"])[0]["title"], title, "{name}");
        home.ok(&["undo"]);
    }
    let several = home.run(&["exclude", "Client"]);
    assert!(several.code == 1 && several.err.contains("matches 2 symbols of the code"), "{}", several.err);
    let unknown = home.run(&["pin", "abcdef123456"]);
    assert!(unknown.code == 1 && unknown.err.contains("abcdef123456"), "{}", unknown.err);
}
