//! The word on calls to tools, through the whole engine: nothing is done before it, only what was chosen is, rules speak for
//! a person where they said so, and what files were is brought back by undo.

use crate::support::bench::{Bench, Client, Model, Say, text};
use crate::support::binary::Home;
use pleach::domain::base::hash::Hash;
use pleach::domain::base::ids::BranchId;
use pleach::domain::conversation::message::Role;
use pleach::domain::tool::consent::{Consent, FileChange, Hunk, PendingApproval, Rule, RuleScope, ToolEffect, Verdict};
use pleach::domain::tool::trace::{Done, RunTools, ToolObserver, ToolOutput, ToolSpec, ToolStatus, ToolTrace};
use pleach::engine::api::{
    Answer, BranchRequest, Event, ItemName, Request, RuleAct, SessionRequest, ToolEvent, ToolRequest, TurnRequest,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Files in memory, one line each: `write` puts one, and takes hunks at their word.
#[derive(Default)]
struct Shelf {
    files: Mutex<BTreeMap<String, String>>,
}

impl Shelf {
    fn of(&self, path: &str) -> Option<String> {
        self.files.lock().unwrap().get(path).cloned()
    }
}

fn said(status: ToolStatus, body: &str) -> ToolOutput {
    ToolOutput { status, full_bytes: body.len() as u64, body: body.into() }
}

impl RunTools for Shelf {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = serde_json::json!({ "type": "object" });
        vec![ToolSpec { name: "write".into(), description: "Writes.".into(), parameters }]
    }

    fn deed(&self, name: &str, args: &str) -> Result<ToolEffect, ToolOutput> {
        if name == "look" {
            return Ok(ToolEffect::Look { what: "a".into() });
        }
        let args: serde_json::Value = serde_json::from_str(args).unwrap();
        let (path, after) = (args["path"].as_str().unwrap(), args["text"].as_str().unwrap());
        let before = self.of(path);
        let lines = |text: Option<&str>| text.map_or(0, |text| text.lines().count());
        let hunks = vec![Hunk { old: 0..lines(before.as_deref()), new: 0..lines(Some(after)) }];
        let before = before.map(Arc::from);
        Ok(ToolEffect::Change(vec![FileChange { path: path.into(), before, after: Some(after.into()), hunks }]))
    }

    fn carry_out(&self, _: &str, _: &str, deed: &ToolEffect, hunks: &[Vec<bool>], watch: &dyn ToolObserver) -> Done {
        watch.said("writing\n");
        let ToolEffect::Change(changes) = deed else { return Done::said(said(ToolStatus::Ok, "looked")) };
        let change = &changes[0];
        let text = change.with(hunks.first().map_or(&[][..], Vec::as_slice));
        self.files.lock().unwrap().insert(change.path.clone(), text.clone());
        let done = FileChange { after: Some(text.into()), ..change.clone() };
        Done { output: said(ToolStatus::Ok, "written"), changed: vec![done], exit: None, cut: None }
    }

    fn run(&self, _: &str, _: &str, _: &dyn Fn() -> bool) -> ToolOutput {
        said(ToolStatus::Failed, "not this way")
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

struct Scene {
    bench: Bench,
    client: Client,
    branch: BranchId,
    shelf: Arc<Shelf>,
    model: Arc<Model>,
}

fn scene(answers: Vec<Vec<Say>>, rules: Vec<Rule>) -> Scene {
    let model = Model::new(answers);
    let mut bench = Bench::new(&model);
    let shelf = Arc::new(Shelf::default());
    bench.tools = Some(shelf.clone());
    let mut client = bench.start_with(|setup| setup.tool_rules = rules);
    let branch = client.session();
    Scene { bench, client, branch, shelf, model }
}

impl Scene {
    /// Sends, and waits until a call asks.
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
}

fn yes() -> Consent {
    Consent::Yes { hunks: Vec::new() }
}

fn rule(on: Option<&str>, verdict: Verdict) -> Rule {
    Rule { tool: "write".into(), on: on.map(str::to_owned), verdict }
}

#[test]
fn nothing_is_done_before_a_yes_and_undo_brings_the_file_back() {
    let mut scene = scene(vec![write("a", "one\n"), text("Done."), write("a", "two\n"), text("Done.")], Vec::new());
    let asking = scene.asked("Write one.");
    assert_eq!((asking.tool.as_str(), scene.shelf.of("a")), ("write", None));
    let from = scene.word(asking.index, yes(), None);
    assert!(scene.client.closed(from, scene.branch).failure.is_none());
    assert_eq!(scene.shelf.of("a").as_deref(), Some("one\n"));
    assert!(
        scene
            .client
            .seen
            .iter()
            .any(|event| matches!(event, Event::Tool(ToolEvent::Output { text, .. }) if text == "writing\n"))
    );
    let asking = scene.asked("Now two.");
    let from = scene.word(asking.index, yes(), None);
    scene.client.closed(from, scene.branch);
    let trace = scene.trace();
    assert_eq!((trace.word.as_deref(), trace.changed.as_slice()), (Some("you"), &["a".to_owned()][..]));
    let undo = |scene: &mut Scene, wanted: Option<&str>| {
        let Answer::Done(said) = scene.client.must(Request::Session(SessionRequest::Undo)) else { panic!() };
        assert!(said.contains("changed a"), "{said}");
        assert_eq!(scene.shelf.of("a").as_deref(), wanted);
    };
    undo(&mut scene, Some("one\n"));
    undo(&mut scene, None);
    scene.client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(scene.shelf.of("a").as_deref(), Some("one\n"));
    scene.shelf.files.lock().unwrap().insert("a".into(), "by hand\n".into());
    let failure = scene.client.ask(Request::Session(SessionRequest::Undo)).unwrap_err();
    assert!(failure.to_string().contains("was changed since"), "{failure}");
    assert_eq!(scene.shelf.of("a").as_deref(), Some("by hand\n"), "it is left alone");
}

/// What a call wrote stands in its arguments, and in what undo keeps of the file.
#[test]
fn a_removed_turn_takes_what_its_tools_wrote_along() {
    let answers = vec![write("a", "the word is xyzzyplugh\n"), text("Done."), write("b", "two\n"), text("Done.")];
    let mut scene = scene(answers, Vec::new());
    for words in ["Write it.", "Now b."] {
        let asking = scene.asked(words);
        let from = scene.word(asking.index, yes(), None);
        scene.client.closed(from, scene.branch);
    }
    let holds = |scene: &Scene| {
        let folder = std::fs::read_dir(scene.bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        files.filter(|entry| std::fs::read(entry.path()).unwrap().windows(10).any(|word| word == b"xyzzyplugh")).count()
    };
    assert!(holds(&scene) > 0);
    let first = scene.client.open().nodes[0].id;
    scene
        .client
        .must(Request::Branch(BranchRequest::RemoveMessage { branch: scene.branch, item: ItemName::TurnOf(first) }));
    assert_eq!(holds(&scene), 0);
    scene.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(scene.shelf.of("b"), None, "what another turn did can still be undone");
    assert_eq!(scene.shelf.of("a").as_deref(), Some("the word is xyzzyplugh\n"), "the file itself is the person's");
    scene.client.must(Request::Session(SessionRequest::Undo));
}

#[test]
fn a_no_changes_nothing_and_the_model_reads_why() {
    let mut scene = scene(vec![write("a", "one\n"), text("I see.")], Vec::new());
    let asking = scene.asked("Write one.");
    let why = Some("The build is running.".into());
    let from = scene.word(asking.index, Consent::No { why }, None);
    scene.client.closed(from, scene.branch);
    assert_eq!(scene.shelf.of("a"), None);
    assert_eq!(scene.result(), "[refused] Nothing was done. The build is running.");
    assert_eq!(scene.trace().status, Some(ToolStatus::Refused));
    let stale = scene.client.ask(Request::Turn(TurnRequest::Consent {
        branch: scene.branch,
        index: 0,
        consent: yes(),
        always: None,
    }));
    assert!(stale.unwrap_err().to_string().contains("no longer waits"));
}

#[test]
fn hunks_that_are_left_out_stay_as_they_were() {
    let mut scene = scene(vec![write("a", "one\n"), text("Done.")], Vec::new());
    scene.shelf.files.lock().unwrap().insert("a".into(), "old\n".into());
    let asking = scene.asked("Write one.");
    let from = scene.word(asking.index, Consent::Yes { hunks: vec![vec![false]] }, None);
    scene.client.closed(from, scene.branch);
    assert_eq!(scene.shelf.of("a").as_deref(), Some("old\n"));
}

#[test]
fn rules_speak_where_a_person_said_so() {
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
    let mut scene = scene(answers, vec![rule(Some("*.env"), Verdict::Deny)]);
    let asking = scene.asked("a");
    let always = (RuleScope::Session, rule(Some("src/*"), Verdict::Allow));
    let from = scene.word(asking.index, yes(), Some(always.clone()));
    scene.client.closed(from, scene.branch);
    scene.client.say(scene.branch, "b");
    assert_eq!(scene.shelf.of("src/b").as_deref(), Some("two\n"), "it was not asked about");
    assert_eq!(scene.trace().word.as_deref(), Some("rule allow write \"src/*\""));
    scene.client.say(scene.branch, "env");
    assert_eq!(scene.shelf.of("src/.env"), None);
    assert!(scene.result().contains("One of the person's rules denies it"), "{}", scene.result());
    let listed = match scene.client.must(Request::Tool(ToolRequest::Rule(RuleAct::List))) {
        Answer::Rules(rules) => rules,
        other => panic!("{other:?}"),
    };
    assert_eq!(listed[0], always);
    assert_eq!(listed[1].0, RuleScope::Config);
    scene.client.must(Request::Tool(ToolRequest::Rule(RuleAct::Set {
        scope: RuleScope::Session,
        rule: always.1.clone(),
        on: false,
    })));
    let asking = scene.asked("c");
    let from = scene.word(asking.index, Consent::No { why: None }, None);
    scene.client.closed(from, scene.branch);
    assert!(
        scene
            .client
            .ask(Request::Tool(ToolRequest::Rule(RuleAct::Set { scope: RuleScope::Config, rule: always.1, on: true })))
            .is_err()
    );
}

/// No rule and no yes to something else lets a tool change a file that steers the program.
#[test]
fn a_file_that_steers_the_program_is_asked_about_alone() {
    for path in [".mcp.json", "AGENTS.md", "sub/.claude/skills/x/SKILL.md"] {
        let all = Rule { tool: "*".into(), on: None, verdict: Verdict::Allow };
        let mut scene = scene(vec![write(path, "x\n"), text("Done.")], vec![all, rule(Some(path), Verdict::Allow)]);
        let asking = scene.asked("Write it.");
        assert!(asking.deed.steers().is_some_and(|(named, _)| named == path));
        let always = Some((RuleScope::Session, rule(Some(path), Verdict::Allow)));
        let refused = scene.client.ask(Request::Turn(TurnRequest::Consent {
            branch: scene.branch,
            index: asking.index,
            consent: yes(),
            always,
        }));
        assert!(refused.unwrap_err().to_string().contains("controls pleach"));
        assert_eq!(scene.shelf.of(path), None);
        let from = scene.word(asking.index, yes(), None);
        scene.client.closed(from, scene.branch);
        assert_eq!(scene.shelf.of(path).as_deref(), Some("x\n"));
    }
}

#[test]
fn a_turn_that_is_stopped_while_it_asks_changes_nothing() {
    let mut scene = scene(vec![write("a", "one\n"), text("Done.")], Vec::new());
    let _ = scene.asked("Write one.");
    let from = scene.client.seen.len();
    scene.client.must(Request::Turn(TurnRequest::Cancel { branch: scene.branch }));
    scene.client.closed(from, scene.branch);
    assert_eq!(scene.shelf.of("a"), None);
    assert!(
        scene.client.seen[from..]
            .iter()
            .any(|event| matches!(event, Event::Tool(ToolEvent::Approval { pending: None, .. })))
    );
    assert_eq!(scene.model.bodies().len(), 1, "the model is not asked again");
}

#[test]
fn what_only_looks_asks_nobody() {
    let look = vec![Say::Call("look".into(), "{}".into())];
    let mut scene = scene(vec![look, text("Done.")], Vec::new());
    assert!(scene.client.say(scene.branch, "Look.").failure.is_none());
    assert_eq!(scene.result(), "looked");
    assert!(!scene.client.seen.iter().any(|event| matches!(event, Event::Tool(ToolEvent::Approval { .. }))));
}

/// The real tools behind the real command line: refused while nobody is asked, done where the line allows it, undone.
#[test]
fn the_command_line_lets_tools_act_where_it_is_told_to() {
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
    let said = home.run(&["ask", "change it"]);
    assert!(said.err.contains("no terminal to ask on"), "{}", said.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    home.ok(&["ask", "change it", "--allow", "edit_file:a.txt"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    home.ok(&["undo"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    next(run());
    home.ok(&["ask", "run it", "--allow", "run"]);
    let result = home.ok(&["message", "list"]);
    assert!(
        !home.workspace().join("out.txt").exists(),
        "a line that a shell takes apart asks, whatever a rule with no line says"
    );
    assert!(result.contains("refused"), "{result}");
    next(touch());
    home.ok(&["ask", "make it", "--allow", "run:touch *"]);
    assert!(home.workspace().join("made.txt").exists(), "{}", home.ok(&["message", "list"]));
}

/// What `[tools] readable` and `writable` say reaches the cage: these folders and no others.
#[cfg(target_os = "linux")]
#[test]
fn folders_that_the_settings_open_are_open_to_commands_and_no_others() {
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
    let said = home.run(&["ask", r#"call run {"line": "sh try.sh"}"#, "--allow", "run"]);
    let traces = home.json(&["traces"]);
    let protection = traces[0]["protection"].to_string();
    assert!(protection.contains("and one more folder") || protection.contains("missing"), "{traces} {}", said.err);
    if protection.contains("no landlock on") {
        #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: this kernel has no landlock");
        }
        return;
    }
    let text = |name: &str| std::fs::read_to_string(home.path(name)).unwrap_or_default();
    assert_eq!((text("work/read").as_str(), text("work/unread").as_str()), ("home/open", ""), "{}", said.out);
    assert_eq!((text("more/new").as_str(), text("other/new").as_str()), ("x\n", ""));
    assert_eq!(text("home/open/new"), "", "what may be read is not written");
}
