//! Which items of a call its answer used, through the engine and the real binary: cards, code, tools, forks, undo,
//! removal, and items that are never used.

use crate::engine::activation::spec;
use crate::support::bench::{Bench, Client, Model, Say, message, text};
use crate::support::binary::Home;
use crate::support::server::{Server, end, stream, words};
use pleach::domain::base::{BranchId, RunId};
use pleach::domain::call::{CallUses, Ledger, UseKind};
use pleach::domain::code::CodeSettings;
use pleach::domain::conversation::{Atom, MarkKind, Overrides};
use pleach::domain::planning::{ContextPlan, Mode, RowKind, Section};
use pleach::domain::tool::{Rule, Verdict};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Event, ItemName, Request, SessionRequest,
    TurnEvent,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

fn uses(client: &mut Client, run: RunId) -> Option<Box<CallUses>> {
    match client.must(Request::Call(CallRequest::Uses { run })) {
        Answer::Call(CallAnswer::Uses(uses)) => uses,
        other => panic!("{other:?}"),
    }
}

fn plan_of(client: &mut Client, run: RunId) -> Arc<ContextPlan> {
    match client.must(Request::Call(CallRequest::StoredPlan { id: run.to_string() })) {
        Answer::Call(CallAnswer::StoredPlan { plan, .. }) => plan,
        other => panic!("{other:?}"),
    }
}

fn ledger(client: &mut Client, branch: BranchId, whole: bool) -> Box<Ledger> {
    match client.must(Request::Call(CallRequest::Ledger { branch, whole })) {
        Answer::Call(CallAnswer::Ledger(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn last(client: &mut Client) -> RunId {
    client.runs().last().unwrap().id
}

/// The kind, turn or symbol, and evidence of a call's used rows.
fn rows(client: &mut Client, run: RunId) -> Vec<(RowKind, String, Vec<UseKind>)> {
    let (uses, plan) = (uses(client, run).unwrap(), plan_of(client, run));
    let found = plan.included().zip(uses.by_row(&plan)).filter_map(|(row, item)| {
        let name = row.source.code.as_ref().map(|code| code.qualified.clone());
        let turn = row.source.turn.map(|turn| turn.to_string());
        Some((row.kind, name.or(turn).unwrap_or_else(|| row.title.clone()), item?.by.clone()))
    });
    found.collect()
}

fn of(rows: &[(RowKind, String, Vec<UseKind>)], kind: RowKind, name: &str) -> Vec<UseKind> {
    let found = rows.iter().find(|(of, named, _)| *of == kind && named.ends_with(name));
    found.unwrap_or_else(|| panic!("{kind:?} {name}: {rows:?}")).2.clone()
}

fn pin(client: &mut Client, branch: BranchId, item: ItemName) {
    let act = Act::Set { kind: MarkKind::Sticky, toggle: false };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![item], act }));
}

/// Two pinned turns outside the window. The last answer quotes the first of them.
fn quoting() -> (Bench, Client, BranchId, RunId) {
    let quotation = "As you said: the blue kettle boils water within ninety heartbeats.";
    let model = Model::new([text("Well."), text("Well."), text("Good."), text("Fine."), text(quotation)]);
    let bench = Bench::new(&model);
    let spec = spec();
    let mut client = bench.start_with(|setup| drop(setup.settings.policies.insert(spec.name.clone(), spec)));
    let branch = client.session();
    for words in [
        "Remember that the blue kettle boils water within ninety heartbeats.",
        "The green lamp shines over seven empty chairs tonight.",
        "Tell me of tea.",
        "And of coffee?",
    ] {
        client.say(branch, words);
    }
    let nodes = client.open().nodes.clone();
    pin(&mut client, branch, ItemName::TurnOf(nodes[0].id));
    pin(&mut client, branch, ItemName::TurnOf(nodes[2].id));
    client.say(branch, "How long does breakfast take?");
    let run = last(&mut client);
    (bench, client, branch, run)
}

#[test]
fn quoted_card_is_used() {
    let (_bench, mut client, branch, run) = quoting();
    let found = rows(&mut client, run);
    assert_eq!(of(&found, RowKind::Card, "1"), [UseKind::Quoted]);
    assert_eq!(of(&found, RowKind::Card, "2"), []);
    assert_eq!((of(&found, RowKind::Turn, "3"), of(&found, RowKind::Turn, "4")), (vec![], vec![]));
    let card = client.runs().last().cloned().unwrap();
    let count = card.uses.unwrap();
    assert_eq!((count.shown, count.used), (4, 1), "instructions and the question are not counted");
    assert!(
        client.seen.iter().any(
            |event| matches!(event, Event::Turn(TurnEvent::Run(sent)) if sent.id == run && sent.uses == card.uses)
        ),
        "the screen is notified"
    );
    let sums = ledger(&mut client, branch, false).uses;
    let pins = sums.by_section.iter().find(|(section, _)| *section == Section::StickyPins).unwrap().1;
    assert_eq!((sums.calls, pins.shown, pins.used), (4, 2, 1), "the first call contained only the question");
    assert_eq!(
        sums.by_policy.iter().map(|(name, calls, _)| (name.as_str(), *calls)).collect::<Vec<_>>(),
        [("layered", 4)]
    );
}

#[test]
fn uses_belong_to_the_call() {
    let (bench, mut client, branch, run) = quoting();
    let before = uses(&mut client, run);
    let nodes = client.open().nodes.clone();
    let head = nodes.last().unwrap().id;
    let fork = BranchRequest::Fork { branch, at: Some(head), name: Some("other".into()), switch: true };
    let Answer::Branch(BranchAnswer::Branch(fork)) = client.must(Request::Branch(fork)) else { panic!() };
    assert_eq!(ledger(&mut client, fork.id, false).uses.all, ledger(&mut client, branch, false).uses.all);
    let unpin = Act::Set { kind: MarkKind::Sticky, toggle: true };
    let items = vec![ItemName::TurnOf(nodes[0].id)];
    client.must(Request::Branch(BranchRequest::Mark { branch, items, act: unpin }));
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(uses(&mut client, run), before, "undo and forks do not change it");
    drop(client);
    let mut again = bench.start();
    again.open();
    assert_eq!(uses(&mut again, run), before, "it is stored");
    assert_eq!(again.runs().last().unwrap().uses.map(|count| count.to_text()), Some("1 of 4 items used".into()));
}

#[test]
fn removal_clears_uses() {
    let (bench, mut client, branch, run) = quoting();
    let nodes = client.open().nodes.clone();
    for node in [nodes[0].id, nodes[8].id] {
        let item = ItemName::TurnOf(node);
        client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item }));
    }
    assert_eq!(uses(&mut client, run).unwrap().count().used, 1, "the use stays recorded");
    let contains = |word: &str| {
        let folder = bench.store_path().parent().unwrap().to_owned();
        let files = std::fs::read_dir(folder).unwrap().flatten().filter(|file| file.path().is_file());
        let bytes = files.map(|file| std::fs::read(file.path()).unwrap()).collect::<Vec<_>>();
        bytes.iter().any(|bytes| bytes.windows(word.len()).any(|found| found == word.as_bytes()))
    };
    assert!(contains("green lamp") && !contains("kettle") && !contains("heartbeats"));
    let session = client.open().card.id;
    client.must(Request::Session(SessionRequest::Delete { session: Some(session.to_string()) }));
    assert_eq!(uses(&mut client, run), None);
}

const CODE: &[(&str, &str)] = &[
    (
        "src/net/retry.rs",
        "/// Tries a request again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: u32) -> u32 {\n    let twice = n * 2;\n    twice\n}\n",
    ),
    (
        "src/net/client.rs",
        "pub struct Client {\n    timeout: u32,\n}\n\nimpl Client {\n    pub fn send(&self) -> bool {\n        super::retry::retry_request(self.timeout)\n    }\n}\n",
    ),
    ("src/net/mod.rs", "pub mod client;\npub mod retry;\n"),
    ("src/disk.rs", "pub struct Disk;\n\nimpl Disk {\n    pub fn sync_all(&self) {}\n}\n"),
    ("app/models.py", "class ModelOptions:\n    def validate(self, temperature):\n        return temperature > 0\n"),
    ("app/views.py", "def draw_graph(points):\n    return points\n"),
];

/// A client on a folder of code whose model makes one tool call and ends.
fn coding(name: &str, args: &Value) -> (Client, BranchId) {
    let (mut client, branch) =
        client_on_code(&Model::new([vec![Say::Call(name.into(), args.to_string())], text("Done.")]));
    client.whole_plan(branch, &message(QUESTION));
    client.say(branch, QUESTION);
    (client, branch)
}

const QUESTION: &str = "Why does retry_request give up so early?";

fn client_on_code(model: &Arc<Model>) -> (Client, BranchId) {
    let mut bench = Bench::new(model);
    for (name, text) in CODE {
        let path = bench.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    bench.code = CodeSettings::default();
    let space = Workspace::open_with_effects(&bench.workspace, 20_000, EffectOptions::default()).unwrap();
    bench.tools = Some(Arc::new(space));
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.tool_rules = vec![Rule { tool: "edit_file".into(), on: None, verdict: Verdict::Allow }];
    });
    let branch = client.session();
    let overrides = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    client.must(Request::Branch(BranchRequest::Override { branch, overrides }));
    (client, branch)
}

/// The map of the code is in every request, and the code of a question only in the requests that follow a question.
#[test]
fn code_that_no_answer_used_is_reported() {
    let (mut client, branch) = client_on_code(&Model::new([text("Well."), text("Good."), text("Fine.")]));
    let reported = |client: &mut Client| {
        client.whole_plan(branch, &message(QUESTION));
        client.say(branch, QUESTION);
        let unused = ledger(client, branch, false).uses.unused;
        unused.into_iter().filter(|item| item.kind == RowKind::Code).collect::<Vec<_>>()
    };
    assert_eq!((reported(&mut client), reported(&mut client)), (vec![], vec![]));
    let found = reported(&mut client);
    assert!(found.iter().any(|item| item.atom == Atom::code_map()), "{found:?}");
    assert!(found.iter().any(|item| item.title.contains("retry_request")), "{found:?}");
    assert!(
        found.iter().all(|item| item.unused.turns == 3 && !item.unused.used_before && item.tokens > 0),
        "{found:?}"
    );
}

#[test]
fn edited_code_is_used() {
    let edits = json!([{ "old": "    backoff(n) > 0", "new": "    backoff(n) > 1" }]);
    let (mut client, _) = coding("edit_file", &json!({ "path": "src/net/retry.rs", "edits": edits }));
    let first = client.runs()[0].id;
    let found = rows(&mut client, first);
    assert!(of(&found, RowKind::Code, "retry_request").contains(&UseKind::Edited), "{found:?}");
    let others = found.iter().filter(|(_, name, _)| !name.ends_with("retry_request"));
    assert!(others.clone().count() > 0 && others.clone().all(|(_, _, by)| !by.contains(&UseKind::Edited)), "{found:?}");
    assert_eq!(client.runs().len(), 2);
    let second = client.runs()[1].id;
    assert!(rows(&mut client, second).iter().all(|(_, _, by)| by.is_empty()), "`Done.` uses nothing");
}

#[test]
fn expanded_code_is_used() {
    let (mut client, _) = coding("expand", &json!({ "symbol": "retry_request" }));
    let first = client.runs()[0].id;
    let found = rows(&mut client, first);
    assert!(of(&found, RowKind::Code, "retry_request").contains(&UseKind::Expanded), "{found:?}");
    let (mut client, _) = coding("read_file", &json!({ "path": "src/net/retry.rs", "start_line": 6, "lines": 4 }));
    let first = client.runs()[0].id;
    let found = rows(&mut client, first);
    assert!(!of(&found, RowKind::Code, "retry_request").contains(&UseKind::Expanded), "other lines: {found:?}");
}

fn value(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    assert_eq!(output.code, 0, "{args:?}\n{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn command_line_lists_never_used_items() {
    let answers = ["Sure.", "Fine: measure retry_budget against port 8443.", "Sure.", "Sure.", "Sure.", "Sure."];
    let answers = answers.map(|answer| vec![stream(), words(answer), end()]);
    let server = Server::start_posts(answers.to_vec());
    let home = Home::asking(&server.base_url());
    value(&home, &["session", "new", "--json", "idle"]);
    assert_eq!(value(&home, &["stats", "--json"])["uses"], Value::Null, "nothing is recorded yet");
    assert!(!home.run(&["stats"]).out.contains("shown"));
    value(&home, &["pin", "--json", "--note", "The proxy listens on port 8443 and counts against retry_budget."]);
    value(&home, &["pin", "--json", "--note", "Every purple umbrella belongs to the museum of weather."]);
    for words in ["one", "two", "three", "four", "five", "six"] {
        value(&home, &["ask", "--json", words]);
    }
    let stats = value(&home, &["stats", "--json"]);
    let uses = &stats["uses"];
    assert_eq!(uses["calls"], 6, "{uses}");
    let pins = uses["by_source"].as_array().unwrap().iter().find(|it| it["source"] == "sticky_pins").unwrap();
    assert_eq!((&pins["shown"], &pins["used"]), (&json!(12), &json!(1)));
    assert!(pins["used_tokens"].as_u64().unwrap() > 0);
    assert_eq!(uses["by_policy"][0]["calls"], 6);
    let idle = uses["never_used"].as_array().unwrap();
    assert_eq!(idle.len(), 1, "the other note was used four turns ago: {uses}");
    assert!(idle[0]["title"].as_str().unwrap().contains("purple umbrella") && idle[0]["turns"] == 6);
    let run = &stats["calls"]["runs"][1];
    assert!(run["uses"]["used"].as_u64().unwrap() >= 1, "{run}");
    let shown = value(&home, &["plans", "show", run["run_id"].as_str().unwrap(), "--json"]);
    let marks: Vec<(String, Value)> = shown["included"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["kind"] == "note")
        .map(|row| (row["title"].as_str().unwrap().chars().take(9).collect(), row["used_by"].clone()))
        .collect();
    assert_eq!(marks, [("The proxy".to_owned(), json!(["named"])), ("Every pur".to_owned(), json!([]))]);
    let text = home.run(&["plans", "show", run["run_id"].as_str().unwrap()]).out;
    assert!(text.contains("[used: named]") && text.contains("[not used]"), "{text}");
    assert!(home.run(&["plans", "list"]).out.contains(" items used"));
    let text = home.run(&["stats"]).out;
    let line = text.lines().find(|line| line.starts_with("unused")).unwrap();
    assert!(line.contains("purple umbrella") && line.contains("sent in 6 turns, used in none"), "{text}");
    let command = line.rsplit('`').nth(1).unwrap().strip_prefix("pleach ").unwrap();
    assert_eq!(command, idle[0]["command"].as_str().unwrap().strip_prefix("pleach ").unwrap());
    let output = home.run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(output.code, 0, "{command}: {}", output.err);
    assert_eq!(value(&home, &["stats", "--json"])["uses"]["never_used"], json!([]), "the suggested command works");
}
