//! Traces of tool calls through the whole engine, with the real tools: how long results are stored and read, which
//! later success resolves a failure, reruns, marks on results, and removal.

use crate::support::bench::{Bench, Client, Model, Say, message, text};
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::domain::tool::resolution;
use pleach::domain::tool::trace::kept_path;
use pleach::domain::tool::{Consent, Rerun, RerunState, Rule, RuleScope, ToolStatus, ToolTrace, Verdict};
use pleach::engine::api::{
    Act, Answer, BranchRequest, Event, ItemName, PlanRequest, Request, SessionRequest, ToolAnswer, ToolEvent,
    ToolRequest, TraceAct, TraceWhole, TurnRequest,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

const LIMIT: usize = 2_000;

struct Setup {
    bench: Bench,
    client: Client,
    branch: BranchId,
    model: Arc<Model>,
}

fn rule(tool: &str, on: Option<&str>) -> Rule {
    Rule { tool: tool.into(), on: on.map(str::to_owned), verdict: Verdict::Allow }
}

fn setup(rules: Vec<Rule>) -> Setup {
    let model = Model::new([]);
    let mut bench = Bench::new(&model);
    let acting = EffectOptions { program: Some(env!("CARGO_BIN_EXE_pleach").into()), ..EffectOptions::default() };
    bench.tools = Some(Arc::new(Workspace::open_with_effects(&bench.workspace, LIMIT, acting).unwrap()));
    let mut client = bench.start_with(|setup| setup.settings.tool_rules = rules);
    let branch = client.session();
    Setup { bench, client, branch, model }
}

impl Setup {
    fn calls(&mut self, calls: &[(&str, Value)]) {
        for (name, args) in calls {
            self.model.then(vec![Say::Call((*name).into(), args.to_string())]);
        }
        self.model.then(text("Done."));
    }

    fn say(&mut self, words: &str) {
        assert!(self.client.say(self.branch, words).failure.is_none());
    }

    fn traces(&mut self) -> Vec<ToolTrace> {
        match self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::List { most: 100 }))) {
            Answer::Tool(ToolAnswer::Traces(all)) => all,
            other => panic!("{other:?}"),
        }
    }

    fn show(&mut self, trace: &ToolTrace) -> TraceWhole {
        match self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Show { id: trace.id()[..8].into() }))) {
            Answer::Tool(ToolAnswer::Trace(whole)) => *whole,
            other => panic!("{other:?}"),
        }
    }

    /// Reruns a call. Returns its state once it waits for approval or has ended.
    fn again(&mut self, trace: &ToolTrace) -> Rerun {
        let from = self.client.seen.len();
        self.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Again { branch: self.branch, id: trace.id() })));
        self.wait_for_rerun(from)
    }

    fn wait_for_rerun(&mut self, from: usize) -> Rerun {
        let at = self
            .client
            .wait(from, |event| matches!(event, Event::Tool(ToolEvent::Rerun(view)) if view.state != RerunState::Runs));
        match self.client.seen[at].clone() {
            Event::Tool(ToolEvent::Rerun(view)) => *view,
            other => panic!("{other:?}"),
        }
    }

    fn holds(&self, word: &str) -> usize {
        let folder = std::fs::read_dir(self.bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        files
            .filter(|entry| {
                std::fs::read(entry.path()).unwrap().windows(word.len()).any(|bytes| bytes == word.as_bytes())
            })
            .count()
    }
}

/// Whether commands can be confined on this machine. Prints a note if not.
fn can_confine(setup: &Setup) -> bool {
    let can = setup.bench.tools.as_ref().unwrap().effect("run", "{\"line\":\"true\"}").is_ok();
    if !can {
        #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: commands cannot be confined here");
        }
    }
    can
}

#[test]
fn long_output_is_stored_read_in_parts_and_removed() {
    let mut setup = setup(vec![rule("run", Some("seq *"))]);
    if !can_confine(&setup) {
        return;
    }
    setup.calls(&[("run", json!({ "line": "seq -f xyzzy%.0fplugh 1 4000" }))]);
    setup.say("Count.");
    let trace = setup.traces().pop().unwrap();
    assert_eq!((trace.status, trace.exit), (Some(ToolStatus::Ok), Some(0)));
    assert!(trace.bytes < 2_500 && trace.truncated_from.unwrap() > 50_000, "{trace:?}");
    let path = kept_path(&trace.id());
    assert_eq!(trace.more.back.as_deref(), Some(format!("read_file or search with path {path}").as_str()));
    assert!(!trace.more.protection.is_empty());
    let whole = setup.show(&trace);
    let (result, full) = (whole.result.unwrap(), whole.full.unwrap());
    assert!(result.contains(&path) && !result.contains("xyzzy2000plugh"), "{result}");
    assert!(full.contains("xyzzy2000plugh") && full.lines().count() == 4_001);

    setup.calls(&[
        ("read_file", json!({ "path": path, "start_line": 2_001, "lines": 2 })),
        ("search", json!({ "path": path, "pattern": "zzy311[0-2]plugh" })),
        ("read_file", json!({ "path": "output:0000000000" })),
        ("list_dir", json!({ "path": path })),
    ]);
    setup.say("What stands in the middle?");
    let all = setup.traces();
    let results: Vec<String> = all[1..].iter().map(|trace| setup.show(trace).result.unwrap().to_string()).collect();
    assert!(results[0].starts_with("xyzzy2000plugh\nxyzzy2001plugh\n"), "{}", results[0]);
    assert_eq!(results[1].matches("plugh").count(), 3, "{}", results[1]);
    assert_eq!(all[3].status, Some(ToolStatus::Failed), "the missing part is reported");
    assert!(results[2].contains("no stored result"), "{}", results[2]);
    assert!(results[3].contains("does not exist"), "{}", results[3]);

    assert!(setup.holds("xyzzy2000plugh") > 0);
    let nodes = setup.client.open().nodes.clone();
    let asked: Vec<_> =
        nodes.iter().filter(|node| node.role == pleach::domain::conversation::message::Role::User).collect();
    for node in asked.into_iter().rev() {
        let item = ItemName::TurnOf(node.id);
        setup.client.must(Request::Branch(BranchRequest::RemoveMessage { branch: setup.branch, item }));
    }
    assert_eq!(setup.holds("xyzzy2000plugh"), 0, "removing a turn removes its stored results");
    assert!(setup.show(&trace).full.is_none());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one journey")]
fn failures_are_linked_to_fixes_and_calls_rerun() {
    let mut setup = setup(vec![rule("run", Some("cat *"))]);
    if !can_confine(&setup) {
        return;
    }
    setup.calls(&[
        ("run", json!({ "line": "cat notes.txt" })),
        ("write_file", json!({ "path": "notes.txt", "text": "first\n" })),
        ("run", json!({ "line": "cat notes.txt # again" })),
    ]);
    let from = setup.client.seen.len();
    setup.client.send(setup.branch, &message("Make notes.")).unwrap();
    let at =
        setup.client.wait(from, |event| matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. })));
    let Event::Tool(ToolEvent::Approval { pending: Some(asking), .. }) = setup.client.seen[at].clone() else {
        panic!()
    };
    let yes = || Consent::Yes { hunks: Vec::new() };
    let branch = setup.branch;
    setup.client.must(Request::Turn(TurnRequest::Consent {
        branch,
        index: asking.index,
        consent: yes(),
        always: None,
    }));
    assert!(setup.client.closed(from, branch).failure.is_none());

    let all = setup.traces();
    let [failed, wrote, read] = &all[..] else { panic!("{all:?}") };
    assert_eq!((failed.status, read.status), (Some(ToolStatus::Failed), Some(ToolStatus::Ok)));
    assert!(failed.more.error.as_ref().unwrap().contains("No such file"), "{failed:?}");
    let links = resolution::links(&all.iter().collect::<Vec<_>>(), |_, _| true);
    assert_eq!(links, [resolution::Link { failed: 0, fixed: 2, between: vec!["notes.txt".into()] }]);
    let whole = setup.show(wrote);
    assert_eq!(whole.files[0].unified(3), "--- /dev/null\n+++ notes.txt\n@@ -1,0 +1,1 @@\n+first\n");
    assert_eq!(wrote.word.as_deref(), Some("you"));

    // A call that a rule allows runs at once.
    let nodes = setup.client.open().nodes.len();
    let posts = setup.model.bodies().len();
    let view = setup.again(failed);
    assert_eq!((&view.state, view.of.as_str(), view.trace.exit), (&RerunState::Ended, failed.id().as_str(), Some(0)));
    let change = view.change.clone().unwrap().unified(0);
    assert!(change.contains("+first\n") && change.contains("-[exit 1]"), "{change}");
    assert_eq!(setup.client.open().nodes.len(), nodes, "no message was added");
    assert_eq!(setup.model.bodies().len(), posts, "the model was not called");
    let kept = setup.traces().pop().unwrap();
    assert_eq!((kept.node, kept.more.again.as_deref()), (None, Some(failed.call_id.as_str())));
    assert_eq!(setup.show(&kept).result.as_deref(), Some("[exit 0]\nfirst\n"));

    // A change asks. Denial does nothing, and approval is undone like any change.
    let file = setup.bench.workspace.join("notes.txt");
    std::fs::write(&file, "second\n").unwrap();
    for (consent, status, now) in
        [(Consent::No { why: None }, ToolStatus::Refused, "second\n"), (yes(), ToolStatus::Ok, "first\n")]
    {
        let view = setup.again(wrote);
        assert!(matches!(view.state, RerunState::Asks(_)), "{view:?}");
        let twice = setup.client.ask(Request::Tool(ToolRequest::Traces(TraceAct::Again { branch, id: wrote.id() })));
        assert!(twice.unwrap_err().to_string().contains("in progress"));
        let from = setup.client.seen.len();
        setup.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Word { consent, always: None })));
        assert_eq!(setup.wait_for_rerun(from).trace.status, Some(status));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), now);
    }
    setup.client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "second\n");
    let stale = setup.client.ask(Request::Tool(ToolRequest::Traces(TraceAct::Word { consent: yes(), always: None })));
    assert!(stale.unwrap_err().to_string().contains("no longer waits"));
    // Stops a waiting rerun.
    setup.again(wrote);
    let from = setup.client.seen.len();
    setup.client.must(Request::Tool(ToolRequest::Traces(TraceAct::Stop)));
    assert_eq!(setup.wait_for_rerun(from).trace.status, Some(ToolStatus::Cancelled));
    // The end of the program stops it too, and records that.
    let (session, count) = (setup.client.open().card.id, setup.traces().len());
    setup.again(wrote);
    let Setup { bench, client, .. } = setup;
    client.stop();
    let last = bench.store().traces(session, 100).unwrap().split_off(count);
    assert_eq!(last.iter().map(|trace| trace.status).collect::<Vec<_>>(), [Some(ToolStatus::Cancelled)]);
}

#[test]
fn no_rule_is_added_for_a_rerun_that_changes_what_controls_the_program() {
    let mut setup = setup(Vec::new());
    setup.calls(&[("write_file", json!({ "path": ".mcp.json", "text": "{}" }))]);
    let (from, branch, index) = (setup.client.seen.len(), setup.branch, 0);
    setup.client.send(branch, &message("Configure a server.")).unwrap();
    setup.client.wait(from, |event| matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. })));
    let (no, yes) = (Consent::No { why: None }, Consent::Yes { hunks: Vec::new() });
    setup.client.must(Request::Turn(TurnRequest::Consent { branch, index, consent: no, always: None }));
    setup.client.closed(from, branch);
    let denied = setup.traces().pop().unwrap();
    assert!(matches!(setup.again(&denied).state, RerunState::Asks(_)));
    let always = Some((RuleScope::Session, rule("write_file", None)));
    let refused = setup.client.ask(Request::Tool(ToolRequest::Traces(TraceAct::Word { consent: yes, always })));
    assert!(refused.unwrap_err().what.contains("No rule can allow"));
}

#[test]
fn marks_on_results_are_undone() {
    let mut setup = setup(Vec::new());
    std::fs::write(setup.bench.workspace.join("a.txt"), "the word is frobnicate\n").unwrap();
    setup.calls(&[("read_file", json!({ "path": "a.txt" }))]);
    setup.say("Read it.");
    let node = setup.traces()[0].node.unwrap();
    let key = setup.client.open().nodes.iter().find(|head| head.id == node).unwrap().key;
    let body = |setup: &mut Setup| {
        let branch = setup.branch;
        setup.client.plan(branch, &message("And now?")).unwrap();
        match setup.client.must(Request::Plan(PlanRequest::WireText { branch })) {
            Answer::Text(body) => body,
            other => panic!("{other:?}"),
        }
    };
    assert!(body(&mut setup).contains("frobnicate"));
    for (kind, there) in [(MarkKind::Exclude, false), (MarkKind::Sticky, true)] {
        let items = vec![ItemName::Message(node)];
        setup.client.must(Request::Branch(BranchRequest::Mark {
            branch: setup.branch,
            items,
            act: Act::Set { kind, toggle: true },
        }));
        let marks = setup.client.open().branches[0].marks.clone();
        assert_eq!(
            marks.iter().map(|mark| (mark.target, mark.kind)).collect::<Vec<_>>(),
            [(Atom::Message { node: key }, kind)]
        );
        assert_eq!(body(&mut setup).contains("frobnicate"), there, "{kind:?}");
        setup.client.must(Request::Session(SessionRequest::Undo));
        assert!(setup.client.open().branches[0].marks.is_empty());
    }
}
