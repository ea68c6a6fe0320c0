//! Files that a person's rules deny: nothing that reads or names files by itself reveals them, whatever the way.

use crate::support::bench::{Bench, Client, Model};
use crate::support::binary::Home;
use pleach::domain::tool::{Rule, RuleScope, Verdict};
use pleach::engine::api::{Answer, CodeAct, FileAct, Request, RuleAct, ToolAnswer, ToolRequest};
use pleach::tools::{EffectOptions, Workspace};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Denied files, each with a word that is in no other file.
const DENIED: [(&str, &str); 3] = [
    (".env", "API_ZEBRA=1\n"),
    (
        "hidden/zebra.rs",
        "pub fn zebra_stripes() -> u32 { 7 }\npub fn zebra_caller() -> u32 { zebra_stripes() + lion_roars() }\n",
    ),
    ("src/.env.rs", "pub fn zebra_nested() {}\n"),
];

fn fill(folder: &Path) {
    for (path, text) in DENIED {
        put(folder, path, text);
    }
    for name in ["lion", "tiger", "puma", "lynx", "cat", "jaguar"] {
        put(folder, &format!("src/{name}.rs"), &format!("pub fn {name}_roars() -> u32 {{ 1 }}\n"));
    }
    put(folder, "AGENTS.md", "Be brief.\n\n@.env\n@hidden/zebra.rs\n");
}

fn put(folder: &Path, path: &str, text: &str) {
    fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
    fs::write(folder.join(path), text).unwrap();
}

/// What a text reveals of denied files, beyond what was asked and what AGENTS.md names itself.
fn revealed(output: &str) -> Vec<&str> {
    let lines = output.lines().filter(|line| !["call ", "@.env", "@hidden"].iter().any(|word| line.contains(word)));
    let kept = ["{ 7 }", "zebra_caller", "zebra_nested", "API_ZEBRA", "hidden/", ".env"];
    lines.filter(|line| kept.iter().any(|word| line.contains(word))).collect()
}

/// A home with the files and these rules.
fn home_with_rules(rules: &str) -> Home {
    let home = Home::new("");
    fill(&home.workspace());
    #[cfg(unix)]
    std::os::unix::fs::symlink(".env", home.workspace().join("notes")).unwrap();
    let folder = home.workspace().display().to_string();
    home.configure(&format!("trusted_folders = [{folder:?}]\nprofile = \"offline\"\n[tools]\nrules = [{rules}]\n"));
    home
}

#[test]
fn no_command_reveals_denied_files() {
    let ways: [&[&str]; 13] = [
        &["ask", r#"call search {"pattern": "zebra"}"#],
        &["ask", r#"call search {"pattern": "ZEBRA", "path": "notes"}"#],
        &["ask", r#"call list_dir {"depth": 5}"#],
        &["ask", r#"call read_file {"path": "notes"}"#],
        &["ask", r#"call request_code_context {"query": "zebra stripes"}"#],
        &["ask", r#"call expand {"symbol": "zebra_stripes"}"#],
        &["ask", r#"call expand {"symbol": "lion_roars", "what": "callers"}"#],
        &["ask", r#"call edit_file {"path": ".env", "edits": [{"old": "nothing", "new": "x"}]}"#],
        &["plan", "What does zebra_stripes do?", "--mode", "heavy", "--request"],
        &["index", "--map"],
        &["retrieve", "--code", "zebra stripes"],
        &["retrieve", "--code", "zebra nested", "--json"],
        &["index"],
    ];
    let home = home_with_rules("");
    let before: Vec<bool> = ways.iter().map(|way| !revealed(&home.run(way).out).is_empty()).collect();
    assert!(
        before.iter().filter(|revealed| **revealed).count() >= 9,
        "without rules everything is visible: {before:?}"
    );
    let home = home_with_rules(
        r#"{ tool = "*", on = ".env*", verdict = "deny" }, { tool = "*", on = "hidden/", verdict = "deny" }"#,
    );
    for way in ways {
        let output = home.run(way);
        let refusal = |line: &&str| !line.contains("the user's rules") && !line.contains("A rule prevents reading");
        let out: Vec<&str> = revealed(&output.out).into_iter().filter(refusal).collect();
        assert_eq!(out, [""; 0], "{way:?}: {}", output.err);
    }
    let output = home.run(ways[0]).out;
    assert!(output.contains("hidden by the user's rules"), "{output}");
    home.run(&["ask", r#"call run {"line": "true"}"#, "--allow", "run"]);
    let traces = home.json(&["traces"]).to_string();
    assert!(traces.contains("a command can read the files of the workspace that rules deny"), "{traces}");
}

/// A result that a tool read before a rule existed is a message: it stays and is sent, with a notice, until a person
/// excludes it.
#[test]
fn results_read_before_a_rule_stay_with_a_notice() {
    let home = home_with_rules("");
    let denies = |on: &str| home.ok(&["rules", "deny", "*", on]);
    home.ok(&["ask", r#"call read_file {"path": "src/lion.rs"}"#]);
    home.ok(&["ask", r#"call read_file {"path": ".env"}"#]);
    home.ok(&["ask", r#"call search {"pattern": "API_ZEBRA"}"#]);
    assert!(!denies("*.pem").contains("earlier"), "no earlier result is affected");
    let output = denies(".env*");
    assert!(
        output.contains("2 earlier tool results in this session show files that the rule denies (.env)"),
        "{output}"
    );
    assert!(output.contains("are still sent") && output.contains("Exclude or delete"), "{output}");
    let sent = || home.ok(&["plan", "--request", "next"]).matches("API_ZEBRA=1").count();
    let before = sent();
    assert!(before >= 2, "the rule affects later reads");
    home.run(&["ask", r#"call read_file {"path": ".env"}"#]);
    assert_eq!(sent(), before, "the file is not read again");
    let list = home.json(&["message", "list"]);
    let asked = list.as_array().unwrap().iter().filter(|message| message["role"] == "user").take(3).skip(1);
    for message in asked {
        home.ok(&["exclude", message["id"].as_str().unwrap()]);
    }
    assert_eq!(sent(), 0, "excluded results are not sent");
}

fn names(client: &mut Client) -> (Vec<String>, Vec<String>, bool) {
    let files = match client.must(Request::Tool(ToolRequest::Files(FileAct::Find { query: String::new(), limit: 99 })))
    {
        Answer::Tool(ToolAnswer::Files(list)) => list.paths,
        other => panic!("{other:?}"),
    };
    let act = CodeAct::Names { typed: "zebra".into(), most: 9 };
    let symbols = match client.must(Request::Tool(ToolRequest::Code { root: None, act })) {
        Answer::Tool(ToolAnswer::Symbols(found)) => found.into_iter().map(|named| named.path).collect(),
        other => panic!("{other:?}"),
    };
    let text = client.ask(Request::Tool(ToolRequest::Files(FileAct::Read { path: ".env".into() }))).is_ok();
    (files, symbols, text)
}

#[test]
fn new_rules_apply_to_the_next_read() {
    let mut bench = Bench::new(&Model::new([]));
    fill(&bench.workspace);
    let space = Workspace::open_with_effects(&bench.workspace, 20_000, EffectOptions::default()).unwrap();
    bench.tools = Some(Arc::new(space));
    bench.code.enabled = true;
    let mut client = bench.start();
    client.session();
    let (files, symbols, text) = names(&mut client);
    assert!(files.contains(&".env".into()) && !symbols.is_empty() && text, "{files:?} {symbols:?}");
    for on in [".env*", "hidden"] {
        let rule = Rule { tool: "*".into(), on: Some(on.into()), verdict: Verdict::Deny };
        client.must(Request::Tool(ToolRequest::Rule(RuleAct::Set { scope: RuleScope::Session, rule, on: true })));
    }
    let (files, symbols, text) = names(&mut client);
    assert!(files.iter().all(|path| !path.contains(".env") && !path.contains("hidden")), "{files:?}");
    assert!(files.contains(&"src/lion.rs".into()) && symbols.is_empty() && !text, "{symbols:?}");
    for on in [".env*", "hidden"] {
        let rule = Rule { tool: "*".into(), on: Some(on.into()), verdict: Verdict::Deny };
        client.must(Request::Tool(ToolRequest::Rule(RuleAct::Set { scope: RuleScope::Session, rule, on: false })));
    }
    let (files, symbols, text) = names(&mut client);
    assert!(files.contains(&".env".into()) && !symbols.is_empty() && text, "visible again: {files:?} {symbols:?}");
}
