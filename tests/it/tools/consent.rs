//! Approval of tool calls, through the whole engine: nothing runs before it, only approved hunks are applied, rules
//! decide where a person set them, and undo restores files.

use crate::support::bench::{Bench, Client, Model, Say, text};
use crate::support::binary::Home;
use pleach::domain::base::{BranchId, Hash};
use pleach::domain::conversation::Overrides;
use pleach::domain::tool::{
    Consent, FileChange, Hunk, PendingApproval, Rule, RuleScope, RunTools, ToolEffect, ToolObserver, ToolOutcome,
    ToolOutput, ToolSpec, ToolStatus, Verdict,
};
use pleach::engine::api::{
    Answer, BranchRequest, DraftKind, Event, ItemName, Request, RuleAct, SessionRequest, ToolAnswer, ToolEvent,
    ToolRequest, TurnRequest,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Files in memory, one line each. `write` sets one and trusts its hunks.
#[derive(Default)]
struct MemoryFiles {
    files: Mutex<BTreeMap<String, String>>,
}

impl MemoryFiles {
    fn of(&self, path: &str) -> Option<String> {
        self.files.lock().unwrap().get(path).cloned()
    }
}

fn tool_output(status: ToolStatus, body: &str) -> ToolOutput {
    ToolOutput { status, full_bytes: body.len() as u64, body: body.into() }
}

impl RunTools for MemoryFiles {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = serde_json::json!({ "type": "object" });
        vec![ToolSpec { name: "write".into(), description: "Writes.".into(), parameters }]
    }

    fn effect(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        if name == "look" {
            return Ok(ToolEffect::Read { what: "a".into() });
        }
        let args: serde_json::Value = serde_json::from_str(args).unwrap();
        let (path, after) = (args["path"].as_str().unwrap(), args["text"].as_str().unwrap());
        let before = self.of(path);
        let lines = |text: Option<&str>| text.map_or(0, |text| text.lines().count());
        let hunks = vec![Hunk { old: 0..lines(before.as_deref()), new: 0..lines(Some(after)) }];
        let before = before.map(Arc::from);
        Ok(ToolEffect::Change(vec![FileChange { path: path.into(), before, after: Some(after.into()), hunks }]))
    }

    fn carry_out(
        &self,
        _: &str,
        _: &str,
        effect: &ToolEffect,
        hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> ToolOutcome {
        watch.on_output("writing\n");
        let ToolEffect::Change(changes) = effect else {
            return ToolOutcome::unchanged(tool_output(ToolStatus::Ok, "looked"));
        };
        let change = &changes[0];
        let text = change.with(hunks.first().map_or(&[][..], Vec::as_slice));
        self.files.lock().unwrap().insert(change.path.clone(), text.clone());
        let done = FileChange { after: Some(text.into()), ..change.clone() };
        ToolOutcome { output: tool_output(ToolStatus::Ok, "written"), changed: vec![done], exit: None, cut: None }
    }

    fn run(&self, _: &str, _: &str, _: &dyn Fn() -> bool) -> ToolOutput {
        tool_output(ToolStatus::Failed, "not this way")
    }

    fn put_back(&self, path: &str, expected: Option<Hash>, text: Option<&str>) -> Result<(), String> {
        let mut files = self.files.lock().unwrap();
        if files.get(path).map(|now| Hash::of(now.as_bytes())) != expected {
            return Err(format!("{path} was changed since."));
        }
        match text {
            Some(text) => drop(files.insert(path.into(), text.into())),
            None => drop(files.remove(path)),
        }
        Ok(())
    }
}

fn write(path: &str, text: &str) -> Vec<Say> {
    vec![Say::Call("write".into(), serde_json::json!({ "path": path, "text": text }).to_string())]
}

struct Setup {
    bench: Bench,
    client: Client,
    branch: BranchId,
    files: Arc<MemoryFiles>,
    model: Arc<Model>,
}

fn setup(answers: Vec<Vec<Say>>, rules: Vec<Rule>) -> Setup {
    let model = Model::new(answers);
    let mut bench = Bench::new(&model);
    let files = Arc::new(MemoryFiles::default());
    bench.tools = Some(files.clone());
    let mut client = bench.start_with(|setup| setup.settings.tool_rules = rules);
    let branch = client.session();
    Setup { bench, client, branch, files, model }
}

impl Setup {
    /// Sends a message and waits until a call needs approval.
    fn asked(&mut self, words: &str) -> Arc<PendingApproval> {
        let from = self.client.seen.len();
        self.client.send(self.branch, &crate::support::bench::message(words)).unwrap();
        self.next_asked(from)
    }

    fn next_asked(&mut self, from: usize) -> Arc<PendingApproval> {
        let at =
            self.client.wait(from, |event| matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. })));
        let Event::Tool(ToolEvent::Approval { pending: Some(asking), .. }) = self.client.seen[at].clone() else {
            panic!()
        };
        asking
    }

    fn word(&mut self, index: usize, consent: Consent, always: Option<(RuleScope, Rule)>) -> usize {
        let from = self.client.seen.len();
        self.client.must(Request::Turn(TurnRequest::Consent { branch: self.branch, index, consent, always }));
        from
    }
}

fn yes() -> Consent {
    Consent::Yes { hunks: Vec::new() }
}

fn rule(on: Option<&str>, verdict: Verdict) -> Rule {
    Rule { tool: "write".into(), on: on.map(str::to_owned), verdict }
}

#[test]
fn nothing_runs_before_approval_and_undo_restores_the_file() {
    let mut setup = setup(vec![write("a", "one\n"), text("Done."), write("a", "two\n"), text("Done.")], Vec::new());
    let overrides = Overrides { budget: Some(9_000), ..Overrides::default() };
    setup.client.must(Request::Branch(BranchRequest::Override { branch: setup.branch, overrides }));
    let asking = setup.asked("Write one.");
    assert_eq!((asking.tool.as_str(), setup.files.of("a")), ("write", None));
    let from = setup.word(asking.index, yes(), None);
    assert!(setup.client.closed(from, setup.branch).failure.is_none());
    assert_eq!(setup.files.of("a").as_deref(), Some("one\n"));
    assert!(
        setup
            .client
            .seen
            .iter()
            .any(|event| matches!(event, Event::Tool(ToolEvent::Output { text, .. }) if text == "writing\n"))
    );
    let asking = setup.asked("Now two.");
    let from = setup.word(asking.index, yes(), None);
    setup.client.closed(from, setup.branch);
    let trace = setup.client.last_trace();
    assert_eq!((trace.word.as_deref(), trace.changed.as_slice()), (Some("you"), &["a".to_owned()][..]));
    let undo = |setup: &mut Setup, wanted: Option<&str>| {
        let Answer::Done(sentence) = setup.client.must(Request::Session(SessionRequest::Undo)) else { panic!() };
        assert!(sentence.contains("changed a"), "{sentence}");
        assert_eq!(setup.files.of("a").as_deref(), wanted);
    };
    undo(&mut setup, Some("one\n"));
    undo(&mut setup, None);
    setup.client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(setup.files.of("a").as_deref(), Some("one\n"));
    setup.files.files.lock().unwrap().insert("a".into(), "by hand\n".into());
    let Answer::Done(sentence) = setup.client.must(Request::Session(SessionRequest::Undo)) else { panic!() };
    assert!(sentence.starts_with("Not undone because ") && sentence.contains("changed since"), "{sentence}");
    assert!(sentence.contains("Undone instead: set the budget"), "what came before can be undone: {sentence}");
    assert_eq!(setup.files.of("a").as_deref(), Some("by hand\n"), "the changed file is left alone");
}

/// Text written by a call is stored in its arguments and in the undo data.
#[test]
fn removing_a_turn_removes_what_its_tools_wrote() {
    let answers = vec![write("a", "the word is xyzzyplugh\n"), text("Done."), write("b", "two\n"), text("Done.")];
    let mut setup = setup(answers, Vec::new());
    for words in ["Write it.", "Now b."] {
        let asking = setup.asked(words);
        let from = setup.word(asking.index, yes(), None);
        setup.client.closed(from, setup.branch);
    }
    let occurrences = |setup: &Setup| {
        let folder = std::fs::read_dir(setup.bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        files.filter(|entry| std::fs::read(entry.path()).unwrap().windows(10).any(|word| word == b"xyzzyplugh")).count()
    };
    assert!(occurrences(&setup) > 0);
    let first = setup.client.open().nodes[0].id;
    setup
        .client
        .must(Request::Branch(BranchRequest::RemoveMessage { branch: setup.branch, item: ItemName::TurnOf(first) }));
    assert_eq!(occurrences(&setup), 0);
    setup.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(setup.files.of("b"), None, "changes of another turn can still be undone");
    assert_eq!(
        setup.files.of("a").as_deref(),
        Some("the word is xyzzyplugh\n"),
        "the file itself belongs to the person"
    );
    setup.client.must(Request::Session(SessionRequest::Undo));
}

#[test]
fn denial_changes_nothing_and_reaches_the_model() {
    let mut setup = setup(vec![write("a", "one\n"), text("I see.")], Vec::new());
    let asking = setup.asked("Write one.");
    let why = Some("The build is running.".into());
    let from = setup.word(asking.index, Consent::No { why }, None);
    setup.client.closed(from, setup.branch);
    assert_eq!(setup.files.of("a"), None);
    assert_eq!(
        setup.client.last_result(),
        "[refused] The person denied this call. Nothing was done. The build is running."
    );
    assert_eq!(setup.client.last_trace().status, Some(ToolStatus::Refused));
    let stale = setup.client.ask(Request::Turn(TurnRequest::Consent {
        branch: setup.branch,
        index: 0,
        consent: yes(),
        always: None,
    }));
    assert!(stale.unwrap_err().to_string().contains("no longer waits"));
}

#[test]
fn denied_hunks_stay_unchanged() {
    let mut setup = setup(vec![write("a", "one\n"), text("Done.")], Vec::new());
    setup.files.files.lock().unwrap().insert("a".into(), "old\n".into());
    let asking = setup.asked("Write one.");
    let from = setup.word(asking.index, Consent::Yes { hunks: vec![vec![false]] }, None);
    setup.client.closed(from, setup.branch);
    assert_eq!(setup.files.of("a").as_deref(), Some("old\n"));
}

#[test]
fn rules_decide_where_a_person_set_them() {
    let answers = vec![
        write("src/a", "one\n"),
        text("Done."),
        write("src/b", "two\n"),
        text("Done."),
        write("src/.env", "x\n"),
        text("Done."),
        write("src/c", "three\n"),
        text("Done."),
    ];
    let mut setup = setup(answers, vec![rule(Some("*.env"), Verdict::Deny)]);
    let asking = setup.asked("a");
    let always = (RuleScope::Session, rule(Some("src/*"), Verdict::Allow));
    let from = setup.word(asking.index, yes(), Some(always.clone()));
    setup.client.closed(from, setup.branch);
    setup.client.say(setup.branch, "b");
    assert_eq!(setup.files.of("src/b").as_deref(), Some("two\n"), "no approval was requested");
    assert_eq!(setup.client.last_trace().word.as_deref(), Some("rule allow write \"src/*\""));
    setup.client.say(setup.branch, "env");
    assert_eq!(setup.files.of("src/.env"), None);
    assert!(
        setup.client.last_result().contains("One of the user's rules denies the call"),
        "{}",
        setup.client.last_result()
    );
    let listed = match setup.client.must(Request::Tool(ToolRequest::Rule(RuleAct::List))) {
        Answer::Tool(ToolAnswer::Rules(rules)) => rules,
        other => panic!("{other:?}"),
    };
    assert_eq!(listed[0], always);
    assert_eq!(listed[1].0, RuleScope::Config);
    setup.client.must(Request::Tool(ToolRequest::Rule(RuleAct::Set {
        scope: RuleScope::Session,
        rule: always.1.clone(),
        on: false,
    })));
    let asking = setup.asked("c");
    let from = setup.word(asking.index, Consent::No { why: None }, None);
    setup.client.closed(from, setup.branch);
    assert!(
        setup
            .client
            .ask(Request::Tool(ToolRequest::Rule(RuleAct::Set { scope: RuleScope::Config, rule: always.1, on: true })))
            .is_err()
    );
}

/// No rule and no approval of another call lets a tool change a file that controls the program.
#[test]
fn control_files_are_approved_one_by_one() {
    for path in [".mcp.json", "AGENTS.md", "sub/.claude/skills/x/SKILL.md"] {
        let all = Rule { tool: "*".into(), on: None, verdict: Verdict::Allow };
        let mut setup = setup(vec![write(path, "x\n"), text("Done.")], vec![all, rule(Some(path), Verdict::Allow)]);
        let asking = setup.asked("Write it.");
        assert!(asking.effect.config_change().is_some_and(|(named, _)| named == path));
        let always = Some((RuleScope::Session, rule(Some(path), Verdict::Allow)));
        let refused = setup.client.ask(Request::Turn(TurnRequest::Consent {
            branch: setup.branch,
            index: asking.index,
            consent: yes(),
            always,
        }));
        assert!(refused.unwrap_err().to_string().contains("controls pleach"));
        assert_eq!(setup.files.of(path), None);
        let from = setup.word(asking.index, yes(), None);
        setup.client.closed(from, setup.branch);
        assert_eq!(setup.files.of(path).as_deref(), Some("x\n"));
    }
}

#[test]
fn stopping_a_turn_that_asks_changes_nothing() {
    let mut setup = setup(vec![write("a", "one\n"), text("Done.")], Vec::new());
    let _ = setup.asked("Write one.");
    let from = setup.client.seen.len();
    setup.client.must(Request::Turn(TurnRequest::Cancel { branch: setup.branch }));
    setup.client.closed(from, setup.branch);
    assert_eq!(setup.files.of("a"), None);
    assert!(
        setup.client.seen[from..]
            .iter()
            .any(|event| matches!(event, Event::Tool(ToolEvent::Approval { pending: None, .. })))
    );
    assert_eq!(setup.model.bodies().len(), 1, "the model is not called again");
    assert_eq!(setup.client.last_trace().word.as_deref(), Some("undecided"));
    let last = setup.client.open().nodes.iter().max_by_key(|node| node.at).unwrap().id;
    let draft = crate::support::bench::draft("", DraftKind::Continue(last));
    assert!(setup.client.turn(setup.branch, &draft).failure.is_none());
    let body = String::from_utf8(setup.model.bodies()[1].clone()).unwrap();
    assert!(body.contains("The person stopped this turn before deciding on the call. Nothing was done."), "{body}");
}

#[test]
fn reads_need_no_approval() {
    let look = vec![Say::Call("look".into(), "{}".into())];
    let mut setup = setup(vec![look, text("Done.")], Vec::new());
    assert!(setup.client.say(setup.branch, "Look.").failure.is_none());
    assert_eq!(setup.client.last_result(), "looked");
    assert!(!setup.client.seen.iter().any(|event| matches!(event, Event::Tool(ToolEvent::Approval { .. }))));
}

/// The real tools with the real command line: refused when no one can approve, run when the command line allows it, and
/// undone.
#[test]
fn command_line_allows_tools_by_flag() {
    let call = |name: &str, args: serde_json::Value| {
        let call = serde_json::json!({ "index": 0, "id": "c1", "name": name, "args": args.to_string() });
        serde_json::json!({ "deltas": [{ "call": call }], "finish": "tool_calls" }).to_string()
    };
    let edit = || call("edit_file", serde_json::json!({ "path": "a.txt", "edits": [{ "old": "one", "new": "two" }] }));
    let run = || call("run", serde_json::json!({ "line": "echo $((40 + 2)) > out.txt; cat out.txt" }));
    let touch = || call("run", serde_json::json!({ "line": "touch made.txt" }));
    let end = || serde_json::json!({ "deltas": [{ "text": "Done." }] }).to_string();
    let home = Home::scripted("");
    let next = |call: String| std::fs::write(home.path("recording.jsonl"), format!("{call}\n{}\n", end())).unwrap();
    let mut config = std::fs::read_to_string(home.config_file()).unwrap();
    config.insert_str(0, &format!("trusted_folders = [{:?}]\n", home.workspace().display().to_string()));
    config.push_str("[tools]\nseconds = 45\n");
    home.configure(&config);
    assert!(home.ok(&["plan", "x", "--request"]).contains("45 by default, at most 450"));
    let file = home.workspace().join("a.txt");
    std::fs::write(&file, "one\n").unwrap();
    next(edit());
    let output = home.run(&["ask", "change it"]);
    assert!(output.err.contains("no terminal to ask on"), "{}", output.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    home.ok(&["ask", "change it", "--allow", "edit_file:a.txt"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    home.ok(&["undo"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    let told = "The user undid an earlier change of a.txt.";
    let is_told = || home.ok(&["plan", "x", "--request"]).contains(told);
    assert!(is_told(), "{}", home.ok(&["plan", "x"]));
    home.ok(&["redo"]);
    assert!(!is_told(), "the file is as the messages say");
    home.ok(&["undo"]);
    assert!(is_told());
    std::fs::write(home.path("recording.jsonl"), format!("{}\n", end())).unwrap();
    home.ok(&["ask", "and now?"]);
    assert!(!is_told(), "once");
    next(run());
    home.ok(&["ask", "run it", "--allow", "run"]);
    let result = home.ok(&["message", "list"]);
    assert!(
        !home.workspace().join("out.txt").exists(),
        "a command line that the shell splits needs approval despite a rule without a path"
    );
    assert!(result.contains("refused"), "{result}");
    next(touch());
    home.ok(&["ask", "make it", "--allow", "run:touch *"]);
    assert!(home.workspace().join("made.txt").exists(), "{}", home.ok(&["message", "list"]));
}

/// `[tools] readable` and `writable` open these folders to sandboxed commands, and no others.
#[cfg(target_os = "linux")]
#[test]
fn settings_open_folders_to_commands() {
    let home = Home::new("");
    for folder in ["home/open", "home/closed", "more", "other"] {
        std::fs::create_dir_all(home.path(folder)).unwrap();
        std::fs::write(home.path(folder).join("a"), folder).unwrap();
    }
    home.configure(&format!(
        "trusted_folders = [{:?}]\n[tools]\nreadable = [\"~/open\"]\nwritable = [{:?}]\n",
        home.workspace().display().to_string(),
        home.path("more").display().to_string(),
    ));
    let at = |name: &str| home.path(name).display().to_string();
    let script = format!(
        "cat {}/a > read\ncat {}/a > unread\necho x > {}/new\necho x > {}/new\necho x > {}/new\n",
        at("home/open"),
        at("home/closed"),
        at("more"),
        at("other"),
        at("home/open")
    );
    std::fs::write(home.workspace().join("try.sh"), script).unwrap();
    let output = home.run(&["ask", r#"call run {"line": "sh try.sh"}"#, "--allow", "run"]);
    let traces = home.json(&["traces"]);
    let protection = traces[0]["protection"].to_string();
    assert!(protection.contains("and one more folder") || protection.contains("missing"), "{traces} {}", output.err);
    if protection.contains("no landlock") {
        #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: this kernel has no landlock");
        }
        return;
    }
    let text = |name: &str| std::fs::read_to_string(home.path(name)).unwrap_or_default();
    assert_eq!((text("work/read").as_str(), text("work/unread").as_str()), ("home/open", ""), "{}", output.out);
    assert_eq!((text("more/new").as_str(), text("other/new").as_str()), ("x\n", ""));
    assert_eq!(text("home/open/new"), "", "readable folders are not writable");
}
